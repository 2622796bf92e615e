//! Removes everything that the controller has written to statuses.

use std::sync::Arc;

use crate::context::Context;
use crate::error::ControllerError;
use crate::follow::{FollowOptions, read_once};
use crate::metrics::Metrics;
use crate::options::ControllerOptions;
use crate::shutdown::ShutdownTrigger;
use crate::state::StatePublisher;
use crate::status;

/// Removes everything that a controller with these options has written to statuses. Returns the number of changed objects.
///
/// # Errors
///
/// If the cluster cannot be read. Failed writes are logged and retried.
pub fn cleanup(options: ControllerOptions) -> Result<usize, ControllerError> {
    let state = read_once(&FollowOptions::new(&options))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime =
        runtime.map_err(|error| ControllerError::Failed { part: "the runtime", message: error.to_string() })?;
    runtime.block_on(async {
        let (_trigger, shutdown) = ShutdownTrigger::new();
        let (publisher, reader) = StatePublisher::new();
        let context = Context {
            client: options.client.client().await?,
            state: reader,
            options: Arc::new(options),
            metrics: Arc::new(Metrics::new()),
            shutdown,
        };
        publisher.publish(state);
        status::withdraw(context).await
    })
}
