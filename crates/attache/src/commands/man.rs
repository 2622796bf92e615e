use std::path::PathBuf;

use attache_engine::problem::Problem;
use clap::Args;

use super::Verdict;
use crate::cli;
use crate::failure::Failure;

/// Write a man page for the program, and one for each command, into a folder
#[derive(Debug, Args)]
pub struct Man {
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    pub fn run(&self) -> Result<Verdict, Failure> {
        let written = std::fs::create_dir_all(&self.folder)
            .and_then(|()| clap_mangen::generate_to(cli::definition(), &self.folder));
        written.map(|()| Verdict::Fine).map_err(|error| {
            Problem::error(format!("cannot write to `{}`: {}", self.folder.display(), error.kind())).into()
        })
    }
}
