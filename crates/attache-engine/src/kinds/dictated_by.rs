//! Who says how two policies merge.

use smol_str::SmolStr;

use super::{LevelName, Strategy};
use crate::document::{
    Diagnostics, DocumentReader, FieldValue, Location, OneOrMany, OrderedMap, Schema, ValueType, document, words,
};
use crate::object::Object;
use crate::problem::{Problem, ProblemCode};
use crate::value::{Path, Value};

/// Who says how two policies merge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DictatedBy {
    /// The higher policy, by the strategy of its block.
    #[default]
    Higher,
    /// A field of the lower policy.
    Lower(LowerPolicyField),
    /// An annotation on the route of the higher policy.
    Annotation(RouteAnnotation),
}

document! {
    /// A field of the lower policy says how it merges with the nearest policy above it. It merges with no other.
    pub struct LowerPolicyField {
        /// The field of the lower policy.
        #[field("field", required)]
        pub field: Path,

        /// The strategies that the values of the field mean.
        #[field("values")]
        pub values: OrderedMap<SmolStr, Strategy>,

        /// The levels of the policies that the lower policy can merge with.
        #[field("with")]
        pub with: Vec<LevelName>,
    }
}

document! {
    /// An annotation on the route of the higher policy says how policies of the route merge with those of the routes that it
    /// delegates to. An unknown value of the annotation is a warning.
    pub struct RouteAnnotation {
        /// The names of the annotation. The first one that the route has counts.
        #[field("annotation", required)]
        pub names: OneOrMany<SmolStr>,

        /// What the values of the annotation mean.
        #[field("values")]
        pub values: Vec<AnnotationValue>,

        /// What holds without the annotation, or with an unknown value.
        #[field("default", default = MergePreference::default(), unset = "`{prefer: lower, strategy: shallow}`")]
        pub default: MergePreference,

        /// Whether any other value lists the fields, or `*`, in which the other policy is preferred.
        #[field("listsFields")]
        pub lists_fields: bool,
    }
}

document! {
    /// What some values of the annotation mean.
    pub struct AnnotationValue {
        /// The values.
        #[field("value", required)]
        pub values: OneOrMany<SmolStr>,

        /// What they mean.
        #[field(flatten)]
        pub preference: MergePreference,
    }
}

document! {
    /// How policies of a route merge with those of the routes below it.
    pub struct MergePreference {
        /// Which policy wins.
        #[field("prefer", default = PreferredPolicy::Lower)]
        pub prefer: PreferredPolicy,

        /// How they merge.
        #[field("strategy", default = Strategy::SHALLOW)]
        pub strategy: Strategy,
    }
}

words! {
    /// Which of two policies wins.
    pub enum PreferredPolicy {
        /// that of the parent route.
        Higher = "higher",
        /// that of the child route.
        Lower = "lower",
    }
}

impl FieldValue for DictatedBy {
    const TYPE: ValueType = ValueType::Object;

    fn schema() -> Schema {
        Schema::OneOf(vec![LowerPolicyField::object_schema(), RouteAnnotation::object_schema()])
    }

    fn read(value: &Value, at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        DocumentReader::read(value, at, diagnostics, |reader| {
            match (reader.get("field").is_some(), reader.get("annotation").is_some()) {
                (true, false) => LowerPolicyField::read_fields(reader).map(DictatedBy::Lower),
                (false, true) => RouteAnnotation::read_fields(reader).map(DictatedBy::Annotation),
                (true, true) | (false, false) => {
                    reader.report(None, "give either `field` or `annotation`".to_owned(), None);
                    None
                }
            }
        })
    }
}

impl Default for MergePreference {
    fn default() -> Self {
        MergePreference { prefer: PreferredPolicy::Lower, strategy: Strategy::SHALLOW }
    }
}

impl MergePreference {
    /// Whether the higher policy wins.
    pub fn prefers_higher(&self) -> bool {
        self.prefer == PreferredPolicy::Higher
    }
}

impl RouteAnnotation {
    /// How policies of a route merge with those below it, and the fields in which the other policy is preferred.
    pub fn preference_on(&self, route: &Object) -> (&MergePreference, Vec<SmolStr>) {
        let text = self.value_on(route).map(|(_, text)| text);
        let fields = text.filter(|text| self.lists_fields && lists_fields(text));
        let except = fields.map_or(Vec::new(), |fields| fields.split(',').map(|field| field.trim().into()).collect());
        (text.and_then(|text| self.meaning(text)).unwrap_or(&self.default), except)
    }

