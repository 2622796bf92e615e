//! One file per command.

pub mod completions;
pub mod topology;
pub mod version;

use crate::cli::{Cli, Command};
use crate::failure::Failure;
use crate::render::Screen;

/// What the answer amounts to, for those who only look at the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Fine,
    #[expect(dead_code)]
    No,
}

pub fn run(cli: &Cli, screen: &mut Screen) -> Result<Verdict, Failure> {
    match &cli.command {
        Command::Topology(command) => command.run(&cli.global, screen),
        Command::Completions(command) => command.run(screen),
        Command::Version(command) => command.run(screen),
    }
}
