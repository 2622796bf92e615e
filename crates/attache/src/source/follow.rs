//! Files that are read again when they change.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use attache_engine::{Edit, Object, Objects, Problem};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::contents::{Contents, Difference, Rank};
use super::files::{self, File, Found, Obstacle, Origin, Stamp};
use super::notice::Notices;
use super::progress::Progress;
use crate::failure::Failure;

/// A file that stays empty for longer is not being rewritten.
const EMPTIED: Duration = Duration::from_secs(2);

/// Files that are read again when they change, and the edits that follow.
pub struct FollowedFiles {
    inputs: Vec<PathBuf>,
    notices: Notices,
    files: BTreeMap<Rank, Known>,
    contents: Contents,
    /// Problems of files and folders that have been reported.
    wrong: BTreeMap<PathBuf, Vec<Problem>>,
    /// When to read again without a notification.
    again: Option<Instant>,
}

/// A file as it was when it was last read.
#[derive(Debug)]
struct Known {
    stamp: Stamp,
    problems: Vec<Problem>,
    /// Whether its earlier objects count, because it is broken now.
    stale: bool,
    emptied: Option<Instant>,
}

/// The changes of files since the last read.
#[derive(Debug)]
pub struct News {
    pub edits: Vec<Edit>,
    /// New problems.
    pub problems: Vec<Problem>,
    /// Files and folders that could not be read before.
    pub fixed: Vec<PathBuf>,
}

#[derive(Default)]
struct Sorted {
    to_read: Vec<ToRead>,
    gone: Vec<Rank>,
}

struct ToRead {
    rank: Rank,
    was_there: bool,
    file: File,
}

impl FollowedFiles {
    /// With `every`, files are polled at this interval, without notifications.
    pub fn new(inputs: &[PathBuf], every: Option<Duration>) -> FollowedFiles {
        FollowedFiles {
            inputs: inputs.to_vec(),
            notices: Notices::new(every),
            files: BTreeMap::new(),
            contents: Contents::default(),
            wrong: BTreeMap::new(),
            again: None,
        }
    }

    /// Reads all files for the first time. Returns their objects and problems.
    pub fn read(&mut self, quiet: bool, cluster_scoped: impl Fn(&str, &str) -> bool) -> (Objects, Vec<Problem>) {
        let News { edits, problems, .. } = self.look(&HashSet::new(), &Objects::default(), quiet, cluster_scoped);
        let objects = edits.into_iter().filter_map(|edit| match edit {
            Edit::Put(object) => Some(object),
            Edit::Delete(_) => None,
        });
        (Objects::new(objects.collect()), problems)
    }

    /// Ctrl-C ends [`wait`](Self::wait) from now on.
    pub fn end_on_interrupt(&self) -> Result<(), Failure> {
        self.notices.end_on_interrupt()
    }

    /// The number of files that define objects.
    pub fn len(&self) -> usize {
        self.contents.len()
    }

    /// All current problems of the files.
    pub fn problems(&self) -> Vec<Problem> {
        self.wrong.values().flatten().cloned().collect()
    }

    /// Waits until files may have changed. Returns the notified paths; `None` at Ctrl-C.
    pub fn wait(&mut self) -> Option<HashSet<PathBuf>> {
        self.notices.wait(self.again)
    }

    /// Reads the files that were touched or have a different stamp, and returns the edits that turn `now` into what
    /// they define. The previous content of a broken or unreadable file counts.
    pub fn look(
        &mut self,
        touched: &HashSet<PathBuf>,
        now: &Objects,
        quiet: bool,
        cluster_scoped: impl Fn(&str, &str) -> bool,
    ) -> News {
        let found = self.find();
        let Sorted { to_read, gone } = self.sort(found.files, &found.obstacles, touched);
        let mut fresh: BTreeMap<Rank, Vec<Object>> = gone.into_iter().map(|rank| (rank, Vec::new())).collect();
        let progress = Progress::new(to_read.iter().map(|it| it.file.stamp.size).sum(), quiet);
        let read = |it: ToRead| (super::read(&it.file, &progress), it);
        for (reading, ToRead { rank, was_there, file }) in to_read.into_par_iter().map(read).collect::<Vec<_>>() {
            let stale = was_there && reading.problems.iter().any(Problem::is_error);
            if !stale {
                fresh.insert(rank.clone(), reading.objects);
            }
            self.files.insert(rank, Known { stamp: file.stamp, problems: reading.problems, stale, emptied: None });
        }
        let Difference { edits, warnings } = self.contents.replace(fresh, now, cluster_scoped);
        let (mut problems, fixed) = self.compare(&found.obstacles);
        problems.extend(warnings);
        problems.append(&mut self.notices.problems);
        News { edits, problems, fixed }
    }

