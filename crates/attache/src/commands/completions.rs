use std::io::{self, Write};

use attache_engine::Problem;
use clap::{Args, ValueEnum};
use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};

use crate::failure::Failure;
use crate::invocation::Program;
use crate::render::Screen;
use crate::verdict::Verdict;

/// Print a script for shell completion
///
/// It completes commands, options, kinds, and the names of objects in the cluster or in the files of `-f`. kubectl
/// completes its plugins if a link `kubectl_complete-attache` to this program is on the path.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(attache completions bash)
  attache completions zsh > ~/.zfunc/_attache
  attache completions fish > ~/.config/fish/completions/attache.fish")]
pub struct CompletionsCommand {
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl CompletionsCommand {
    pub fn run(&self, screen: &mut Screen) -> Result<Verdict, Failure> {
        if screen.invocation.program != Program::Attache {
            let help = "link this program as `kubectl_complete-attache` too, beside `kubectl-attache`";
            return Err(Problem::error("a kubectl plugin has no completion script of its own").help(help).into());
        }
        match self.shell {
            Shell::Bash => write_script(&Bash, screen)?,
            Shell::Zsh => write_script(&Zsh, screen)?,
            Shell::Fish => write_script(&Fish, screen)?,
        }
        Ok(screen.flush().map(|()| Verdict::Fine)?)
    }
}

/// The variable that the scripts set to request completions. `COMPLETE`, which clap would use, may be set for another
/// program.
pub const VARIABLE: &str = "_ATTACHE_COMPLETE";

fn write_script(shell: &dyn EnvCompleter, out: &mut dyn Write) -> io::Result<()> {
    shell.write_registration(VARIABLE, "attache", "attache", "attache", out)
}
