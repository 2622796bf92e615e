//! When to look at files again.
//!
//! Notifications say that it is time to look, and what they name is read again; what is there is found out by looking.
//! So it does not matter whether an editor writes, renames or replaces, nor whether a notification gets lost.

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

/// For so long nothing happens when an editor, or a tool that writes many files, is done.
const SETTLED: Duration = Duration::from_millis(50);
/// So long is waited if something happens all the time.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often to look where there are no notifications.
const EVERY: Duration = Duration::from_secs(2);

pub struct Notices {
    sender: Sender<Signal>,
    signals: Receiver<Signal>,
    watcher: Option<RecommendedWatcher>,
    /// How often to look whatever is notified.
    every: Option<Duration>,
    /// All that happens in these is of interest.
    folders: BTreeSet<PathBuf>,
    /// What happens to these, or to a folder on the way to them, is of interest.
    ways: BTreeSet<PathBuf>,
    watched: BTreeSet<PathBuf>,
    /// What came in the way of being notified.
    pub problems: Vec<Problem>,
}

enum Signal {
    Noticed(notify::Result<Event>),
    End,
}

/// Calls `end` at Ctrl-C. A second Ctrl-C ends the program without waiting for what is being written.
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
    /// With `every`, there are no notifications, and it is time to look each time so much time has passed.
    pub fn new(every: Option<Duration>) -> Notices {
        let (sender, signals) = mpsc::channel();
        let mut notices = Notices {
            sender: sender.clone(),
            signals,
            watcher: None,
            every,
            folders: BTreeSet::new(),
            ways: BTreeSet::new(),
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

    /// From now on Ctrl-C is a wish to end.
    pub fn end_on_interrupt(&self) -> Result<(), Failure> {
        let sender = self.sender.clone();
        end_on_interrupt(move || _ = sender.send(Signal::End))
    }

    /// Waits until something happens to the files and then leaves them alone for a moment, or until it is `time`. Gives
    /// what it happened to; nothing at the end.
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
                        deadline = Some(latest.min(now + SETTLED));
                    }
                }
            }
        }
    }

    fn is_of_interest(&mut self, event: notify::Result<Event>, touched: &mut HashSet<PathBuf>) -> bool {
        let Ok(event) = event else { return true };
        // Our own reading is noticed too.
        if matches!(event.kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write)) {
            return false;
        }
        let in_place = matches!(event.kind, EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_)));
        let is_file =
            in_place || matches!(event.kind, EventKind::Create(CreateKind::File) | EventKind::Remove(RemoveKind::File));
        let mut of_interest = event.need_rescan();
        for path in event.paths {
            if !self.is_near(&path) || is_file && !is_manifest(&path) && !self.ways.contains(&path) {
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
        within(path) || path.parent().is_some_and(within) || self.ways.iter().any(|way| way.starts_with(path))
    }

    /// A folder that was moved is followed to where nobody looks for it, and another may come by its name.
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

    /// Watches every folder in which something of interest may happen. Gives whether some of them were not watched: what
    /// was found in them before is not certain.
    pub fn follow(&mut self, inputs: &[PathBuf], found: &Found) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
        self.folders.clone_from(&found.folders);
        self.ways.clear();
        let mut wanted = found.folders.clone();
        let links = found.files.iter().filter_map(|file| Some((file.real.parent()?.to_path_buf(), file.real.clone())));
        let links = links.filter(|(folder, file)| !found.folders.contains(folder) || !is_manifest(file));
        for (folder, way) in inputs.iter().filter_map(|input| way(input)).chain(links) {
            wanted.insert(folder);
            self.ways.insert(way);
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
            let problem = Problem::warning(format!("not all changes will be notified: {error}"));
            let help = format!("looking every {} seconds instead: see `--poll`", EVERY.as_secs());
            self.problems.push(problem.help(help));
            self.every = Some(EVERY);
        }
    }
}

/// A folder that is gone again, or that may not be read, is found out by looking.
fn is_limit(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => false,
        ErrorKind::Io(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied),
        _ => true,
    }
}

/// The nearest folder above a path that is there, and the path by way of it. The path itself may be a link, which can
/// come to lead elsewhere.
fn way(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().skip(1).find_map(|above| {
        let real = fs::canonicalize(above).ok()?;
        let way = real.join(path.strip_prefix(above).ok()?);
        Some((real, way))
    })
}
