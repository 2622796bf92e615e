//! Whole runs of the real program, as a user sees them.

mod audit;
mod bad_input;
mod completion;
mod describe;
mod documentation;
mod effective;
mod errors;
mod explain;
mod get;
mod help;
mod hints;
mod lint;
mod plan;
mod reach;
mod request;
mod status;
mod test;
mod topology;
mod watch;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs a line such as `NO_COLOR=1 attache topology -f examples/bakery` at the root of the repository, and returns what
/// it printed. Escape characters are shown as `␛`.
fn run(line: &str) -> String {
    run_with(line, "")
}

/// The program by another name.
#[cfg(unix)]
fn linked(name: &str) -> PathBuf {
    let link = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_attache"), &link).expect("a link");
    link
}

/// The same with a text on standard input.
fn run_with(line: &str, input: &str) -> String {
    use std::io::Write;
    let (variables, arguments) = line.split_once("attache").expect("a run of attache");
    let variables = variables.split_whitespace().filter_map(|variable| variable.split_once('='));
    let mut child = Command::new(env!("CARGO_BIN_EXE_attache"))
        .args(arguments.split_whitespace())
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env_clear()
        .env("COLUMNS", "100")
        // The cluster of the user who runs the tests is not read.
        .env("KUBECONFIG", "/nowhere/kubeconfig")
        .envs(variables)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A program that does not read its input may have ended already.
    let _ = child.stdin.take().expect("piped").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("the program ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\x1b', "␛");
    let mut transcript = format!("$ {line}\n{}", text(&output.stdout));
    if !output.stderr.is_empty() {
        transcript += &format!("--- stderr\n{}", text(&output.stderr));
    }
    if output.status.code() != Some(0) {
        transcript += &format!("--- exit {}\n", output.status.code().expect("no signal"));
    }
    transcript
}
