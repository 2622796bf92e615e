//! Infers a policy kind from its CRD, if no PolicyKind document describes it.

use serde_json::json;
use smol_str::format_smolstr;

use super::registry::Settings;
use super::schema::{GROUP, KIND, VERSION};
use super::{
    Class, CrdDefaults, KindOrigin, LevelNames, Pattern, PolicyKind, ResourceScope, SameLevel, Strategy,
    StrategyRegistry,
};
use crate::object::Object;
use crate::value::Value;

pub const CRD_GROUP: &str = "apiextensions.k8s.io";
pub const CRD_KIND: &str = "CustomResourceDefinition";
const LABEL: &str = "gateway.networking.k8s.io/policy";

/// How deep a schema is searched for string maps.
const MAX_DEPTH: usize = 24;

/// A CustomResourceDefinition.
pub struct Crd<'o> {
    object: &'o Object,
    group: &'o str,
    kind: &'o str,
    /// The schema of `spec`.
    spec: &'o Value,
    /// The schema of `status`, if the CRD has schemas.
    status: Option<&'o Value>,
}

/// What a CRD defines.
pub enum Inference {
    /// A policy kind.
    Kind(Box<PolicyKind>),
    /// A kind that refers to targets, but no label says that it is a policy kind.
    Unlabelled,
    /// Another kind.
    NoPolicy,
}

