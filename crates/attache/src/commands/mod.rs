//! One file per command.

pub mod audit;
pub mod completions;
pub mod describe;
pub mod effective;
pub mod explain;
pub mod get;
pub mod lint;
pub mod man;
pub mod plan;
pub mod reach;
pub mod request;
pub mod status;
pub mod test;
pub mod topology;
pub mod version;
pub mod watch;

use clap::ValueEnum;

use crate::cli::{Cli, Command};
use crate::failure::Failure;
use crate::render::Screen;

/// What the answer amounts to, for those who only look at the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Fine,
    No,
    /// Part of the input could not be used, and the answer may depend on it.
    Unsure,
}

/// How to print an answer, if not for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Wide,
    Name,
    Yaml,
    Json,
}

pub fn run(cli: &Cli, screen: &mut Screen) -> Result<Verdict, Failure> {
    match &cli.command {
        Command::Get(command) => command.run(&cli.global, screen),
        Command::Describe(command) => command.run(&cli.global, screen),
        Command::Effective(command) => command.run(&cli.global, screen),
        Command::Explain(command) => command.run(&cli.global, screen),
        Command::Reach(command) => command.run(&cli.global, screen),
        Command::Plan(command) => command.run(&cli.global, screen),
        Command::Watch(command) => command.run(&cli.global, screen),
        Command::Audit(command) => command.run(&cli.global, screen),
        Command::Lint(command) => command.run(&cli.global, screen),
        Command::Request(command) => command.run(&cli.global, screen),
        Command::Status(command) => command.run(&cli.global, screen),
        Command::Topology(command) => command.run(&cli.global, screen),
        Command::Test(command) => command.run(&cli.global, screen),
        Command::Completions(command) => command.run(screen),
        Command::Version(command) => command.run(screen),
        Command::Man(command) => command.run(),
    }
}
