use super::run;

#[test]
fn what_is_there() {
    insta::assert_snapshot!(run("attache audit --require retrypolicy:retry.attempts -f examples/bakery"));
}

#[test]
fn missing_policies_in_colour() {
    insta::assert_snapshot!(run(
        "attache audit --require retrypolicy:jitter --on route --color always -f examples/bakery"
    ));
}

#[test]
fn a_kind_of_which_there_are_no_policies() {
    insta::assert_snapshot!(run("attache audit --require authpolicy -n baker -f examples/bakery"));
}

const FILE: &str = "attache audit --requirements crates/attache/tests/audit/requirements.yaml --date 2026-11-15";

#[test]
fn exceptions_with_an_end() {
    insta::assert_snapshot!(run(&format!("{FILE} -f examples/bakery")));
}

#[test]
fn as_json() {
    insta::assert_snapshot!(run(&format!("{FILE} -o json -f examples/bakery")));
}

#[test]
fn by_name() {
    insta::assert_snapshot!(run(&format!("{FILE} -o name -f examples/bakery")));
}

#[test]
fn bad_requirements() {
    for (name, arguments) in [
        ("nothing_required", ""),
        ("an_unknown_kind", "--require authplicy"),
        ("a_day_that_is_none", "--require retrypolicy --date tomorrow"),
        ("a_file_that_is_not_there", "--requirements nowhere.yaml"),
        ("an_unknown_field", "--requirements crates/attache/tests/audit/a-field-that-is-none.yaml"),
        ("no_reason", "--requirements crates/attache/tests/audit/no-reason.yaml"),
        ("an_exception_for_no_object", "--requirements crates/attache/tests/audit/no-object.yaml"),
        ("a_namespace_with_a_typo", "--require retrypolicy -n bakr -q"),
    ] {
        insta::assert_snapshot!(name, run(&format!("attache audit {arguments} -f examples/bakery")));
    }
}

#[test]
fn a_rule_with_a_typo() {
    insta::assert_snapshot!(run("attache audit --require retrypolicy:atempts -f examples/bakery"));
}

/// Both Kuadrant and NGINX have a RateLimitPolicy.
#[test]
fn of_kinds_with_one_name_the_one_that_is_there_is_meant() {
    insta::assert_snapshot!(run("attache audit --require ratelimitpolicy -f examples/kuadrant"));
}

#[test]
fn of_kinds_with_one_name_none_is_there() {
    insta::assert_snapshot!(run("attache audit --require ratelimitpolicy -f examples/bakery"));
}

const EXCEPTIONS: &str = "attache audit --requirements crates/attache/tests/audit/exceptions.yaml --date 2026-11-15";

#[test]
fn exceptions_that_except_something_and_others() {
    insta::assert_snapshot!(run(&format!("COLUMNS=80 {EXCEPTIONS} -f examples/kuadrant")));
}

#[test]
fn exceptions_that_except_something_and_others_as_json() {
    insta::assert_snapshot!(run(&format!("{EXCEPTIONS} -o json -f examples/kuadrant")));
}

/// Exceptions for objects of other namespaces are ignored.
#[test]
fn exceptions_in_one_namespace() {
    insta::assert_snapshot!(run(&format!("{EXCEPTIONS} -n infra -f examples/kuadrant")));
}

#[test]
fn a_level_on_which_it_never_takes_effect() {
    for arguments in ["", "-n toys"] {
        let answer = run(&format!("attache audit --require authpolicy --on backend {arguments} -f examples/kuadrant"));
        assert!(answer.ends_with("--- exit 2\n"), "{answer}");
    }
    insta::assert_snapshot!(run("attache audit --require authpolicy --on backend -f examples/bakery"));
}

#[test]
fn nothing_that_it_could_be_on() {
    insta::assert_snapshot!(run("attache audit --require authpolicy -n infra -f examples/kuadrant"));
}

/// Without the parent of a route, it is unknown whether requests reach the route.
#[test]
fn strictly_nothing_is_in_force_below_an_unknown_parent() {
    let audit = "attache audit --require securitypolicy -f crates/attache/tests/input/partial.yaml";
    insta::assert_snapshot!(run(audit));
    insta::assert_snapshot!("strictly_nothing_is_in_force", run(&format!("{audit} --strict")));
}

#[test]
fn a_backend_that_no_route_leads_to() {
    let file = "-f crates/attache/tests/input/unrouted.yaml";
    insta::assert_snapshot!("unrouted", run(&format!("attache audit --require backendtlspolicy {file}")));
    insta::assert_snapshot!("unrouted_json", run(&format!("attache audit --require backendtlspolicy -o json {file}")));
    insta::assert_snapshot!("unrouted_effective", run(&format!("attache effective service/lonely -n shop {file}")));
}
