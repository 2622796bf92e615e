//! Finds the files of `-f`.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use std::{fs, io};

use attache_engine::Problem;

use super::rendered::{self, Chart, Kustomization};

/// The name of standard input in messages.
pub const STDIN: &str = "<stdin>";

/// The extensions of files that are read in a folder.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

#[derive(Debug)]
pub struct File {
    /// Its name in messages.
    pub name: Arc<str>,
    pub origin: Origin,
    /// The index of the input that named it, or its folder.
    pub input: usize,
    /// Whether it was named itself, not found in a folder.
    pub named: bool,
    /// Its path with all links resolved.
    pub real: PathBuf,
    pub stamp: Stamp,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    Path(PathBuf),
    Stdin,
}

/// The size, time and identity of a file, from which changes are recognized without reading it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// In bytes.
    pub size: u64,
    modified: Option<SystemTime>,
    /// A file may be replaced by another one of the same size and age.
    #[cfg(unix)]
    inode: (u64, u64),
}

impl From<&fs::Metadata> for Stamp {
    fn from(found: &fs::Metadata) -> Stamp {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Stamp {
            size: found.len(),
            modified: found.modified().ok(),
            #[cfg(unix)]
            inode: (found.dev(), found.ino()),
        }
    }
}

#[derive(Debug, Default)]
pub struct Found {
    /// In the order of their ranks. A file that is named twice is listed once, at its last rank.
    pub files: Vec<File>,
    /// The folders that were listed, with all links resolved.
    pub folders: BTreeSet<PathBuf>,
    pub obstacles: Vec<Obstacle>,
}

/// Why files could not be found.
#[derive(Debug)]
pub struct Obstacle {
    pub path: PathBuf,
    /// Whether it may hide files.
    pub hides: bool,
    pub problem: Problem,
}

impl Found {
    pub fn problems(&self) -> Vec<Problem> {
        self.obstacles.iter().map(|obstacle| obstacle.problem.clone()).collect()
    }
}

pub fn find(inputs: &[PathBuf]) -> Found {
    let mut finder = Finder::default();
    for (at, input) in inputs.iter().enumerate() {
        finder.at = at;
        finder.input(input);
    }
    let mut found = finder.found;
    leave_out_kustomizations(&mut found);
    let mut seen = HashSet::new();
    found.files.reverse();
    found.files.retain(|file| seen.insert(file.real.clone()));
    found.files.reverse();
    found
}

/// Leaves out kustomizations, and the patches that they name, because patches are not objects.
fn leave_out_kustomizations(found: &mut Found) {
    let mut patches = HashSet::new();
    for file in &found.files {
        let Origin::Path(path) = &file.origin else { continue };
        if !rendered::is_kustomization(path) {
            continue;
        }
        let kustomization = Kustomization::read(path);
        patches.extend(kustomization.patches.iter().map(|patch| real(patch)));
        let obstacle = |problem| Obstacle { path: path.clone(), hides: false, problem };
        found.obstacles.extend(kustomization.problem.map(obstacle));
    }
    found.files.retain(|file| match &file.origin {
        Origin::Path(path) => !rendered::is_kustomization(path) && (file.named || !patches.contains(&file.real)),
        Origin::Stdin => true,
    });
}

/// Whether a file in a folder is read.
pub fn is_manifest(path: &Path) -> bool {
    path.extension().and_then(OsStr::to_str).is_some_and(|end| EXTENSIONS.contains(&end))
}

pub fn unreadable(name: &str, error: &io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::NotFound => Problem::error(format!("there is no file or folder `{name}`")),
        kind => Problem::error(format!("cannot read `{name}`: {kind}")),
    }
}

#[derive(Default)]
struct Finder {
    found: Found,
    /// The index of the current input.
    at: usize,
    /// The folders that were entered from it: links may form a cycle.
    entered: HashSet<PathBuf>,
    /// The Helm charts that the current folder is in, the innermost last.
    charts: Vec<Chart>,
}

impl Finder {
    fn input(&mut self, input: &Path) {
        if input == Path::new("-") {
            let (name, real, stamp) = (STDIN.into(), input.to_path_buf(), Stamp::default());
            self.found.files.push(File { name, origin: Origin::Stdin, input: self.at, named: true, real, stamp });
            return;
        }
        match fs::metadata(input) {
            Err(error) => self.obstacle(input, &error),
            Ok(found) if !found.is_dir() => self.file(input, true, real(input), &found),
            Ok(_) => {
                let before = (self.found.files.len(), self.found.obstacles.len());
                self.entered.clear();
                self.folder(input);
                if before == (self.found.files.len(), self.found.obstacles.len()) {
                    let problem = Problem::error(format!("there are no manifests in `{}`", input.display())).help(
                        "looked for files that end in .yaml, .yml or .json, in it and in the folders below it; names that start with a dot are skipped",
                    );
                    self.found.obstacles.push(Obstacle { path: input.to_path_buf(), hides: false, problem });
                }
            }
        }
    }

    fn folder(&mut self, folder: &Path) {
        let real_folder = real(folder);
        if !self.entered.insert(real_folder.clone()) {
            return;
        }
        self.found.folders.insert(real_folder.clone());
        let entries = match fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
            Ok(entries) => entries,
            Err(error) => return self.obstacle(folder, &error),
        };
        let chart = Chart::find(folder);
        let is_chart = chart.is_some();
        self.charts.extend(chart);
        let shown = |entry: &fs::DirEntry| !entry.file_name().as_encoded_bytes().starts_with(b".");
        let mut entries: Vec<fs::DirEntry> = entries.into_iter().filter(shown).collect();
        entries.sort_by_key(fs::DirEntry::path);
        for entry in entries {
            let path = entry.path();
            let manifest = is_manifest(&path);
            match fs::metadata(&path) {
                Ok(found) if found.is_dir() => self.folder(&path),
                Ok(_) if manifest && self.charts.last_mut().is_some_and(|chart| chart.leaves_out(&path)) => {}
                Ok(found) if manifest => {
                    let is_link = entry.file_type().is_ok_and(|entry| entry.is_symlink());
                    let real = if is_link { real(&path) } else { real_folder.join(entry.file_name()) };
                    self.file(&path, false, real, &found);
                }
                Err(error) if manifest => self.obstacle(&path, &error),
                Ok(_) | Err(_) => {}
            }
        }
        if let Some(chart) = self.charts.pop_if(|_| is_chart)
            && let Some(problem) = chart.problem()
        {
            self.found.obstacles.push(Obstacle { path: chart.path(), hides: false, problem });
        }
    }

    fn file(&mut self, path: &Path, named: bool, real: PathBuf, found: &fs::Metadata) {
        let (name, origin) = (path.to_string_lossy().into(), Origin::Path(path.to_path_buf()));
        self.found.files.push(File { name, origin, input: self.at, named, real, stamp: found.into() });
    }

    fn obstacle(&mut self, path: &Path, error: &io::Error) {
        let problem = unreadable(&path.to_string_lossy(), error);
        let hides = error.kind() != io::ErrorKind::NotFound;
        self.found.obstacles.push(Obstacle { path: path.to_path_buf(), hides, problem });
    }
}

/// A path with all links resolved.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}
