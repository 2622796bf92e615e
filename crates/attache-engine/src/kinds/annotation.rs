//! What a route's annotation says of how its policies meet those of the routes below it.

use smol_str::SmolStr;

use super::{MergePreference, RouteAnnotation};
use crate::object::Object;
use crate::problem::Problem;
use crate::value::Path;

impl RouteAnnotation {
    /// How the policies of a route meet those below, and the fields in which it is the other way round.
    pub fn read(&self, route: &Object) -> (MergePreference, Vec<SmolStr>) {
        let text = self.on(route).map(|(_, text)| text);
        let chosen = text.and_then(|text| self.values.iter().find(|(value, _)| value == text));
        let fields = text.filter(|text| self.lists_fields && lists_fields(text));
        let except = fields.map_or(Vec::new(), |fields| fields.split(',').map(|field| field.trim().into()).collect());
        (chosen.map_or(&self.default, |(_, inherit)| inherit).clone(), except)
    }

    /// What is wrong with the annotation of a route, which then does not count.
    pub fn check(&self, route: &Object) -> Option<Problem> {
        let (name, text) = self.on(route)?;
        if self.values.iter().any(|(value, _)| value == text) || self.lists_fields && lists_fields(text) {
            return None;
        }
        let known: Vec<String> = self.values.iter().map(|(value, _)| format!("`{value}`")).collect();
        let help = match known.as_slice() {
            [] => "name fields with commas between them, or `*` for all".to_owned(),
            known => format!("use one of {}", known.join(", ")),
        };
        let prefers = if self.default.prefer_higher { "parent" } else { "child" };
        let message =
            format!("unknown value `{text}` for annotation `{name}`: the {prefers} is preferred, as without it");
        Some(Problem::warning(message).at(route, Path::parse("metadata.annotations").key(name.clone())).help(help))
    }

    /// The first of the annotations that a route has, with its value.
    fn on<'a>(&'a self, route: &'a Object) -> Option<(&'a SmolStr, &'a str)> {
        self.names.iter().find_map(|name| Some((name, route.annotation(name)?.trim())))
    }
}

/// `*`, or names with commas between them.
fn lists_fields(text: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    text == "*" || text.split(',').all(|name| is_name(name.trim()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use std::sync::Arc;

    use crate::engine::Engine;
    use crate::kinds::{Settings, built_in};
    use crate::object::Objects;
    use crate::text;

    /// The problems of a route with an annotation, and a policy that would look at it.
    fn problems(annotation: &str, policy: &str) -> Vec<String> {
        let yaml = format!(
            "
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: r, namespace: default, annotations: {{{annotation}}}}}
spec: {{}}
---
apiVersion: {policy}
metadata: {{name: p, namespace: default}}
spec: {{targetRefs: [{{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}}]}}
"
        );
        let objects = Objects::new(text::read(&Arc::from("test.yaml"), &yaml).objects);
        let engine = Engine::new(objects, &built_in().0, Settings::default());
        engine.problems().iter().map(|problem| problem.message.clone()).collect()
    }

    #[test]
    fn a_value_that_nobody_knows_is_a_warning() {
        let kgateway = |value: &str| {
            let annotation = format!("kgateway.dev/inherited-policy-priority: {value}");
            problems(&annotation, "gateway.kgateway.dev/v1alpha1\nkind: TrafficPolicy")
        };
        assert!(kgateway("DeepMergePreferParent").is_empty());
        let name = "`kgateway.dev/inherited-policy-priority`";
        assert_eq!(
            kgateway("Uncle"),
            [format!("unknown value `Uncle` for annotation {name}: the child is preferred, as without it")]
        );
    }

    #[test]
    fn fields_are_listed_with_commas() {
        let gloo = |value: &str| {
            let annotation = format!("delegation.gateway.solo.io/enable-policy-overrides: {value}");
            problems(&annotation, "gateway.solo.io/v1\nkind: RouteOption")
        };
        assert!(gloo("\"*\"").is_empty() && gloo("\"cors, faults\"").is_empty());
        assert!(gloo("\"cors;faults\"").first().unwrap().contains("the parent is preferred"));
        assert_eq!(gloo("\"\"").len(), 1);
    }

    #[test]
    fn a_version_that_nobody_knows_is_a_warning() {
        let found = problems("a: b", "gateway.kgateway.dev/v9\nkind: TrafficPolicy");
        assert_eq!(found, ["`v9` is not a known version of TrafficPolicy.gateway.kgateway.dev"]);
    }
}
