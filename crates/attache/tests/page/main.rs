//! The page, in a real browser.

#![allow(clippy::unwrap_used, clippy::panic)]

mod api;
mod bad_input;
mod browser;
mod clicks;
mod cluster;
mod filters;
mod hostile;
mod keyboard;
mod live;
mod pictures;
mod plans;
mod safety;
mod saving;
mod server;
mod views;
mod worlds;
