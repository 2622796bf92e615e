//! The edits that a change of the input comes to.

use attache_engine::Edit;
use attache_engine::kinds::PolicyKind;
use attache_engine::text::{declares_resource_scope, settle_namespaces};
use attache_engine::{Object, ObjectRef};

use crate::snapshot::Snapshot;

/// The edits that create or replace the objects of `put`, and delete those of `delete`.
pub fn edits<'d>(before: &Snapshot, put: Vec<Object>, delete: impl Iterator<Item = &'d ObjectRef>) -> Vec<Edit> {
    let objects = before.engine.objects();
    // A CRD can make objects cluster-scoped that were not: they are other objects then.
    let declares = put.iter().any(declares_resource_scope);
    let others = objects.iter().map(|(_, object)| object).filter(|object| declares || declares_resource_scope(object));
    let mut all: Vec<Object> = others.clone().cloned().collect();
    let existing = all.len();
    all.extend(put);
    let known = || before.engine.kinds().iter().map(|(_, kind)| kind);
    settle_namespaces(&mut all, &mut [], |group, kind| is_cluster_scoped(known(), group, kind));
    let mut put = all.split_off(existing);
    for object in &mut put {
        // An object keeps its age when it is replaced.
        let created = objects.find(&object.id).and_then(|id| objects[id].created);
        object.created = object.created.or(created);
    }
    let moved = others.zip(all).filter(|(before, after)| before.id != after.id);
    let moved = moved.flat_map(|(before, after)| [Edit::Delete(before.id.clone()), Edit::Put(after)]);
    let deleted = delete.cloned().map(Edit::Delete);
    moved.chain(put.into_iter().map(Edit::Put)).chain(deleted).collect()
}

/// Whether one of the policy kinds is the kind of cluster-scoped policies that is named.
pub fn is_cluster_scoped<'k>(kinds: impl IntoIterator<Item = &'k PolicyKind>, group: &str, kind: &str) -> bool {
    kinds.into_iter().any(|known| known.is_cluster_scoped() && known.group == group && known.kind == kind)
}
