//! The HTTPS server of the API.

use std::sync::Arc;

use super::router;
use crate::context::Context;
use crate::error::ControllerError;
use crate::front_proxy::FrontProxy;
use crate::tls::TlsServer;

/// Serves the API to the front proxy of the API server, until the shutdown.
pub(crate) async fn serve(context: Context, server: TlsServer) -> Result<(), ControllerError> {
    let failed = |error: std::io::Error| ControllerError::Failed {
        part: "the effective-policy API",
        message: error.to_string(),
    };
    let front_proxy = FrontProxy::default();
    let server = TlsServer { clients: Some(Arc::new(front_proxy.clone()) as _), ..server };
    let shutdown = context.shutdown.clone();
    let serving = server.serve(router(context.state.clone()), async move { shutdown.requested().await });
    tokio::select! {
        result = serving => result.map_err(failed),
        () = front_proxy.follow(context.client.clone()) => Ok(()),
    }
}
