//! CustomResourceDefinitions of other projects, from the Go module proxy.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::go::{check_go, go};
use crate::{TestEnvError, announce};

/// CRDs that a project publishes in its Go module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crds {
    /// The Gateway API. Its experimental channel has all five kinds of routes.
    GatewayApi,
    /// cert-manager.
    CertManager,
    /// The Prometheus Operator.
    PrometheusOperator,
}

/// Where CRDs are.
struct CrdSource {
    name: &'static str,
    module: &'static str,
    version: &'static str,
    folder: &'static str,
    /// How the names of the files with CRDs start: other files are beside them.
    prefix: &'static str,
}

impl Crds {
    fn source(self) -> CrdSource {
        match self {
            Crds::GatewayApi => CrdSource {
                name: "gateway-api",
                module: "sigs.k8s.io/gateway-api",
                version: "v1.5.1",
                folder: "config/crd/experimental",
                prefix: "gateway",
            },
            Crds::CertManager => CrdSource {
                name: "cert-manager",
                module: "github.com/cert-manager/cert-manager",
                version: "v1.21.2",
                folder: "deploy/crds",
                prefix: "cert-manager.io_",
            },
            Crds::PrometheusOperator => CrdSource {
                name: "prometheus-operator",
                module: "github.com/prometheus-operator/prometheus-operator",
                version: "v0.85.0",
                folder: "example/prometheus-operator-crd",
                prefix: "monitoring.coreos.com_",
            },
        }
    }

    /// The folder with the CRDs, in the cache. They are downloaded if they are not there yet.
    pub(crate) fn find_or_download(self, cache: &Path) -> Result<PathBuf, TestEnvError> {
        let CrdSource { name, module, version, folder, prefix } = self.source();
        let kept = cache.join(format!("{name}-{version}"));
        if kept.is_dir() {
            return Ok(kept);
        }
        check_go("1.26", "")?;
        announce(format_args!("downloading the CRDs of {name} {version}"));
        let failed =
            |error: &dyn std::fmt::Display| TestEnvError::failed(&format!("cannot get the CRDs of {name}"), error);
        // Not in a folder with a go.mod, which Go would take into account.
        let mut go = go();
        go.current_dir(cache).args(["mod", "download", "-json", &format!("{module}@{version}")]);
        let output = go.output().map_err(|error| failed(&error))?;
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|error| failed(&error))?;
        let Some(downloaded) = answer["Dir"].as_str() else {
            return Err(failed(&answer["Error"].as_str().unwrap_or("Go does not say where it put them")));
        };
        let unfinished = tempfile::tempdir_in(cache).map_err(|error| failed(&error))?;
        let copy = || {
            for file in fs::read_dir(Path::new(downloaded).join(folder))? {
                let file = file?.path();
                let name = file.file_name().unwrap_or_default();
                if name.to_string_lossy().starts_with(prefix) {
                    fs::write(unfinished.path().join(name), fs::read(&file)?)?;
                }
            }
            match fs::rename(unfinished.path(), &kept) {
                // Another process was faster.
                Err(_) if kept.is_dir() => Ok(()),
                renamed => renamed,
            }
        };
        copy().map_err(|error: io::Error| failed(&error))?;
        Ok(kept)
    }
}
