//! How policies find targets that they do not name: by labels, by host, and where waypoints stand.

use smol_str::SmolStr;

use super::LevelName;
use super::schema::keys;
use crate::reader::DocumentReader;

/// A field, or a pair of them, that chooses targets by labels alone. An empty selector means the whole Namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectionRule {
    /// Where the labels of targets are; without it whole Namespaces are chosen.
    pub labels: Option<SelectorField>,
    /// Where the Namespaces are chosen; without it the policy's own is meant.
    pub namespaces: Option<Vec<SmolStr>>,
    /// What is chosen from.
    pub of: Vec<LevelName>,
    /// What a policy of the root namespace chooses from.
    pub from_root: RootSelection,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectorField {
    /// With `matchLabels` and `matchExpressions`.
    Full(Vec<SmolStr>),
    /// Labels and nothing else.
    Labels(Vec<SmolStr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootSelection {
    AllNamespaces,
    OwnNamespace,
    /// It cannot choose.
    Nothing,
}

/// Gateways that stand before the Services that name them by a label. Only policies that name the class, the Gateway or
/// the Service reach them: what holds for Namespaces does not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Waypoints {
    /// The GatewayClass of such Gateways.
    pub class: SmolStr,
    /// The label, of a Service or its Namespace, that names the Gateway.
    pub label: SmolStr,
    /// The label that names the Gateway's namespace, if it is another.
    pub namespace_label: SmolStr,
}

/// A field that names its targets by host: `name.namespace.svc.<domain>`, a part of it with `*` before it, or just the
/// name of a Service beside the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostTargets {
    pub field: Vec<SmolStr>,
    /// The list of namespaces that see the policy: `*` all, `.` its own.
    pub export_to: Option<Vec<SmolStr>>,
    pub domain: SmolStr,
}

const AMONG: [(&str, RootSelection); 3] = [
    ("AllNamespaces", RootSelection::AllNamespaces),
    ("OwnNamespace", RootSelection::OwnNamespace),
    ("Nothing", RootSelection::Nothing),
];

impl SelectionRule {
    pub(super) fn read(reader: &mut DocumentReader<'_, '_>) -> Option<SelectionRule> {
        let full = reader.text("selector").map(|path| SelectorField::Full(keys(&path)));
        let labels = reader.text("labels").map(|path| SelectorField::Labels(keys(&path)));
        let namespaces = reader.text("namespaces").map(|path| keys(&path));
        let of = reader.texts("of").unwrap_or_default();
        let from_root = reader.choice("fromRoot", &AMONG).unwrap_or(RootSelection::OwnNamespace);
        if full.is_none() && labels.is_none() && namespaces.is_none() {
            reader.complain(None, "give `selector`, `labels` or `namespaces`".to_string(), None);
        }
        let of = of.iter().map(|name| LevelName::parse(name)).collect();
        Some(SelectionRule { labels: full.or(labels), namespaces, of, from_root })
    }
}

impl Waypoints {
    pub(super) fn read(reader: &mut DocumentReader<'_, '_>) -> Option<Waypoints> {
        let (class, label) = (reader.required("class"), reader.required("label"));
        let namespace_label = reader.required("namespaceLabel");
        Some(Waypoints { class: class?, label: label?, namespace_label: namespace_label? })
    }
}

impl HostTargets {
    pub(super) fn read(reader: &mut DocumentReader<'_, '_>) -> Option<HostTargets> {
        let field = reader.required("field");
        let export_to = reader.text("exportTo").map(|path| keys(&path));
        let domain = reader.text("domain").unwrap_or(SmolStr::new_static("cluster.local"));
        Some(HostTargets { field: keys(&field?), export_to, domain })
    }
}
