//! Cases that failed once, each as small as possible.

use crate::case::Case;
use crate::follow::verdict;

fn holds(case: &str) {
    verdict(&Case::parse(case)).unwrap_or_else(|wrong| panic!("{wrong}"));
}

#[test]
fn two_scopes_can_have_the_same_names() {
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
fn the_first_of_several_keyed_items_can_change() {
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
fn a_changed_object_without_dependents_is_kept() {
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
fn names_are_sorted_in_any_order_of_edits() {
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
fn deleting_and_putting_an_object_again_restores_the_state() {
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
fn a_deleted_route_no_longer_excludes_others_from_a_listener() {
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
fn a_route_without_a_grant_for_its_backend_still_excludes_others_from_a_listener() {
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
fn a_written_case_can_be_read_again() {
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
fn a_change_of_two_ports_with_one_name_is_reported_for_both() {
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
fn a_refused_target_lists_the_current_sections() {
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
fn a_backend_of_another_kind_can_get_ports() {
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
fn a_consumer_route_of_an_implied_namespace_stays_one_when_the_namespace_is_created() {
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
fn an_implied_namespace_is_removed_with_its_last_mesh_route() {
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
fn the_same_one_of_several_condition_errors_is_reported() {
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
fn a_namespace_object_with_a_namespace_contains_no_objects() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r2","namespace":"a"}}
batch
put {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","namespace":"default"}}
"#,
    );
}

#[test]
fn the_status_of_a_policy_counts_unchanged_scopes_too() {
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
fn the_status_of_a_root_namespace_policy_counts_all_scopes() {
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

#[test]
fn a_bad_annotation_stays_bad_though_the_batch_concerns_another_kind() {
    holds(
        r#"
{"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"colorpolicies.example.io"},"spec":{"group":"example.io","kind":"ColorPolicy"}}
{"apiVersion":"example.io/v1","kind":"ColorPolicy","metadata":{"name":"on-two","namespace":"shop"},"spec":{"color":"red","targetRef":{"group":"gateway.networking.k8s.io","kind":"HTTPRoute","name":"parent"}}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"annotations":{"kgateway.dev/inherited-policy-priority":"PreferUncle"},"name":"parent","namespace":"shop"}}
{"apiVersion":"gateway.kgateway.dev/v1alpha1","kind":"TrafficPolicy","metadata":{"name":"parent","namespace":"shop"},"spec":{"targetRefs":[{"group":"gateway.networking.k8s.io","kind":"HTTPRoute","name":"parent"}]}}
batch
batch
put {"apiVersion":"example.io/v1","kind":"ColorPolicy","metadata":{"name":"on-two","namespace":"shop"},"spec":{}}
"#,
    );
}

#[test]
fn a_policy_with_refused_targets_is_not_reported_if_its_unhandled_gateways_change() {
    holds(
        r#"
{"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"policy0s.laws.io"},"spec":{"controllers":["nobody"],"group":"laws.io","kind":"Policy0"}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r","namespace":"default"},"spec":{"parentRefs":[{"name":"gw"}],"rules":[{"backendRefs":[{"name":"a"}]}]}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"GatewayClass","metadata":{"name":"c"},"spec":{"controllerName":"laws.io/x"}}
{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"default"}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"gw","namespace":"default"},"spec":{"gatewayClassName":"c","listeners":[{"protocol":"HTTP"}]}}
{"apiVersion":"laws.io/v1","kind":"Policy0","metadata":{"name":"p2"},"spec":{"targetRefs":[{"kind":"Service","name":"s1"},{"kind":"GatewayClass","name":"c"}]}}
batch
delete ["gateway.networking.k8s.io","Gateway","default","gw"]
"#,
    );
}

#[test]
fn a_kind_that_is_no_longer_ambiguous_is_displayed_without_its_group() {
    holds(
        r#"
{"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"shadepolicies.one.io"},"spec":{"group":"one.io","kind":"ShadePolicy"}}
{"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"shadepolicies.two.io"},"spec":{"group":"two.io","kind":"ShadePolicy"}}
{"apiVersion":"one.io/v1","kind":"ShadePolicy","metadata":{"name":"p"}}
{"apiVersion":"two.io/v1","kind":"ShadePolicy","metadata":{"name":"p"}}
batch
put {"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"shadepolicies.two.io"}}
"#,
    );
}

#[test]
fn settings_for_a_port_follow_the_port_of_the_listener() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"gw","namespace":"default"},"spec":{"gatewayClassName":"kgateway","listeners":[{"name":"a","port":80,"protocol":"HTTP"},{"name":"b","port":81,"protocol":"HTTP"}]}}
{"apiVersion":"gateway.kgateway.dev/v1alpha1","kind":"ListenerPolicy","metadata":{"name":"p","namespace":"default"},"spec":{"targetRefs":[{"group":"gateway.networking.k8s.io","kind":"Gateway","name":"gw"}],"default":{"proxyProtocol":{}},"perPort":[{"port":81,"listener":{"perConnectionBufferLimitBytes":1}}]}}
{"apiVersion":"gateway.kgateway.dev/v1alpha1","kind":"ListenerPolicy","metadata":{"name":"q","namespace":"default"},"spec":{"targetRefs":[{"group":"gateway.networking.k8s.io","kind":"Gateway","name":"gw"}],"perPort":[{"port":82,"listener":{"proxyProtocol":{}}}]}}
batch
put {"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"gw","namespace":"default"},"spec":{"gatewayClassName":"kgateway","listeners":[{"name":"a","port":80,"protocol":"HTTP"},{"name":"b","port":82,"protocol":"HTTP"}]}}
batch
put {"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"gw","namespace":"default"},"spec":{"gatewayClassName":"kgateway","listeners":[{"name":"a","port":80,"protocol":"HTTP"},{"name":"b","protocol":"HTTP"}]}}
"#,
    );
}

#[test]
fn a_policy_is_refused_once_another_route_has_the_path_of_its_target() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"gw","namespace":"default"},"spec":{"gatewayClassName":"nginx","listeners":[{"name":"http","port":80,"protocol":"HTTP"}]}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"stable","namespace":"default"},"spec":{"parentRefs":[{"name":"gw"}],"rules":[{"matches":[{"path":{"value":"/"}}]}]}}
{"apiVersion":"gateway.nginx.org/v1alpha1","kind":"ClientSettingsPolicy","metadata":{"name":"p","namespace":"default"},"spec":{"targetRef":{"group":"gateway.networking.k8s.io","kind":"HTTPRoute","name":"stable"},"body":{"maxSize":"1m"}}}
batch
put {"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"canary","namespace":"default"},"spec":{"parentRefs":[{"name":"gw"}],"rules":[{"matches":[{"headers":[{"name":"x-canary","value":"1"}]}]}]}}
batch
delete ["gateway.networking.k8s.io","HTTPRoute","default","canary"]
"#,
    );
}

#[test]
fn an_invalid_annotation_stays_when_a_policy_is_edited() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r","namespace":"a","annotations":{"kgateway.dev/inherited-policy-priority":"Sideways"}}}
{"apiVersion":"gateway.kgateway.dev/v1alpha1","kind":"TrafficPolicy","metadata":{"name":"p","namespace":"a"},"spec":{"targetRefs":[{"group":"gateway.networking.k8s.io","kind":"HTTPRoute","name":"r"}],"buffer":{"maxRequestSize":"1Ki"}}}
batch
batch
put {"apiVersion":"gateway.kgateway.dev/v1alpha1","kind":"TrafficPolicy","metadata":{"name":"p","namespace":"a"},"spec":{"targetRefs":[{"group":"gateway.networking.k8s.io","kind":"HTTPRoute","name":"r"}],"buffer":{"maxRequestSize":"2Ki"}}}
"#,
    );
}

#[test]
fn an_invalid_annotation_moves_with_its_route() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r","namespace":"a","annotations":{"kgateway.dev/inherited-policy-priority":"Sideways"}}}
{"apiVersion":"gateway.kgateway.dev/v1alpha1","kind":"TrafficPolicy","metadata":{"name":"p","namespace":"a"},"spec":{"targetRefs":[{"group":"gateway.networking.k8s.io","kind":"HTTPRoute","name":"r"}],"buffer":{"maxRequestSize":"1Ki"}}}
batch
put {"apiVersion":"gateway.kgateway.dev/v1alpha1","kind":"TrafficPolicy","metadata":{"name":"p","namespace":"a"},"spec":{"targetRefs":[{"group":"gateway.networking.k8s.io","kind":"HTTPRoute","name":"r"}],"buffer":{"maxRequestSize":"2Ki"}}}
batch
move {"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r","namespace":"a","annotations":{"kgateway.dev/inherited-policy-priority":"Sideways"}}}
"#,
    );
}

#[test]
fn of_several_parents_that_no_request_reaches_the_first_by_name_is_reported() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"ListenerSet","metadata":{"name":"new","namespace":"a"},"spec":{"listeners":[{"protocol":"HTTP"}]}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r","namespace":"a"},"spec":{"parentRefs":[{"name":"g"},{"kind":"ListenerSet","name":"new"}]}}
batch
put {"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"g","namespace":"a"},"spec":{"listeners":[{"port":80,"protocol":"HTTP"},{"port":80,"protocol":"HTTPS"}]}}
"#,
    );
}

#[test]
fn a_gateway_names_a_class_that_is_similar_to_a_new_one() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"g","namespace":"a"},"spec":{"gatewayClassName":"ngnix","listeners":[{"name":"http","port":80,"protocol":"HTTP"}]}}
batch
put {"apiVersion":"gateway.networking.k8s.io/v1","kind":"GatewayClass","metadata":{"name":"nginx"},"spec":{"controllerName":"example.io/nginx"}}
batch
delete ["gateway.networking.k8s.io","GatewayClass","","nginx"]
"#,
    );
}