    /// Reports an annotation whose value is unknown, and which therefore does not count.
    pub fn check(&self, route: &Object) -> Option<Problem> {
        let (name, text) = self.value_on(route)?;
        if self.meaning(text).is_some() || self.lists_fields && lists_fields(text) {
            return None;
        }
        let known = self.values.iter().flat_map(|value| value.values.iter());
        let known: Vec<String> = known.map(|value| format!("`{value}`")).collect();
        let help = match known.as_slice() {
            [] => "name fields with commas between them, or `*` for all".to_owned(),
            known => format!("use one of {}", known.join(", ")),
        };
        let preferred = if self.default.prefers_higher() { "parent" } else { "child" };
        let message =
            format!("unknown value `{text}` for annotation `{name}`: the {preferred} is preferred, as without it");
        Some(
            Problem::warning(message)
                .code(ProblemCode::InvalidAnnotation)
                .at(route, Path::parse("metadata.annotations").key(name.clone()))
                .help(help),
        )
    }

    /// Reports an annotation on a Gateway, which does not count.
    pub fn check_gateway(&self, gateway: &Object) -> Option<Problem> {
        let (name, _) = self.value_on(gateway)?;
        Some(
            Problem::warning(format!("annotation `{name}` counts on HTTPRoutes only, and has no effect on a Gateway"))
                .code(ProblemCode::InvalidAnnotation)
                .at(gateway, Path::parse("metadata.annotations").key(name.clone()))
                .help("set it on the routes that delegate to others"),
        )
    }

    fn meaning(&self, text: &str) -> Option<&MergePreference> {
        self.values.iter().find(|value| value.values.iter().any(|it| it == text)).map(|value| &value.preference)
    }

    /// The first of the annotations that a route has, with its value.
    fn value_on<'a>(&'a self, route: &'a Object) -> Option<(&'a SmolStr, &'a str)> {
        self.names.iter().find_map(|name| Some((name, route.annotation(name)?.trim())))
    }
}

/// Whether a text is `*`, or names with commas between them.
fn lists_fields(text: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    text == "*" || text.split(',').all(|name| is_name(name.trim()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail by panicking")]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::kinds::{KindOrigin, PolicyKind, StrategyRegistry};
    use crate::text;

    const BY_VALUE: &str = "
      annotation: [example.io/inherit, example.io/old-inherit]
      values:
      - {value: [PreferParent, ParentFirst], prefer: higher, strategy: deep}";
    const BY_FIELDS: &str = "
      annotation: example.io/overridable
      default: {prefer: higher}
      listsFields: true";

    fn annotation(dictated_by: &str) -> RouteAnnotation {
        let text = format!(
            "
apiVersion: attache.dev/v1alpha1
kind: PolicyKind
metadata: {{name: ps.example.io}}
spec:
    group: example.io
    kind: P
    dictatedBy: {dictated_by}
"
        );
        let document = &text::read(&Arc::from("kind.yaml"), &text).objects[0];
        let kind = PolicyKind::read(document, KindOrigin::Program, &StrategyRegistry::default()).unwrap();
        match kind.merging.dictated_by {
            DictatedBy::Annotation(annotation) => annotation,
            other => panic!("{other:?}"),
        }
    }

    fn route(annotations: &str) -> Object {
        let text = format!(
            "
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: r, namespace: default, annotations: {{{annotations}}}}}
"
        );
        text::read(&Arc::from("route.yaml"), &text).objects.remove(0)
    }

    #[test]
    fn the_first_annotation_that_a_route_has_decides() {
        let annotation = annotation(BY_VALUE);
        let on = |annotations| annotation.preference_on(&route(annotations)).0.clone();
        let parent_first = MergePreference { prefer: PreferredPolicy::Higher, strategy: Strategy::DEEP };
        assert_eq!(on("example.io/inherit: PreferParent"), parent_first);
        assert_eq!(on("example.io/old-inherit: ' ParentFirst '"), parent_first);
        assert_eq!(on("example.io/inherit: Other, example.io/old-inherit: PreferParent"), MergePreference::default());
        assert_eq!(on("a: b"), MergePreference::default());
    }

    #[test]
    fn an_unknown_value_is_a_warning() {
        let annotation = annotation(BY_VALUE);
        assert_eq!(annotation.check(&route("example.io/inherit: PreferParent")), None);
        let problem = annotation.check(&route("example.io/inherit: Uncle")).unwrap();
        assert_eq!(
            problem.message,
            "unknown value `Uncle` for annotation `example.io/inherit`: the child is preferred, as without it"
        );
        assert_eq!(problem.help.as_deref(), Some("use one of `PreferParent`, `ParentFirst`"));
    }

    #[test]
    fn fields_are_listed_with_commas() {
        let annotation = annotation(BY_FIELDS);
        let value = |value: &str| route(&format!("example.io/overridable: {value}"));
        let (preference, fields) = annotation.preference_on(&value("'cors, faults'")).clone();
        assert!(preference.prefers_higher());
        assert_eq!(fields, ["cors", "faults"]);
        assert_eq!(annotation.check(&value("'*'")), None);
        for wrong in ["'cors;faults'", "''", "'a,'"] {
            let problem = annotation.check(&value(wrong)).unwrap();
            assert!(problem.message.ends_with("the parent is preferred, as without it"), "{}", problem.message);
        }
    }
}
