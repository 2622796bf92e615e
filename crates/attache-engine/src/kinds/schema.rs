//! From a PolicyKind document to a [`PolicyKind`], or to everything that is wrong with it.

use smol_str::{SmolStr, ToSmolStr};

use super::level::DEFAULT_HIERARCHY;
use super::{
    Bindings, Class, Concatenate, Conflicts, CrossNamespace, DictatedBy, HostTargets, KindName, KindOrigin, LevelName,
    MergePreference, MergesInto, NumberAt, Pattern, PolicyFields, PolicyKind, Priority, RouteAnnotation, SameLevel,
    SelectionRule, Strategy, StrategyRegistry, Validation, Waypoints, YieldToKind, YieldToRule, status_template,
};
use crate::cel::CelCondition;
use crate::level::Level;
use crate::object::Object;
use crate::problem::Problem;
use crate::reader::DocumentReader;
use crate::value::Path;

pub const GROUP: &str = "attache.dev";
pub const KIND: &str = "PolicyKind";

const CLASSES: [(&str, Class); 2] = [("Direct", Class::Direct), ("Inherited", Class::Inherited)];
const SAME_LEVEL: [(&str, SameLevel); 4] = [
    ("OldestIsHigher", SameLevel::OldestIsHigher),
    ("OldestWins", SameLevel::OldestWins),
    ("OldestAlone", SameLevel::OldestAlone),
    ("RejectNewer", SameLevel::RejectNewer),
];
const CROSS_NAMESPACE: [(&str, CrossNamespace); 3] =
    [("Never", CrossNamespace::Never), ("Granted", CrossNamespace::Granted), ("Consumer", CrossNamespace::Consumer)];
const REJECTED_FROM: [(&str, bool); 2] = [("Target", false), ("EveryTarget", true)];
const ORDERS: [(&str, bool); 2] = [("Descending", true), ("Ascending", false)];
const PATHS: [(&str, bool); 2] = [("Topology", false), ("Namespaces", true)];
const WITHOUT_TARGET: [(&str, bool); 2] = [("Refused", false), ("Namespace", true)];
const PREFER: [(&str, bool); 2] = [("higher", true), ("lower", false)];
const CONCATENATE: [(&str, Concatenate); 2] =
    [("PreferredFirst", Concatenate::PreferredFirst), ("PreferredLast", Concatenate::PreferredLast)];

impl Default for PolicyFields {
    fn default() -> Self {
        let path = |text: &str| text.split('.').map(SmolStr::new).collect();
        let words = |words: &[&str]| words.iter().map(SmolStr::new).collect();
        PolicyFields {
            target_refs: vec![path("spec.targetRef"), path("spec.targetRefs")],
            target_selectors: vec![path("spec.targetSelectors")],
            settings: path("spec"),
            defaults: words(&["defaults", "default"]),
            overrides: words(&["overrides", "override"]),
            strategy: "strategy".into(),
            when: "when".into(),
            remove: words(&["remove", "unset"]),
            ignored: Vec::new(),
        }
    }
}

/// The strategies that a document can name.
type StrategyWords<'s> = &'s [(&'s str, &'s Strategy)];

/// Reads a PolicyKind document. It is used only if nothing is wrong with it.
pub fn read(object: &Object, origin: KindOrigin, strategies: &StrategyRegistry) -> Result<PolicyKind, Vec<Problem>> {
    let strategies: Vec<(&str, &Strategy)> = strategies.iter().map(|strategy| (strategy.name(), strategy)).collect();
    let mut problems = Vec::new();
    let mut reader = DocumentReader::new(object, Path::parse("spec"), object.spec(), &mut problems);
    let kind = read_spec(object, &mut reader, origin, &strategies);
    reader.finish();
    match kind {
        Some(kind) if problems.is_empty() => Ok(kind),
        _ => Err(problems),
    }
}

