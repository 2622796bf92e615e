//! Which of several policies has precedence.

use smol_str::SmolStr;

use super::{Class, KindName, LevelNames, Pattern, PolicyKind, Strategy};
use crate::document::{
    Diagnostics, DocumentReader, FieldValue, Location, OneOrMany, Schema, ValueType, document, from_document, words,
};
use crate::level::Level;
use crate::value::{Path, Value};

document! {
    /// Which of several policies has precedence.
    pub struct KindOrder {
        /// Which of two policies on one target wins.
        #[field("sameLevel", unset = "`OldestIsHigher`; `RejectNewer` if `none` is the only strategy, and always for Direct kinds")]
        pub(super) same_level: Option<SameLevel>,

        /// Levels at which only the oldest policy on a node counts, whatever `sameLevel` says.
        #[field("oldestAlone")]
        pub oldest_alone: LevelNames,

        /// Levels whose policies meet as if they were on one node: `sameLevel` decides between them.
        #[field("joined")]
        pub joined: LevelNames,

        /// Under `RejectNewer`, when two policies cannot both be accepted.
        #[field("conflicts", default = Conflicts::Always)]
        pub conflicts: Conflicts,

        /// Where a policy is rejected that conflicts with another on one of its targets.
        #[field("rejectedFrom", default = RejectedFrom::Target)]
        pub rejected_from: RejectedFrom,

        /// Whether policies conflict only on backends that routes lead to. Needs `rejectedFrom: EveryTarget`.
        #[field("conflictsIfUsed")]
        pub conflicts_if_used: bool,

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
    /// Which of two policies on one target wins, by default or as given.
    pub fn same_level(&self) -> SameLevel {
        self.order.same_level.unwrap_or(match self.class {
            Class::Inherited if self.merging.strategies != [Strategy::NONE] => SameLevel::OldestIsHigher,
            Class::Direct | Class::Inherited => SameLevel::RejectNewer,
        })
    }
}

impl KindOrder {
    /// Whether only the oldest policy on a node of a level counts.
    pub fn is_oldest_alone(&self, level: Level) -> bool {
        self.same_level == Some(SameLevel::OldestAlone) || self.oldest_alone.iter().any(|name| name.level() == level)
    }

    /// Whether policies of a level are ordered together with those of other such levels.
    pub fn is_joined(&self, level: Level) -> bool {
        self.joined.iter().any(|name| name.level() == level)
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
        /// What counts for a policy without a number.
        missing: MissingNumber,
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
    /// The namespace of the policy.
    Namespace(NamespaceOrder),
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

words! {
    /// What counts for a policy without a number.
    pub enum MissingNumber {
        /// zero.
        Zero = "Zero",
        /// it comes after all policies with a number.
        Last = "Last",
    }
}

words! {
    /// Which namespace comes first.
    pub enum NamespaceOrder {
        /// policies of the root namespace, then those of other namespaces, the higher level first.
        RootFirst = "RootFirst",
        /// policies of other namespaces, the higher level first, then those of the root namespace.
        RootLast = "RootLast",
    }
}

document! {
    /// Exactly one of `annotation`, `field`, `rank`, `namespace` and `age` is given.
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

        /// The namespace of the policy decides.
        #[field("namespace")]
        namespace: Option<NamespaceOrder>,

        /// Age decides: the oldest first, whatever its level. Then names decide.
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

        /// What counts for a policy without a number.
        #[field("missing", default = MissingNumber::Zero)]
        missing: MissingNumber,
    }
}

impl Priority {
    fn read_fields(reader: &mut DocumentReader<'_, '_>) -> Option<Priority> {
        let PriorityFields { annotation, field, rank, namespace, age, values, default, order, missing } =
            PriorityFields::read_fields(reader)?;
        let number = |source: NumberSource| Priority::Number { source, order, missing };
        let mut given = [
            annotation.map(|annotation| number(NumberSource::Annotation(annotation))),
            field.map(|field| match values {
                Some(words) => Priority::Word { field, words, default },
                None => number(NumberSource::Field(field)),
            }),
            rank.map(Priority::Rank),
            namespace.map(Priority::Namespace),
            age.then_some(Priority::Age),
        ]
        .into_iter()
        .flatten();
        let (first, second) = (given.next(), given.next());
        if first.is_none() || second.is_some() {
            let message = "give one of `annotation`, `field`, `rank`, `namespace` and `age`";
            reader.report(None, message.to_owned(), None);
            return None;
        }
        first
    }
}

from_document!(Priority, PriorityFields);
