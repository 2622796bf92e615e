//! Starts all parts of the controller, and stops them in order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use crate::admission;
use crate::api;
use crate::certificates;
use crate::context::Context;
use crate::error::ControllerError;
use crate::events;
use crate::follow::{FollowOptions, follow};
use crate::health;
use crate::leader::{self, Leadership};
use crate::measure;
use crate::metrics::Metrics;
use crate::options::ControllerOptions;
use crate::shutdown::ShutdownTrigger;
use crate::state::StatePublisher;
use crate::status;
use crate::tls::{ServerCertificate, TlsServer};
use crate::webhook_configuration;

/// Runs the controller until SIGTERM or SIGINT.
///
/// # Errors
///
/// If there is no usable kubeconfig, an address cannot be listened on, or a part of the controller fails. If the cluster
/// cannot be reached, that is retried.
pub fn run(options: ControllerOptions) -> Result<(), ControllerError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| failed("the runtime", &error))?;
    runtime.block_on(run_parts(options))
}

async fn run_parts(options: ControllerOptions) -> Result<(), ControllerError> {
    let (trigger, shutdown) = ShutdownTrigger::new();
    let (publisher, state) = StatePublisher::new();
    let context = Context {
        client: options.client.client().await?,
        state,
        options: Arc::new(options),
        metrics: Arc::new(Metrics::new()),
        shutdown,
    };
    let mut signals = Signals::new()?;
    let listener = listen(context.options.listen, "metrics and health").await?;

    let mut parts: JoinSet<Result<(), ControllerError>> = JoinSet::new();
    parts.spawn(health::serve(context.clone(), listener));
    let (leads, leadership) = Leadership::new();
    let leader = leads.subscribe();
    let (writer, writer_ended) = oneshot::channel();
    parts.spawn(leader::run(context.clone(), leads, writer_ended));
    parts.spawn(events::run(context.clone(), publisher.every(), leadership.clone()));
    parts.spawn(measure::run(context.clone(), publisher.every()));
    let writing = status::run(context.clone(), publisher.every(), leadership);
    parts.spawn(async move {
        let ended = writing.await;
        drop(writer);
        ended
    });
    parts.spawn(follow_on_a_thread(context.clone(), publisher));
    serve_https(&context, &leader, &mut parts)?;

    let ended = tokio::select! {
        () = signals.next() => Ok(()),
        ended = parts.join_next() => ended.map_or(Ok(()), flatten),
    };
    tracing::info!("shutting down");
    trigger.request();
    let mut result = ended;
    while let Some(ended) = parts.join_next().await {
        result = result.and(flatten(ended));
    }
    result
}

/// Starts the servers that the API server calls, and the tasks that keep their certificate current.
fn serve_https(
    context: &Context,
    leader: &watch::Receiver<bool>,
    parts: &mut JoinSet<Result<(), ControllerError>>,
) -> Result<(), ControllerError> {
    let options = &context.options;
    if options.webhook_listen.is_none() && options.api_listen.is_none() {
        return Ok(());
    }
    let certificate = ServerCertificate::default();
    let (sender, trust) = watch::channel(None);
    parts.spawn(certificates::keep(context.clone(), leader.clone(), certificate.clone(), sender));
    parts.spawn(webhook_configuration::keep(context.clone(), leader.clone(), trust));
    if let Some(address) = options.webhook_listen {
        let server = bind(address, &certificate, "admission")?;
        parts.spawn(admission::serve(context.clone(), server));
    }
    if let Some(address) = options.api_listen {
        let server = bind(address, &certificate, "effective policies")?;
        parts.spawn(api::serve(context.clone(), server));
    }
    Ok(())
}

/// An HTTPS server on an address, which is logged.
fn bind(
    address: SocketAddr,
    certificate: &ServerCertificate,
    serves: &'static str,
) -> Result<TlsServer, ControllerError> {
    let failed = |error| ControllerError::Listen { address, error };
    let server = TlsServer::bind(address, certificate.clone()).map_err(failed)?;
    tracing::info!(address = %server.listener.local_addr().map_err(failed)?, serves, "listening");
    Ok(server)
}

/// Watches the cluster on its own thread: an update of the engine must not block async tasks.
async fn follow_on_a_thread(context: Context, publisher: StatePublisher) -> Result<(), ControllerError> {
    let (sender, ended) = oneshot::channel();
    let runtime = tokio::runtime::Handle::current();
    let following = move || {
        let _entered = runtime.enter();
        let options = FollowOptions::new(&context.options);
        let _ = sender.send(follow(&options, &publisher, &context.metrics, &context.shutdown));
    };
    thread::Builder::new()
        .name("follow".into())
        .spawn(following)
        .map_err(|error| failed("the watch thread", &error))?;
    match ended.await {
        Ok(result) => Ok(result?),
        Err(_) => Err(ControllerError::Failed { part: "the watch thread", message: "it has panicked".into() }),
    }
}

/// Listens on an address, and logs it: with port 0 the system chooses the port.
pub(crate) async fn listen(address: SocketAddr, serves: &'static str) -> Result<TcpListener, ControllerError> {
    let failed = |error| ControllerError::Listen { address, error };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    tracing::info!(address = %listener.local_addr().map_err(failed)?, serves, "listening");
    Ok(listener)
}

/// The signals that end the controller.
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> Result<Signals, ControllerError> {
        let on = |kind| signal(kind).map_err(|error| failed("the signal handler", &error));
        Ok(Signals { terminate: on(SignalKind::terminate())?, interrupt: on(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

fn flatten(ended: Result<Result<(), ControllerError>, tokio::task::JoinError>) -> Result<(), ControllerError> {
    ended.unwrap_or_else(|error| Err(failed("a part of the controller", &error)))
}

fn failed(part: &'static str, error: &dyn std::fmt::Display) -> ControllerError {
    ControllerError::Failed { part, message: error.to_string() }
}
