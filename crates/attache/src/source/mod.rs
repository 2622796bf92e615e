//! Files, folders, standard input and clusters, read into objects.

mod cluster;
mod contents;
mod duplicates;
mod excerpt;
mod files;
mod follow;
mod notice;
mod progress;
mod rendered;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;
use std::str::Utf8Error;

use attache_engine::text::{self, Reading};
use attache_engine::{Problem, ProblemCode, SourceLocation};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

pub use cluster::{LiveCluster, read_cluster};
pub use excerpt::Excerpts;
pub use files::{File, STDIN};
pub use follow::FollowedFiles;
pub use notice::end_on_interrupt;

use files::{Found, Origin};
use progress::Progress;

/// Reads everything that `inputs` name: files, folders with everything below them, and `-` for standard input. Whatever
/// cannot be read is a problem, and the rest is still returned. Of objects with one name the last is kept.
///
/// `cluster_scoped` returns whether a kind is cluster-scoped, if the input itself does not declare it.
pub fn load(inputs: &[PathBuf], quiet: bool, cluster_scoped: impl Fn(&str, &str) -> bool) -> Reading {
    resolve(read_all(inputs, quiet), cluster_scoped)
}

/// All objects of the input, with namespaces as written.
pub fn read_all(inputs: &[PathBuf], quiet: bool) -> Reading {
    let found = files::find(inputs);
    let problems = found.problems();
    let progress = Progress::new(size(&found), quiet);
    let mut files: Vec<(usize, File)> = found.files.into_iter().enumerate().collect();
    // The largest first, so that no thread starts with it when the others are done.
    files.sort_by_key(|(_, file)| Reverse(file.stamp.size));
    let mut readings: Vec<(usize, Reading)> =
        files.into_par_iter().map(|(at, file)| (at, read(&file, &progress))).collect();
    readings.sort_by_key(|(at, _)| *at);
    let first = Reading { problems, ..Reading::default() };
    Reading::concat([first].into_iter().chain(readings.into_iter().map(|(_, reading)| reading)).collect())
}

/// Keeps each object once, and gives it a namespace only if its kind is namespaced.
pub fn resolve(reading: Reading, cluster_scoped: impl Fn(&str, &str) -> bool) -> Reading {
    let Reading { mut objects, mut problems } = reading;
    text::settle_namespaces(&mut objects, &mut problems, cluster_scoped);
    let (objects, warnings) = duplicates::keep_last(objects);
    Reading { objects, problems: [problems, warnings].concat() }
}

/// Like [`load`], file by file, with namespaces as written.
pub fn load_each(inputs: &[PathBuf]) -> (Vec<(File, Reading)>, Vec<Problem>) {
    let found = files::find(inputs);
    let problems = found.problems();
    let progress = Progress::new(0, true);
    let read = |file: File| {
        let reading = read(&file, &progress);
        (file, reading)
    };
    (found.files.into_par_iter().map(read).collect(), problems)
}

/// The size of the input in bytes, as far as known.
pub fn size_of(inputs: &[PathBuf]) -> u64 {
    size(&files::find(inputs))
}

fn size(found: &Found) -> u64 {
    found.files.iter().map(|file| file.stamp.size).sum()
}

/// Reads one file. The text is dropped as soon as the objects are built.
fn read(file: &File, progress: &Progress) -> Reading {
    let problem = |problem| Reading { objects: Vec::new(), problems: vec![problem] };
    let bytes = match bytes(&file.origin) {
        Ok(bytes) => bytes,
        Err(error) => return problem(files::unreadable(&file.name, &error)),
    };
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        Err(error) => return problem(not_text(&bytes, error).in_file(&file.name)),
    };
    let mut reading = text::read_with_progress(&file.name, text, |length| progress.advance(length));
    // Folders contain other data too: values of charts, dashboards, settings of tools.
    reading.problems.retain(|problem| problem.code != Some(ProblemCode::NotAnObject));
    if file.named && reading.objects.is_empty() && reading.problems.is_empty() {
        return problem(Problem::warning("there are no objects in this file").in_file(&file.name));
    }
    reading
}

fn bytes(origin: &Origin) -> io::Result<Vec<u8>> {
    match origin {
        Origin::Path(path) => fs::read(path),
        Origin::Stdin => {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes)?;
            Ok(bytes)
        }
    }
}

fn not_text(bytes: &[u8], error: Utf8Error) -> Problem {
    let problem = Problem::error("this is not text in UTF-8");
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return problem.help("it looks like UTF-16: save it as UTF-8");
    }
    let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len) + 1;
    let place = SourceLocation {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u16::try_from(column).unwrap_or(u16::MAX),
    };
    Problem { location: Some(place), ..problem }
}
