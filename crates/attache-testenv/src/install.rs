//! The programs of a control plane, from the Go module proxy.

use std::fs;
use std::path::Path;

use crate::crds::Crds;
use crate::go::{GoProgram, line_after};
use crate::{Programs, TestEnvError};

const MODULE: &str = include_str!("../kube/go.mod");

/// The names by which the one binary is called.
const NAMES: [&str; 4] = ["etcd", "kube-apiserver", "kube-controllers", "kubectl"];

pub(crate) fn find_or_build(cache: &Path) -> Result<Programs, TestEnvError> {
    let version = line_after(MODULE, "require k8s.io/kubernetes ");
    let program = GoProgram {
        name: "kube",
        description: "kube-apiserver, etcd and kubectl (about 6 minutes on two cores)",
        release: format!("kubernetes-{version}"),
        files: &[
            ("main.go", include_str!("../kube/main.go")),
            ("go.mod", MODULE),
            ("go.sum", include_str!("../kube/go.sum")),
        ],
        package: ".",
        version_variable: "k8s.io/component-base/version.gitVersion",
        version,
        instead: ", or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver and kubectl",
    };
    let folder = program.find_or_build(cache, |folder| {
        for link in NAMES.map(|name| folder.join(name)) {
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink("kube", &link)?;
        }
        Ok(())
    })?;
    let [etcd, kube_apiserver, controllers, kubectl] = NAMES.map(|name| folder.join(name));
    let gateway_api = Crds::GatewayApi.find_or_download(cache)?;
    Ok(Programs { etcd, kube_apiserver, kubectl, controllers: Some(controllers), gateway_api, cache: folder })
}
