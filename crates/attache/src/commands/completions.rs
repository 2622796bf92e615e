use std::io::Write;

use clap::Args;
use clap_complete::Shell;

use super::Verdict;
use crate::cli;
use crate::failure::Failure;
use crate::render::Screen;

/// Print a script that teaches your shell to complete attache's commands
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(attache completions bash)
  attache completions zsh > ~/.zfunc/_attache
  attache completions fish > ~/.config/fish/completions/attache.fish")]
pub struct Completions {
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    pub fn run(&self, screen: &mut Screen) -> Result<Verdict, Failure> {
        // Through a buffer: the generator panics when its writer fails.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut cli::definition(), "attache", &mut script);
        screen.write_all(&script)?;
        Ok(Verdict::Fine)
    }
}