fn read_spec(
    object: &Object,
    reader: &mut DocumentReader<'_, '_>,
    origin: KindOrigin,
    strategies: StrategyWords<'_>,
) -> Option<PolicyKind> {
    let group = reader.required("group");
    let kind = reader.required("kind");
    let class = reader.choice("class", &CLASSES).unwrap_or(Class::Inherited);
    let mut levels = |field| -> Option<Vec<LevelName>> {
        let names = reader.texts(field)?;
        if names.is_empty() {
            reader.complain(
                Some(field),
                format!("`{field}` is empty"),
                Some(format!("name a level, or leave `{field}` out")),
            );
        }
        Some(names.iter().map(|name| LevelName::parse(name)).collect())
    };
    let hierarchy =
        levels("hierarchy").unwrap_or_else(|| DEFAULT_HIERARCHY.iter().map(|level| LevelName::Level(*level)).collect());
    let targets = levels("targets").unwrap_or_else(|| hierarchy.clone());
    let one_level = levels("oneLevel").unwrap_or_default();
    let unmixed = levels("unmixed").unwrap_or_default();
    let effective_targets = match levels("effectiveTarget") {
        Some(names) => {
            for name in names.iter().filter(|name| depth(&hierarchy, name).is_none()) {
                reader.complain(
                    Some("effectiveTarget"),
                    format!("`{name}` is not in the hierarchy"),
                    Some(format!("use one of {}", list(&hierarchy))),
                );
            }
            names
        }
        None => vec![deepest(class, &hierarchy, &targets)],
    };
    let same_level = reader.choice("sameLevel", &SAME_LEVEL);
    if class == Class::Direct && same_level.is_some_and(|it| it != SameLevel::RejectNewer) {
        let help = "leave `sameLevel` out, or make the kind `Inherited`".to_string();
        reader.complain(Some("sameLevel"), "a Direct kind always rejects the newer policy".to_string(), Some(help));
    }
    let named = reader.choices("strategies", strategies).filter(|list| !list.is_empty());
    let default_strategy = if class == Class::Direct { Strategy::NONE } else { Strategy::ATOMIC };
    Some(PolicyKind {
        name: object.id.name.clone(),
        short_names: reader.texts("shortNames").unwrap_or_default(),
        versions: reader.texts("versions").unwrap_or_default(),
        class,
        hierarchy,
        targets,
        effective_targets,
        by_namespace: reader.choice("paths", &PATHS).unwrap_or(false),
        root_namespace: reader.text("rootNamespace"),
        waypoints: reader.object("waypoints", Waypoints::read).flatten(),
        one_level,
        sections: reader.flag("sections").unwrap_or(true),
        unmixed,
        cluster_scoped: reader.choice("scope", &[("Namespaced", false), ("Cluster", true)]).unwrap_or(false),
        cluster_targets: reader.flag("clusterTargets").unwrap_or(false),
        same_level: same_level.unwrap_or(match class {
            Class::Direct => SameLevel::RejectNewer,
            Class::Inherited => SameLevel::OldestIsHigher,
        }),
        conflicts: conflicts(reader),
        rejected_everywhere: reader.choice("rejectedFrom", &REJECTED_FROM).unwrap_or(false),
        priority: reader.objects("priority", priority),
        strategies: named.map_or_else(|| vec![default_strategy], |list| list.into_iter().cloned().collect()),
        rules: patterns(reader, "rules"),
        whole: patterns(reader, "whole"),
        keys: reader.pairs("keys").iter().map(|(path, key)| (Pattern::parse(path), key.clone())).collect(),
        concatenated: concatenated(reader),
        deep_at_one_level: patterns(reader, "deepAtOneLevel"),
        decisive: patterns(reader, "decisive"),
        dictated_by: reader
            .object("dictatedBy", |reader| dictated_by(reader, strategies))
            .unwrap_or(DictatedBy::Higher),
        yields: reader.objects("yieldsTo", yields),
        yields_to_rule: reader.objects("yieldsToRule", yields_to_rule),
        strategy_on: strategy_on(reader, strategies),
        own_port: reader.flag("ownPort").unwrap_or(false),
        merges_into: reader.objects("mergesInto", merges_into),
        cross_namespace: reader.choice("crossNamespace", &CROSS_NAMESPACE).unwrap_or(CrossNamespace::Never),
        global_namespace: reader.text("globalNamespace"),
        virtual_targets: reader
            .texts("virtualTargets")
            .unwrap_or_default()
            .iter()
            .map(|t| KindName::parse(t))
            .collect(),
        extension_ref: reader.flag("extensionRef").unwrap_or(false),
        selects: reader.objects("selects", SelectionRule::read),
        hosts: reader.object("hosts", HostTargets::read).flatten(),
        without_target: reader.choice("withoutTarget", &WITHOUT_TARGET).unwrap_or(false),
        absent: reader.pairs("absent").iter().map(|(path, value)| (Pattern::parse(path), value.clone())).collect(),
        items: reader.object("items", items).flatten(),
        bindings: reader.object("bindings", Bindings::read).flatten(),
        disabled: reader.text("disabled").map(|path| keys(&path)),
        only_name: reader.text("onlyName"),
        decides_with: reader.text("decidesWith").map(|name| KindName::parse(&name)),
        ties_undefined: reader.flag("tiesUndefined").unwrap_or(false),
        validations: reader.objects("validations", |reader| validation(reader, &origin)),
        fields: reader.object("fields", fields).unwrap_or_default(),
        status: reader.object("status", status_template::read).unwrap_or_default(),
        origin,
        group: group?,
        kind: kind?,
    })
}