#[test]
fn a_refused_policy_reports_the_gateway_that_newly_serves_its_route() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"gw","namespace":"default"},"spec":{"listeners":[{"protocol":"HTTP"}]}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r","namespace":"default"},"spec":{"parentRefs":[{"name":"gw"}]}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"GRPCRoute","metadata":{"name":"rpc","namespace":"default"},"spec":{"parentRefs":[{"name":"gw"}]}}
{"apiVersion":"kuadrant.io/v1alpha1","kind":"TokenRateLimitPolicy","metadata":{"name":"rpc","namespace":"default"},"spec":{"targetRef":{"kind":"GRPCRoute","name":"rpc"}}}
batch
delete ["gateway.networking.k8s.io","HTTPRoute","default","r"]
"#,
    );
}

#[test]
fn a_direct_policy_of_a_service_reports_the_gateways_of_its_routes() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"BackendTLSPolicy","metadata":{"name":"two","namespace":"a"},"spec":{"targetRefs":[{"kind":"Service","name":"s"}]}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"g","namespace":"a"},"spec":{"listeners":[{"protocol":"TLS"}]}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"TLSRoute","metadata":{"name":"tls","namespace":"a"},"spec":{"parentRefs":[{"name":"g"}],"rules":[{"backendRefs":[{"name":"s"}]}]}}
{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"a"}}
batch
delete ["gateway.networking.k8s.io","TLSRoute","a","tls"]
"#,
    );
}

