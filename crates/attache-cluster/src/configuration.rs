//! The cluster and the user that kubectl would use.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::FutureExt;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};

use crate::ClusterError;

/// The flags of kubectl that choose a cluster and a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientOptions {
    /// The file to use instead of those in KUBECONFIG.
    pub kubeconfig: Option<PathBuf>,
    /// The context to use instead of the current one.
    pub context: Option<String>,
    /// The cluster to use instead of the context's.
    pub cluster: Option<String>,
    /// The user to use instead of the context's.
    pub user: Option<String>,
    /// The user to impersonate.
    pub impersonate: Option<String>,
    /// The groups to impersonate.
    pub impersonate_groups: Vec<String>,
    /// The maximum duration of a single request. Unlimited by default.
    pub request_timeout: Option<Duration>,
}

/// The maximum time to connect. A reachable server answers much sooner, even from another continent.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The configuration of a connection.
pub(crate) struct Configuration {
    pub(crate) client: Config,
    /// Namespaces that contexts of the same cluster and user name. A user who may not list namespaces probably has
    /// permissions there.
    pub(crate) namespaces: Vec<String>,
}

impl ClientOptions {
    /// The namespace of the context. No request is sent.
    pub fn default_namespace(&self) -> Result<String, ClusterError> {
        // A kubeconfig is read from files, and no request is sent: the future is ready at once.
        let loaded = self.load().now_or_never();
        let waits = || Err(ClusterError::Kubeconfig { message: "it cannot be read at once".into() });
        Ok(loaded.unwrap_or_else(waits)?.client.default_namespace)
    }

    /// A client of the same cluster, for what this crate does not do. It belongs to the runtime that calls this.
    pub async fn client(&self) -> Result<kube::Client, ClusterError> {
        let configuration = self.load().await?.client;
        let server = configuration.cluster_url.to_string();
        kube::Client::try_from(configuration).map_err(|error| ClusterError::from_client(&error, &server))
    }

    pub(crate) async fn load(&self) -> Result<Configuration, ClusterError> {
        let mut configuration = match self.kubeconfig()? {
            Some(kubeconfig) => self.use_kubeconfig(kubeconfig).await?,
            None => self.in_cluster()?,
        };
        let client = &mut configuration.client;
        if self.impersonate.is_some() || !self.impersonate_groups.is_empty() {
            client.auth_info.impersonate = self.impersonate.clone();
            client.auth_info.impersonate_groups =
                Some(self.impersonate_groups.clone()).filter(|groups| !groups.is_empty());
        }
        client.connect_timeout = Some(self.request_timeout.map_or(CONNECT_TIMEOUT, |it| it.min(CONNECT_TIMEOUT)));
        // The connection repeats requests itself, with limits on the total time.
        client.default_retry = false;
        Ok(configuration)
    }

    /// The kubeconfig. `None` if there is none, and none was requested.
    fn kubeconfig(&self) -> Result<Option<Kubeconfig>, ClusterError> {
        let unusable = |error: KubeconfigError| ClusterError::Kubeconfig { message: error.to_string() };
        if let Some(file) = &self.kubeconfig {
            if !file.exists() {
                return Err(ClusterError::Kubeconfig { message: format!("there is no file `{}`", file.display()) });
            }
            return Kubeconfig::read_from(file).map(Some).map_err(unusable);
        }
        let mut merged: Option<Kubeconfig> = None;
        // Like kubectl, skip missing files.
        for file in usual_files().into_iter().filter(|file| file.exists()) {
            let next = Kubeconfig::read_from(&file).map_err(unusable)?;
            merged = Some(match merged {
                None => next,
                Some(merged) => merged.merge(next).map_err(unusable)?,
            });
        }
        Ok(merged)
    }

    async fn use_kubeconfig(&self, mut kubeconfig: Kubeconfig) -> Result<Configuration, ClusterError> {
        // kubectl writes an empty string when the current context is unset.
        kubeconfig.current_context = kubeconfig.current_context.filter(|name| !name.is_empty());
        let contexts = || kubeconfig.contexts.iter().map(|context| context.name.clone()).collect::<Vec<_>>();
        if let Some(name) = &self.user
            && !kubeconfig.auth_infos.iter().any(|user| user.name == *name)
        {
            let known = kubeconfig.auth_infos.iter().map(|user| user.name.clone()).collect();
            return Err(ClusterError::NotInKubeconfig { what: "user", name: name.clone(), known });
        }
        let context = self.context.as_ref().or(kubeconfig.current_context.as_ref());
        let Some(context) = context else {
            return Err(ClusterError::NoCurrentContext { contexts: contexts() });
        };
        let chosen = kubeconfig.contexts.iter().find(|known| known.name == *context);
        let same = |other: &&kube::config::NamedContext| {
            let side =
                |it: &kube::config::NamedContext| it.context.as_ref().map(|it| (it.cluster.clone(), it.user.clone()));
            chosen.is_some_and(|chosen| side(chosen) == side(other))
        };
        let namespaces =
            kubeconfig.contexts.iter().filter(same).filter_map(|it| it.context.clone()?.namespace).collect();
        let clusters: Vec<String> = kubeconfig.clusters.iter().map(|cluster| cluster.name.clone()).collect();
        let contexts = contexts();
        let options =
            KubeConfigOptions { context: self.context.clone(), cluster: self.cluster.clone(), user: self.user.clone() };
        match Config::from_custom_kubeconfig(kubeconfig.clone(), &options).await {
            Ok(client) => Ok(Configuration { client, namespaces }),
            Err(KubeconfigError::CurrentContextNotSet) => Err(ClusterError::NoCurrentContext { contexts }),
            Err(KubeconfigError::LoadContext(name)) => {
                Err(ClusterError::NotInKubeconfig { what: "context", name, known: contexts })
            }
            Err(KubeconfigError::LoadClusterOfContext(name)) => {
                Err(ClusterError::NotInKubeconfig { what: "cluster", name, known: clusters })
            }
            Err(error) => Err(ClusterError::Kubeconfig { message: error.to_string() }),
        }
    }

    fn in_cluster(&self) -> Result<Configuration, ClusterError> {
        match Config::incluster() {
            Ok(client) => Ok(Configuration { namespaces: vec![client.default_namespace.clone()], client }),
            Err(_) => Err(ClusterError::NoConfiguration { looked_in: usual_files() }),
        }
    }
}

/// The files in KUBECONFIG, or else the file in the home folder.
fn usual_files() -> Vec<PathBuf> {
    let named: Vec<PathBuf> = env::var_os("KUBECONFIG")
        .map(|names| env::split_paths(&names).filter(|file| !file.as_os_str().is_empty()).collect())
        .unwrap_or_default();
    if named.is_empty() { env::home_dir().map(|home| home.join(".kube/config")).into_iter().collect() } else { named }
}
