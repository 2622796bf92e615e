//! Delegation: a rule whose backends are HTTPRoutes passes its requests on to them.

use hashbrown::{HashMap, HashSet};

use super::routes::parents;
use super::{FoundLinks, LinkContext};
use crate::object::{Object, ObjectId, Objects};
use crate::topology::api::GATEWAY_API;
use crate::topology::conventions::Conventions;
use crate::topology::matches::narrows;
use crate::topology::reference::Reference;
use crate::topology::refusal::{DelegationQuery, DelegationRefusal, MissingObject, ParentRefusal, StoredRefusal};
use crate::topology::{Level, NodeId, NodeRef, Topology, sections};
use crate::value::{Path, Value};

/// The namespace name that stands for all namespaces when routes are selected by label.
const ALL_NAMESPACES: &str = "all";

/// A delegation from a rule of route `parent` to route `child`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delegation {
    pub parent: ObjectId,
    /// The index among all rules that were found.
    pub rule: u32,
    pub child: ObjectId,
}

/// Whether an HTTPRoute with this backend delegates.
pub fn is_delegation(backend: &Reference) -> bool {
    (backend.group, backend.kind) == (GATEWAY_API, "HTTPRoute") || label(backend).is_some()
}

/// Whether it delegates to all routes of a namespace, or to those with a label.
pub fn is_by_query(backend: &Reference) -> bool {
    is_delegation(backend) && (label(backend).is_some() || matches!(backend.name, "" | "*"))
}

/// The label by which a backend selects routes.
fn label(backend: &Reference) -> Option<&'static str> {
    if backend.kind != "label" {
        return None;
    }
    let mut labels = Conventions::built_in().delegation_labels.iter();
    labels.find(|it| it.group == backend.group).map(|it| it.label.as_str())
}

/// The routes that a rule delegates to by one of its backendRefs.
pub fn children<'o>(
    context: &LinkContext<'o>,
    route: &Object,
    rule: &Value,
    backend: &Reference<'o>,
) -> Result<Vec<ObjectId>, DelegationRefusal> {
    let objects = context.objects;
    let accepts = |child: &ObjectId| accept(route, rule, &objects[*child]);
    let (children, query): (Vec<ObjectId>, DelegationQuery) = match (label(backend), backend.name) {
        (Some(label), value) => {
            let everywhere = backend.namespace == ALL_NAMESPACES;
            let labelled = context.labelled(label, value).iter().copied();
            let is_chosen = |child: &ObjectId| everywhere || objects[*child].id.namespace == backend.namespace;
            let namespace = (!everywhere).then(|| backend.namespace.into());
            let query = DelegationQuery::Label { label: label.into(), value: value.into(), namespace };
            (labelled.filter(is_chosen).collect(), query)
        }
        (None, "" | "*") => {
            let all = objects.of_kind_in(GATEWAY_API, "HTTPRoute", backend.namespace).iter().copied();
            (all.collect(), DelegationQuery::Namespace(backend.namespace.into()))
        }
        (None, _) => {
            let not_found = || DelegationRefusal::NotFound(MissingObject::new(objects, backend));
            let child = backend.find(objects).ok_or_else(not_found)?;
            return accepts(&child).map(|()| vec![child]);
        }
    };
    let own = objects.find(&route.id);
    let children: Vec<ObjectId> =
        children.into_iter().filter(|child| Some(*child) != own && accepts(child).is_ok()).collect();
    match children.is_empty() {
        false => Ok(children),
        true => Err(DelegationRefusal::NoneFound(query)),
    }
}

/// Whether a route can be delegated to by a rule of the parent.
fn accept(parent: &Object, rule: &Value, child: &Object) -> Result<(), DelegationRefusal> {
    let mut named = parents(child).peekable();
    let is_parent = |named: Reference| {
        (named.group, named.kind) == (GATEWAY_API, "HTTPRoute")
            && named.namespace == parent.id.namespace
            && named.name == parent.id.name
    };
    if named.peek().is_some() && !named.any(is_parent) {
        return Err(DelegationRefusal::ParentNotNamed { parent: parent.id.clone(), child: child.id.clone() });
    }
    if !child.spec().list_at("hostnames").is_empty() {
        return Err(DelegationRefusal::HasHostnames { child: child.id.clone() });
    }
    if !inherits_matches(child) && !sections::rules(child).iter().any(|below| narrows(below, rule)) {
        return Err(DelegationRefusal::NoMatchWithin { child: child.id.clone() });
    }
    Ok(())
}

/// Whether the matches of a child are relative to those of the rule that delegates to it.
pub fn inherits_matches(child: &Object) -> bool {
    Conventions::built_in().inherit_matches.iter().any(|name| child.annotation(name) == Some("true"))
}

/// Whether requests that reach the route of a rule can reach the rule: one of its matches lies within a match of a rule
/// that delegates to the route, or the route is reached without delegation.
pub fn reaches(objects: &Objects, topology: &Topology, rule: NodeId) -> bool {
    if topology.delegation_depths.is_empty() {
        return true;
    }
    let route = topology.whole(rule);
    let Some(child) = route.object().map(|id| &objects[id]) else { return true };
    topology.live_parents(route).any(|parent| {
        topology[parent].level != Level::RouteRule
            || inherits_matches(child)
            || topology
                .section_value(objects, rule)
                .zip(topology.section_value(objects, parent))
                .is_none_or(|(own, above)| narrows(own, above))
    })
}

