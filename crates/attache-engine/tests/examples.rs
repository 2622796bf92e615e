//! The examples print what `docs/library.md` shows.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn output(example: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "--package", "attache-engine", "--example", example, "--"]).args(arguments);
    let output = command.current_dir(repository()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_page_on_the_library_shows_what_the_examples_print() {
    let page = fs::read_to_string(repository().join("docs/library.md")).unwrap();
    for example in ["custom_strategy", "incremental_changes"] {
        let output = output(example, &[]);
        assert!(page.contains(&format!("```text\n{output}```\n")), "`{example}` prints\n{output}");
    }
}

#[test]
fn effective_policies_are_printed_with_their_origins() {
    let files = ["kind", "gateway", "baker", "policies"].map(|name| format!("examples/bakery/{name}.yaml"));
    let output = output("effective_policies", &files.each_ref().map(String::as_str));
    assert!(output.contains("on Service/baker/payments: {\"retry\":{\"attempts\":0,"), "{output}");
    assert!(output.contains("  retry.attempts from RetryPolicy/baker/pay-once\n"), "{output}");
}