#[test]
fn a_workload_whose_policy_moves_to_the_namespace_is_not_counted_as_affected() {
    holds(
        r#"
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"}}
{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db","namespace":"shop"},"spec":{"template":{"metadata":{"labels":{"app":"db"}}}}}
{"apiVersion":"security.istio.io/v1","kind":"PeerAuthentication","metadata":{"name":"db","namespace":"shop"},"spec":{"mtls":{"mode":"DISABLE"},"selector":{"matchLabels":{"app":"db"}}}}
{"apiVersion":"security.istio.io/v1","kind":"PeerAuthentication","metadata":{"name":"shop","namespace":"shop"}}
batch
put {"apiVersion":"security.istio.io/v1","kind":"PeerAuthentication","metadata":{"name":"db","namespace":"shop"},"spec":{"mtls":{"mode":"DISABLE"}}}
"#,
    );
}

#[test]
fn a_status_changes_if_the_policies_that_it_names_are_written_differently() {
    holds(
        r#"
{"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"quotapolicies.example.io"},"spec":{"group":"example.io","kind":"QuotaPolicy"}}
{"apiVersion":"example.io/v1","kind":"QuotaPolicy","metadata":{"name":"high"}}
{"apiVersion":"attache.dev/v1alpha1","kind":"PolicyKind","metadata":{"name":"quotapolicies.acme.io"},"spec":{"group":"acme.io","hierarchy":["Gateway"],"kind":"QuotaPolicy"}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"other","namespace":"default"}}
{"apiVersion":"acme.io/v1","kind":"QuotaPolicy","metadata":{"name":"on-lost","namespace":"default"},"spec":{"overrides":{"a":2},"targetRef":{"kind":"Gateway","name":"other"}}}
{"apiVersion":"acme.io/v1","kind":"QuotaPolicy","metadata":{"name":"on-other","namespace":"default"},"spec":{"overrides":{"a":2},"targetRef":{"kind":"Gateway","name":"other"}}}
batch
delete ["attache.dev","PolicyKind","","quotapolicies.example.io"]
"#,
    );
}

#[test]
fn a_grant_can_change_why_a_certificate_without_a_name_is_refused() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1beta1","kind":"ReferenceGrant","metadata":{"name":"secrets","namespace":"b"},"spec":{"from":[{"group":"gateway.networking.k8s.io","kind":"Gateway","namespace":"a"}],"to":[{"kind":"Secret"}]}}
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"g","namespace":"a"},"spec":{"listeners":[{"protocol":"HTTPS","tls":{"certificateRefs":[{"namespace":"b"}]}}]}}
batch
put {"apiVersion":"gateway.networking.k8s.io/v1beta1","kind":"ReferenceGrant","metadata":{"name":"secrets","namespace":"b"}}
"#,
    );
}

#[test]
fn a_gateway_with_the_field_of_a_listener_set_is_no_listener_set() {
    holds(
        r#"
{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"g1"},"spec":{"gatewayClassName":"c","parentRef":{"name":"g1"}}}
batch
put {"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"g0"}}
"#,
    );
}
