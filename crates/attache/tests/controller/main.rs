//! `attache controller` against a real API server.

#![allow(clippy::unwrap_used)]

mod admission;
mod api;
mod bad_input;
mod chart;
mod classes;
mod deploy;
mod documents;
mod fan_out;
mod faults;
#[allow(dead_code)]
mod harness;
mod lifecycle;
#[allow(dead_code)]
mod release;
mod run;
mod standard;
mod walk_through;
#[allow(dead_code)]
mod world;
mod writers;
