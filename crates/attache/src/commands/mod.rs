//! One file for each command.

pub mod audit;
pub mod completions;
pub mod controller;
pub mod describe;
pub mod effective;
pub mod explain;
pub mod get;
pub mod lint;
pub mod man;
pub mod plan;
pub mod reach;
pub mod request;
pub mod serve;
pub mod status;
pub mod test;
pub mod topology;
pub mod version;
pub mod watch;

use clap::ValueEnum;

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Wide,
    Name,
    Yaml,
    Json,
}
