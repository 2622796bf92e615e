//! The page: the answers of Attaché in the browser, and as JSON over HTTP.
//!
//! ```text
//! edits of files or of a cluster ─→ Page ─→ PageState: a snapshot, and what is computed from it once
//!                                              │
//!          GET /object/HTTPRoute.…/baker/cakes ─→ guard ─→ routes ─→ views:  documents → HTML
//!                                                                    api:    documents → JSON
//!                                                                    events: "there is a new state"
//! ```
//!
//! Every view is a front end of a typed document of `attache-answers`, and shows the command with the same answer.
//! Pages are complete without script; the script makes them live and faster to use. No request changes anything. The
//! content of objects is never interpreted as HTML: templates escape all text, and the content security policy allows
//! neither inline script nor inline style.
//!
//! ```no_run
//! use std::net::TcpListener;
//! use std::sync::Arc;
//!
//! use attache_engine::{Engine, text};
//! use attache_page::{Page, PageOptions, serve};
//!
//! let reading = text::read(&"shop.yaml".into(), "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}");
//! let engine = Engine::builder().objects(reading.objects).build_incremental();
//! let options = PageOptions {
//!     source: "shop.yaml".to_owned(),
//!     command: Box::new(|question| format!("attache {} -f shop.yaml", question.join(" "))),
//!     excerpt: Box::new(|_| None),
//! };
//! let page = Arc::new(Page::new(engine, reading.problems, options));
//! // Further edits are applied with `page.apply`, from another thread.
//! serve(page, TcpListener::bind("127.0.0.1:8080")?)?;
//! # Ok::<(), std::io::Error>(())
//! ```

#![deny(missing_docs)]

mod address;
mod api;
mod ask;
mod assets;
mod drawing;
mod events;
mod guard;
mod html;
mod log;
mod parameters;
mod routes;
mod server;
mod state;
mod views;

pub use server::serve;
pub use state::{CommandLine, Excerpt, Page, PageOptions};
