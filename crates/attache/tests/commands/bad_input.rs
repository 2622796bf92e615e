//! If part of the input is wrong, the message says what and where, and the rest is still answered.

use super::run;

const GOOD: &str = "crates/attache/tests/bad-input/good.yaml";

fn status_with(bad: &str) -> String {
    run(&format!("attache status -f {GOOD} -f crates/attache/tests/bad-input/{bad}"))
}

#[test]
fn a_policy_that_targets_nothing() {
    insta::assert_snapshot!(status_with("no-target.yaml"));
}

#[test]
fn a_policy_without_a_target() {
    insta::assert_snapshot!(status_with("no-target-ref.yaml"));
}

#[test]
fn a_section_that_does_not_exist() {
    insta::assert_snapshot!(status_with("no-section.yaml"));
}

#[test]
fn a_namespace_without_a_grant() {
    insta::assert_snapshot!(status_with("no-grant.yaml"));
}

#[test]
fn a_condition_that_does_not_compile() {
    insta::assert_snapshot!(status_with("no-cel.yaml"));
}

#[test]
fn a_strategy_that_the_kind_does_not_have() {
    insta::assert_snapshot!(status_with("no-strategy.yaml"));
}

#[test]
fn a_block_of_the_wrong_type() {
    insta::assert_snapshot!(status_with("wrong-type.yaml"));
}

#[test]
fn a_cycle_by_delegation() {
    insta::assert_snapshot!(run(&format!("attache topology -f {GOOD} -f crates/attache/tests/bad-input/cycle.yaml")));
}

#[test]
fn two_documents_with_one_name() {
    insta::assert_snapshot!(run(&format!("attache effective -f {GOOD} -f crates/attache/tests/bad-input/twice.yaml")));
}

#[test]
fn two_documents_with_no_line_between_them() {
    insta::assert_snapshot!(status_with("no-line.yaml"));
}

#[test]
fn a_file_that_is_not_yaml() {
    insta::assert_snapshot!(status_with("no-yaml.yaml"));
}

#[test]
fn a_file_that_does_not_exist() {
    insta::assert_snapshot!(status_with("nowhere.yaml"));
}

#[test]
fn a_policy_kind_with_a_mistake() {
    insta::assert_snapshot!(status_with("no-kind.yaml"));
}

#[test]
fn a_crd_without_the_label() {
    insta::assert_snapshot!(status_with("unlabelled.yaml"));
}

#[test]
fn a_crd_without_the_label_that_is_inferred() {
    insta::assert_snapshot!(status_with("unlabelled.yaml --infer-unlabelled"));
}

#[test]
fn an_empty_folder() {
    insta::assert_snapshot!(run("attache status -f crates/attache/tests/bad-input/empty"));
}

#[test]
fn nothing_that_can_be_read() {
    insta::assert_snapshot!(run("attache status -f crates/attache/tests/bad-input/no-yaml.yaml"));
}

#[test]
fn quiet_keeps_errors_and_drops_warnings() {
    insta::assert_snapshot!(status_with("twice.yaml -f crates/attache/tests/bad-input/no-yaml.yaml -q"));
}

/// Patches do not replace objects, and files without objects are skipped.
#[test]
fn kustomizations_charts_and_data_are_skipped() {
    insta::assert_snapshot!(run("attache topology svc/cakes -f crates/attache/tests/rendered"));
    insta::assert_snapshot!(
        "a_file_without_objects_that_is_named",
        run("attache topology -f crates/attache/tests/rendered/settings.json")
    );
}

#[test]
fn part_of_the_input_cannot_be_read() {
    insta::assert_snapshot!(run("attache audit --require RetryPolicy -f examples/bakery -f nowhere.yaml"));
}
