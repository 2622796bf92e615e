use std::io::Write;

use clap::Args;

use super::Verdict;
use crate::failure::Failure;
use crate::render::Screen;

/// Print the version
#[derive(Debug, Args)]
pub struct Version {}

impl Version {
    pub fn run(&self, screen: &mut Screen) -> Result<Verdict, Failure> {
        writeln!(screen, "attache {}", env!("CARGO_PKG_VERSION"))?;
        Ok(Verdict::Fine)
    }
}
