//! Delegation: a rule that names HTTPRoutes as its backends hands its requests on to them.

use hashbrown::HashMap;

use super::api::GATEWAY_API;
use super::index::{Found, Index};
use super::matches::narrows;
use super::reference::Reference;
use super::refusal::{DelegationQuery, DelegationRefusal, MissingObject};
use super::routes::parents;
use super::{NodeId, sections};
use crate::object::{Object, ObjectId, Objects};
use crate::value::{Path, Value};

/// Groups of the kind `label`, which stands for all HTTPRoutes that carry its name in the group's label.
pub const BY_LABEL: [(&str, &str); 2] = [
    ("delegation.kgateway.dev", "delegation.kgateway.dev/label"),
    ("delegation.gateway.solo.io", "delegation.gateway.solo.io/label"),
];

/// The namespace that means all of them, where routes are chosen by label.
const ALL_NAMESPACES: &str = "all";

/// Lets a child take its rule's matches over instead of repeating them.
const INHERITS_MATCHES: [&str; 2] =
    ["delegation.kgateway.dev/inherit-parent-matcher", "delegation.gateway.solo.io/inherit-parent-matcher"];

/// A rule of route `parent` hands on to route `child`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delegation {
    pub parent: ObjectId,
    /// Which of all rules that were found.
    pub rule: u32,
    pub child: ObjectId,
}

/// Whether an HTTPRoute that names this as its backend delegates.
pub fn is_meant(backend: &Reference) -> bool {
    (backend.group, backend.kind) == (GATEWAY_API, "HTTPRoute") || label(backend).is_some()
}

/// Whether it delegates to whatever is there, or has a label.
pub fn is_open(backend: &Reference) -> bool {
    is_meant(backend) && (label(backend).is_some() || matches!(backend.name, "" | "*"))
}

fn label(backend: &Reference) -> Option<&'static str> {
    let (_, label) = BY_LABEL.iter().find(|(group, _)| backend.kind == "label" && backend.group == *group)?;
    Some(label)
}

/// The routes that a rule delegates to by one of its backendRefs.
pub fn children<'o>(
    index: &Index<'o>,
    route: &Object,
    rule: &Value,
    backend: &Reference<'o>,
) -> Result<Vec<ObjectId>, DelegationRefusal> {
    let objects = index.objects;
    let joins = |child: &ObjectId| accept(route, rule, &objects[*child]);
    let (children, query): (Vec<ObjectId>, DelegationQuery) = match (label(backend), backend.name) {
        (Some(label), value) => {
            let everywhere = backend.namespace == ALL_NAMESPACES;
            let labelled = index.labelled(label, value).iter().copied();
            let here = |child: &ObjectId| everywhere || objects[*child].id.namespace == backend.namespace;
            let namespace = (!everywhere).then(|| backend.namespace.into());
            let query = DelegationQuery::Label { label: label.into(), value: value.into(), namespace };
            (labelled.filter(here).collect(), query)
        }
        (None, "" | "*") => {
            let all = objects.of_kind_in(GATEWAY_API, "HTTPRoute", backend.namespace).iter().copied();
            (all.collect(), DelegationQuery::Namespace(backend.namespace.into()))
        }
        (None, _) => {
            let not_found = || DelegationRefusal::NotFound(MissingObject::new(objects, backend));
            let child = backend.find(objects).ok_or_else(not_found)?;
            return joins(&child).map(|()| vec![child]);
        }
    };
    let own = objects.find(&route.id);
    let children: Vec<ObjectId> =
        children.into_iter().filter(|child| Some(*child) != own && joins(child).is_ok()).collect();
    match children.is_empty() {
        false => Ok(children),
        true => Err(DelegationRefusal::NoneFound(query)),
    }
}

/// Whether a child lets itself be delegated to.
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

/// Whether the matches of a child are meant below those of the rule that delegates to it.
pub fn inherits_matches(child: &Object) -> bool {
    INHERITS_MATCHES.iter().any(|name| child.annotation(name) == Some("true"))
}

/// How many routes may delegate to one another in a row. People need three; whoever follows a path may recurse.
const DEEPEST: u32 = 16;

/// Turns delegations into links, except those that close a circle or go too deep, and says how deep below another route
/// each child stands. Circles are opened where they come back to a route that is attached elsewhere, if there is one.
pub fn settle(
    objects: &Objects,
    delegations: &[Delegation],
    attached: impl Fn(ObjectId) -> bool,
    found: &mut Found,
) -> HashMap<ObjectId, u32> {
    let (circular, finished) = walk(delegations, attached);
    let mut depths: HashMap<ObjectId, u32> = HashMap::new();
    for parent in finished.into_iter().rev() {
        let depth = depths.get(&parent).copied().unwrap_or(0) + 1;
        for (at, &Delegation { rule, child, .. }) in of_parent(delegations, parent) {
            let refusal = match circular.get(&at) {
                Some(circle) => {
                    DelegationRefusal::Cycle(circle.iter().map(|route| objects[*route].id.clone()).collect())
                }
                None if depth > DEEPEST => DelegationRefusal::TooDeep { limit: DEEPEST },
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

/// The delegations that close a circle, with the routes of it, and all routes, children before parents.
fn walk(
    delegations: &[Delegation],
    attached: impl Fn(ObjectId) -> bool,
) -> (HashMap<usize, Vec<ObjectId>>, Vec<ObjectId>) {
    let mut parents: Vec<ObjectId> = delegations.iter().map(|delegation| delegation.parent).collect();
    parents.dedup();
    parents.sort_by_key(|parent| !attached(*parent));
    let mut open: HashMap<ObjectId, bool> = HashMap::new();
    let (mut circular, mut finished) = (HashMap::new(), Vec::new());
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
                        let circle = path.iter().map(|(route, _)| *route).skip_while(|route| route != child).collect();
                        circular.insert(at, circle);
                    }
                },
            }
        }
    }
    (circular, finished)
}

fn of_parent(delegations: &[Delegation], parent: ObjectId) -> impl Iterator<Item = (usize, &Delegation)> {
    let first = delegations.partition_point(|delegation| delegation.parent < parent);
    let rest = delegations.iter().enumerate().skip(first);
    rest.take_while(move |(_, delegation)| delegation.parent == parent)
}
