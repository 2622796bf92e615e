//! The targets of a policy, as written in it.

use smol_str::SmolStr;

use crate::kinds::{HostTargets, LevelName, PolicyKind, RootSelection, SelectionRule, SelectorField, WithoutTarget};
use crate::object::Object;
use crate::selector::check;
use crate::value::{Path, Value};

/// A target of a policy.
#[derive(Clone, Debug)]
pub struct PolicyTarget {
    /// What is targeted.
    pub spec: TargetSpec,
    /// The field of the policy that gives the target.
    pub path: Path,
}

/// What a policy targets.
#[derive(Clone, Debug)]
pub enum TargetSpec {
    /// An object, by name.
    Object {
        /// The group of the object.
        group: SmolStr,
        /// The kind of the object.
        kind: SmolStr,
        /// The namespace of the object; without one, that of the policy.
        namespace: Option<SmolStr>,
        /// The name of the object.
        name: SmolStr,
        /// The section of the object, if the target is a section.
        section: Option<SmolStr>,
    },
    /// Objects of one kind, by labels.
    Selected(TargetSelector),
    /// The policy's own Namespace.
    OwnNamespace,
    /// Objects at some levels, by labels.
    Chosen(LabelSelection),
    /// Services and other objects with hosts, by host.
    Host(SmolStr),
}

/// Selects objects at some levels by labels, as the `selects` of the policy's kind say.
#[derive(Clone, Debug)]
pub struct LabelSelection {
    /// The selector of objects; without one, whole Namespaces are selected.
    pub labels: Option<Value>,
    /// The selector of Namespaces; without one, the policy's own Namespace is selected from.
    pub namespaces: Option<Value>,
    /// The levels that are selected from.
    pub levels: Vec<LevelName>,
    /// What a policy in the root namespace selects from.
    pub from_root: RootSelection,
}

impl TargetSpec {
    /// The group and kind of the target, if the policy names them.
    pub fn kind(&self) -> Option<(&str, &str)> {
        match self {
            TargetSpec::Object { group, kind, .. } | TargetSpec::Selected(TargetSelector { group, kind, .. }) => {
                Some((group, kind))
            }
            TargetSpec::OwnNamespace | TargetSpec::Chosen(_) | TargetSpec::Host(_) => None,
        }
    }
}

/// Selects objects of one kind by labels.
#[derive(Clone, Debug)]
pub struct TargetSelector {
    /// The group of the objects.
    pub group: SmolStr,
    /// The kind of the objects.
    pub kind: SmolStr,
    /// The label selector.
    pub labels: Value,
    /// The namespaces of the objects.
    pub namespaces: NamespaceSelection,
    /// The section of the objects, if the targets are sections.
    pub section: Option<SmolStr>,
}

/// The namespaces that a [`TargetSelector`] selects from.
#[derive(Clone, Debug)]
pub enum NamespaceSelection {
    /// The namespace of the policy.
    Same,
    /// All namespaces.
    All,
    /// The namespaces that a label selector selects.
    Selected(Value),
}

/// Reads the targets. If the policy names targets, fields that select others are ignored, and the second value is the
/// path of such a field.
pub fn read(
    object: &Object,
    kind: &PolicyKind,
    report: &mut impl FnMut(Path, String),
) -> (Vec<PolicyTarget>, Option<Path>) {
    let refs = kind.fields.target_refs.iter().map(|path| (path, false));
    let selectors = kind.fields.target_selectors.iter().map(|path| (path, true));
    let mut targets = Vec::new();
    let mut ignored_selection = None;
    for (path, selects) in refs.chain(selectors) {
        let Some(value) = path.resolve(&object.body).filter(|value| !value.is_null()) else { continue };
        let mut add = |value: &Value, path: Path| match target_spec(value, &path, selects) {
            Ok(spec) => {
                if matches!(spec, TargetSpec::Object { .. }) && value.get("selector").is_some() {
                    ignored_selection = Some(path.key("selector"));
                }
                targets.push(PolicyTarget { spec, path });
            }
            Err(message) => report(path, message),
        };
        match value {
            Value::List(items) => items.iter().enumerate().for_each(|(i, item)| add(item, path.index(i))),
            one => add(one, path.clone()),
        }
    }
    let selections = kind.targets.selects.iter().filter_map(|rule| label_selection(object, rule, report));
    match targets.is_empty() {
        true => targets.extend(selections),
        false => ignored_selection = selections.last().map(|selection| selection.path).or(ignored_selection),
    }
    targets.extend(kind.targets.hosts.as_ref().and_then(|hosts| host(object, hosts, report)));
    if targets.is_empty() && kind.targets.without_target == WithoutTarget::Namespace {
        targets.push(PolicyTarget { spec: TargetSpec::OwnNamespace, path: Path::parse("spec") });
    }
    (targets, ignored_selection)
}

