use super::run;

#[test]
fn what_is_there() {
    insta::assert_snapshot!(run("attache audit --require retrypolicy:retry.attempts -f examples/bakery"));
}

#[test]
fn what_is_missing_in_colour() {
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
