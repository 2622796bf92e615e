//! The exit code of a command.

use std::process::ExitCode;

/// The exit code. Of two, the later variant counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Fine,
    No,
    /// Part of the input could not be used, and the answer may depend on it.
    Incomplete,
}

impl Verdict {
    pub fn exit_code(self) -> ExitCode {
        match self {
            Verdict::Fine => ExitCode::SUCCESS,
            Verdict::No => ExitCode::from(1),
            Verdict::Incomplete => ExitCode::from(2),
        }
    }
}
