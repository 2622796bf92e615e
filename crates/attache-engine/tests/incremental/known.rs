//! Cases that were once wrong, each as small as it can be.

use crate::case::Case;
use crate::follow::verdict;

fn holds(case: &str) {
    verdict(&Case::parse(case)).unwrap_or_else(|wrong| panic!("{wrong}"));
}

#[test]
fn a_scope_of_one_name_may_come_beside_another() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r1","namespace":"a"},"spec":{"parentRefs":[{"group":"","kind":"Service","name":"s0"}]}}
{"apiVersion":"v1","kind":"Service","metadata":{"name":"s0","namespace":"a"},"spec":{"ports":[{}]}}
{"apiVersion":"laws.io/v1","kind":"Policy1","metadata":{"name":"p2","namespace":"a"},"spec":{"targetRefs":[{"kind":"Service","name":"s0"}]}}
{"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"policy1s.laws.io"},"spec":{"class":"Direct","group":"laws.io","kind":"Policy1"}}
batch
put {"apiVersion":"v1","kind":"Service","metadata":{"name":"s0","namespace":"a"}}
"#,
    );
}

#[test]
fn of_several_items_that_apply_one_by_one_the_first_may_change() {
    holds(
        r#"
{"apiVersion":"security.istio.io/v1","kind":"RequestAuthentication","metadata":{"name":"shop","namespace":"shop"},"spec":{"jwtRules":[{"issuer":"https://z.example"},{"issuer":"https://a.example"}]}}
{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db","namespace":"shop"}}
batch
put {"apiVersion":"security.istio.io/v1","kind":"RequestAuthentication","metadata":{"name":"shop","namespace":"shop"},"spec":{"jwtRules":[{"issuer":"https://z.example"},{"issuer":"https://b.example"}]}}
"#,
    );
}

#[test]
fn what_nothing_depends_on_is_kept_all_the_same() {
    holds(
        r#"
{"apiVersion":"v1","kind":"Service","metadata":{"name":"s0","namespace":"a","generation":1}}
batch
put {"apiVersion":"v1","kind":"Service","metadata":{"name":"s0","namespace":"a","generation":2}}
"#,
    );
}

#[test]
fn a_direct_policy_of_a_gateway_does_not_affect_the_class_above_that_it_targets_too() {
    holds(
        r#"
{"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"policy0s.laws.io"},"spec":{"class":"Direct","clusterTargets":true,"group":"laws.io","kind":"Policy0"}}
{"apiVersion":"laws.io/v1","kind":"Policy0","metadata":{"name":"p3","namespace":"a"},"spec":{"targetRefs":[{"kind":"GatewayClass","name":"c"},{"kind":"Gateway","name":"g0"}]}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"g0"},"spec":{"gatewayClassName":"c"}}
batch
put {"apiVersion":"laws.io/v1","kind":"Policy0","metadata":{"name":"p3"},"spec":{"targetRefs":[{"kind":"GatewayClass","name":"c"}]}}
"#,
    );
}

#[test]
fn a_direct_policy_of_a_listener_does_not_affect_the_gateway_though_it_targets_the_class_too() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"g0"},"spec":{"gatewayClassName":"c","listeners":[{"name":"l0"}]}}
{"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"policy0s.laws.io"},"spec":{"class":"Direct","clusterTargets":true,"group":"laws.io","kind":"Policy0"}}
{"apiVersion":"laws.io/v1","kind":"Policy0","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","name":"p0","namespace":"a"},"spec":{"targetRefs":[{"kind":"Gateway","name":"g0","sectionName":"l0"}]}}
{"apiVersion":"laws.io/v1","kind":"Policy0","metadata":{"name":"p4"},"spec":{"targetRefs":[{"kind":"GatewayClass","name":"c"},{"kind":"Gateway","name":"g0","sectionName":"l0"}]}}
batch
put {"apiVersion":"laws.io/v1","kind":"Policy0","metadata":{"name":"p0","namespace":"a"}}
"#,
    );
}