    /// Lists folders only after they are watched, so that no change is missed.
    fn find(&mut self) -> Found {
        loop {
            let found = files::find(&self.inputs);
            if !self.notices.follow(&self.inputs, &found) {
                return found;
            }
        }
    }

    /// Finds the files to read, and removed files. All others are unchanged.
    fn sort(&mut self, found: Vec<File>, obstacles: &[Obstacle], touched: &HashSet<PathBuf>) -> Sorted {
        let mut before = std::mem::take(&mut self.files);
        let mut sorted = Sorted::default();
        self.again = None;
        for file in found {
            let Origin::Path(path) = &file.origin else { continue };
            let rank = (file.input, path.clone());
            match before.remove(&rank) {
                Some(known) if known.is(&file) && !touched.contains(&file.real) => {
                    self.files.insert(rank, Known { emptied: None, ..known });
                }
                Some(known) if known.may_be_being_written(&file) => {
                    let emptied = known.emptied.unwrap_or_else(Instant::now);
                    self.again = self.again.into_iter().chain([emptied + EMPTIED]).min();
                    self.files.insert(rank, Known { emptied: Some(emptied), ..known });
                }
                known => sorted.to_read.push(ToRead { rank, was_there: known.is_some(), file }),
            }
        }
        for (rank, known) in before {
            if obstacles.iter().any(|obstacle| obstacle.hides && rank.1.starts_with(&obstacle.path)) {
                self.files.insert(rank, known);
            } else {
                sorted.gone.push(rank);
            }
        }
        sorted
    }

    /// New problems, and files that are fixed.
    fn compare(&mut self, obstacles: &[Obstacle]) -> (Vec<Problem>, Vec<PathBuf>) {
        let mut wrong: BTreeMap<PathBuf, Vec<Problem>> = BTreeMap::new();
        for obstacle in obstacles {
            wrong.entry(obstacle.path.clone()).or_default().push(obstacle.problem.clone());
        }
        let mut stale: HashSet<&Path> = HashSet::new();
        for ((_, path), known) in self.files.iter().filter(|(_, known)| !known.problems.is_empty()) {
            wrong.insert(path.clone(), known.problems.clone());
            stale.extend(known.stale.then_some(path.as_path()));
        }
        let before = std::mem::replace(&mut self.wrong, wrong);
        let mut problems = Vec::new();
        for (path, found) in &self.wrong {
            let known = before.get(path).map_or(&[][..], Vec::as_slice);
            for problem in found.iter().filter(|problem| !known.contains(problem)) {
                let mut problem = problem.clone();
                if stale.contains(path.as_path()) {
                    problem.help.get_or_insert("until this is fixed, the previous content of the file counts".into());
                }
                problems.push(problem);
            }
        }
        let is_broken = |problems: &Vec<Problem>| problems.iter().any(Problem::is_error);
        let fixed = before.into_iter().filter(|(path, problems)| {
            is_broken(problems) && !self.wrong.get(path).is_some_and(is_broken) && fs::exists(path).unwrap_or(false)
        });
        (problems, fixed.map(|(path, _)| path).collect())
    }
}

impl Known {
    /// Whether a file is unchanged since it was read. An unreadable file may have become readable.
    fn is(&self, file: &File) -> bool {
        self.stamp == file.stamp && !self.problems.iter().any(Problem::is_error)
    }

    /// Some programs empty a file before they write it.
    fn may_be_being_written(&self, file: &File) -> bool {
        let recently = self.emptied.is_none_or(|since| since.elapsed() < EMPTIED);
        file.stamp.size == 0 && self.stamp.size > 0 && recently
    }
}
