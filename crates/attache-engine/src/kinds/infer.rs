//! What a CRD tells of a policy kind that nobody has described.

use smol_str::{SmolStr, format_smolstr};

use super::level::DEFAULT_HIERARCHY;
use super::registry::Settings;
use super::{
    Class, Conflicts, CrossNamespace, DictatedBy, KindOrigin, LevelName, Pattern, PolicyFields, PolicyKind, SameLevel,
    StatusTemplate, Strategy, StrategyRegistry,
};
use crate::level::Level;
use crate::object::Object;
use crate::value::Value;

pub const CRD_GROUP: &str = "apiextensions.k8s.io";
pub const CRD_KIND: &str = "CustomResourceDefinition";
const LABEL: &str = "gateway.networking.k8s.io/policy";

/// How deep a schema is searched for string maps.
const MAX_DEPTH: usize = 24;

pub struct Crd<'o> {
    object: &'o Object,
    group: &'o str,
    kind: &'o str,
    /// The schema of `spec`.
    spec: &'o Value,
}

pub enum Inference {
    Kind(Box<PolicyKind>),
    /// It targets something, but no label calls it a policy.
    Unlabelled,
    NoPolicy,
}

impl<'o> Crd<'o> {
    pub fn read(object: &'o Object) -> Option<Crd<'o>> {
        let definition = object.spec();
        let versions = definition.list_at("versions");
        let storage = |version: &&Value| version.get("storage").and_then(Value::as_bool) == Some(true);
        let version = versions.iter().find(storage).or(versions.first());
        let spec = version.and_then(|version| version.at(&["schema", "openAPIV3Schema", "properties", "spec"]));
        Some(Crd {
            object,
            group: definition.get_str("group")?,
            kind: definition.at(&["names", "kind"])?.as_str()?,
            spec: spec.unwrap_or(&Value::Null),
        })
    }

    pub fn group(&self) -> &str {
        self.group
    }

    pub fn kind(&self) -> &str {
        self.kind
    }

    pub fn defines(&self, kind: &PolicyKind) -> bool {
        kind.group == self.group && kind.kind == self.kind
    }

    pub fn policy_kind(&self, settings: &Settings) -> Inference {
        let label = self.object.labels().get_str(LABEL).map(str::to_ascii_lowercase);
        let targets = self.has("targetRef") || self.has("targetRefs");
        if label.is_none() && !(targets && settings.infer_unlabelled) {
            return if targets { Inference::Unlabelled } else { Inference::NoPolicy };
        }
        let original = self.has("override") || self.has("default");
        let current = self.has("overrides") || self.has("defaults");
        let inherited = original || current || label.as_deref() == Some("inherited");
        let (class, same_level, strategies) = match (inherited, original && !current) {
            (true, true) => (Class::Inherited, SameLevel::OldestWins, vec![Strategy::PATCH]),
            (true, false) => (Class::Inherited, SameLevel::OldestIsHigher, self.strategies(&settings.strategies)),
            (false, _) => (Class::Direct, SameLevel::RejectNewer, vec![Strategy::NONE]),
        };
        let levels: Vec<LevelName> = DEFAULT_HIERARCHY.iter().map(|level| LevelName::Level(*level)).collect();
        let names = self.object.spec().get("names").unwrap_or(&Value::Null);
        Inference::Kind(Box::new(PolicyKind {
            name: self.object.id.name.clone(),
            group: self.group.into(),
            kind: self.kind.into(),
            short_names: names.list_at("shortNames").iter().filter_map(Value::as_str).map(SmolStr::new).collect(),
            versions: Vec::new(),
            class,
            hierarchy: levels.clone(),
            targets: levels,
            effective_targets: vec![LevelName::Level(Level::BackendPort)],
            by_namespace: false,
            root_namespace: None,
            waypoints: None,
            one_level: Vec::new(),
            sections: true,
            unmixed: Vec::new(),
            cluster_scoped: self.object.spec().get_str("scope") == Some("Cluster"),
            cluster_targets: false,
            same_level,
            conflicts: Conflicts::Always,
            rejected_everywhere: false,
            priority: Vec::new(),
            strategies,
            rules: Vec::new(),
            whole: self.string_maps(),
            keys: Vec::new(),
            concatenated: Vec::new(),
            deep_at_one_level: Vec::new(),
            strategy_on: Vec::new(),
            yields_to_rule: Vec::new(),
            own_port: false,
            decisive: Vec::new(),
            dictated_by: DictatedBy::Higher,
            yields: Vec::new(),
            merges_into: Vec::new(),
            cross_namespace: CrossNamespace::Never,
            global_namespace: None,
            virtual_targets: Vec::new(),
            extension_ref: false,
            selects: Vec::new(),
            hosts: None,
            without_target: false,
            absent: Vec::new(),
            items: None,
            bindings: None,
            disabled: None,
            only_name: None,
            decides_with: None,
            ties_undefined: false,
            validations: Vec::new(),
            fields: PolicyFields::default(),
            status: StatusTemplate::default(),
            origin: KindOrigin::Inferred(format_smolstr!("{}", self.object.id)),
        }))
    }

    /// Where the schema has maps from strings to plain values, inside any block.
    pub fn string_maps(&self) -> Vec<Pattern> {
        let mut found = Vec::new();
        string_maps(self.spec, &mut Vec::new(), &mut found);
        found
    }

    /// `atomic`, and what the field `strategy` of a block allows.
    fn strategies(&self, known: &StrategyRegistry) -> Vec<Strategy> {
        let blocks = ["defaults", "overrides"].iter().filter_map(|block| self.spec.at(&["properties", block]));
        let mut strategies = vec![Strategy::ATOMIC];
        for field in blocks.filter_map(|block| block.at(&["properties", "strategy"])) {
            let words = field.list_at("enum");
            let named = words.iter().filter_map(|word| known.get(word.as_str()?).cloned());
            let all = [Strategy::MERGE, Strategy::PATCH].into_iter().filter(|_| words.is_empty());
            for strategy in named.chain(all) {
                if !strategies.contains(&strategy) {
                    strategies.push(strategy);
                }
            }
        }
        strategies
    }

    fn has(&self, field: &str) -> bool {
        self.spec.at(&["properties", field]).is_some()
    }
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
                // Rules stand in the blocks as they do in `spec` itself.
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
