//! What every part of the controller needs.

use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;

use crate::metrics::Metrics;
use crate::options::ControllerOptions;
use crate::shutdown::Shutdown;
use crate::state::StateReader;

/// What every part of the controller needs. A clone is cheap.
#[derive(Clone)]
pub struct Context {
    /// A client of the API server, on the runtime of the controller.
    pub client: Client,
    /// The latest state.
    pub state: StateReader,
    /// How the controller runs.
    pub options: Arc<ControllerOptions>,
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// Signals the shutdown.
    pub shutdown: Shutdown,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Today as `YYYY-MM-DD`.
pub(crate) fn today() -> String {
    Timestamp::now().strftime("%Y-%m-%d").to_string()
}
