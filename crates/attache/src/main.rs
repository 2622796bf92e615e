//! The command `attache`.
//!
//! ```text
//! cli ─→ source ─→ input (the engine's view of it) ─→ commands ─→ render
//! ```

mod cli;
mod commands;
mod completion;
mod failure;
mod input;
mod render;
mod source;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use attache_engine::problem::Problem;

use commands::Verdict;
use failure::Failure;
use render::Screen;

fn main() -> ExitCode {
    if completion::answer() {
        return ExitCode::SUCCESS;
    }
    let cli = cli::parse();
    render::set_colour(cli.global.color);
    let mut screen = Screen::new();
    let answer = commands::run(&cli, &mut screen).and_then(|verdict| Ok(screen.flush().map(|()| verdict)?));
    match answer {
        Ok(Verdict::Fine) => ExitCode::SUCCESS,
        Ok(Verdict::No) => ExitCode::from(1),
        Ok(Verdict::Unsure) => ExitCode::from(2),
        // Nobody reads any more, as with `| head`: no reason to complain.
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
