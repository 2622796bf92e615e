use super::{run, run_with};

#[test]
fn deleting_what_four_services_live_on() {
    insta::assert_snapshot!(run("attache plan --delete retrypolicy/be-patient -f examples/bakery"));
}

#[test]
fn deleting_in_colour() {
    insta::assert_snapshot!(run("attache plan --delete retrypolicy/be-patient --color always -f examples/bakery"));
}

#[test]
fn as_markdown() {
    insta::assert_snapshot!(run("attache plan --delete retrypolicy/pay-once -o markdown -f examples/bakery"));
}

#[test]
fn as_json() {
    insta::assert_snapshot!(run("attache plan --delete svc/orders -o json -f examples/bakery"));
}

const IMPATIENT: &str = "
apiVersion: example.io/v1
kind: RetryPolicy
metadata: {name: impatient, namespace: infra}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: main}
  overrides: {strategy: patch, timeout: 1s, retry: {attempts: 1}}
";

#[test]
fn applying_a_new_policy_that_counts_as_the_newest() {
    insta::assert_snapshot!(run_with("attache plan --apply - -f examples/bakery", IMPATIENT));
}

#[test]
fn applying_what_is_there_already_changes_nothing() {
    insta::assert_snapshot!(run("attache plan --apply examples/bakery/policies.yaml -f examples/bakery"));
}

#[test]
fn no_change_at_all() {
    insta::assert_snapshot!(run("attache plan -f examples/bakery"));
}

#[test]
fn deleting_what_does_not_exist() {
    insta::assert_snapshot!(run("attache plan --delete retrypolicy/be-patent -f examples/bakery"));
}

const TYPO: &str = "
apiVersion: example.io/v1
kind: RetryPolicy
metadata: {name: pay-once, namespace: baker}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: paymnets}
  retry: {attempts: 0}
";

#[test]
fn applying_a_mistake() {
    insta::assert_snapshot!(run_with("attache plan --apply - -f examples/bakery", TYPO));
}

#[test]
fn applying_a_mistake_as_markdown() {
    insta::assert_snapshot!(run_with("attache plan --apply - -o markdown -f examples/bakery", TYPO));
}

#[test]
fn deleting_a_mistake() {
    insta::assert_snapshot!(run("attache plan --delete backendtrafficpolicy/orders-too -f examples/envoy-gateway"));
}
