//! Why the controller fails.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use attache_cluster::ClusterError;
use attache_engine::Problem;

/// Why the controller fails.
#[derive(Debug)]
pub enum ControllerError {
    /// The cluster cannot be read, or there is no usable kubeconfig.
    Cluster(ClusterError),
    /// The controller cannot listen on an address.
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        error: io::Error,
    },
    /// A part of the controller failed.
    Failed {
        /// The part.
        part: &'static str,
        /// Why.
        message: String,
    },
}

impl ControllerError {
    /// The error as a problem for the user, with help where there is any.
    pub fn problem(&self) -> Problem {
        match self {
            ControllerError::Cluster(error) => error.problem(),
            ControllerError::Listen { .. } => {
                Problem::error(self.to_string()).help("choose another address; port 0 is any free port")
            }
            ControllerError::Failed { .. } => Problem::error(self.to_string()),
        }
    }
}

impl fmt::Display for ControllerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControllerError::Cluster(error) => error.fmt(f),
            ControllerError::Listen { address, error } => write!(f, "cannot listen on {address}: {error}"),
            ControllerError::Failed { part, message } => write!(f, "{part} failed: {message}"),
        }
    }
}

impl std::error::Error for ControllerError {}

impl From<ClusterError> for ControllerError {
    fn from(error: ClusterError) -> ControllerError {
        ControllerError::Cluster(error)
    }
}
