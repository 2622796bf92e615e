use super::run;

#[test]
fn a_route() {
    insta::assert_snapshot!(run("attache describe httproute/payments -f examples/bakery"));
}

#[test]
fn a_route_in_colour() {
    insta::assert_snapshot!(run("attache describe httproute/payments --color always -f examples/bakery"));
}

#[test]
fn a_gateway() {
    insta::assert_snapshot!(run("attache describe gw/main -f examples/bakery"));
}

#[test]
fn a_waypoint_on_which_a_policy_is_in_force() {
    insta::assert_snapshot!(run("attache describe gw/waypoint -n shop -f crates/attache/tests/mesh.yaml"));
}

#[test]
fn a_listener() {
    insta::assert_snapshot!(run("attache describe gw/main#web -f examples/bakery"));
}

#[test]
fn a_rule() {
    insta::assert_snapshot!(run("attache describe httproute/cakes#orders -f examples/bakery"));
}

#[test]
fn a_service() {
    insta::assert_snapshot!(run("attache describe svc orders -f examples/bakery"));
}

#[test]
fn a_port() {
    insta::assert_snapshot!(run("attache describe svc/orders#8080 -f examples/bakery"));
}

#[test]
fn a_namespace() {
    insta::assert_snapshot!(run("attache describe ns/baker -f examples/bakery"));
}

#[test]
fn something_that_no_policy_reaches() {
    insta::assert_snapshot!(run("attache describe gatewayclass/shop -f examples/bakery"));
}

#[test]
fn a_policy() {
    insta::assert_snapshot!(run("attache describe retrypolicy/be-patient -f examples/bakery"));
}

#[test]
fn a_policy_in_colour() {
    insta::assert_snapshot!(run("attache describe retrypolicy/be-patient --color always -f examples/bakery"));
}

#[test]
fn a_policy_with_conditions() {
    insta::assert_snapshot!(run("attache describe colorpolicy/gateway -f crates/attache/tests/input/blocks.yaml"));
}

#[test]
fn a_policy_that_is_refused() {
    insta::assert_snapshot!(run(
        "attache describe colorpolicy/lost -f crates/attache/tests/input/refused-policies.yaml"
    ));
}

#[test]
fn a_gateway_whose_policies_are_refused() {
    insta::assert_snapshot!(run("attache describe gw/main -f crates/attache/tests/input/refused-policies.yaml"));
}

#[test]
fn a_route_with_a_refused_policy_on_its_namespace() {
    insta::assert_snapshot!(run(
        "attache describe httproute/bread -f examples/bakery -f crates/attache/tests/input/refused-above.yaml"
    ));
}

#[test]
fn a_workload() {
    insta::assert_snapshot!(run("attache describe deploy/oven -f crates/attache/tests/input/refused-policies.yaml"));
}

#[test]
fn a_route_that_attaches_nowhere() {
    insta::assert_snapshot!(run("attache describe httproute/stray -f crates/attache/tests/input/refused.yaml"));
}

#[test]
fn policies_that_no_request_meets() {
    insta::assert_snapshot!(run("attache describe httproute/cart -f crates/attache/tests/input/partial.yaml"));
}

#[test]
fn a_gateway_that_refuses_routes() {
    insta::assert_snapshot!(run("attache describe gw/gw -f crates/attache/tests/input/refused.yaml"));
}

#[test]
fn a_service_in_front_of_routes() {
    insta::assert_snapshot!(run("attache describe svc/foo -f crates/attache/tests/input/refused.yaml"));
}

#[test]
fn an_object_as_json() {
    insta::assert_snapshot!(run("attache describe httproute/payments -o json -f examples/bakery"));
}

#[test]
fn a_policy_as_yaml() {
    insta::assert_snapshot!(run("attache describe retrypolicy/pay-once -o yaml -f examples/bakery"));
}

#[test]
fn a_name_with_a_typo() {
    insta::assert_snapshot!(run("attache describe httproute/caeks -f examples/bakery"));
}

#[test]
fn a_section_that_does_not_exist() {
    insta::assert_snapshot!(run("attache describe gw/main#https -f examples/bakery"));
}

#[test]
fn an_object_without_a_name() {
    insta::assert_snapshot!(run("attache describe httproute -f examples/bakery"));
}

#[test]
fn on_a_narrow_terminal() {
    insta::assert_snapshot!(run("COLUMNS=60 attache describe httproute/payments -f examples/bakery"));
}

/// A rule behind two listeners, one of which has its own policy.
#[test]
fn a_route_with_an_answer_for_each_path_to_it() {
    insta::assert_snapshot!(run("attache describe httproute/orders -f examples/envoy-gateway"));
}

#[test]
fn a_policy_that_conflicts_with_another_on_one_of_its_targets() {
    let describe = "attache describe backendtrafficpolicy/late -f crates/attache/tests/input/conflict.yaml";
    insta::assert_snapshot!("a_conflict", run(describe));
    insta::assert_snapshot!("a_conflict_as_json", run(&format!("{describe} -o json")));
}

#[test]
fn a_policy_whose_condition_is_none() {
    insta::assert_snapshot!(run(
        "attache describe colorpolicy/bad -f crates/attache/tests/bad-input/good.yaml -f crates/attache/tests/bad-input/no-cel.yaml"
    ));
}

#[test]
fn long_names_on_a_narrow_terminal() {
    insta::assert_snapshot!(run("COLUMNS=60 attache describe httproute/orders -f examples/envoy-gateway"));
}

#[test]
fn a_service_whose_routes_have_policies() {
    insta::assert_snapshot!(run("attache describe svc/toystore -f examples/kuadrant"));
}
