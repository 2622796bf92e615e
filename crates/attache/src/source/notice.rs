//! Notices when to read files again.
//!
//! A notification only triggers a check of all files: their stamps show which have changed. So it does not matter
//! whether an editor writes, renames or replaces files, nor whether a notification is lost.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use std::{fs, io};

use attache_engine::Problem;
use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind, RemoveKind};
use notify::{ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::files::{Found, is_manifest};
use crate::failure::Failure;

/// A pause of this length means that an editor, or a tool that writes many files, is done.
const QUIET: Duration = Duration::from_millis(50);
/// The longest wait while notifications keep coming.
const PATIENCE: Duration = Duration::from_secs(1);
/// The polling interval without notifications.
const EVERY: Duration = Duration::from_secs(2);

pub struct Notices {
    sender: Sender<Signal>,
    signals: Receiver<Signal>,
    watcher: Option<RecommendedWatcher>,
    /// The polling interval, if files are polled.
    every: Option<Duration>,
    /// Folders of which all entries matter.
    folders: BTreeSet<PathBuf>,
    /// Paths of which only themselves, and the folders above them, matter.
    paths: BTreeSet<PathBuf>,
    watched: BTreeSet<PathBuf>,
    /// Why notifications of some changes may be missing.
    pub problems: Vec<Problem>,
}

enum Signal {
    Noticed(notify::Result<Event>),
    End,
}

/// Calls `end` at Ctrl-C. A second Ctrl-C ends the program at once.
pub fn end_on_interrupt(end: impl Fn() + Send + 'static) -> Result<(), Failure> {
    let mut said = false;
    let handler = move || {
        if said {
            std::process::exit(0);
        }
        said = true;
        end();
    };
    ctrlc::set_handler(handler).map_err(|error| Problem::error(format!("cannot wait for Ctrl-C: {error}")).into())
}

impl Notices {
    /// With `every`, there are no notifications: files are polled at this interval.
    pub fn new(every: Option<Duration>) -> Notices {
        let (sender, signals) = mpsc::channel();
        let mut notices = Notices {
            sender: sender.clone(),
            signals,
            watcher: None,
            every,
            folders: BTreeSet::new(),
            paths: BTreeSet::new(),
            watched: BTreeSet::new(),
            problems: Vec::new(),
        };
        if every.is_none() {
            match notify::recommended_watcher(move |event| _ = sender.send(Signal::Noticed(event))) {
                Ok(watcher) => notices.watcher = Some(watcher),
                Err(error) => notices.look_instead(&error),
            }
        }
        notices
    }

    /// Ctrl-C ends [`wait`](Self::wait) from now on.
    pub fn end_on_interrupt(&self) -> Result<(), Failure> {
        let sender = self.sender.clone();
        end_on_interrupt(move || _ = sender.send(Signal::End))
    }

    /// Waits for a change and the pause after it, or until `time`. Returns the paths that changed; `None` at Ctrl-C.
    pub fn wait(&mut self, time: Option<Instant>) -> Option<HashSet<PathBuf>> {
        let mut touched = HashSet::new();
        let mut deadline = [time, self.every.map(|every| Instant::now() + every)].into_iter().flatten().min();
        let mut patience = None;
        loop {
            let signal = match deadline {
                Some(deadline) => self.signals.recv_timeout(deadline.saturating_duration_since(Instant::now())),
                None => self.signals.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match signal {
                Ok(Signal::End) | Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => return Some(touched),
                Ok(Signal::Noticed(event)) => {
                    if self.is_of_interest(event, &mut touched) {
                        let now = Instant::now();
                        let latest = *patience.get_or_insert(now + PATIENCE);
                        deadline = Some(latest.min(now + QUIET));
                    }
                }
            }
        }
    }

    fn is_of_interest(&mut self, event: notify::Result<Event>, touched: &mut HashSet<PathBuf>) -> bool {
        let Ok(event) = event else { return true };
        // Reads are notified too.
        if matches!(event.kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write)) {
            return false;
        }
        let in_place = matches!(event.kind, EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_)));
        let is_file =
            in_place || matches!(event.kind, EventKind::Create(CreateKind::File) | EventKind::Remove(RemoveKind::File));
        let mut of_interest = event.need_rescan();
        for path in event.paths {
            if !self.is_near(&path) || is_file && !is_manifest(&path) && !self.paths.contains(&path) {
                continue;
            }
            of_interest = true;
            if !in_place {
                self.forget(&path);
            }
            touched.insert(path);
        }
        of_interest
    }

    fn is_near(&self, path: &Path) -> bool {
        let within = |path: &Path| self.folders.contains(path);
        within(path) || path.parent().is_some_and(within) || self.paths.iter().any(|it| it.starts_with(path))
    }

    /// Stops watching a folder that was moved: its watch follows it, and another folder may get its name.
    fn forget(&mut self, path: &Path) {
        let Some(watcher) = &mut self.watcher else { return };
        self.watched.retain(|folder| {
            let stale = folder.starts_with(path);
            if stale {
                let _ = watcher.unwatch(folder);
            }
            !stale
        });
    }

    /// Watches every folder with files that matter. Returns whether some were not watched yet: files in them may have
    /// changed since they were listed.
    pub fn follow(&mut self, inputs: &[PathBuf], found: &Found) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
        self.folders.clone_from(&found.folders);
        self.paths.clear();
        let mut wanted = found.folders.clone();
        let links = found.files.iter().filter_map(|file| Some((file.real.parent()?.to_path_buf(), file.real.clone())));
        let links = links.filter(|(folder, file)| !found.folders.contains(folder) || !is_manifest(file));
        for (folder, resolved) in inputs.iter().filter_map(|input| resolved_path(input)).chain(links) {
            wanted.insert(folder);
            self.paths.insert(resolved);
        }
        for folder in self.watched.difference(&wanted) {
            let _ = watcher.unwatch(folder);
        }
        let new: Vec<&PathBuf> = wanted.difference(&self.watched).collect();
        let is_new = !new.is_empty();
        let mut paths = watcher.paths_mut();
        let failures = new.into_iter().filter_map(|folder| paths.add(folder, RecursiveMode::NonRecursive).err());
        let failure = failures.filter(is_limit).last();
        let failure = paths.commit().err().or(failure);
        self.watched = wanted;
        if let Some(failure) = failure {
            self.look_instead(&failure);
        }
        is_new
    }

    fn look_instead(&mut self, error: &notify::Error) {
        if self.every.is_none() {
            let problem = Problem::warning(format!("some changes may not be noticed: {error}"));
            let help = format!("checking the files every {} seconds instead: see `--poll`", EVERY.as_secs());
            self.problems.push(problem.help(help));
            self.every = Some(EVERY);
        }
    }
}

/// Whether a limit of the system was reached. Missing and unreadable folders are reported elsewhere.
fn is_limit(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => false,
        ErrorKind::Io(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied),
        _ => true,
    }
}

/// The nearest existing folder above a path, and the path within it. The path itself may be a link that can change.
fn resolved_path(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().skip(1).find_map(|above| {
        let real = fs::canonicalize(above).ok()?;
        let resolved = real.join(path.strip_prefix(above).ok()?);
        Some((real, resolved))
    })
}
