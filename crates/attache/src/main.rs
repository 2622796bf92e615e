//! The command `attache`.
//!
//! ```text
//! cli ─→ commands ─→ input ─→ source (files, folders, clusters) ─→ objects ─→ engine
//!           ├─→ attache-answers: a document for each question
//!           ├─→ render: documents as text, tables and pictures
//!           ├─→ attache-page: documents in the browser (`serve`)
//!           └─→ attache-controller: in the cluster (`controller`)
//! ```

mod arguments;
mod cli;
mod commands;
mod completion;
mod failure;
mod input;
mod invocation;
mod render;
mod source;
mod verdict;

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use attache_engine::Problem;

use cli::Cli;
use failure::Failure;
use invocation::Invocation;
use render::Screen;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if completion::answer(&arguments) {
        return ExitCode::SUCCESS;
    }
    let cli = Cli::parse(&arguments);
    render::set_colour(cli.global.color);
    let mut screen = Screen::new(Invocation::new(&arguments, cli.global.source()));
    let verdict = cli.run(&mut screen).and_then(|verdict| Ok(screen.flush().map(|()| verdict)?));
    match verdict {
        Ok(verdict) => verdict.exit_code(),
        // The reader has closed the pipe, as with `| head`: this is not an error.
        Err(Failure::Output(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            match failure {
                Failure::Problem(problem) => render::problem::show(&problem),
                Failure::Shown => {}
                Failure::Output(error) => {
                    render::problem::show(&Problem::error(format!("cannot write the answer: {error}")));
                }
            }
            ExitCode::from(2)
        }
    }
}
