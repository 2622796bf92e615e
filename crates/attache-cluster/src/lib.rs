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
//! [`Cluster::read`] lists every kind that can matter to an answer, in parallel and in pages, with the permissions of the
//! user. What may not be read is named in [`ClusterReading::unseen`]; it is not an error. [`ClusterFollower`] keeps up with
//! the cluster from there on, and turns what happens into batches of edits for an `IncrementalEngine`.
//!
//! The number of requests depends on the number of kinds, pages and, where a user may only read some namespaces, of
//! namespaces. It never depends on the number of objects.

mod configuration;
mod connection;
mod discovery;
mod error;
mod follow;
mod list;
mod permissions;
mod read;
mod unseen;
mod wanted;
mod watch;

pub use configuration::ClientOptions;
pub use discovery::{ApiResource, Discovery};
pub use error::ClusterError;
pub use follow::{ClusterFollower, ClusterNews, KindChange};
pub use read::{Cluster, ClusterReading, Interest, ReadProgress};
pub use unseen::{Unseen, UnseenReason};
