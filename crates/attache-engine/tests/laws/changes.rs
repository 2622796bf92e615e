//! Reported changes between two states.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use attache_engine::{EffectiveChange, Engine, GroupKind, NodeRef, Report, ScopeRef};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::config;
use crate::world::{World, worlds};

/// A scope by kind and names, and its effective policy by spec and origins.
type Scopes = BTreeMap<ScopeKey, (Option<String>, Vec<String>)>;

type ScopeKey = (GroupKind, Vec<NodeRef>, Option<NodeRef>);

fn scopes(engine: &Engine) -> Scopes {
    let name = |node| engine.topology().node_ref(engine.objects(), node);
    let mut found = Scopes::new();
    for model in engine.models() {
        for target in model.effective_targets(engine.view()) {
            model.scopes(engine.view(), target, &mut |scope| {
                let it = model.effective(engine.view(), scope.chain);
                let nodes = scope.nodes.iter().map(|node| name(*node)).collect();
                let origins = it.origins.iter().map(|it| format!("{} {}", it.path, engine.policy_id(it.policy)));
                let spec = it.spec.as_ref().map(|spec| serde_json::to_string(spec).unwrap());
                let key = (model.group_kind(), nodes, scope.from.map(name));
                found.insert(key, (spec, origins.collect()));
            });
        }
    }
    found
}

fn key(change: &EffectiveChange, scope: &ScopeRef) -> ScopeKey {
    let nodes = scope.nodes.iter().map(|node| NodeRef::clone(node)).collect();
    (change.policy_kind.clone(), nodes, scope.from.as_deref().cloned())
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn a_scope_is_reported_if_and_only_if_something_else_is_in_force(world in worlds(), one in any::<Index>(), other in any::<Index>()) {
        let without = |which: Index| {
            let mut documents = world.0.clone();
            documents.remove(which.index(documents.len()));
            Arc::new(World(documents).engine())
        };
        let (before, after) = (without(one), without(other));
        let changes = Report::between(Arc::clone(&before), Arc::clone(&after)).effective();
        let reported: BTreeSet<ScopeKey> = changes
            .iter()
            .flat_map(|change| change.scopes.iter().map(|scope| key(change, scope)))
            .collect();
        let (was, is) = (scopes(&before), scopes(&after));
        let nothing = (None, Vec::new());
        for change in &changes {
            for scope in &change.scopes {
                let key = key(change, scope);
                for (side, all) in [(&change.before, &was), (&change.after, &is)] {
                    let said = side.as_ref().and_then(|it| it.spec.as_ref()).map(|spec| serde_json::to_string(spec).unwrap());
                    prop_assert_eq!(&said, &all.get(&key).unwrap_or(&nothing).0, "{:?}", key);
                }
            }
        }
        for key in was.keys().chain(is.keys()) {
            let (was, is) = (was.get(key).unwrap_or(&nothing), is.get(key).unwrap_or(&nothing));
            if reported.contains(key) {
                prop_assert_ne!(was, is, "{:?} is reported", key);
            } else {
                prop_assert_eq!(&was.0, &is.0, "{:?} is not reported", key);
            }
        }
    }
}