/// How deep in the hierarchy a level stands.
fn depth(hierarchy: &[LevelName], name: &LevelName) -> Option<usize> {
    hierarchy.iter().position(|level| level == name || level.level() == name.level() && level.level() != Level::Other)
}

/// The deepest level that can be targeted, but for inherited kinds not above the rules of routes.
fn deepest(class: Class, hierarchy: &[LevelName], targets: &[LevelName]) -> LevelName {
    let rule = LevelName::Level(Level::RouteRule);
    let least = depth(hierarchy, &rule).filter(|_| class == Class::Inherited);
    let deepest = targets.iter().filter_map(|target| depth(hierarchy, target)).max();
    deepest.max(least).map_or(rule, |at| hierarchy[at].clone())
}

fn list(levels: &[LevelName]) -> String {
    levels.iter().map(|level| format!("`{level}`")).collect::<Vec<_>>().join(", ")
}

fn patterns(reader: &mut DocumentReader<'_, '_>, field: &'static str) -> Vec<Pattern> {
    reader.texts(field).unwrap_or_default().iter().map(|text| Pattern::parse(text)).collect()
}

fn conflicts(reader: &mut DocumentReader<'_, '_>) -> Conflicts {
    match reader.texts("conflicts").as_deref() {
        None => Conflicts::Always,
        Some([word]) if word == "Always" => Conflicts::Always,
        Some([word]) if word == "Never" => Conflicts::Never,
        Some([word]) if word == "SameField" => Conflicts::SameField(Vec::new()),
        Some(fields) => Conflicts::SameField(fields.iter().map(|field| Pattern::parse(field)).collect()),
    }
}

fn priority(reader: &mut DocumentReader<'_, '_>) -> Option<Priority> {
    let (annotation, field, rank) = (reader.text("annotation"), reader.text("field"), reader.number("rank"));
    let age = reader.flag("age").unwrap_or(false);
    let words = reader.texts("values");
    let default = reader.text("default");
    let highest_first = reader.choice("order", &ORDERS).unwrap_or(true);
    match (annotation, field, rank, age) {
        (Some(annotation), None, None, false) => {
            Some(Priority::Number { at: NumberAt::Annotation(annotation), highest_first })
        }
        (None, Some(field), None, false) => Some(match words {
            Some(words) => Priority::Word { field: keys(&field), words, default },
            None => Priority::Number { at: NumberAt::Field(keys(&field)), highest_first },
        }),
        (None, None, Some(rank), false) => Some(Priority::Rank(rank)),
        (None, None, None, true) => Some(Priority::Age),
        _ => {
            reader.complain(None, "give one of `annotation`, `field`, `rank` and `age`".to_string(), None);
            None
        }
    }
}

fn items(reader: &mut DocumentReader<'_, '_>) -> Option<(SmolStr, SmolStr)> {
    let (list, sorted_by) = (reader.required("list"), reader.required("sortedBy"));
    Some((list?, sorted_by?))
}

fn validation(reader: &mut DocumentReader<'_, '_>, origin: &KindOrigin) -> Option<Validation> {
    let (rule, message) = (reader.required("rule"), reader.required("message"));
    let rule = match origin {
        KindOrigin::BuiltIn(_) => Ok(CelCondition::trusted(&rule?)),
        _ => CelCondition::compile(&rule?),
    };
    match rule {
        Ok(rule) => Some(Validation { rule, message: message? }),
        Err(error) => {
            reader.complain(Some("rule"), error.to_string(), None);
            None
        }
    }
}

