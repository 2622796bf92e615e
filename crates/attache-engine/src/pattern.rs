//! Regular expressions from strangers: bounded in size, and with it in the time to compile them.

use regex::{Regex, RegexBuilder};

/// Compiles a pattern that needs no more than `most` bytes, or says what is wrong with it.
pub fn compile(pattern: &str, most: usize) -> Result<Regex, String> {
    RegexBuilder::new(pattern).size_limit(most).dfa_size_limit(most).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
        // The first lines of the message draw the pattern, the last says what is wrong.
        error => error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned(),
    })
}
