use std::sync::Arc;

use super::*;

fn infrastructure() -> Vec<Json> {
    vec![gateway(json!([{"name": "http", "port": 80, "protocol": "HTTP"}])), service("Service/s")]
}

fn route(backend: Json) -> Json {
    gw("HTTPRoute/r", json!({"parentRefs": [{"name": "gw"}], "rules": [{"backendRefs": [backend]}]}))
}

fn sorted(mut links: Vec<String>) -> Vec<String> {
    links.sort();
    links
}

#[test]
fn a_route_that_is_added_has_the_links_that_it_has_when_the_topology_is_built() {
    for backend in [json!({"name": "s", "port": 80}), json!({"name": "gone"})] {
        let Shown { mut objects, mut topology, .. } = show(json!(infrastructure()));
        let id = objects.put(Arc::new(Object::from_json(&route(backend.clone())).unwrap()), || None);
        let mut changes = TopologyChanges::default();
        let mut editor = TopologyEditor::new(&mut topology, &objects, &mut changes);
        editor.add_object(id).unwrap();
        editor.relink_routes(vec![(id, LinkSides::PARENTS), (id, LinkSides::BACKENDS)]).unwrap();
        editor.remove_unused().unwrap();
        let edited = describe(objects, topology);
        let built = show(json!([infrastructure(), vec![route(backend)]].concat()));
        assert_eq!(sorted(edited.links.clone()), sorted(built.links));
        assert_eq!(edited.refused, built.refused);
        assert!(edited.live("HTTPRoute/a/r#rule-1"));
        assert!(changes.nodes.contains(NodeId::whole(id)));
    }
}

#[test]
fn a_node_that_is_removed_is_none_and_no_node_is_linked_to_it() {
    let docs = [infrastructure(), vec![route(json!({"name": "s", "port": 80}))]].concat();
    let Shown { mut objects, mut topology, .. } = show(json!(docs));
    let id = objects.find(&ObjectRef::new(api::GATEWAY_API, "HTTPRoute", "a", "r")).unwrap();
    let node = NodeId::whole(id);
    let (rules, neighbors) = (topology.sections(node), [topology.parents(node), &[]].concat());
    objects.remove(id);
    let mut changes = TopologyChanges::default();
    TopologyEditor::new(&mut topology, &objects, &mut changes).remove_object(id).unwrap();
    for removed in rules.clone().chain([node]) {
        assert!(topology.node(removed).is_none() && !topology.live(removed));
        assert!(topology.parents(removed).is_empty() && topology.children(removed).is_empty());
        assert_eq!(topology.same_named(removed).count(), 0);
    }
    assert_eq!(changes.removed, rules.chain([node]).collect::<Vec<_>>());
    assert!(neighbors.iter().all(|listener| topology.children(*listener).is_empty()));
    let edited = describe(objects, topology);
    assert_eq!(sorted(edited.links), sorted(show(json!(infrastructure())).links));
}

#[test]
fn delegation_needs_a_rebuild() {
    let delegating = route(json!({"group": api::GATEWAY_API, "kind": "HTTPRoute", "name": "child"}));
    let child = gw("HTTPRoute/child", json!({"rules": [{}]}));
    let Shown { mut objects, mut topology, .. } = show(json!([infrastructure(), vec![child]].concat()));
    let id = objects.put(Arc::new(Object::from_json(&delegating).unwrap()), || None);
    let mut changes = TopologyChanges::default();
    let mut editor = TopologyEditor::new(&mut topology, &objects, &mut changes);
    editor.add_object(id).unwrap();
    assert_eq!(editor.relink_routes(vec![(id, LinkSides::BOTH)]), Err(NeedsRebuild::Delegation));
}
