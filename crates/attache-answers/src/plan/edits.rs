//! The edits that follow from a change of the input.

use attache_engine::Edit;
use attache_engine::kinds::PolicyKind;
use attache_engine::text::{declares_resource_scope, settle_namespaces};
use attache_engine::{Object, ObjectRef};

use crate::snapshot::Snapshot;

/// The edits that create or replace the objects of `put`, and delete those of `delete`.
pub fn edits<'d>(before: &Snapshot, put: Vec<Object>, delete: impl Iterator<Item = &'d ObjectRef>) -> Vec<Edit> {
    let objects = before.engine.objects();
    // A CRD can make a kind cluster-scoped, which changes the identity of its objects.
    let declares = put.iter().any(declares_resource_scope);
    let others: Vec<&Object> = match declares {
        true => objects.iter().map(|(_, object)| object).collect(),
        false => {
            let kinds = [("apiextensions.k8s.io", "CustomResourceDefinition"), ("attache.dev", "PolicyKind")];
            let described = kinds.into_iter().flat_map(|(group, kind)| objects.each_of_kind(group, kind));
            described.map(|(_, object)| object).filter(|object| declares_resource_scope(object)).collect()
        }
    };
    let mut all: Vec<Object> = others.iter().copied().cloned().collect();
    let existing = all.len();
    all.extend(put);
    let known = || before.engine.kinds().iter().map(|(_, kind)| kind);
    settle_namespaces(&mut all, &mut [], |group, kind| is_cluster_scoped(known(), group, kind));
    let mut put = all.split_off(existing);
    for object in &mut put {
        // A replaced object keeps its creation time.
        let created = objects.find(&object.id).and_then(|id| objects[id].created);
        object.created = object.created.or(created);
    }
    let moved = others.into_iter().zip(all).filter(|(before, after)| before.id != after.id);
    let moved = moved.flat_map(|(before, after)| [Edit::Delete(before.id.clone()), Edit::Put(after)]);
    let deleted = delete.cloned().map(Edit::Delete);
    moved.chain(put.into_iter().map(Edit::Put)).chain(deleted).collect()
}

/// Whether a name refers to a policy kind whose policies are cluster-scoped.
pub fn is_cluster_scoped<'k>(kinds: impl IntoIterator<Item = &'k PolicyKind>, group: &str, kind: &str) -> bool {
    kinds.into_iter().any(|known| known.is_cluster_scoped() && known.group == group && known.kind == kind)
}
