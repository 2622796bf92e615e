use super::run;

#[test]
fn a_service() {
    insta::assert_snapshot!(run("attache explain svc/payments -f examples/bakery"));
}

#[test]
fn a_service_in_colour() {
    insta::assert_snapshot!(run("attache explain svc/payments --color always -f examples/bakery"));
}

#[test]
fn a_route_whose_services_have_the_same_answer() {
    insta::assert_snapshot!(run("attache explain httproute/cakes -f examples/bakery"));
}

#[test]
fn a_gateway() {
    insta::assert_snapshot!(run("attache explain gw/main -f examples/bakery"));
}

#[test]
fn one_field() {
    insta::assert_snapshot!(run("attache explain httproute/payments retry.attempts -f examples/bakery"));
}

#[test]
fn one_field_by_the_end_of_its_path() {
    insta::assert_snapshot!(run("attache explain httproute payments timeout -f examples/bakery"));
}

#[test]
fn the_steps() {
    insta::assert_snapshot!(run("attache explain svc/payments --steps -f examples/bakery"));
}

#[test]
fn the_steps_in_colour() {
    insta::assert_snapshot!(run("attache explain svc/payments --steps --color always -f examples/bakery"));
}

#[test]
fn the_steps_of_one_field() {
    insta::assert_snapshot!(run("attache explain svc/payments retry.attempts --steps -f examples/bakery"));
}

#[test]
fn rules_conditions_and_what_is_removed() {
    insta::assert_snapshot!(run("attache explain httproute/house -f crates/attache/tests/input/blocks.yaml"));
}

#[test]
fn the_steps_of_rules_and_conditions() {
    insta::assert_snapshot!(run("attache explain httproute/house --steps -f crates/attache/tests/input/blocks.yaml"));
}

#[test]
fn one_rule_by_its_name() {
    insta::assert_snapshot!(run("attache explain httproute/house door -f crates/attache/tests/input/blocks.yaml"));
}

#[test]
fn a_field_that_lost_with_its_rule() {
    insta::assert_snapshot!(run(
        "attache explain httproute/house door.paint.layers -f crates/attache/tests/input/blocks.yaml"
    ));
}

#[test]
fn an_object_as_it_will_behave() {
    insta::assert_snapshot!(run(
        "attache explain httproute/site --steps -f crates/attache/tests/input/merges-into.yaml"
    ));
}

#[test]
fn an_answer_that_depends_on_the_path() {
    insta::assert_snapshot!(run("attache explain svc/shared -f crates/attache/tests/input/shared-service.yaml"));
}

#[test]
fn as_json() {
    insta::assert_snapshot!(run("attache explain svc/payments attempts --steps -o json -f examples/bakery"));
}

#[test]
fn as_yaml() {
    insta::assert_snapshot!(run("attache explain gw/main -o yaml -f examples/bakery"));
}

#[test]
fn by_name() {
    insta::assert_snapshot!(run("attache explain svc/payments timeout -o name -f examples/bakery"));
}

#[test]
fn on_a_narrow_terminal() {
    insta::assert_snapshot!(run("COLUMNS=60 attache explain svc/payments -f examples/bakery"));
}

#[test]
fn a_field_with_a_typo() {
    insta::assert_snapshot!(run("attache explain httproute/cakes retry.atempts -f examples/bakery"));
}

#[test]
fn a_field_like_no_other() {
    insta::assert_snapshot!(run("attache explain httproute/cakes zebra -f examples/bakery"));
}

#[test]
fn something_that_no_policy_reaches() {
    insta::assert_snapshot!(run("attache explain gatewayclass/shop -f examples/bakery"));
}

#[test]
fn a_policy() {
    insta::assert_snapshot!(run("attache explain retrypolicy/be-patient -f examples/bakery"));
}

#[test]
fn two_fields() {
    insta::assert_snapshot!(run("attache explain httproute/cakes retry timeout -f examples/bakery"));
}

#[test]
fn an_object_with_a_typo() {
    insta::assert_snapshot!(run("attache explain httproute/caeks timeout -f examples/bakery"));
}

#[test]
fn how_a_policy_merges_as_the_route_says() {
    insta::assert_snapshot!(run("attache explain httproute/root -f crates/attache/tests/rivals/delegated.yaml"));
}

#[test]
fn a_field_that_the_rule_sets_itself() {
    insta::assert_snapshot!(run(
        "attache explain httproute/leaf timeouts.request -f crates/attache/tests/rivals/delegated.yaml"
    ));
}
