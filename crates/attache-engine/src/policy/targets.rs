//! What a policy says it targets.

use smol_str::SmolStr;

use crate::kinds::{HostTargets, LevelName, PolicyKind, RootSelection, SelectionRule, SelectorField, WithoutTarget};
use crate::object::Object;
use crate::selector::check;
use crate::value::{Path, Value};

#[derive(Clone, Debug)]
pub struct PolicyTarget {
    pub wanted: TargetSpec,
    /// Where in the policy it stands.
    pub path: Path,
}

#[derive(Clone, Debug)]
pub enum TargetSpec {
    Object {
        group: SmolStr,
        kind: SmolStr,
        namespace: Option<SmolStr>,
        name: SmolStr,
        section: Option<SmolStr>,
    },
    Selected(TargetSelector),
    /// The policy's own Namespace.
    OwnNamespace,
    Chosen(LabelSelection),
    Host(SmolStr),
}

/// Targets chosen by labels alone.
#[derive(Clone, Debug)]
pub struct LabelSelection {
    /// A selector; without one, whole Namespaces are meant.
    pub labels: Option<Value>,
    /// A selector; without one, the policy's own Namespace is meant.
    pub namespaces: Option<Value>,
    pub of: Vec<LevelName>,
    pub from_root: RootSelection,
}

impl TargetSpec {
    /// The group and the kind of what is wanted, where they are given.
    pub fn kind(&self) -> Option<(&str, &str)> {
        match self {
            TargetSpec::Object { group, kind, .. } | TargetSpec::Selected(TargetSelector { group, kind, .. }) => {
                Some((group, kind))
            }
            TargetSpec::OwnNamespace | TargetSpec::Chosen(_) | TargetSpec::Host(_) => None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct TargetSelector {
    pub group: SmolStr,
    pub kind: SmolStr,
    pub labels: Value,
    pub namespaces: NamespaceSelection,
    pub section: Option<SmolStr>,
}

/// The namespaces a selector looks in.
#[derive(Clone, Debug)]
pub enum NamespaceSelection {
    Same,
    All,
    Selected(Value),
}

/// The targets, and where others are chosen that do not count: what is named does, and what is chosen only without it.
pub fn read(
    object: &Object,
    kind: &PolicyKind,
    complain: &mut impl FnMut(Path, String),
) -> (Vec<PolicyTarget>, Option<Path>) {
    let refs = kind.fields.target_refs.iter().map(|path| (path, false));
    let selectors = kind.fields.target_selectors.iter().map(|path| (path, true));
    let mut targets = Vec::new();
    for (path, selects) in refs.chain(selectors) {
        let Some(value) = path.resolve(&object.body).filter(|value| !value.is_null()) else { continue };
        let mut add = |value: &Value, path: Path| match wanted(value, &path, selects) {
            Ok(wanted) => targets.push(PolicyTarget { wanted, path }),
            Err(message) => complain(path, message),
        };
        match value {
            Value::List(items) => items.iter().enumerate().for_each(|(i, item)| add(item, path.index(i))),
            one => add(one, path.clone()),
        }
    }
    let mut unused = None;
    let choices = kind.targets.selects.iter().filter_map(|select| chosen(object, select, complain));
    match targets.is_empty() {
        true => targets.extend(choices),
        false => unused = choices.last().map(|choice| choice.path),
    }
    targets.extend(kind.targets.hosts.as_ref().and_then(|hosts| host(object, hosts, complain)));
    if targets.is_empty() && kind.targets.without_target == WithoutTarget::Namespace {
        targets.push(PolicyTarget { wanted: TargetSpec::OwnNamespace, path: Path::parse("spec") });
    }
    (targets, unused)
}

fn chosen(object: &Object, select: &SelectionRule, complain: &mut impl FnMut(Path, String)) -> Option<PolicyTarget> {
    let value = |path: &Path| path.resolve(&object.body).filter(|value| !value.is_null()).cloned();
    let labels = select.labels.as_ref().map(|field| match field {
        SelectorField::Selector(path) => (path, value(path)),
        SelectorField::Labels(path) => {
            (path, value(path).map(|labels| Value::map(vec![("matchLabels".into(), labels)])))
        }
    });
    let namespaces = select.namespaces.as_ref().map(|path| (path, value(path)));
    let place = labels.iter().chain(&namespaces).find(|(_, value)| value.is_some()).map(|(path, _)| (*path).clone())?;
    for (path, selector) in labels.iter().chain(&namespaces).filter_map(|(path, it)| Some((path, it.as_ref()?))) {
        if let Err(message) = check(selector) {
            complain((*path).clone(), message);
        }
    }
    let wanted = TargetSpec::Chosen(LabelSelection {
        labels: labels.and_then(|(_, selector)| selector),
        namespaces: namespaces.and_then(|(_, selector)| selector),
        of: select.levels.clone(),
        from_root: select.from_root,
    });
    Some(PolicyTarget { wanted, path: place })
}

fn host(object: &Object, hosts: &HostTargets, complain: &mut impl FnMut(Path, String)) -> Option<PolicyTarget> {
    if let Some(path) = &hosts.export_to
        && let Some(other) = path.resolve(&object.body).filter(|value| !matches!(value, Value::List(_) | Value::Null))
    {
        complain(path.clone(), format!("it must be a list, not {}", other.type_name()));
    }
    let path = hosts.field.clone();
    match path.resolve(&object.body) {
        Some(Value::Str(host)) if !host.is_empty() => {
            Some(PolicyTarget { wanted: TargetSpec::Host(host.clone()), path })
        }
        None | Some(Value::Null | Value::Str(_)) => {
            complain(path, "it names no host".to_string());
            None
        }
        Some(other) => {
            complain(path, format!("it must be a string, not {}", other.type_name()));
            None
        }
    }
}

fn wanted(value: &Value, path: &Path, selects: bool) -> Result<TargetSpec, String> {
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
            check(selector)?;
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
            check(&selector)?;
            Ok(NamespaceSelection::Selected(selector))
        }
        Some(other) => Err(format!("unknown value `{other}` for `namespaces.from`: use `Same`, `All` or `Selector`")),
    }
}

/// The core group has no name, and some call it by one.
fn plain_group(group: &str) -> &str {
    if group == "core" { "" } else { group }
}

/// The group of a kind whose group was left out.
fn usual_group(kind: &str) -> &'static str {
    match kind {
        "Gateway" | "GatewayClass" | "HTTPRoute" | "GRPCRoute" | "TLSRoute" | "TCPRoute" | "UDPRoute"
        | "ListenerSet" => "gateway.networking.k8s.io",
        "XListenerSet" => "gateway.networking.x-k8s.io",
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" => "apps",
        _ => "",
    }
}
