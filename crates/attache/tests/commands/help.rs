use std::path::Path;
use std::process::{Command, Stdio};

use super::run;

#[test]
fn of_the_program() {
    insta::assert_snapshot!(run("attache --help"));
}

#[test]
fn of_commands() {
    let commands =
        ["get", "describe", "effective", "explain", "lint", "request", "status", "topology", "test", "completions"];
    for command in commands {
        insta::assert_snapshot!(command, run(&format!("attache {command} --help")));
    }
}

#[test]
fn version() {
    assert_eq!(run("attache version"), format!("$ attache version\nattache {}\n", env!("CARGO_PKG_VERSION")));
}

#[cfg(unix)]
#[test]
fn as_a_plugin_of_kubectl_it_calls_itself_so() {
    let link = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kubectl-attache");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_attache"), &link).expect("a link");
    let output = Command::new(&link).args(["topology", "-h"]).output().expect("the program runs");
    let help = String::from_utf8_lossy(&output.stdout);
    assert!(help.contains("Usage: kubectl attache topology"), "{help}");
    assert!(help.contains("  kubectl attache topology -f manifests/"), "{help}");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_attache"))
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}
