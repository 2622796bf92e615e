//! What an answer amounts to, for those who only look at the exit code.

use std::process::ExitCode;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
