use super::run;

#[test]
fn of_a_policy_that_is_partly_overridden() {
    insta::assert_snapshot!(run("attache reach retrypolicy/be-patient -f examples/bakery"));
}

#[test]
fn of_a_policy_in_colour() {
    insta::assert_snapshot!(run("attache reach retrypolicy/be-patient --color always -f examples/bakery"));
}

#[test]
fn of_one_rule() {
    insta::assert_snapshot!(run("attache reach retrypolicy be-patient --rule attempts -f examples/bakery"));
}

#[test]
fn of_a_rule_that_affects_nothing() {
    insta::assert_snapshot!(run("attache reach retrypolicy/be-patient --rule timeout -f examples/bakery"));
}

#[test]
fn of_a_rule_that_does_not_exist() {
    insta::assert_snapshot!(run("attache reach retrypolicy/be-patient --rule colour -f examples/bakery"));
}

#[test]
fn of_something_that_is_no_policy() {
    insta::assert_snapshot!(run("attache reach httproute/cakes -f examples/bakery"));
}

#[test]
fn as_json() {
    insta::assert_snapshot!(run("attache reach retrypolicy/pay-once -o json -f examples/bakery"));
}

#[test]
fn by_name() {
    insta::assert_snapshot!(run("attache reach retrypolicy/pay-once -o name -f examples/bakery"));
}

#[test]
fn of_a_rule_with_a_typo() {
    insta::assert_snapshot!(run("attache reach retrypolicy/be-patient --rule atempts -f examples/bakery"));
}

/// A rule behind two listeners, one of which has its own policy.
#[test]
fn of_a_policy_that_is_overridden_on_one_path() {
    insta::assert_snapshot!(run("attache reach backendtrafficpolicy/everything -f examples/envoy-gateway"));
}

#[test]
fn of_a_policy_that_is_overridden_on_one_path_as_json() {
    insta::assert_snapshot!(run("attache reach backendtrafficpolicy/everything -o json -f examples/envoy-gateway"));
}

#[test]
fn of_a_policy_that_conflicts_with_another() {
    insta::assert_snapshot!(run("attache reach backendtrafficpolicy/orders-too -f examples/envoy-gateway"));
}

#[test]
fn of_a_policy_that_conflicts_with_another_on_one_of_its_targets() {
    insta::assert_snapshot!(run("attache reach backendtrafficpolicy/late -f crates/attache/tests/input/conflict.yaml"));
}

#[test]
fn of_a_policy_whose_kind_is_unknown() {
    insta::assert_snapshot!(run(
        "attache reach shapepolicy/round -f crates/attache/tests/bad-input/unlabelled.yaml -f examples/bakery"
    ));
}
