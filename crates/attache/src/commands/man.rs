use std::path::PathBuf;

use attache_engine::Problem;
use clap::Args;

use crate::failure::Failure;
use crate::verdict::Verdict;

/// Write a man page for the program, and one for each command, into a folder
#[derive(Debug, Args)]
pub struct ManCommand {
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl ManCommand {
    pub fn run(&self, definition: clap::Command) -> Result<Verdict, Failure> {
        // Man pages have the text of the long help, but clap_mangen leaves out what the short help hides.
        let definition = definition.mut_args(|argument| argument.hide_short_help(false));
        let written =
            std::fs::create_dir_all(&self.folder).and_then(|()| clap_mangen::generate_to(definition, &self.folder));
        written.map(|()| Verdict::Fine).map_err(|error| {
            Problem::error(format!("cannot write to `{}`: {}", self.folder.display(), error.kind())).into()
        })
    }
}