fn label_selection(
    object: &Object,
    rule: &SelectionRule,
    report: &mut impl FnMut(Path, String),
) -> Option<PolicyTarget> {
    let value = |path: &Path| path.resolve(&object.body).filter(|value| !value.is_null()).cloned();
    let labels = rule.labels.as_ref().map(|field| match field {
        SelectorField::Selector(path) => (path, value(path)),
        SelectorField::Labels(path) => {
            (path, value(path).map(|labels| Value::map(vec![("matchLabels".into(), labels)])))
        }
    });
    let namespaces = rule.namespaces.as_ref().map(|path| (path, value(path)));
    let path = labels.iter().chain(&namespaces).find(|(_, value)| value.is_some()).map(|(path, _)| (*path).clone())?;
    for (path, selector) in labels.iter().chain(&namespaces).filter_map(|(path, it)| Some((path, it.as_ref()?))) {
        if let Err(error) = check(selector) {
            report((*path).clone(), error.to_string());
        }
    }
    let spec = TargetSpec::Chosen(LabelSelection {
        labels: labels.and_then(|(_, selector)| selector),
        namespaces: namespaces.and_then(|(_, selector)| selector),
        levels: rule.levels.clone(),
        from_root: rule.from_root,
    });
    Some(PolicyTarget { spec, path })
}

fn host(object: &Object, hosts: &HostTargets, report: &mut impl FnMut(Path, String)) -> Option<PolicyTarget> {
    if let Some(path) = &hosts.export_to
        && let Some(other) = path.resolve(&object.body).filter(|value| !matches!(value, Value::List(_) | Value::Null))
    {
        report(path.clone(), format!("it must be a list, not {}", other.type_name()));
    }
    let path = hosts.field.clone();
    match path.resolve(&object.body) {
        Some(Value::Str(host)) if !host.is_empty() => Some(PolicyTarget { spec: TargetSpec::Host(host.clone()), path }),
        None | Some(Value::Null | Value::Str(_)) => {
            report(path, "it names no host".to_string());
            None
        }
        Some(other) => {
            report(path, format!("it must be a string, not {}", other.type_name()));
            None
        }
    }
}

fn target_spec(value: &Value, path: &Path, selects: bool) -> Result<TargetSpec, String> {
    if value.as_map().is_none() {
        return Err(format!("`{path}` must be an object, not {}", value.type_name()));
    }
    let text = |key: &str| value.get_str(key).filter(|text| !text.is_empty()).map(SmolStr::new);
    let kind = text("kind").ok_or_else(|| format!("`{path}` has no `kind`"))?;
    let group = value.get_str("group").map_or_else(|| usual_group(&kind), plain_group).into();
    let section = text("sectionName");
    let selector = value.get("selector").or(selects.then_some(value));
    match (text("name"), selector) {
        (Some(name), _) => Ok(TargetSpec::Object { group, kind, namespace: text("namespace"), name, section }),
        (None, Some(selector)) => {
            check(selector).map_err(|error| error.to_string())?;
            let (labels, namespaces) = (selector.clone(), namespaces(value)?);
            Ok(TargetSpec::Selected(TargetSelector { group, kind, labels, namespaces, section }))
        }
        (None, None) => Err(format!("`{path}` has no `name`")),
    }
}

fn namespaces(value: &Value) -> Result<NamespaceSelection, String> {
    match value.at(&["namespaces", "from"]).and_then(Value::as_str) {
        None | Some("Same") => Ok(NamespaceSelection::Same),
        Some("All") => Ok(NamespaceSelection::All),
        Some("Selector") => {
            let selector = value.at(&["namespaces", "selector"]).cloned().unwrap_or_default();
            check(&selector).map_err(|error| error.to_string())?;
            Ok(NamespaceSelection::Selected(selector))
        }
        Some(other) => Err(format!("unknown value `{other}` for `namespaces.from`: use `Same`, `All` or `Selector`")),
    }
}

/// The name of a group; `core` is another name for the core group.
fn plain_group(group: &str) -> &str {
    if group == "core" { "" } else { group }
}

/// The usual group of a kind, for targets without a group.
fn usual_group(kind: &str) -> &'static str {
    match kind {
        "Gateway" | "GatewayClass" | "HTTPRoute" | "GRPCRoute" | "TLSRoute" | "TCPRoute" | "UDPRoute"
        | "ListenerSet" => "gateway.networking.k8s.io",
        "XListenerSet" => "gateway.networking.x-k8s.io",
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" => "apps",
        _ => "",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::fixture::{ROUTED_SERVICE, kind, policy_id};
    use crate::kinds::Settings;
    use crate::object::Objects;
    use crate::text;

    #[test]
    fn a_target_with_a_name_and_a_selector_is_found_by_name() {
        let policy = "
apiVersion: example.io/v1
kind: TestPolicy
metadata: {name: p, namespace: default}
spec: {targetRefs: [{kind: Gateway, name: g, selector: {matchLabels: {a: b}}}], a: 1}
";
        let manifests = [ROUTED_SERVICE, &kind("targets: [Gateway]"), policy].concat();
        let objects = text::read(&"test.yaml".into(), &manifests).objects;
        let engine = Engine::new(Objects::new(objects), &[], Settings::default());
        let policy = engine.policy(policy_id(&engine, "p"));
        assert!(matches!(policy.targets[0].spec, TargetSpec::Object { .. }));
        assert_eq!(policy.ignored_selection.as_ref().unwrap().to_string(), "spec.targetRefs[0].selector");
        assert_eq!(engine.problems().len(), 1);
    }
}
