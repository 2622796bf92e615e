//! Finds the programs of a control plane.

use std::env;
use std::path::{Path, PathBuf};

use crate::crds::Crds;
use crate::{TestEnvError, go, install};

/// The programs of a control plane, and the CRDs of the Gateway API.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The etcd server.
    pub etcd: PathBuf,
    /// The Kubernetes API server.
    pub kube_apiserver: PathBuf,
    /// The Kubernetes command line.
    pub kubectl: PathBuf,
    /// The controllers that the test environment builds itself. They are missing if the programs come from
    /// `KUBEBUILDER_ASSETS` or the PATH.
    pub controllers: Option<PathBuf>,
    /// A folder with the CRDs of the Gateway API.
    pub gateway_api: PathBuf,
    /// A folder for files that are derived from these programs.
    pub cache: PathBuf,
}

impl Programs {
    /// Uses `KUBEBUILDER_ASSETS`, the PATH or the cache, in this order, and else builds the programs into the cache.
    pub fn find_or_build() -> Result<Programs, TestEnvError> {
        let cache = cache_folder()?;
        if let Some(assets) = env::var_os("KUBEBUILDER_ASSETS") {
            let assets = PathBuf::from(assets);
            return Programs::in_folder(&assets, &cache)?.ok_or_else(|| {
                let folder = assets.display();
                TestEnvError::Failed(format!(
                    "KUBEBUILDER_ASSETS is {folder}, but etcd, kube-apiserver and kubectl are not all in it"
                ))
            });
        }
        for folder in env::split_paths(&env::var_os("PATH").unwrap_or_default()) {
            if let Some(found) = Programs::in_folder(&folder, &cache)? {
                return Ok(found);
            }
        }
        install::find_or_build(&cache)
    }

    fn in_folder(folder: &Path, cache: &Path) -> Result<Option<Programs>, TestEnvError> {
        let [etcd, kube_apiserver, kubectl] =
            ["etcd", "kube-apiserver", "kubectl"].map(|name| Some(folder.join(name)).filter(|path| path.is_file()));
        let (Some(etcd), Some(kube_apiserver), Some(kubectl)) = (etcd, kube_apiserver, kubectl) else {
            return Ok(None);
        };
        let gateway_api = Crds::GatewayApi.find_or_download(cache)?;
        // Other versions of the programs have another folder.
        let cache = cache.join(format!("assets-{:016x}", go::fnv(&[folder.to_string_lossy().as_bytes()])));
        Ok(Some(Programs { etcd, kube_apiserver, kubectl, controllers: None, gateway_api, cache }))
    }
}

/// Where built programs are kept.
pub(crate) fn cache_folder() -> Result<PathBuf, TestEnvError> {
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let folder = match env::var_os("ATTACHE_CACHE") {
        Some(folder) => PathBuf::from(folder),
        None => env::var_os("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(home)
            .map(|cache| cache.join("attache"))
            .ok_or_else(|| {
                TestEnvError::Unavailable("there is no folder to keep built programs in: set ATTACHE_CACHE".into())
            })?,
    };
    std::fs::create_dir_all(&folder).map_err(|error| TestEnvError::failed(&folder.display().to_string(), error))?;
    Ok(folder)
}
