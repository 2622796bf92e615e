//! Which files `-f` means.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use attache_core::problem::Problem;

/// What messages call standard input.
pub const STDIN: &str = "<stdin>";

/// The files that are read in a folder.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

#[derive(Debug)]
pub struct File {
    /// As messages call it.
    pub name: Arc<str>,
    pub origin: Origin,
    /// Whether it was named itself, not found in a folder.
    pub named: bool,
    /// In bytes, as far as it is known before it is read.
    pub size: u64,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    Path(PathBuf),
    Stdin,
}

/// The files in the order in which they count. One that is named twice is read once, where it was named last.
pub fn find(inputs: &[PathBuf]) -> (Vec<File>, Vec<Problem>) {
    let mut finder = Finder::default();
    for input in inputs {
        finder.input(input);
    }
    let mut seen = HashSet::new();
    let mut files: Vec<File> = finder.files.into_iter().rev().filter(|file| seen.insert(file.identity())).collect();
    files.reverse();
    (files, finder.problems)
}

pub fn unreadable(name: &str, error: &io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::NotFound => Problem::error(format!("there is no file or folder `{name}`")),
        kind => Problem::error(format!("cannot read `{name}`: {kind}")),
    }
}

#[derive(Default)]
struct Finder {
    files: Vec<File>,
    problems: Vec<Problem>,
    /// The folders that have been entered from the input at hand: links may lead in circles.
    entered: HashSet<PathBuf>,
}

impl Finder {
    fn input(&mut self, input: &Path) {
        if input == Path::new("-") {
            self.files.push(File { name: STDIN.into(), origin: Origin::Stdin, named: true, size: 0 });
            return;
        }
        match fs::metadata(input) {
            Err(error) => self.problems.push(unreadable(&input.to_string_lossy(), &error)),
            Ok(found) if !found.is_dir() => self.file(input, true, found.len()),
            Ok(_) => {
                let before = (self.files.len(), self.problems.len());
                self.entered.clear();
                self.folder(input);
                if before == (self.files.len(), self.problems.len()) {
                    let problem = Problem::error(format!("there are no manifests in `{}`", input.display()));
                    self.problems.push(problem.help(
                        "looked for files that end in .yaml, .yml or .json, in it and in the folders below it; names that start with a dot are skipped",
                    ));
                }
            }
        }
    }

    fn folder(&mut self, folder: &Path) {
        if fs::canonicalize(folder).is_ok_and(|real| !self.entered.insert(real)) {
            return;
        }
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut paths: Vec<PathBuf> = match entries {
            Ok(entries) => entries.iter().map(fs::DirEntry::path).collect(),
            Err(error) => return self.problems.push(unreadable(&folder.to_string_lossy(), &error)),
        };
        paths.retain(|path| !path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")));
        paths.sort();
        for path in paths {
            let manifest = path.extension().and_then(OsStr::to_str).is_some_and(|end| EXTENSIONS.contains(&end));
            match fs::metadata(&path) {
                Ok(found) if found.is_dir() => self.folder(&path),
                Ok(found) if manifest => self.file(&path, false, found.len()),
                Err(error) if manifest => self.problems.push(unreadable(&path.to_string_lossy(), &error)),
                Ok(_) | Err(_) => {}
            }
        }
    }

    fn file(&mut self, path: &Path, named: bool, size: u64) {
        let name = Arc::from(path.to_string_lossy());
        self.files.push(File { name, origin: Origin::Path(path.to_path_buf()), named, size });
    }
}

impl File {
    /// What two names of one file have in common.
    fn identity(&self) -> Origin {
        match &self.origin {
            Origin::Path(path) => Origin::Path(fs::canonicalize(path).unwrap_or_else(|_| path.clone())),
            Origin::Stdin => Origin::Stdin,
        }
    }
}
