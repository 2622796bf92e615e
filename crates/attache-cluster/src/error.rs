//! Errors that concern a cluster as a whole, each with a next step.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use attache_engine::Problem;
use kube::client::AuthError;

/// Why a cluster cannot be read at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterError {
    /// There is no kubeconfig, and this is not a Pod of a cluster.
    NoConfiguration {
        /// The files that were searched.
        looked_in: Vec<PathBuf>,
    },
    /// A kubeconfig, or a file that it refers to, cannot be read.
    Kubeconfig {
        /// What is wrong with it.
        message: String,
    },
    /// The kubeconfig does not say which context to use.
    NoCurrentContext {
        /// The contexts that it has.
        contexts: Vec<String>,
    },
    /// The requested context, cluster or user is not in the kubeconfig.
    NotInKubeconfig {
        /// `context`, `cluster` or `user`.
        what: &'static str,
        /// The requested name.
        name: String,
        /// The existing names.
        known: Vec<String>,
    },
    /// The credentials could not be obtained, for example because an exec plugin failed.
    Credentials {
        /// What went wrong.
        message: String,
    },
    /// The server cannot be reached.
    Unreachable {
        /// The address.
        server: String,
        /// The error of the network.
        message: String,
    },
    /// The certificate of the server is not trusted, or not for this name.
    Certificate {
        /// The address.
        server: String,
        /// What is wrong with the certificate.
        message: String,
    },
    /// The server did not answer in time.
    Timeout {
        /// The address.
        server: String,
        /// The time until the timeout.
        after: Duration,
    },
    /// The server does not know the user: credentials are wrong or have expired.
    Unauthorized {
        /// The address.
        server: String,
    },
    /// The server knows the user, but does not let the user list kinds.
    DiscoveryForbidden {
        /// The message of the server.
        message: String,
    },
    /// The server repeatedly refused with too many requests.
    TooManyRequests {
        /// The address.
        server: String,
    },
    /// The server sent an unexpected response.
    Unexpected {
        /// The path of the request.
        path: String,
        /// What is wrong with the response.
        message: String,
    },
}

impl ClusterError {
    /// The error as a problem, with a next step for the user.
    pub fn problem(&self) -> Problem {
        Problem::error(self.to_string()).help(self.help())
    }

    fn help(&self) -> String {
        match self {
            ClusterError::NoConfiguration { .. } => {
                "name a kubeconfig with `--kubeconfig` or KUBECONFIG, or read manifests with `-f`".into()
            }
            ClusterError::Kubeconfig { .. } => "`kubectl config view` shows what kubectl makes of it".into(),
            ClusterError::NoCurrentContext { contexts } if contexts.is_empty() => {
                "it has no contexts: is it the right file? Manifests can be read with `-f`".into()
            }
            ClusterError::NoCurrentContext { contexts } => {
                format!("choose one with `--context`: {}", listed(contexts))
            }
            ClusterError::NotInKubeconfig { known, .. } if known.is_empty() => "it has none".into(),
            ClusterError::NotInKubeconfig { known, .. } => format!("there are {}", listed(known)),
            ClusterError::Credentials { .. } => {
                "kubectl uses the same credentials: run `kubectl get namespaces` to see its message".into()
            }
            ClusterError::Unreachable { .. } => {
                "is the cluster running, and the VPN or tunnel to it? `kubectl config current-context` names the \
                 cluster, `--context` chooses another, and `-f` reads manifests instead"
                    .into()
            }
            ClusterError::Certificate { .. } => {
                "the kubeconfig's `certificate-authority` must be the one that signed the server's certificate, and \
                 `tls-server-name` or the address must be a name in it"
                    .into()
            }
            ClusterError::Timeout { .. } => "give it more time with `--request-timeout`, or `0` for no limit".into(),
            ClusterError::Unauthorized { .. } => {
                "the credentials are wrong or have expired: log in again, then try `kubectl auth whoami`".into()
            }
            ClusterError::DiscoveryForbidden { .. } => {
                "the ClusterRole `system:discovery` allows it; by default it is bound to all users".into()
            }
            ClusterError::TooManyRequests { .. } => "the server is overloaded: try again later".into(),
            ClusterError::Unexpected { .. } => "is this the address of a Kubernetes API server?".into(),
        }
    }

