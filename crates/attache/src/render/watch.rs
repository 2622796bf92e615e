//! Changes as they happen: a line for each.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;

use attache_answers::change::{ChangeGroup, LeafDocument, SetValue};
use attache_answers::inline;
use attache_answers::status::PolicyStatusDocument;
use attache_answers::watch::{PolicyStatusChange, WatchedChanges};
use attache_cluster::{ClusterNews, KindChange};
use attache_engine::{Engine, NodeRef, ObjectRef, TargetChange};
use jiff::Timestamp;

use super::plan::{ANOTHER_ORDER, PlanView};
use super::status::{in_force, why};
use super::style::{DIM, GOOD, HEAD, OBJECT, POLICY, Painted, WARNING, paint};
use super::{Screen, counted, joined, some};

/// Longer values are cut if several are on a line.
const LONGEST: usize = 40;

pub struct WatchView {
    /// The number of names and values that are shown before the rest is only counted.
    pub most: usize,
    /// Whether each value is shown, below the line.
    pub diff: bool,
    /// The time before each line.
    pub time: Option<Timestamp>,
}

impl WatchView {
    pub fn write(&self, changes: &WatchedChanges, screen: &mut Screen) -> io::Result<()> {
        for group in &changes.groups() {
            self.effective(group, screen)?;
        }
        let policies = changes.policies();
        for (text, policies) in grouped(&policies, |it| &it.policy, |it| self.status(it)) {
            self.line(screen, &paint(POLICY, some(&policies, self.most)), &format!(": {text}"))?;
        }
        let by_target: BTreeMap<&NodeRef, &TargetChange> = changes.targets.iter().map(|it| (&it.target, it)).collect();
        // A section with the same change as the whole object is left out.
        let is_shown = |it: &&TargetChange| {
            let whole = it.target.section.as_ref().and_then(|_| by_target.get(&it.target.whole()));
            whole.is_none_or(|whole| (&whole.before, &whole.after) != (&it.before, &it.after))
        };
        let targets: Vec<&TargetChange> = changes.targets.iter().filter(is_shown).collect();
        for (text, targets) in grouped(targets, |it| &it.target, |it| self.target(it)) {
            let verb = if targets.len() == 1 { "is" } else { "are" };
            self.line(screen, &paint(OBJECT, some(&targets, self.most)), &format!(" {verb} {text}"))?;
        }
        Ok(())
    }

    fn line(&self, screen: &mut Screen, subject: &Painted, text: &str) -> io::Result<()> {
        if let Some(time) = self.time {
            write!(screen, "{} ", paint(DIM, time))?;
        }
        writeln!(screen, "{subject}{text}")
    }

    fn effective(&self, group: &ChangeGroup, screen: &mut Screen) -> io::Result<()> {
        let places = match self.cuts() {
            true => some(&group.targets, self.most),
            false => joined(&group.places),
        };
        let (scopes, leaves) = (counted(group.scopes, "scope"), self.leaves(&group.leaves));
        let text = format!(" in {scopes} on {}: {leaves}", paint(OBJECT, places));
        self.line(screen, &paint(HEAD, &group.policy_kind), &text)?;
        if self.diff {
            PlanView { most: usize::MAX }.leaves(&group.leaves, screen)?;
        }
        Ok(())
    }

    /// The values before and after, on one line.
    fn leaves(&self, leaves: &[LeafDocument]) -> String {
        if leaves.is_empty() {
            return ANOTHER_ORDER.to_owned();
        }
        let texts: Vec<String> = leaves.iter().map(|leaf| self.leaf(leaf)).collect();
        let setters: BTreeSet<&[ObjectRef]> = leaves.iter().filter_map(|leaf| policies(&leaf.after)).collect();
        let by = match setters.first() {
            Some(policies) if setters.len() == 1 => format!(", by {}", paint(POLICY, joined(policies))),
            _ => String::new(),
        };
        format!("{}{by}", some(&texts, self.most))
    }

    fn leaf(&self, leaf: &LeafDocument) -> String {
        let value = |side: &Option<SetValue>| match side {
            Some(set) if self.cuts() => shortened(inline(&set.value)),
            Some(set) => inline(&set.value),
            None => "unset".to_owned(),
        };
        let (before, after) = (value(&leaf.before), value(&leaf.after));
        match (&leaf.before, &leaf.after, policies(&leaf.before)) {
            (Some(was), Some(is), Some(policies)) if was.value == is.value => {
                format!("{}: {after}, no longer by {}", leaf.path, paint(POLICY, joined(policies)))
            }
            _ => format!("{}: {before} → {}", leaf.path, paint(WARNING, after)),
        }
    }

