//! Helm, to render and install charts as users do.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::go::{GoProgram, line_after};
use crate::programs::cache_folder;
use crate::{TestEnvError, unless_left_out};

const MODULE: &str = include_str!("../helm/go.mod");

/// The program `helm`, of the version that is pinned by `helm/go.mod`: what it renders is compared byte by byte.
#[derive(Clone, Debug)]
pub struct Helm {
    program: PathBuf,
}

impl Helm {
    /// Uses the cache, and builds Helm into it first if it is not there yet. `None` if it cannot be built on this machine,
    /// and this is not CI.
    pub fn find() -> Option<Helm> {
        unless_left_out(Helm::find_or_build(), "a test with Helm")
    }

    /// Uses the cache, and builds Helm into it first if it is not there yet.
    pub fn find_or_build() -> Result<Helm, TestEnvError> {
        let version = line_after(MODULE, "helm.sh/helm/v4 ").trim_end_matches("// indirect").trim_end();
        let program = GoProgram {
            name: "helm",
            description: "Helm (about 2 minutes on two cores)",
            release: format!("helm-{version}"),
            files: &[("go.mod", MODULE), ("go.sum", include_str!("../helm/go.sum"))],
            package: "helm.sh/helm/v4/cmd/helm",
            version_variable: "helm.sh/helm/v4/internal/version.version",
            version,
            instead: "",
        };
        let folder = program.find_or_build(&cache_folder()?, |_| Ok(()))?;
        Ok(Helm { program: folder.join("helm") })
    }

    /// The program.
    pub fn program(&self) -> &PathBuf {
        &self.program
    }

    /// Runs Helm with these arguments.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn run(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Output {
        let mut helm = Command::new(&self.program);
        helm.args(arguments).env_remove("KUBECONFIG").output().unwrap_or_else(|error| panic!("helm: {error}"))
    }
}
