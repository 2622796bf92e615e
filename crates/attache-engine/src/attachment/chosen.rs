//! Targets chosen by labels alone: workloads, gateways and whole Namespaces.

use std::sync::OnceLock;

use hashbrown::HashMap;

use super::{Attaching, Outcome, Reason};
use crate::kinds::{LevelName, PolicyKind, RootSelection};
use crate::object::{Object, Objects};
use crate::policy::LabelSelection;
use crate::selector::selects;
use crate::topology::{Level, Namespace, NodeId, Topology, label};
use crate::value::Value;

/// What can be chosen. Found out when somebody chooses.
#[derive(Debug, Default)]
pub struct Choosable<'o>(OnceLock<ByNamespace<'o>>);

/// In order.
type ByNamespace<'o> = HashMap<&'o str, Vec<(NodeId, &'o Object)>>;

impl<'o> Choosable<'o> {
    fn get(&self, objects: &'o Objects, topology: &Topology) -> &ByNamespace<'o> {
        if let Some(known) = self.0.get() {
            return known;
        }
        // Not below: to list objects may wait for other threads, and who does must not keep them waiting.
        let mut found = ByNamespace::new();
        for (id, object) in objects.iter() {
            let node = NodeId::whole(id);
            if matches!(topology.node(node).level, Level::Workload | Level::Gateway | Level::Backend) {
                found.entry(&object.id.namespace).or_default().push((node, object));
            }
        }
        self.0.get_or_init(|| found)
    }
}

impl Attaching<'_> {
    pub(super) fn chosen(&self, policy: &Object, kind: &PolicyKind, choice: &LabelSelection) -> Outcome<Vec<NodeId>> {
        let namespaces = self.namespaces_of(policy, choice);
        let Some(labels) = choice.labels.as_ref().filter(|labels| !is_empty(labels)) else {
            return match namespaces.is_empty() {
                false => Ok(namespaces),
                true => Err((Reason::TargetNotFound, "the selector selects no Namespace".to_string())),
            };
        };
        let own = &policy.id.namespace;
        let is_root = kind.root_namespace.as_ref() == Some(own);
        if is_root && choice.from_root == RootSelection::Nothing {
            let message = format!("in the root namespace `{own}` it holds for everything and cannot have a selector");
            return Err((Reason::Invalid, message));
        }
        let choosable = self.choosable.get(self.objects, self.topology);
        let mut found = Vec::new();
        let mut look_in = |namespace: &str| {
            for &(node, object) in choosable.get(namespace).map_or(&[][..], Vec::as_slice) {
                let level = self.topology.node(node).level;
                let meant = choice.of.iter().any(|name| name.takes(level, &object.id.group, &object.id.kind));
                let is_apart = kind.waypoints.as_ref().is_some_and(|it| it.is_apart(self.objects, self.topology, node));
                if meant && !is_apart && selects(labels, |key| label(object, level, key)) {
                    found.push(node);
                }
            }
        };
        if is_root && choice.from_root == RootSelection::AllNamespaces {
            choosable.keys().for_each(|namespace| look_in(namespace));
        } else {
            namespaces.iter().for_each(|node| look_in(&self.topology.id(self.objects, *node).name));
        }
        if found.is_empty() {
            return Err((Reason::TargetNotFound, nothing(choice, &namespaces, own)));
        }
        found.sort_unstable();
        Ok(found)
    }

    /// The Namespaces that are meant, whole or with what is chosen in them.
    fn namespaces_of(&self, policy: &Object, choice: &LabelSelection) -> Vec<NodeId> {
        match &choice.namespaces {
            None => self.namespace(&policy.id.namespace).into_iter().collect(),
            Some(selector) => {
                let all = self.topology.nodes().filter(|(_, node)| node.level == Level::Namespace);
                let selected = |node: &NodeId| {
                    let namespace = Namespace::named(self.objects, &self.topology.id(self.objects, *node).name);
                    selects(selector, |key| namespace.label(key))
                };
                all.map(|(node, _)| node).filter(selected).collect()
            }
        }
    }
}

fn is_empty(selector: &Value) -> bool {
    selector.get("matchLabels").is_none_or(|labels| labels.entries().is_empty())
        && selector.list_at("matchExpressions").is_empty()
}

fn nothing(choice: &LabelSelection, namespaces: &[NodeId], own: &str) -> String {
    let what: Vec<String> = choice.of.iter().map(LevelName::to_string).collect();
    let what = what.join(" or ").to_lowercase();
    match (&choice.namespaces, namespaces) {
        (None, _) => format!("the selector selects no {what} in namespace `{own}`"),
        (Some(_), []) => "the selector selects no Namespace".to_string(),
        (Some(_), _) => format!("the selector selects no {what} in the Namespaces that it selects"),
    }
}
