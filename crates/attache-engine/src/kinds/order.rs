//! Which of several policies has precedence.

use smol_str::SmolStr;

use super::{Class, KindName, Pattern, PolicyKind};
use crate::document::{
    Diagnostics, DocumentReader, FieldValue, Location, OneOrMany, Schema, ValueType, document, from_document, words,
};
use crate::value::{Path, Value};

document! {
    /// Which of several policies has precedence.
    pub struct KindOrder {
        /// Which of two policies on one target wins.
        #[field("sameLevel", unset = "`OldestIsHigher`; for Direct kinds always `RejectNewer`")]
        pub(super) same_level: Option<SameLevel>,

        /// Under `RejectNewer`, when two policies cannot both be accepted.
        #[field("conflicts", default = Conflicts::Always)]
        pub conflicts: Conflicts,

        /// Where a policy is rejected that conflicts with another on one of its targets.
        #[field("rejectedFrom", default = RejectedFrom::Target)]
        pub rejected_from: RejectedFrom,

        /// What decides before age, the first first. For `accumulate` it decides before the level as well.
        #[field("priority")]
        pub priority: OneOrMany<Priority>,

        /// Whether the order of two policies with the same priority is undefined, which is then a warning.
        #[field("tiesUndefined")]
        pub ties_undefined: bool,

        /// The kind with whose policies those of this kind form one list, for `accumulate`. Both kinds need the same number
        /// of priorities.
        #[field("decidesWith")]
        pub decides_with: Option<KindName>,
    }
}

words! {
    /// Which of two policies on one target wins.
    pub enum SameLevel {
        /// the older one counts as the higher: of two defaults the newer wins, of two overrides the older.
        OldestIsHigher = "OldestIsHigher",
        /// the older one.
        OldestWins = "OldestWins",
        /// the oldest one, and the others count for nothing.
        OldestAlone = "OldestAlone",
        /// the older one, and the newer is not accepted.
        RejectNewer = "RejectNewer",
    }
}

words! {
    /// Where a policy is rejected that conflicts with another on one of its targets.
    pub enum RejectedFrom {
        /// on that target.
        Target = "Target",
        /// on all of its targets.
        EveryTarget = "EveryTarget",
    }
}

impl PolicyKind {
    /// Which of two policies on one target wins.
    pub fn same_level(&self) -> SameLevel {
        self.order.same_level.unwrap_or(match self.class {
            Class::Direct => SameLevel::RejectNewer,
            Class::Inherited => SameLevel::OldestIsHigher,
        })
    }
}

/// When two policies on one node cannot both be accepted, under [`SameLevel::RejectNewer`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflicts {
    /// In every case.
    Always,
    /// If both set the same leaf, even to the same value.
    SameLeaf,
    /// If both set one of these fields.
    SameField(Vec<Pattern>),
    /// In no case.
    Never,
}

impl FieldValue for Conflicts {
    const TYPE: ValueType = ValueType::Strings;

    fn schema() -> Schema {
        Schema::Any("`Always`, `Never`, `SameField` (both set the same leaf), or a list of fields")
    }

    fn read(value: &Value, at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        let texts = Vec::<SmolStr>::read(value, at, diagnostics)?;
        Some(match texts.as_slice() {
            [] => Conflicts::SameLeaf,
            [word] if word == "Always" => Conflicts::Always,
            [word] if word == "Never" => Conflicts::Never,
            [word] if word == "SameField" => Conflicts::SameLeaf,
            fields => Conflicts::SameField(fields.iter().map(|field| Pattern::parse(field)).collect()),
        })
    }

    fn describe(&self) -> Option<String> {
        (*self == Conflicts::Always).then(|| "`Always`".to_owned())
    }
}

/// Something that decides before age.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Priority {
    /// A number of the policy.
    Number {
        /// Where the number is.
        source: NumberSource,
        /// Which number comes first.
        order: SortOrder,
    },
    /// A word of the policy.
    Word {
        /// The field with the word.
        field: Path,
        /// The words that the field can have, the first first.
        words: Vec<SmolStr>,
        /// The word that counts for a policy without one.
        default: Option<SmolStr>,
    },
    /// A number that all policies of the kind share.
    Rank(i64),
    /// Age, for `accumulate`: the oldest first, whatever its level.
    Age,
}

/// Where a policy has its priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NumberSource {
    /// In an annotation.
    Annotation(SmolStr),
    /// In a field.
    Field(Path),
}

words! {
    /// Which number comes first.
    pub enum SortOrder {
        /// the highest number first.
        Descending = "Descending",
        /// the lowest number first.
        Ascending = "Ascending",
    }
}

document! {
    /// Exactly one of `annotation`, `field`, `rank` and `age` is given.
    struct PriorityFields {
        /// The annotation with a number.
        #[field("annotation")]
        annotation: Option<SmolStr>,

        /// The field with a number, or with one of the `values`.
        #[field("field")]
        field: Option<Path>,

        /// A number that all policies of the kind share, for kinds that form one list by `decidesWith`.
        #[field("rank")]
        rank: Option<i64>,

        /// Age decides: the oldest first, whatever its level.
        #[field("age")]
        age: bool,

        /// The words that `field` can have, the first first.
        #[field("values")]
        values: Option<Vec<SmolStr>>,

        /// The word that counts for a policy without one.
        #[field("default")]
        default: Option<SmolStr>,

        /// Which number comes first.
        #[field("order", default = SortOrder::Descending)]
        order: SortOrder,
    }
}

impl Priority {
    fn read_fields(reader: &mut DocumentReader<'_, '_>) -> Option<Priority> {
        let PriorityFields { annotation, field, rank, age, values, default, order } =
            PriorityFields::read_fields(reader)?;
        match (annotation, field, rank, age, values) {
            (Some(annotation), None, None, false, _) => {
                Some(Priority::Number { source: NumberSource::Annotation(annotation), order })
            }
            (None, Some(field), None, false, Some(words)) => Some(Priority::Word { field, words, default }),
            (None, Some(field), None, false, None) => {
                Some(Priority::Number { source: NumberSource::Field(field), order })
            }
            (None, None, Some(rank), false, _) => Some(Priority::Rank(rank)),
            (None, None, None, true, _) => Some(Priority::Age),
            _ => {
                reader.report(None, "give one of `annotation`, `field`, `rank` and `age`".to_owned(), None);
                None
            }
        }
    }
}

from_document!(Priority, PriorityFields);