#[test]
fn a_direct_policy_of_a_service_on_both_sides_of_a_route_does_not_affect_the_route() {
    holds(
        r#"
{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"a"}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"producer","namespace":"a"},"spec":{"parentRefs":[{"group":"","kind":"Service","name":"s"}],"rules":[{"backendRefs":[{"name":"s"}]}]}}
{"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"meshpolicies.example.io"},"spec":{"group":"example.io","kind":"MeshPolicy"}}
{"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"directpolicies.example.io"},"spec":{"class":"Direct","group":"example.io","kind":"DirectPolicy"}}
{"apiVersion":"example.io/v1","kind":"MeshPolicy","metadata":{"name":"own","namespace":"a"},"spec":{"defaults":{"timeout":1},"targetRef":{"kind":"Service","name":"s"}}}
{"apiVersion":"example.io/v1","kind":"DirectPolicy","metadata":{"name":"labelled","namespace":"a"},"spec":{"targetSelectors":[{"kind":"Service"}]}}
batch
put {"apiVersion":"example.io/v1","kind":"MeshPolicy","metadata":{"name":"own","namespace":"a"}}
"#,
    );
}

#[test]
fn names_are_in_order_whoever_came_first() {
    holds(
        r#"
{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"a"}}
{"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"meshpolicies.example.io"},"spec":{"crossNamespace":"Consumer","group":"example.io","kind":"MeshPolicy"}}
{"apiVersion":"example.io/v1","kind":"MeshPolicy","metadata":{"name":"consumer","namespace":"b"},"spec":{"overrides":{"timeout":2},"targetRef":{"kind":"Service","name":"s","namespace":"a"}}}
batch
put {"apiVersion":"example.io/v1","kind":"MeshPolicy","metadata":{"name":"own","namespace":"a"},"spec":{"defaults":{"timeout":1},"targetRef":{"kind":"Service","name":"s"}}}
"#,
    );
    holds(
        r#"
{"apiVersion":"gateway.solo.io/v1","kind":"ListenerOption","metadata":{"name":"section","namespace":"default"},"spec":{"targetRefs":[{"kind":"Gateway","name":"gw","sectionName":"http"}]}}
{"apiVersion":"gateway.solo.io/v1","kind":"ListenerOption","metadata":{"name":"gateway-new","namespace":"default"},"spec":{"targetRefs":[{"kind":"Gateway","name":"gw"}]}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"gw","namespace":"default"},"spec":{"listeners":[{"name":"http"},{}]}}
batch
put {"apiVersion":"gateway.solo.io/v1","kind":"ListenerOption","metadata":{"name":"gateway","namespace":"default"},"spec":{"targetRefs":[{"kind":"Gateway","name":"gw"}]}}
"#,
    );
}

#[test]
fn what_is_deleted_and_put_again_is_as_before() {
    holds(
        r#"
{"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"policy0s.laws.io"},"spec":{"group":"laws.io","kind":"Policy0"}}
{"apiVersion":"laws.io/v1","kind":"Policy0","metadata":{"name":"p0"}}
{"apiVersion":"laws.io/v1","kind":"Policy0","metadata":{"name":"p3","namespace":"a-b"}}
batch
delete ["laws.io","Policy0","a-b","p3"]
put {"apiVersion":"laws.io/v1","kind":"Policy0","metadata":{"name":"p3","namespace":"a-b"}}
"#,
    );
}

#[test]
fn who_goes_no_longer_keeps_others_off_a_listener() {
    let world = r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"pages","namespace":"default"},"spec":{"parentRefs":[{"name":"gw"}]}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"gw","namespace":"default"},"spec":{"listeners":[{"protocol":"HTTP"}]}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"GRPCRoute","metadata":{"name":"r","namespace":"default"},"spec":{"parentRefs":[{"name":"gw"}]}}