fn concatenated(reader: &mut DocumentReader<'_, '_>) -> Vec<(Pattern, Concatenate)> {
    let pairs = reader.pairs("concatenate");
    pairs
        .iter()
        .filter_map(|(path, order)| Some((Pattern::parse(path), reader.word("concatenate", order, &CONCATENATE)?)))
        .collect()
}

fn dictated_by(reader: &mut DocumentReader<'_, '_>, strategies: StrategyWords<'_>) -> DictatedBy {
    if let Some(field) = reader.text("field") {
        let values = reader.pairs("values");
        let values = values
            .iter()
            .filter_map(|(value, name)| Some((value.clone(), reader.word("values", name, strategies)?.clone())))
            .collect();
        let with = reader.texts("with").unwrap_or_default().iter().map(|name| LevelName::parse(name)).collect();
        return DictatedBy::Lower { field: keys(&field), values, with };
    }
    let Some(names) = reader.texts("annotation") else {
        reader.complain(None, "give either `field` or `annotation`".to_string(), None);
        return DictatedBy::Higher;
    };
    let inherit = |reader: &mut DocumentReader<'_, '_>| -> Option<MergePreference> {
        let prefer_higher = reader.choice("prefer", &PREFER).unwrap_or(false);
        let strategy = reader.choice("strategy", strategies).cloned().unwrap_or(Strategy::SHALLOW);
        Some(MergePreference { prefer_higher, strategy })
    };
    let values = reader.objects("values", |item| {
        let names = item.texts("value")?;
        let inherit = inherit(item)?;
        Some(names.into_iter().map(|name| (name, inherit.clone())).collect::<Vec<_>>())
    });
    let default = reader.object("default", |item| inherit(item)).flatten();
    DictatedBy::Annotation(RouteAnnotation {
        names,
        values: values.into_iter().flatten().collect(),
        default: default.unwrap_or(MergePreference { prefer_higher: false, strategy: Strategy::SHALLOW }),
        lists_fields: reader.flag("listsFields").unwrap_or(false),
    })
}

fn yields(reader: &mut DocumentReader<'_, '_>) -> Option<YieldToKind> {
    let to = reader.required("kind");
    let fields = patterns(reader, "fields");
    Some(YieldToKind { to: KindName::parse(&to?), fields })
}

fn yields_to_rule(reader: &mut DocumentReader<'_, '_>) -> Option<YieldToRule> {
    let path = reader.required("path");
    let fields = patterns(reader, "fields");
    Some(YieldToRule { path: Pattern::parse(&path?), fields })
}

fn strategy_on(reader: &mut DocumentReader<'_, '_>, strategies: StrategyWords<'_>) -> Vec<(KindName, Strategy)> {
    let pairs = reader.pairs("strategyOn");
    let read = |(kind, name): &(SmolStr, SmolStr)| {
        Some((KindName::parse(kind), reader.word("strategyOn", name, strategies)?.clone()))
    };
    pairs.iter().filter_map(read).collect()
}

fn merges_into(reader: &mut DocumentReader<'_, '_>) -> Option<MergesInto> {
    let kind = reader.required("kind");
    let path = reader.required("path");
    Some(MergesInto { kind: kind?, path: Pattern::parse(&path?) })
}

fn fields(reader: &mut DocumentReader<'_, '_>) -> PolicyFields {
    let usual = PolicyFields::default();
    let mut paths = |field, otherwise: Vec<Vec<SmolStr>>| match reader.texts(field) {
        Some(texts) => texts.iter().map(|text| keys(text)).collect(),
        None => otherwise,
    };
    PolicyFields {
        target_refs: paths("targetRefs", usual.target_refs),
        target_selectors: paths("targetSelectors", usual.target_selectors),
        settings: reader.text("settings").map_or(usual.settings, |text| keys(&text)),
        defaults: reader.texts("defaults").unwrap_or(usual.defaults),
        overrides: reader.texts("overrides").unwrap_or(usual.overrides),
        strategy: reader.text("strategy").unwrap_or(usual.strategy),
        when: reader.text("when").unwrap_or(usual.when),
        remove: reader.texts("remove").unwrap_or(usual.remove),
        ignored: reader.texts("ignored").unwrap_or_default(),
    }
}

pub fn keys(text: &str) -> Vec<SmolStr> {
    text.split('.').map(|key| key.to_smolstr()).collect()
}
