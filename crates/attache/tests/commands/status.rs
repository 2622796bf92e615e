use super::{run, run_with};

#[test]
fn of_everything() {
    insta::assert_snapshot!(run("attache status -f examples/bakery"));
}

#[test]
fn of_one_namespace_in_colour() {
    insta::assert_snapshot!(run("attache status -n infra --color always -f examples/bakery"));
}

#[test]
fn as_json() {
    insta::assert_snapshot!(run("attache status -n infra -o json -f examples/bakery"));
}

#[test]
fn of_a_namespace_without_policies() {
    insta::assert_snapshot!(run("attache status -n nowhere -f examples/bakery"));
}

#[test]
fn of_standard_input() {
    let input = "{apiVersion: example.io/v1, kind: RetryPolicy, metadata: {name: piped, namespace: baker}, \
                 spec: {targetRef: {kind: Service, name: pies}, retry: {attempts: 1}}}";
    insta::assert_snapshot!(run_with("attache status -n baker -f examples/bakery -f -", input));
}

#[test]
fn without_colour_if_it_is_not_wanted() {
    assert!(!run("NO_COLOR=1 CLICOLOR_FORCE=1 attache status -f examples/bakery").contains('␛'));
    assert!(run("CLICOLOR_FORCE=1 attache status -f examples/bakery").contains('␛'));
}

#[test]
fn on_a_narrow_terminal() {
    insta::assert_snapshot!(run("COLUMNS=72 attache status -f examples/kuadrant"));
}

/// Its defaults are in force, but its overrides are not.
#[test]
fn of_a_policy_with_a_condition_on_one_of_its_blocks() {
    insta::assert_snapshot!(run("attache status -f crates/attache/tests/input/conditions.yaml"));
}

#[test]
fn long_names_on_a_narrow_terminal() {
    insta::assert_snapshot!(run("COLUMNS=60 attache status -f examples/envoy-gateway"));
}
