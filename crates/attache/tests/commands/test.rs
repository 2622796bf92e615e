use super::{run, run_with};

const FOLDER: &str = "crates/attache/tests/commands/policytests";

/// The number of PolicyTests in `conformance` and `examples`.
const POLICY_TESTS: usize = 483;

fn test(arguments: &str) -> String {
    run(&format!("attache test {}", arguments.replace("TESTS", FOLDER)))
}

#[test]
fn the_conformance_tests_and_the_examples_pass() {
    let transcript = run("attache test -q conformance examples");
    let summary = transcript.lines().nth(1).unwrap_or_default();
    // Notices tests that are no longer found.
    assert_eq!(summary, format!("{POLICY_TESTS} passed"), "{transcript}");
    assert_eq!(transcript.lines().count(), 2, "{transcript}");
}

#[test]
fn passes() {
    insta::assert_snapshot!(test("TESTS/passes.yaml"));
}

#[test]
fn fails_with_the_differences_side_by_side() {
    insta::assert_snapshot!(test("TESTS/fails.yaml"));
}

#[test]
fn fails_in_colour() {
    insta::assert_snapshot!(test("--color always --quiet TESTS/fails.yaml"));
}

#[test]
fn tests_that_cannot_be_run() {
    insta::assert_snapshot!(test("TESTS/broken.yaml TESTS/passes.yaml"));
}

#[test]
fn a_folder_with_other_files() {
    insta::assert_snapshot!(test("TESTS/mixed"));
}

#[test]
fn a_file_without_tests() {
    insta::assert_snapshot!(test("TESTS/kind.yaml"));
}

#[test]
fn a_folder_without_tests() {
    insta::assert_snapshot!(test("TESTS/mixed/manifests"));
}

#[test]
fn a_file_that_does_not_exist() {
    insta::assert_snapshot!(test("TESTS/nowhere.yaml TESTS/passes.yaml"));
}

#[test]
fn only_those_with_a_text_in_their_name() {
    insta::assert_snapshot!(test("TESTS/passes.yaml --filter inherits"));
    insta::assert_snapshot!(test("TESTS/passes.yaml --filter zebra"));
}

#[test]
fn from_standard_input() {
    let tests = include_str!("policytests/passes.yaml").replace("kind.yaml", &format!("{FOLDER}/kind.yaml"));
    insta::assert_snapshot!(run_with("attache test -", &tests));
}

#[test]
fn a_report_for_build_servers() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    test(&format!("TESTS/broken.yaml TESTS/fails.yaml --junit {}", file.path().display()));
    insta::assert_snapshot!(std::fs::read_to_string(file.path()).expect("a report"));
}
