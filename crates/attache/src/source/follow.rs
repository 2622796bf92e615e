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

/// A file that is empty for longer was not emptied only to be written anew.
const EMPTIED: Duration = Duration::from_secs(2);

pub struct Followed {
    inputs: Vec<PathBuf>,
    notices: Notices,
    files: BTreeMap<Rank, Known>,
    contents: Contents,
    /// What is wrong with files and folders, and has been said.
    wrong: BTreeMap<PathBuf, Vec<Problem>>,
    /// When to look again, even if nothing happens.
    again: Option<Instant>,
}

/// A file as it was when it was last read.
#[derive(Debug)]
struct Known {
    stamp: Stamp,
    problems: Vec<Problem>,
    /// Whether what it said before that counts, because now it is broken.
    stale: bool,
    emptied: Option<Instant>,
}

/// What became of the files since the last look.
#[derive(Debug)]
pub struct News {
    pub edits: Vec<Edit>,
    /// What was not wrong before.
    pub problems: Vec<Problem>,
    /// Files and folders that could not be used before.
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

impl Followed {
    /// With `every`, files are looked at so often, without waiting for notifications.
    pub fn new(inputs: &[PathBuf], every: Option<Duration>) -> Followed {
        Followed {
            inputs: inputs.to_vec(),
            notices: Notices::new(every),
            files: BTreeMap::new(),
            contents: Contents::default(),
            wrong: BTreeMap::new(),
            again: None,
        }
    }

    /// From now on Ctrl-C ends the waiting.
    pub fn end_on_interrupt(&self) -> Result<(), Failure> {
        self.notices.end_on_interrupt()
    }

    /// How many files there are that say something.
    pub fn len(&self) -> usize {
        self.contents.len()
    }

    /// Waits until it is time to look at the files. Gives those that were touched; nothing at the end.
    pub fn wait(&mut self) -> Option<HashSet<PathBuf>> {
        self.notices.wait(self.again)
    }

    /// Reads what was touched or looks different, and gives the edits that make `now` say the same as the files. A file
    /// that is broken, or cannot be read, counts as it was before.
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

    /// A folder is looked through only after it is watched, so that nothing that happens in it gets lost.
    fn find(&mut self) -> Found {
        loop {
            let found = files::find(&self.inputs);
            if !self.notices.follow(&self.inputs, &found) {
                return found;
            }
        }
    }

    /// Finds out which files to read, and which are gone. All others stay as they are known.
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

    /// What is wrong and was not, and what was wrong and is not.
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
                    problem.help.get_or_insert("until this is fixed, the file counts as it was before".into());
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
    /// Whether a file that was found is what was read. What could not be read may be readable now.
    fn is(&self, file: &File) -> bool {
        self.stamp == file.stamp && !self.problems.iter().any(Problem::is_error)
    }

    /// Some write a file by emptying it first, and take their time.
    fn may_be_being_written(&self, file: &File) -> bool {
        let recently = self.emptied.is_none_or(|since| since.elapsed() < EMPTIED);
        file.stamp.size == 0 && self.stamp.size > 0 && recently
    }
}
