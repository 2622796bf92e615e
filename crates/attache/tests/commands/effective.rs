use super::run;

#[test]
fn everywhere() {
    insta::assert_snapshot!(run("attache effective -f examples/bakery"));
}

#[test]
fn everywhere_in_colour() {
    insta::assert_snapshot!(run("attache effective --color always -f examples/bakery"));
}

#[test]
fn on_requests_through_a_route() {
    insta::assert_snapshot!(run("attache effective httproute/payments -f examples/bakery"));
}

#[test]
fn on_requests_through_one_rule() {
    insta::assert_snapshot!(run("attache effective httproute/cakes#orders --kind retrypolicies -f examples/bakery"));
}

#[test]
fn given_by_a_gateway() {
    insta::assert_snapshot!(run("attache effective gateway main -f examples/bakery"));
}

#[test]
fn in_a_namespace() {
    insta::assert_snapshot!(run("attache effective ns/baker -f examples/bakery"));
}

#[test]
fn by_name() {
    insta::assert_snapshot!(run("attache effective svc/orders -o name -f examples/bakery"));
}

#[test]
fn as_json() {
    insta::assert_snapshot!(run("attache effective svc/payments -o json -f examples/bakery"));
}

#[test]
fn as_yaml() {
    insta::assert_snapshot!(run("attache effective gateway/main -o yaml -f examples/bakery"));
}

#[test]
fn nothing() {
    insta::assert_snapshot!(run("attache effective gatewayclass/shop -f examples/bakery"));
}

#[test]
fn an_answer_that_depends_on_the_path() {
    insta::assert_snapshot!(run("attache effective -f crates/attache/tests/input/shared-service.yaml"));
}

#[test]
fn on_a_route_as_it_will_behave() {
    insta::assert_snapshot!(run("attache effective httproute/site -f crates/attache/tests/input/merges-into.yaml"));
}

#[test]
fn on_a_route_as_it_will_behave_as_json() {
    insta::assert_snapshot!(run("attache effective -o json -f crates/attache/tests/input/merges-into.yaml"));
}

#[test]
fn nothing_in_a_namespace() {
    insta::assert_snapshot!(run("attache effective -n nowhere -f examples/bakery"));
}

#[test]
fn a_policy_kind_with_a_typo() {
    insta::assert_snapshot!(run("attache effective --kind retrypolcy -f examples/bakery"));
}

#[test]
fn on_a_narrow_terminal() {
    insta::assert_snapshot!(run("COLUMNS=72 attache effective httproute/payments -f examples/bakery"));
}

#[test]
fn an_override_beats_a_default_on_the_same_target_whatever_their_ages() {
    insta::assert_snapshot!(run("attache effective -f crates/attache/tests/rivals/override.yaml"));
}

#[test]
fn of_two_defaults_on_one_target_the_newer_counts() {
    insta::assert_snapshot!(run("attache effective -f crates/attache/tests/rivals/ages.yaml"));
}

#[test]
fn a_policy_that_merges_with_one_parent_replaces_the_others() {
    insta::assert_snapshot!(run("attache effective -f crates/attache/tests/rivals/parents.yaml"));
}

#[test]
fn each_item_of_a_list_that_was_put_together_has_its_origin() {
    insta::assert_snapshot!(run("attache effective -f crates/attache/tests/rivals/delegated.yaml"));
}

#[test]
fn policies_that_no_request_meets() {
    let effective = "attache effective httproute/cart -f crates/attache/tests/input/partial.yaml";
    insta::assert_snapshot!(run(effective));
    insta::assert_snapshot!("policies_that_no_request_meets_as_json", run(&format!("{effective} -o json")));
}

#[test]
fn what_the_controller_reports_for_other_ports_is_not_in_force() {
    insta::assert_snapshot!(run("attache effective -o json -f crates/attache/tests/input/per-port.yaml"));
}

#[test]
fn on_the_routes_that_lead_to_a_service() {
    insta::assert_snapshot!(run("attache effective svc/toystore -f examples/kuadrant"));
}

#[test]
fn only_policies_that_a_controller_handles_are_on_the_routes_that_lead_to_a_service() {
    let of_kind = |kind: &str| {
        run(&format!("attache effective svc/s --kind {kind} -f crates/attache/tests/bad-input/unhandled.yaml"))
    };
    insta::assert_snapshot!([of_kind("clientsettingspolicy"), of_kind("securitypolicy")].concat());
}
