//! What changes, as it happens: a line for each change.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use attache_cluster::{ClusterNews, KindChange};
use attache_engine::change::{EffectiveChange, Leaf, LeafChange, StatusChange, TargetChange};
use attache_engine::engine::Engine;
use attache_engine::incremental::Report;
use attache_engine::object::ObjectRef;
use attache_engine::status::PolicyStatus;
use attache_engine::topology::NodeRef;
use jiff::Timestamp;

use super::plan::{ANOTHER_ORDER, PlanView, words};
use super::spec::inline;
use super::status::{in_force, why};
use super::style::{DIM, GOOD, HEAD, OBJECT, POLICY, Painted, WARNING, paint};
use super::{Screen, counted, some};
use attache_answers::Snapshot;
use attache_answers::plan::{Ends, alike, end, setters};
use attache_answers::watch::Changed;

/// A longer value says too much for one of several on a line.
const LONGEST: usize = 40;

pub struct WatchView {
    /// How many names and leaves are shown before the rest is only counted.
    pub most: usize,
    /// Whether each leaf is shown, below the line.
    pub diff: bool,
    /// Shown before each line, if that is wanted.
    pub time: Option<Timestamp>,
}

impl WatchView {
    pub fn write(&self, changed: &Changed, report: &Report, screen: &mut Screen) -> io::Result<()> {
        let changes = alike(&changed.effective);
        let ends = Ends::new(&changes);
        for change in &changes {
            self.effective(change, &ends, screen)?;
        }
        let after = Snapshot::new(Arc::clone(&report.after), Vec::new());
        for (words, names) in grouped(&changed.policies, |it| it.policy.to_string(), |it| self.status(&after, it)) {
            self.line(screen, &paint(POLICY, some(&names, self.most)), &format!(": {words}"))?;
        }
        let said: BTreeMap<&NodeRef, &TargetChange> = changed.targets.iter().map(|it| (&it.target, it)).collect();
        // A section to which nothing else happens than to the whole says nothing new.
        let is_new = |it: &&TargetChange| {
            let whole = it.target.section.as_ref().and_then(|_| said.get(&it.target.whole()));
            whole.is_none_or(|whole| (&whole.before, &whole.after) != (&it.before, &it.after))
        };
        let targets: Vec<&TargetChange> = changed.targets.iter().filter(is_new).collect();
        for (words, names) in grouped(targets, |it| it.target.to_string(), |it| self.target(it)) {
            let verb = if names.len() == 1 { "is" } else { "are" };
            self.line(screen, &paint(OBJECT, some(&names, self.most)), &format!(" {verb} {words}"))?;
        }
        Ok(())
    }

    fn line(&self, screen: &mut Screen, who: &Painted, what: &str) -> io::Result<()> {
        if let Some(time) = self.time {
            write!(screen, "{} ", paint(DIM, time))?;
        }
        writeln!(screen, "{who}{what}")
    }

    fn effective(&self, change: &EffectiveChange, ends: &Ends, screen: &mut Screen) -> io::Result<()> {
        let places = match self.cuts() {
            true => change.scopes.iter().map(end).collect::<BTreeSet<_>>().into_iter().collect(),
            false => ends.of(change),
        };
        let (scopes, leaves) = (counted(change.scopes.len(), "scope"), self.leaves(&change.leaves));
        let place = paint(OBJECT, some(&places, self.most));
        self.line(screen, &paint(HEAD, &change.policy_kind), &format!(" in {scopes} on {place}: {leaves}"))?;
        if self.diff {
            PlanView { most: usize::MAX }.leaves(change, screen)?;
        }
        Ok(())
    }

    /// Before and after, in short.
    fn leaves(&self, leaves: &[LeafChange]) -> String {
        if leaves.is_empty() {
            return ANOTHER_ORDER.to_owned();
        }
        let said: Vec<String> = leaves.iter().map(|leaf| self.leaf(leaf)).collect();
        let policies: BTreeSet<String> = leaves.iter().filter_map(|leaf| setters(leaf.after.as_ref()?)).collect();
        let by = match policies.first() {
            Some(policy) if policies.len() == 1 => format!(", by {}", paint(POLICY, policy)),
            _ => String::new(),
        };
        format!("{}{by}", some(&said, self.most))
    }