batch
"#;
    let pages = r#""apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"pages","namespace":"default"}"#;
    holds(&format!(r#"{world}delete ["gateway.networking.k8s.io","HTTPRoute","default","pages"]"#));
    holds(&format!("{world}put {{{pages}}}"));
}

#[test]
fn whose_backend_is_granted_no_more_still_keeps_others_off_a_listener() {
    let spec = r#""parentRefs":[{"name":"gw","namespace":"default"}]"#;
    holds(&format!(
        r#"
{{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{{"name":"gw","namespace":"default"}},"spec":{{"listeners":[{{"protocol":"HTTP","allowedRoutes":{{"namespaces":{{"from":"All"}}}}}}]}}}}
{{"apiVersion":"gateway.networking.k8s.io/v1","kind":"GRPCRoute","metadata":{{"name":"calls","namespace":"a"}},"spec":{{{spec},"rules":[{{"backendRefs":[{{"name":"s","namespace":"b"}}]}}]}}}}
{{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{{"name":"pages","namespace":"a"}},"spec":{{{spec}}}}}
{{"apiVersion":"v1","kind":"Service","metadata":{{"name":"s","namespace":"b"}}}}
{{"apiVersion":"gateway.networking.k8s.io/v1beta1","kind":"ReferenceGrant","metadata":{{"name":"a","namespace":"b"}},"spec":{{"from":[{{"group":"gateway.networking.k8s.io","kind":"GRPCRoute","namespace":"a"}}],"to":[{{"group":"","kind":"Service"}}]}}}}
batch
delete ["gateway.networking.k8s.io","ReferenceGrant","b","a"]
put {{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{{"name":"pages","namespace":"a"}},"spec":{{{spec},"rules":[{{}}]}}}}
"#
    ));
}

#[test]
fn what_is_written_down_is_read_again() {
    let case = r#"infer unlabelled
{"kind":"Namespace"}
batch
put {"a":"b c"}
move {"a":1}
quiet batch
delete ["","Namespace","","a"]
"#;
    assert_eq!(Case::parse(case).to_string(), case);
}

#[test]
fn what_affects_two_ports_of_one_name_is_told_for_both() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"BackendTLSPolicy","metadata":{"name":"all","namespace":"a"},"spec":{"targetRefs":[{"kind":"Service","name":"s"}]}}
{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"a"},"spec":{"ports":[{"name":"two"},{"name":"two"}]}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"BackendTLSPolicy","metadata":{"name":"two","namespace":"a"},"spec":{"targetRefs":[{"kind":"Service","name":"s","sectionName":"two"}]}}
batch
put {"apiVersion":"gateway.networking.k8s.io/v1","kind":"BackendTLSPolicy","metadata":{"name":"all","namespace":"a"}}
"#,
    );
}

#[test]
fn who_asks_in_vain_is_told_what_there_is_now() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r0","namespace":"a"}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r1","namespace":"a"},"spec":{"rules":[{},{}]}}
batch
put {"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r1","namespace":"a"},"spec":{"parentRefs":[{"kind":"HTTPRoute"}],"rules":[{},{}]}}
batch
delete ["gateway.networking.k8s.io","HTTPRoute","a","r0"]
"#,
    );
}

#[test]
fn what_is_no_service_may_come_to_have_ports() {
    holds(
        r#"
infer unlabelled
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"web","namespace":"a"},"spec":{"rules":[{"backendRefs":[{"group":"example.io","kind":"Bucket","name":"files"}]}]}}
{"apiVersion":"example.io/v1","kind":"Bucket","metadata":{"name":"files","namespace":"a"}}
batch
put {"apiVersion":"example.io/v1","kind":"Bucket","metadata":{"name":"files","namespace":"a"},"spec":{"ports":[{}]}}
"#,
    );
}

#[test]
fn a_route_for_the_clients_of_a_namespace_is_for_those_of_its_object_when_that_comes() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"consumer","namespace":"b"},"spec":{"parentRefs":[{"group":"","kind":"Service","name":"s","namespace":"a"}]}}
{"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"directpolicies.example.io"},"spec":{"group":"example.io","kind":"DirectPolicy"}}
{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"a"}}
{"apiVersion":"example.io/v1","kind":"DirectPolicy","metadata":{"name":"labelled"}}
batch
put {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"b"}}
"#,
    );
}

#[test]
fn a_namespace_goes_with_the_last_route_of_a_mesh() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r0","namespace":"a-b"},"spec":{"parentRefs":[{"group":"","kind":"Service","name":"s0","namespace":"a"}]}}
{"apiVersion":"v1","kind":"Service","metadata":{"name":"s0","namespace":"a"}}
{"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"policy0s.laws.io"},"spec":{"group":"laws.io","hierarchy":["Namespace","Backend"],"kind":"Policy0"}}
{"apiVersion":"laws.io/v1","kind":"Policy0","metadata":{"name":"p0"},"spec":{"overrides":{"rules":{}},"targetRefs":[{"kind":"Namespace","name":"a"}]}}
batch
delete ["gateway.networking.k8s.io","HTTPRoute","a-b","r0"]
"#,
    );
}