/// The maximum depth of delegation. Three is usual, and code that follows a path may recurse.
const LIMIT: u32 = 16;

/// Turns delegations into links, and returns the depth of delegation of each child.
pub fn settle(objects: &Objects, found: &mut FoundLinks) -> HashMap<ObjectId, u32> {
    let mut delegations = std::mem::take(&mut found.delegations);
    delegations.sort_unstable();
    delegations.dedup();
    let mut undelegated = refuse_undelegated(objects, &delegations, found);
    found.append(&mut undelegated);
    if delegations.is_empty() {
        return HashMap::new();
    }
    let attached = found.links.iter().map(|(_, child)| *child);
    let attached: HashSet<NodeId> = attached.chain(found.frontends.iter().map(|(_, child)| *child)).collect();
    link(objects, &delegations, |route| attached.contains(&NodeId::whole(route)), found)
}

/// Refuses the parentRefs that name a route which does not delegate to the child.
fn refuse_undelegated(objects: &Objects, delegations: &[Delegation], found: &FoundLinks) -> FoundLinks {
    let mut undelegated = FoundLinks::default();
    if found.parent_routes.is_empty() {
        return undelegated;
    }
    let delegated: HashSet<(ObjectId, ObjectId)> = delegations.iter().map(|it| (it.parent, it.child)).collect();
    let refused = found.refusals.iter().filter_map(|(_, refusal)| match refusal {
        StoredRefusal::Explained(refused) => Some((&refused.parent, &refused.child)),
        _ => None,
    });
    let refused: HashSet<(&NodeRef, &NodeRef)> = refused.collect();
    for (parent, child_id) in found.parent_routes.iter().filter(|link| !delegated.contains(*link)) {
        let [parent, child] = [parent, child_id].map(|id| &objects[*id].id);
        if !refused.contains(&(&parent.into(), &child.into())) {
            let asked = (*child_id, Path::parse("spec.parentRefs"));
            undelegated.refuse(asked, parent, child, ParentRefusal::NotDelegated { parent: parent.clone() });
        }
    }
    undelegated
}

/// Links rules to the routes that they delegate to, unless that closes a cycle or exceeds the maximum depth. A cycle is
/// broken where it returns to a route that is attached elsewhere, if there is one.
fn link(
    objects: &Objects,
    delegations: &[Delegation],
    attached: impl Fn(ObjectId) -> bool,
    found: &mut FoundLinks,
) -> HashMap<ObjectId, u32> {
    let (cycles, finished) = walk(delegations, attached);
    let mut depths: HashMap<ObjectId, u32> = HashMap::new();
    for parent in finished.into_iter().rev() {
        let depth = depths.get(&parent).copied().unwrap_or(0) + 1;
        for (at, &Delegation { rule, child, .. }) in of_parent(delegations, parent) {
            let refusal = match cycles.get(&at) {
                Some(cycle) => DelegationRefusal::Cycle(cycle.iter().map(|route| objects[*route].id.clone()).collect()),
                None if depth > LIMIT => DelegationRefusal::TooDeep { limit: LIMIT },
                None => {
                    let below = depths.entry(child).or_insert(0);
                    *below = (*below).max(depth);
                    found.backends.push((rule, NodeId::whole(child)));
                    continue;
                }
            };
            found.refuse((parent, Path::parse("spec.rules")), &objects[parent].id, &objects[child].id, refusal);
        }
    }
    depths
}

/// The delegations that close a cycle, by index and with the routes of the cycle, and all parents, children before
/// parents.
fn walk(
    delegations: &[Delegation],
    attached: impl Fn(ObjectId) -> bool,
) -> (HashMap<usize, Vec<ObjectId>>, Vec<ObjectId>) {
    let mut parents: Vec<ObjectId> = delegations.iter().map(|delegation| delegation.parent).collect();
    parents.dedup();
    parents.sort_by_key(|parent| !attached(*parent));
    let mut open: HashMap<ObjectId, bool> = HashMap::new();
    let (mut cycles, mut finished) = (HashMap::new(), Vec::new());
    for root in parents {
        let mut path = vec![];
        let mut next = Some(root).filter(|root| !open.contains_key(root));
        loop {
            if let Some(route) = next.take() {
                open.insert(route, true);
                path.push((route, of_parent(delegations, route)));
            }
            let Some((route, below)) = path.last_mut() else { break };
            match below.next() {
                None => {
                    open.insert(*route, false);
                    finished.push(*route);
                    path.pop();
                }
                Some((at, Delegation { child, .. })) => match open.get(child) {
                    None => next = Some(*child),
                    Some(false) => {}
                    Some(true) => {
                        let cycle = path.iter().map(|(route, _)| *route).skip_while(|route| route != child).collect();
                        cycles.insert(at, cycle);
                    }
                },
            }
        }
    }
    (cycles, finished)
}

/// The delegations of one parent, with their indexes.
fn of_parent(delegations: &[Delegation], parent: ObjectId) -> impl Iterator<Item = (usize, &Delegation)> {
    let first = delegations.partition_point(|delegation| delegation.parent < parent);
    let rest = delegations.iter().enumerate().skip(first);
    rest.take_while(move |(_, delegation)| delegation.parent == parent)
}
