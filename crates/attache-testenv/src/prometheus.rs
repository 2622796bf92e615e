//! The rules and queries of Prometheus, checked by its own parser.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::go::{GoProgram, line_after};
use crate::programs::cache_folder;
use crate::{TestEnvError, unless_left_out};

const MODULE: &str = include_str!("../prometheus/go.mod");

/// The parser of Prometheus, of the version that `prometheus/go.mod` pins.
#[derive(Clone, Debug)]
pub struct Prometheus {
    program: PathBuf,
}

impl Prometheus {
    /// Uses the cache, and builds the parser into it first if it is not there yet. `None` if it cannot be built on this
    /// machine, and this is not CI.
    pub fn find() -> Option<Prometheus> {
        unless_left_out(Prometheus::find_or_build(), "a test with the parser of Prometheus")
    }

    /// Uses the cache, and builds the parser into it first if it is not there yet.
    pub fn find_or_build() -> Result<Prometheus, TestEnvError> {
        let version = line_after(MODULE, "github.com/prometheus/prometheus ");
        let program = GoProgram {
            name: "promql",
            description: "the parser of Prometheus (about a minute on two cores)",
            release: format!("prometheus-{version}"),
            files: &[
                ("main.go", include_str!("../prometheus/main.go")),
                ("go.mod", MODULE),
                ("go.sum", include_str!("../prometheus/go.sum")),
            ],
            package: ".",
            version_variable: "github.com/prometheus/common/version.Version",
            version,
            instead: "",
        };
        let folder = program.find_or_build(&cache_folder()?, |_| Ok(()))?;
        Ok(Prometheus { program: folder.join("promql") })
    }

    /// The metrics that a file of rules uses, or what is wrong with the file.
    pub fn metrics_of_rules(&self, file: &Path) -> Result<BTreeSet<String>, String> {
        self.run(&["rules", &file.to_string_lossy()], "")
    }

    /// The metrics that queries use, or what is wrong with them. A query is on one line.
    pub fn metrics_of_queries(&self, queries: &[String]) -> Result<BTreeSet<String>, String> {
        self.run(&["queries"], &queries.join("\n"))
    }

    fn run(&self, arguments: &[&str], input: &str) -> Result<BTreeSet<String>, String> {
        let mut command = Command::new(&self.program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes()).map_err(|error| error.to_string())?;
        }
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }
}