    /// The meaning of a client error for a user of `server`.
    pub(crate) fn from_client(error: &kube::Error, server: &str) -> ClusterError {
        if let kube::Error::Auth(error) = error {
            return ClusterError::Credentials { message: credentials(error) };
        }
        let chain: Vec<String> = chain(error).map(ToString::to_string).collect();
        let (server, last) = (server.to_owned(), chain.last().cloned().unwrap_or_default());
        let io = self::chain(error).find_map(|error| error.downcast_ref::<io::Error>());
        if self::chain(error).any(|error| error.downcast_ref::<AuthError>().is_some()) {
            return ClusterError::Credentials { message: last };
        }
        if let Some(certificate) = chain.iter().find(|text| text.contains("certificate")) {
            // A server that does not accept the client's certificate sends an alert.
            let message = certificate.clone();
            return match message.contains("received fatal alert") {
                true => ClusterError::Unauthorized { server },
                false => ClusterError::Certificate { server, message },
            };
        }
        let message = match io.map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => "nothing listens at this address".into(),
            Some(io::ErrorKind::TimedOut) => "there is no response".into(),
            Some(io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof) => "the connection was closed".into(),
            _ => last,
        };
        ClusterError::Unreachable { server, message }
    }
}

fn credentials(error: &AuthError) -> String {
    match error {
        AuthError::AuthExecStart(error) => format!("the exec plugin of the kubeconfig cannot be started: {error}"),
        AuthError::AuthExecRun { cmd, out } => {
            let said = String::from_utf8_lossy(&out.stderr);
            let said = said.trim();
            let said = if said.is_empty() { String::new() } else { format!(": {said}") };
            format!("the exec plugin `{cmd}` of the kubeconfig failed with {}{said}", out.status)
        }
        AuthError::AuthExecParse(_) | AuthError::ExecPluginFailed => {
            format!("the exec plugin of the kubeconfig printed no credentials: {error}")
        }
        _ => error.to_string(),
    }
}

fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'e (dyn Error + 'static)| (*error).source())
}

fn listed(names: &[String]) -> String {
    const MOST: usize = 12;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(MOST);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClusterError::NoConfiguration { looked_in } => {
                let files: Vec<String> = looked_in.iter().map(|file| format!("`{}`", file.display())).collect();
                write!(f, "there is no kubeconfig: looked for {}", files.join(", "))
            }
            ClusterError::Kubeconfig { message } => write!(f, "the kubeconfig cannot be used: {message}"),
            ClusterError::NoCurrentContext { .. } => f.write_str("the kubeconfig has no current context"),
            ClusterError::NotInKubeconfig { what, name, .. } => {
                write!(f, "there is no {what} `{name}` in the kubeconfig")
            }
            ClusterError::Credentials { message } => write!(f, "there are no credentials: {message}"),
            ClusterError::Unreachable { server, message } => {
                write!(f, "the cluster at {server} cannot be reached: {message}")
            }
            ClusterError::Certificate { server, message } => {
                write!(f, "the certificate of {server} is not accepted: {message}")
            }
            ClusterError::Timeout { server, after } => {
                write!(f, "{server} did not respond within {} seconds", after.as_secs_f64())
            }
            ClusterError::Unauthorized { server } => write!(f, "{server} does not accept your credentials"),
            ClusterError::DiscoveryForbidden { message } => {
                write!(f, "you may not see which kinds the cluster has: {message}")
            }
            ClusterError::TooManyRequests { server } => write!(f, "{server} rejects further requests"),
            ClusterError::Unexpected { path, message } => write!(f, "unexpected response to {path}: {message}"),
        }
    }
}

impl Error for ClusterError {}