#[test]
fn of_several_errors_of_a_condition_the_same_one_is_told() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"g1"}}
{"apiVersion":"v1","kind":"Service","metadata":{"name":"s1","namespace":"a-b"}}
{"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"policy1s.laws.io"},"spec":{"clusterTargets":true,"group":"laws.io","kind":"Policy1"}}
{"apiVersion":"laws.io/v1","kind":"Policy1","metadata":{"name":"p2","namespace":"a-b"},"spec":{"targetRefs":[{"kind":"Gateway","name":"g1"}]}}
{"apiVersion":"laws.io/v1","kind":"Policy1","metadata":{"name":"p5","namespace":"a-b"},"spec":{"rules":0,"targetRefs":[{"kind":"Service","name":"s1"}],"when":"spec.limits.a.x > 0"}}
{"apiVersion":"laws.io/v1","kind":"Policy1","metadata":{"name":"p6","namespace":"a-b"},"spec":{"overrides":{"limits":{}},"targetRefs":[{"kind":"Service","name":"s1","sectionName":"p1"}]}}
batch
delete ["laws.io","Policy1","a-b","p2"]
batch
put {"apiVersion":"v1","kind":"Service","metadata":{"name":"s1","namespace":"a-b"},"spec":{"ports":[{},{"name":"p1"}]}}
"#,
    );
}

#[test]
fn a_namespace_within_another_is_nobodys_home() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r2","namespace":"a"}}
batch
put {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","namespace":"default"}}
"#,
    );
}

#[test]
fn what_becomes_of_a_policy_is_counted_where_nothing_changes_too() {
    holds(
        r#"
{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}
{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"b","labels":{"in":"yes"}}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"open","namespace":"g"},"spec":{"listeners":[{"name":"l","port":80,"protocol":"HTTP","allowedRoutes":{"namespaces":{"from":"All"}}}]}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"shut","namespace":"g"},"spec":{"listeners":[{"name":"l","port":80,"protocol":"HTTP","allowedRoutes":{"namespaces":{"from":"Selector","selector":{"matchLabels":{"in":"yes"}}}}}]}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r","namespace":"a"},"spec":{"parentRefs":[{"name":"open","namespace":"g"},{"name":"shut","namespace":"g"}],"rules":[{}]}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r","namespace":"b"},"spec":{"parentRefs":[{"name":"shut","namespace":"g"}],"rules":[{}]}}
{"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"policy0s.laws.io"},"spec":{"class":"Inherited","effectiveTarget":"RouteRule","group":"laws.io","kind":"Policy0"}}
{"apiVersion":"laws.io/v1","kind":"Policy0","metadata":{"name":"p","namespace":"g"},"spec":{"targetRef":{"kind":"Gateway","name":"shut"},"x":1}}
batch
put {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","labels":{"in":"yes"}}}
"#,
    );
}

#[test]
fn what_becomes_of_a_policy_of_the_root_namespace_is_counted_everywhere() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"g","namespace":"g"},"spec":{"listeners":[{"name":"l","port":80,"protocol":"HTTP","allowedRoutes":{"namespaces":{"from":"All"}}}]}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r","namespace":"a"},"spec":{"parentRefs":[{"name":"g","namespace":"g"}],"rules":[{}]}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r","namespace":"b"},"spec":{"parentRefs":[{"name":"g","namespace":"g"}],"rules":[{}]}}
{"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"policy0s.laws.io"},"spec":{"class":"Inherited","effectiveTarget":"RouteRule","group":"laws.io","kind":"Policy0","rootNamespace":"root"}}
{"apiVersion":"laws.io/v1","kind":"Policy0","metadata":{"name":"p","namespace":"root"},"spec":{"targetRef":{"kind":"Namespace","name":"root"},"x":1}}
batch
delete ["gateway.networking.k8s.io","HTTPRoute","a","r"]
"#,
    );
}