    fn status(&self, change: &PolicyStatusChange) -> String {
        let word = |side: &Option<PolicyStatusDocument>| side.as_ref().map(PolicyStatusDocument::word);
        let (was, is) = (word(&change.before).unwrap_or("new"), word(&change.after).unwrap_or("gone"));
        let reason = change.after.as_ref().map(|status| why(status, self.most)).filter(|why| !why.is_empty());
        let reason = reason.map(|why| format!(", {why}")).unwrap_or_default();
        let counts = |side: &Option<PolicyStatusDocument>| side.as_ref().map(in_force).unwrap_or_default();
        let (before, now) = (counts(&change.before), counts(&change.after));
        match was == is {
            false => format!("{was} → {}{reason}", paint(WARNING, is)),
            true if before != now => format!("{is} in {before} → {} scopes{reason}", paint(WARNING, now)),
            true => format!("still {is}{reason}"),
        }
    }

    fn target(&self, change: &TargetChange) -> String {
        let only = |these: &[ObjectRef], others: &[ObjectRef]| {
            let found: Vec<&ObjectRef> = these.iter().filter(|it| !others.contains(it)).collect();
            (!found.is_empty()).then(|| paint(POLICY, some(&found, self.most)))
        };
        match (only(&change.after, &change.before), only(&change.before, &change.after)) {
            (Some(new), Some(gone)) => format!("now affected by {new}, no longer by {gone}"),
            (Some(new), None) => format!("now affected by {new}"),
            (None, gone) => format!("no longer affected by {}", gone.unwrap_or_else(|| paint(POLICY, ""))),
        }
    }

    fn cuts(&self) -> bool {
        self.most < usize::MAX
    }
}

/// The policies that set a value, if any does.
fn policies(side: &Option<SetValue>) -> Option<&[ObjectRef]> {
    side.as_ref().map(|set| set.policies.as_slice()).filter(|policies| !policies.is_empty())
}

/// Groups changes with the same text, in the order of the first of each.
fn grouped<'c, C: Copy, N: Display + 'c>(
    changes: impl IntoIterator<Item = C>,
    name: impl Fn(C) -> &'c N,
    text: impl Fn(C) -> String,
) -> Vec<(String, Vec<&'c N>)> {
    let mut groups: Vec<(String, Vec<&N>)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for change in changes {
        let text = text(change);
        let at = *known.entry(text.clone()).or_insert_with(|| {
            groups.push((text, Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push(name(change));
    }
    groups
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// What is watched, on standard error.
pub fn write_watching(engine: &Engine, files: usize) {
    let (objects, policies) = (counted(engine.objects().len(), "object"), counted(engine.policies().len(), "policy"));
    let text = format!("watching {objects} in {}, {policies} among them", counted(files, "file"));
    let _ = writeln!(anstream::stderr(), "{}", paint(DIM, text));
}

/// What is watched in a cluster, on standard error.
pub fn write_watching_cluster(engine: &Engine, server: &str) {
    let (objects, policies) = (counted(engine.objects().len(), "object"), counted(engine.policies().len(), "policy"));
    let text = format!("watching {objects} in the cluster at {server}, {policies} among them");
    let _ = writeln!(anstream::stderr(), "{}", paint(DIM, text));
}

/// Whether the cluster can be reached, and which kinds were installed or removed, on standard error.
pub fn write_contact(news: &ClusterNews) {
    let mut stderr = anstream::stderr();
    if let Some(why) = &news.disconnected {
        let _ = writeln!(stderr, "{} {why}", paint(WARNING, "disconnected:"));
    }
    if let Some(after) = news.reconnected {
        let text = format!("after {:.1} s; changes in the meantime follow", after.as_secs_f64());
        let _ = writeln!(stderr, "{} {text}", paint(GOOD, "reconnected:"));
    }
    for change in &news.kinds {
        let text = match change {
            KindChange::Installed(resource) => format!("{resource} are installed, and now watched"),
            KindChange::Removed(resource) => format!("{resource} were removed"),
        };
        let _ = writeln!(stderr, "{}", paint(DIM, text));
    }
}

/// Files and folders that could not be read before, and now can, on standard error.
pub fn write_fixed(paths: &[PathBuf]) {
    for path in paths {
        let _ = writeln!(anstream::stderr(), "{} `{}` can be read again", paint(GOOD, "fixed:"), path.display());
    }
}
