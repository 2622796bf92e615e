//! How the program was called, and the commands that hints suggest.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// A space at which lines are not broken: a command in a hint stays on one line, so that it can be copied.
pub const UNBROKEN_SPACE: char = '\u{1f}';

/// The name under which the program runs. Links give it several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Attache,
    /// `kubectl-attache`, which kubectl runs as `kubectl attache`.
    KubectlPlugin,
    /// `kubectl_complete-attache`, which kubectl runs to complete a command line.
    KubectlCompletion,
}

impl Program {
    /// The program, from the first argument of the process.
    pub fn from_arguments(arguments: &[OsString]) -> Program {
        let path = arguments.first().map(Path::new);
        match path.and_then(Path::file_stem).and_then(OsStr::to_str) {
            Some("kubectl-attache") => Program::KubectlPlugin,
            Some("kubectl_complete-attache") => Program::KubectlCompletion,
            _ => Program::Attache,
        }
    }

    /// The words that a user types to run it.
    pub fn name(self) -> &'static str {
        match self {
            Program::KubectlPlugin => "kubectl attache",
            Program::Attache | Program::KubectlCompletion => "attache",
        }
    }
}

/// A call of the program.
#[derive(Clone, Debug)]
pub struct Invocation {
    pub program: Program,
    /// The arguments, without the program.
    arguments: Vec<String>,
    /// The arguments that select the input, and what counts as a policy.
    source: Vec<String>,
}

impl Invocation {
    pub fn new(arguments: &[OsString], source: Vec<String>) -> Invocation {
        let program = Program::from_arguments(arguments);
        let arguments = arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        Invocation { program, arguments, source }
    }

    /// The command line of another question about the same input.
    pub fn question(&self, words: &[&str]) -> String {
        self.command(words.iter().copied().chain(self.source.iter().map(String::as_str)))
    }

    /// The command line of the same question with a further option.
    pub fn with(&self, option: &str) -> String {
        self.command(self.arguments.iter().map(String::as_str).chain(option.split(' ')))
    }

    /// The command line that shows everything that is shortened here.
    pub fn in_full(&self) -> String {
        self.with("-o wide")
    }

    fn command<'w>(&self, words: impl Iterator<Item = &'w str>) -> String {
        let line = words.fold(self.program.name().to_owned(), |line, word| line + " " + &quoted(word));
        line.replace(' ', UNBROKEN_SPACE.encode_utf8(&mut [0; 4]))
    }
}

/// A word, quoted for a shell if necessary.
fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || "-_./:=@%+,#".contains(it);
    let is_word = !word.is_empty() && !word.starts_with('#') && word.chars().all(is_plain);
    if is_word { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_where_a_shell_would_read_more_into_them() {
        for plain in ["-f", "examples/bakery", "HTTPRoute/baker/cakes#rule-1", "a=b", "küche.yaml"] {
            assert_eq!(quoted(plain), plain);
        }
        for (word, expected) in
            [("", "''"), ("my files", "'my files'"), ("#x", "'#x'"), ("it's", r"'it'\''s'"), ("$(rm)", "'$(rm)'")]
        {
            assert_eq!(quoted(word), expected);
        }
    }
}
