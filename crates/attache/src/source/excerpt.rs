//! The source lines of problems.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

use attache_engine::Problem;

/// A larger file was written by a program: its lines are not shown.
const LARGE: u64 = 1 << 20;

/// Source text is not kept: a file is read again when a problem in it is shown.
#[derive(Debug, Default)]
pub struct Excerpts(HashMap<Arc<str>, Option<String>>);

impl Excerpts {
    /// The source line of a problem. `None` for standard input, which cannot be read again.
    pub fn line(&mut self, problem: &Problem) -> Option<&str> {
        let (file, place) = (problem.file.as_ref()?, problem.location?);
        let text = self.0.entry(Arc::clone(file)).or_insert_with_key(|file| {
            let small = fs::metadata(&**file).is_ok_and(|found| found.is_file() && found.len() <= LARGE);
            small.then(|| fs::read_to_string(&**file).ok())?
        });
        text.as_ref()?.lines().nth(place.line.checked_sub(1)? as usize)
    }
}