impl<'o> Crd<'o> {
    /// Reads a CRD, if it says which kind it defines.
    pub fn read(object: &'o Object) -> Option<Crd<'o>> {
        let definition = object.spec();
        let versions = definition.list_at("versions");
        let storage = |version: &&Value| version.get("storage").and_then(Value::as_bool) == Some(true);
        let version = versions.iter().find(storage).or(versions.first());
        let properties = version.and_then(|version| version.at(&["schema", "openAPIV3Schema", "properties"]));
        let spec = properties.and_then(|properties| properties.get("spec"));
        Some(Crd {
            object,
            group: definition.get_str("group")?,
            kind: definition.at(&["names", "kind"])?.as_str()?,
            spec: spec.unwrap_or(&Value::Null),
            status: properties.map(|properties| properties.get("status").unwrap_or(&Value::Null)),
        })
    }

    pub fn group(&self) -> &str {
        self.group
    }

    pub fn kind(&self) -> &str {
        self.kind
    }

    /// Whether its objects are known to have no `status.conditions`, and no conditions for each parent as routes have them.
    pub fn lacks_conditions(&self) -> bool {
        let lacks = |it: &Value, field: &str| it.at(&["properties", field]).is_none();
        self.status.is_some_and(|it| !keeps_unknown(it) && lacks(it, "conditions") && lacks(it, "parents"))
    }

    pub fn defines(&self, kind: &PolicyKind) -> bool {
        kind.group == self.group && kind.kind == self.kind
    }

    /// The policy kind that the CRD defines, if it defines one.
    pub fn policy_kind(&self, settings: &Settings) -> Inference {
        let refers_to_targets = self.has("targetRef") || self.has("targetRefs");
        if self.label().is_some() && !self.names_targets() {
            return Inference::NoPolicy;
        }
        if self.label().is_none() && !(refers_to_targets && settings.infer_unlabelled) {
            return if refers_to_targets { Inference::Unlabelled } else { Inference::NoPolicy };
        }
        let origin = KindOrigin::Inferred(format_smolstr!("{}", self.object.id));
        let document = Object { body: self.document(&settings.strategies), ..self.object.clone() };
        match PolicyKind::read(&document, origin, &settings.strategies) {
            Ok(kind) => Inference::Kind(Box::new(kind)),
            Err(_) => Inference::NoPolicy,
        }
    }

    /// The PolicyKind document of the kind, as far as its CRD describes it. `known` are the strategies that it can
    /// name.
    pub fn document(&self, known: &StrategyRegistry) -> Value {
        let original = self.has("override") || self.has("default");
        let current = self.has("overrides") || self.has("defaults");
        let is_inherited = match self.label().as_deref() {
            Some("inherited") => true,
            Some("direct") => false,
            _ => original || current,
        };
        let (class, same_level, strategies) = match (is_inherited, original && !current) {
            (true, true) => (Class::Inherited, SameLevel::OldestWins, vec![Strategy::PATCH]),
            (true, false) => (Class::Inherited, SameLevel::OldestIsHigher, self.strategies(known)),
            (false, _) => (Class::Direct, SameLevel::RejectNewer, vec![Strategy::NONE]),
        };
        let levels: Vec<String> = LevelNames::default_hierarchy().iter().map(ToString::to_string).collect();
        let definition = self.object.spec();
        let short_names = definition.at(&["names", "shortNames"]).map_or(&[][..], Value::items);
        let scope = match definition.get_str("scope") {
            Some("Cluster") => ResourceScope::Cluster,
            _ => ResourceScope::Namespaced,
        };
        Value::from(json!({
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": KIND,
            "metadata": {"name": self.object.id.name},
            "spec": {
                "group": self.group,
                "kind": self.kind,
                "shortNames": short_names.iter().filter_map(Value::as_str).collect::<Vec<_>>(),
                "scope": scope.name(),
                "class": class.name(),
                "hierarchy": levels,
                "targets": levels,
                "sameLevel": same_level.name(),
                "strategies": strategies.iter().map(|strategy| strategy.name()).collect::<Vec<_>>(),
                "whole": self.string_maps().iter().map(ToString::to_string).collect::<Vec<_>>(),
            },
        }))
    }

    /// The defaults of all versions.
    pub fn defaults(&self) -> CrdDefaults {
        CrdDefaults::read(self.object.spec())
    }

    /// The value of the label that marks a CRD as that of a policy, in lower case.
    fn label(&self) -> Option<String> {
        self.object.labels().get_str(LABEL).map(str::to_ascii_lowercase)
    }

    /// The maps from strings to scalars in the schema, as paths inside of a block.
    pub fn string_maps(&self) -> Vec<Pattern> {
        let mut found = Vec::new();
        string_maps(self.spec, &mut Vec::new(), &mut found);
        found
    }

    /// `atomic`, and the strategies that the field `strategy` of a block allows. A schema that keeps unknown fields
    /// allows all.
    fn strategies(&self, known: &StrategyRegistry) -> Vec<Strategy> {
        let blocks: Vec<&Value> =
            ["defaults", "overrides"].iter().filter_map(|block| self.spec.at(&["properties", block])).collect();
        let is_open = keeps_unknown(self.spec) || blocks.iter().any(|block| keeps_unknown(block));
        let fields: Vec<&Value> = blocks.iter().filter_map(|block| block.at(&["properties", "strategy"])).collect();
        let is_any = is_open && fields.is_empty() || fields.iter().any(|field| field.list_at("enum").is_empty());
        let any = [Strategy::MERGE, Strategy::PATCH].into_iter().filter(|_| is_any);
        let words = fields.iter().flat_map(|field| field.list_at("enum"));
        let mut strategies = vec![Strategy::ATOMIC];
        for strategy in words.filter_map(|word| known.get(word.as_str()?).cloned()).chain(any) {
            if !strategies.contains(&strategy) {
                strategies.push(strategy);
            }
        }
        strategies
    }

    /// Whether objects of the kind can name targets, according to the schema. Some systems put the label on parameters
    /// of GatewayClasses, too.
    fn names_targets(&self) -> bool {
        let fields = ["targetRef", "targetRefs", "targetSelector", "targetSelectors", "selector", "workloadSelector"];
        self.spec.get("properties").is_none() || keeps_unknown(self.spec) || fields.iter().any(|field| self.has(field))
    }

    fn has(&self, field: &str) -> bool {
        self.spec.at(&["properties", field]).is_some()
    }
}

/// Whether objects may have fields that a schema does not list.
fn keeps_unknown(schema: &Value) -> bool {
    schema.get("x-kubernetes-preserve-unknown-fields").and_then(Value::as_bool) == Some(true)
}

fn string_maps<'s>(schema: &'s Value, path: &mut Vec<&'s str>, found: &mut Vec<Pattern>) {
    if path.len() > MAX_DEPTH {
        return;
    }
    if let Some(entry) = schema.get("additionalProperties") {
        match entry.get_str("type") {
            Some("object" | "array") | None => {
                path.push("*");
                string_maps(entry, path, found);
                path.pop();
            }
            Some(_) => {
                // Rules have the same paths in blocks as in `spec` itself.
                let inside = match path.first() {
                    Some(&("defaults" | "overrides" | "default" | "override")) => &path[1..],
                    _ => &path[..],
                };
                found.push(Pattern::parse(&inside.join(".")));
            }
        }
    }
    for (name, property) in schema.get("properties").map_or(&[][..], Value::entries) {
        path.push(name);
        string_maps(property, path, found);
        path.pop();
    }
}
