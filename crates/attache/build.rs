//! Tells `attache version` what it was built for and, if that is known, from which commit.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rustc-env=ATTACHE_TARGET={}", std::env::var("TARGET").unwrap_or_default());
    // Only a release is worth building again for each commit. Another repository around ours would give the wrong one.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if !is_release || !Path::new("../../.git").exists() {
        println!("cargo::rerun-if-changed=build.rs");
        return;
    }
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    if let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) {
        println!("cargo::rustc-env=ATTACHE_COMMIT={commit}");
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