    fn leaf(&self, leaf: &LeafChange) -> String {
        let value = |side: &Option<Leaf>| match side {
            Some(leaf) if self.cuts() => short(inline(&leaf.value)),
            Some(leaf) => inline(&leaf.value),
            None => "unset".to_owned(),
        };
        let (before, after) = (value(&leaf.before), value(&leaf.after));
        match (&leaf.before, &leaf.after) {
            (Some(was), Some(is)) if was.value == is.value && !was.policies.is_empty() => {
                format!("{}: {after}, no longer by {}", leaf.path, paint(POLICY, setters(was).unwrap_or_default()))
            }
            _ => format!("{}: {before} → {}", leaf.path, paint(WARNING, after)),
        }
    }

    fn status(&self, after: &Snapshot, change: &StatusChange) -> String {
        let (was, is) = words(change);
        let reason = change.after.as_ref().map(|status| why(after, status, self.most)).filter(|why| !why.is_empty());
        let reason = reason.map(|why| format!(", {why}")).unwrap_or_default();
        let counts = |side: &Option<PolicyStatus>| side.as_ref().map(in_force).unwrap_or_default();
        let (before, now) = (counts(&change.before), counts(&change.after));
        match was == is {
            false => format!("{was} → {}{reason}", paint(WARNING, is)),
            true if before != now => format!("{is} in {before} → {} scopes{reason}", paint(WARNING, now)),
            true => format!("still {is}{reason}"),
        }
    }

    fn target(&self, change: &TargetChange) -> String {
        let only = |these: &[ObjectRef], others: &[ObjectRef]| {
            let found: Vec<String> = these.iter().filter(|it| !others.contains(it)).map(ObjectRef::to_string).collect();
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

/// Changes of which the same is to be said, in the order of the first of each.
fn grouped<C: Copy>(
    changes: impl IntoIterator<Item = C>,
    name: impl Fn(C) -> String,
    words: impl Fn(C) -> String,
) -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for change in changes {
        let words = words(change);
        let at = *known.entry(words.clone()).or_insert_with(|| {
            groups.push((words, Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push(name(change));
    }
    groups
}

fn short(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// What there is to watch, on standard error.
pub fn write_watching(engine: &Engine, files: usize) {
    let (objects, policies) = (counted(engine.objects().len(), "object"), counted(engine.policies().len(), "policy"));
    let text = format!("watching {objects} in {}, {policies} among them", counted(files, "file"));
    let _ = writeln!(anstream::stderr(), "{}", paint(DIM, text));
}

/// What there is to watch in a cluster, on standard error.
pub fn write_watching_cluster(engine: &Engine, server: &str) {
    let (objects, policies) = (counted(engine.objects().len(), "object"), counted(engine.policies().len(), "policy"));
    let text = format!("watching {objects} in the cluster at {server}, {policies} among them");
    let _ = writeln!(anstream::stderr(), "{}", paint(DIM, text));
}

/// Whether the cluster is in touch, and which kinds have come and gone, on standard error.
pub fn write_contact(news: &ClusterNews) {
    let mut stderr = anstream::stderr();
    if let Some(why) = &news.out_of_touch {
        let _ = writeln!(stderr, "{} {why}", paint(WARNING, "out of touch:"));
    }
    if let Some(after) = news.back_in_touch {
        let text = format!("after {:.1} s; what happened meanwhile follows", after.as_secs_f64());
        let _ = writeln!(stderr, "{} {text}", paint(GOOD, "back in touch:"));
    }
    for change in &news.kinds {
        let text = match change {
            KindChange::Came(resource) => format!("{resource} are followed from now on"),
            KindChange::Went(resource) => format!("{resource} are not installed any more"),
        };
        let _ = writeln!(stderr, "{}", paint(DIM, text));
    }
}

/// Files and folders that could not be used before, on standard error.
pub fn write_mended(paths: &[PathBuf]) {
    for path in paths {
        let _ = writeln!(anstream::stderr(), "{} `{}` can be read again", paint(GOOD, "mended:"), path.display());
    }
}
