//! A live cluster as the source of objects.
//!
//! ```text
//! configuration (kubeconfig, flags, in-cluster) ─→ connection (requests, retries, errors)
//!                                                      │
//! discovery (what is installed) ─→ wanted (what is read) ─→ lists (pages, namespaces) ─→ ClusterReading
//!                                                                                           │
//!                                                     watches (bookmarks, 410, restarts) ─→ ClusterFollower ─→ edits
//! ```
//!
//! [`Cluster::read`] lists every kind that can matter to an answer, in parallel and in pages, with the permissions of
//! the user. Kinds that the user may not read are listed in [`ClusterReading::unseen`]; that is not an error.
//! [`ClusterFollower`] then follows the cluster, and turns changes into batches of edits for an `IncrementalEngine`.
//!
//! For a question about one object, objects are kept as text until all lists are read. Only the part of the cluster that is
//! connected with the object is parsed.
//!
//! The number of requests depends on the number of kinds, of pages and, if a user may read only some namespaces, of
//! namespaces. It does not depend on the number of objects.
//!
//! ```no_run
//! use attache_cluster::{ClientOptions, Cluster, Interest};
//! use attache_engine::Engine;
//! use attache_engine::kinds::built_in;
//!
//! let cluster = Cluster::connect(&ClientOptions::default())?;
//! let interest = Interest { kinds: built_in().0, ..Interest::default() };
//! let reading = cluster.read(&interest, |_| ())?;
//! let engine = Engine::builder().objects(reading.objects).build();
//! for policy in engine.all_effective_policies() {
//!     println!("{:?}: {:?}", policy.scope.target(), policy.effective.spec);
//! }
//! # Ok::<(), attache_cluster::ClusterError>(())
//! ```

#![deny(missing_docs)]

mod configuration;
mod connection;
mod discovery;
mod early;
mod error;
mod follow;
mod list;
mod mentions;
mod permissions;
mod raw;
mod read;
mod region;
mod relevance;
mod reported;
mod scan;
mod subject;
mod unseen;
mod wanted;
mod watch;

pub use configuration::ClientOptions;
pub use discovery::{ApiResource, Discovery};
pub use error::ClusterError;
pub use follow::{ClusterFollower, ClusterNews, KindChange, KnownObjects};
pub use read::{Cluster, ClusterReading, ReadProgress};
pub use subject::Subject;
pub use unseen::{ObjectRole, Unseen, UnseenReason};
pub use wanted::Interest;
