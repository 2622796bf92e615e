//! The controller: Attaché in a cluster.
//!
//! It watches the cluster, computes effective policies incrementally, writes the status of policies and of their targets,
//! warns about the effects of changes in an admission webhook, and serves effective policies as an aggregated API.
//!
//! ```text
//! API server ─list, watch─→ follow ─edits─→ IncrementalEngine ─→ State ─→ admission (webhook)
//!     ↑                                                            │   ─→ api (effective policies)
//!     └── status · events ←── writer (leader only) ←───────────────┘   ─→ metrics · health
//! ```
//!
//! One thread watches the cluster and publishes a [`State`] after each batch of changes. All other parts read the latest
//! state, and never block that thread.
//!
//! [`run`] starts all parts and returns at a shutdown; [`cleanup`] removes everything that a controller has written to
//! statuses. The parts can also be used alone: [`follow`] publishes states, [`admission::review`] answers an AdmissionReview
//! from a state, and [`api::router`] serves effective policies.
//!
//! ```
//! use attache_controller::State;
//! use attache_controller::admission::{AdmissionOptions, review};
//! use attache_engine::{Engine, text};
//!
//! let manifests = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}";
//! let reading = text::read(&"shop.yaml".into(), manifests);
//! let state = State::first(Engine::builder().objects(reading.objects).build_incremental(), reading.problems);
//!
//! let request = br#"{"request": {"uid": "1", "operation": "DELETE", "oldObject":
//!     {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}}}"#;
//! let (answer, _response) = review(Some(&state), AdmissionOptions::default(), request)?;
//! assert_eq!(answer.refusal, None);
//! # Ok::<(), serde_json::Error>(())
//! ```

#![deny(missing_docs)]

pub mod admission;
pub mod api;
mod certificates;
mod cleanup;
mod complaints;
mod context;
mod error;
mod events;
mod follow;
mod front_proxy;
mod health;
mod leader;
mod measure;
mod metrics;
mod options;
mod partition;
mod rate;
mod requests;
mod run;
mod shutdown;
mod state;
mod status;
mod tls;
mod webhook_configuration;

pub use cleanup::cleanup;
pub use context::Context;
pub use error::ControllerError;
pub use follow::{FollowOptions, follow};
pub use front_proxy::{FrontProxy, FrontProxyError};
pub use metrics::Metrics;
pub use options::{ControllerOptions, GatewayClasses};
pub use partition::{Partition, PartitionedEdits, SharedPartition};
pub use run::run;
pub use shutdown::{Shutdown, ShutdownTrigger};
pub use state::{State, StatePublisher, StateReader};
pub use tls::{CertificateError, ServerCertificate, TlsServer};
