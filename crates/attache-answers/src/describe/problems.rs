//! The lint findings that concern one object.

use std::collections::BTreeSet;

use attache_engine::lint::lint_objects;
use attache_engine::{NodeRef, ObjectId, ObjectRef, PolicyId, PolicyTarget, RefusedLink, TargetSpec};

use crate::lint::FindingDocument;
use crate::snapshot::Snapshot;

/// The findings about an object, and about objects that should be attached to it. Among them are policies that are not
/// accepted, and would affect the object otherwise.
pub fn problems(snapshot: &Snapshot, object: &NodeRef) -> Vec<FindingDocument> {
    let engine = &snapshot.engine;
    let (topology, objects) = (engine.topology(), engine.objects());
    let parents = snapshot.nodes(object).into_iter().flat_map(|node| topology.parents(node));
    let unserved: Vec<&RefusedLink> = parents.filter_map(|parent| topology.why_unserved(objects, *parent)).collect();
    // Listeners that conflict with each other are one finding.
    let is_why = |it: &RefusedLink| unserved.iter().any(|why| (why.by, &why.cause) == (it.by, &it.cause));
    let is_about = |it: &&RefusedLink| [&it.parent.object, &it.child.object].contains(&&object.object) || is_why(it);
    let refused = topology.refused(objects).iter().filter(is_about);
    let refused: Vec<_> = refused.map(|it| (it.by, &it.path)).collect();
    let above = with_ancestors(snapshot, object);
    let rejected = snapshot.rejected_policies().iter().filter(|policy| targets(snapshot, **policy, &above));
    let mut concerned: BTreeSet<ObjectId> = rejected.map(|policy| policy.0).collect();
    concerned.extend(objects.find(&object.object));
    let all = concerned.iter().copied().chain(refused.iter().map(|(by, _)| *by)).collect();
    let kind = engine.find_policy(&object.object).map(|policy| engine.policy(policy).kind);
    let mut findings = lint_objects(engine, &snapshot.problems, &all, kind);
    findings.retain(|finding| {
        let object = finding.problem.object.as_deref().and_then(|object| objects.find(object));
        let path = finding.problem.path.as_ref();
        finding.suppressed.is_none()
            && object.is_some_and(|object| {
                concerned.contains(&object) || refused.iter().any(|&(by, at)| by == object && Some(at) == path)
            })
    });
    findings.iter().map(FindingDocument::new).collect()
}

/// An object, the objects above it, and their Namespaces.
fn with_ancestors(snapshot: &Snapshot, object: &NodeRef) -> BTreeSet<ObjectRef> {
    let topology = snapshot.engine.topology();
    let nodes = topology.above(snapshot.nodes(object));
    let namespaces = nodes.iter().filter_map(|node| topology.namespace(*node));
    let all = nodes.iter().copied().chain(namespaces).map(|node| snapshot.node_ref(node).object);
    all.chain([object.object.clone()]).collect()
}

/// Whether a policy names one of some objects as its target.
fn targets(snapshot: &Snapshot, policy: PolicyId, objects: &BTreeSet<ObjectRef>) -> bool {
    let own = &snapshot.engine.policy_id(policy).namespace;
    let targets = &snapshot.engine.policy(policy).targets;
    targets.iter().any(|target| objects.iter().any(|id| is_target(target, own, id) == Some(true)))
}

/// Whether a target of a policy in namespace `own` refers to an object. `None` if the target does not name an object.
pub fn is_target(target: &PolicyTarget, own: &str, id: &ObjectRef) -> Option<bool> {
    let TargetSpec::Object { group, kind, namespace, name, .. } = &target.spec else { return None };
    let namespace = namespace.as_deref().unwrap_or(own);
    let is_there = id.namespace.is_empty() || namespace == id.namespace;
    Some((group, kind, name) == (&id.group, &id.kind, &id.name) && is_there)
}
