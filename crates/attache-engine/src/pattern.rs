//! Untrusted regular expressions, compiled with a limit on their size, which also limits the time to compile them.

use regex::{Regex, RegexBuilder};

/// Compiles a pattern to at most `max_bytes`. The error says what is wrong with the pattern.
pub fn compile(pattern: &str, max_bytes: usize) -> Result<Regex, String> {
    RegexBuilder::new(pattern).size_limit(max_bytes).dfa_size_limit(max_bytes).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
        // The first lines of the message show the pattern, the last one says what is wrong.
        error => error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned(),
    })
}
