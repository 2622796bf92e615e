//! Targets that are selected by labels alone: workloads, gateways and whole Namespaces.

use std::sync::OnceLock;

use hashbrown::HashMap;

use super::{AttachmentError, Resolved, TargetResolver};
use crate::kinds::{PolicyKind, RootSelection};
use crate::object::{Object, ObjectRef, Objects};
use crate::policy::LabelSelection;
use crate::selector::selects;
use crate::topology::{Level, Namespace, NodeId, Topology, gateway_of_pods, label};
use crate::value::Value;

/// The objects that labels can select, by namespace. Built when the first policy selects by labels.
#[derive(Debug, Default)]
pub struct Selectable<'o>(OnceLock<ByNamespace<'o>>);

/// In the order of objects.
type ByNamespace<'o> = HashMap<&'o str, Vec<(NodeId, &'o Object)>>;

impl<'o> Selectable<'o> {
    fn get(&self, objects: &'o Objects, topology: &Topology) -> &ByNamespace<'o> {
        if let Some(known) = self.0.get() {
            return known;
        }
        // Outside of `get_or_init`: listing objects uses rayon, which can deadlock inside it.
        let mut found = ByNamespace::new();
        for (id, object) in objects.iter() {
            let node = NodeId::whole(id);
            if matches!(topology[node].level, Level::Workload | Level::Gateway | Level::Backend) {
                found.entry(&object.id.namespace).or_default().push((node, object));
            }
        }
        self.0.get_or_init(|| found)
    }
}

impl TargetResolver<'_> {
    /// The nodes that labels select.
    pub(super) fn select_by_labels(
        &self,
        policy: &Object,
        kind: &PolicyKind,
        selection: &LabelSelection,
    ) -> Resolved<Vec<NodeId>> {
        let namespaces = self.selected_namespaces(policy, selection);
        let Some(labels) = selection.labels.as_ref().filter(|labels| !is_empty(labels)) else {
            return match namespaces.is_empty() {
                false => Ok(namespaces),
                true => Err(AttachmentError::NoNamespaceSelected.into()),
            };
        };
        let own = &policy.id.namespace;
        let is_root = kind.hierarchy.root_namespace.as_ref() == Some(own);
        if is_root && selection.from_root == RootSelection::Nothing {
            return Err(AttachmentError::SelectorInRootNamespace { namespace: own.clone() }.into());
        }
        let selectable = self.selectable.get(self.objects, self.topology);
        let mut found = Vec::new();
        let mut select_in = |namespace: &str| {
            for &(node, object) in selectable.get(namespace).map_or(&[][..], Vec::as_slice) {
                let level = self.topology[node].level;
                let is_candidate =
                    selection.levels.iter().any(|name| name.includes(level, &object.id.group, &object.id.kind));
                let can_select = || kind.hierarchy.can_select(self.objects, self.topology, node);
                if is_candidate && selects(labels, |key| label(object, level, key)) && can_select() {
                    found.push(node);
                }
            }
        };
        let is_everywhere = is_root && selection.from_root == RootSelection::AllNamespaces;
        if is_everywhere {
            selectable.keys().for_each(|namespace| select_in(namespace));
        } else {
            namespaces.iter().for_each(|node| select_in(&self.topology.id(self.objects, *node).name));
        }
        if found.is_empty() {
            let levels = selection.levels.clone();
            return Err(Box::new(match (&selection.namespaces, namespaces.as_slice()) {
                (None, _) if is_everywhere => AttachmentError::NothingSelectedAnywhere { levels },
                (None, _) => AttachmentError::NothingSelectedInNamespace { levels, namespace: own.clone() },
                (Some(_), []) => AttachmentError::NoNamespaceSelected,
                (Some(_), _) => AttachmentError::NothingSelectedInNamespaces { levels },
            }));
        }
        found.sort_unstable();
        Ok(found)
    }

    /// The Pods of a Gateway, and the workloads that create them.
    pub(super) fn pods_of_gateway(&self, gateway: &ObjectRef) -> Vec<NodeId> {
        let selectable = self.selectable.get(self.objects, self.topology);
        let beside = selectable.get(gateway.namespace.as_str()).map_or(&[][..], Vec::as_slice).iter();
        let workloads = beside.filter(|(node, _)| self.topology[*node].level == Level::Workload);
        let is_its = |object: &Object| {
            gateway_of_pods(self.objects, object).is_some_and(|found| self.objects[found].id == *gateway)
        };
        workloads.filter(|(_, object)| is_its(object)).map(|(node, _)| *node).collect()
    }

    /// The selected Namespaces, or the Namespaces from which targets are selected.
    fn selected_namespaces(&self, policy: &Object, selection: &LabelSelection) -> Vec<NodeId> {
        match &selection.namespaces {
            None => self.namespace(&policy.id.namespace).into_iter().collect(),
            Some(selector) => {
                let all = self.topology.nodes().filter(|(_, node)| node.level == Level::Namespace);
                let is_selected = |node: &NodeId| {
                    let namespace = Namespace::named(self.objects, &self.topology.id(self.objects, *node).name);
                    selects(selector, |key| namespace.label(key))
                };
                all.map(|(node, _)| node).filter(is_selected).collect()
            }
        }
    }
}

fn is_empty(selector: &Value) -> bool {
    selector.get("matchLabels").is_none_or(|labels| labels.entries().is_empty())
        && selector.list_at("matchExpressions").is_empty()
}
