use super::{run, run_with};

#[test]
fn deleting_a_policy_that_affects_four_services() {
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
fn applying_an_unchanged_object_changes_nothing() {
    insta::assert_snapshot!(run("attache plan --apply examples/bakery/policies.yaml -f examples/bakery"));
}

#[test]
fn no_change_at_all() {
    insta::assert_snapshot!(run("attache plan -f examples/bakery"));
}

#[test]
fn deleting_a_missing_object() {
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

#[test]
fn deleting_a_namespace_deletes_the_objects_in_it() {
    insta::assert_snapshot!("a_namespace", run("attache plan --delete ns/baker -f examples/bakery"));
    let markdown = run("attache plan --delete ns/baker -o markdown -f examples/bakery");
    assert!(markdown.contains("With `Namespace/baker` go 5 Services, 2 RetryPolicies, 4 HTTPRoutes."), "{markdown}");
    let json = run("attache plan --delete ns/infra -o json -f examples/bakery");
    assert!(
        json.contains("\"with\": [\n        \"RetryPolicy/infra/time-limit\",\n        \"Gateway/infra/main\""),
        "{json}"
    );
}

#[test]
fn deleting_a_crd_takes_along_the_objects_of_its_kind() {
    insta::assert_snapshot!(run(
        "attache plan --delete crd/quotapolicies.acme.io -f crates/attache/tests/input/crd.yaml"
    ));
}

#[test]
fn an_object_applied_to_a_deleted_namespace_is_deleted() {
    let plan = "attache plan --apply - --delete ns/infra retrypolicy/pay-once -f examples/bakery";
    insta::assert_snapshot!(run_with(plan, IMPATIENT));
}

#[test]
fn deleting_a_section() {
    insta::assert_snapshot!(run("attache plan --delete httproute/cakes#menu -f examples/bakery"));
}

#[test]
fn applying_an_unreadable_file() {
    for (name, file, text) in [
        ("a_change_that_is_not_there", "nowhere.yaml", ""),
        ("a_broken_change", "-", "kind: [RetryPolicy\n"),
        (
            "a_change_that_is_half_broken",
            "crates/attache/tests/bad-input/twice.yaml crates/attache/tests/bad-input/no-yaml.yaml",
            "",
        ),
    ] {
        insta::assert_snapshot!(name, run_with(&format!("attache plan --apply {file} -f examples/bakery"), text));
    }
}

#[test]
fn a_state_that_can_be_read_only_in_part() {
    insta::assert_snapshot!(run("attache plan --delete retrypolicy/pay-once -f examples/bakery -f nowhere.yaml"));
}

#[test]
fn standard_input_twice() {
    insta::assert_snapshot!(run("attache plan --apply - -f -"));
}

#[test]
fn a_problem_before_and_after_is_shown_once() {
    let plan = run("attache plan --delete gw/main -f crates/attache/tests/bad-input/good.yaml \
                    -f crates/attache/tests/bad-input/unlabelled.yaml");
    assert_eq!(plan.matches("has no policy label").count(), 1, "{plan}");
}

#[test]
fn a_new_version_of_a_folder_does_not_delete_what_it_lacks() {
    insta::assert_snapshot!(run(
        "attache plan --apply examples/kuadrant -f examples/kuadrant -f examples/bakery/baker.yaml"
    ));
}
