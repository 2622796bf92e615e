//! What would change, for a person or for a pull request.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use attache_engine::change::{Change, Changes, LeafChange, ScopeName, StatusChange};
use attache_engine::lint::Finding;
use attache_engine::topology::Level;
use serde::Serialize;

use super::problem::severity_style;
use super::spec::inline;
use super::style::{BAD, DIM, GOOD, HEAD, OBJECT, PLAIN, POLICY, Painted, WARNING, paint};
use super::table::Table;
use super::{Screen, counted, cut, what, write_line};
use crate::cli::in_full;
use crate::deletion::Deletion;
use crate::documents::plan::word;

/// How much feels a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Touched {
    pub scopes: usize,
    pub routes: usize,
    pub backends: usize,
    pub namespaces: usize,
}

impl Touched {
    pub fn by(changes: &[Change]) -> Touched {
        let (mut routes, mut backends, mut namespaces) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let scopes = changes.iter().flat_map(|change| &change.scopes);
        for node in scopes.clone().flat_map(|scope| &scope.nodes).filter(|node| !node.contains('#')) {
            let mut parts = node.split('/');
            let (kind, namespace, name) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
            match attache_engine::kinds::LevelName::parse(kind).level() {
                Level::Route => _ = routes.insert(node),
                Level::Backend => _ = backends.insert(node),
                _ => continue,
            }
            namespaces.extend(namespace.filter(|_| name.is_some()));
        }
        Touched { scopes: scopes.count(), routes: routes.len(), backends: backends.len(), namespaces: namespaces.len() }
    }

    fn sentence(self) -> String {
        let parts = [(self.routes, "route"), (self.backends, "backend"), (self.namespaces, "namespace")];
        let parts: Vec<String> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(n, what)| counted(*n, what)).collect();
        let scopes = counted(self.scopes, "scope");
        if parts.is_empty() { scopes } else { format!("{scopes}: {}", parts.join(", ")) }
    }
}

pub struct PlanView {
    /// How many names and leaves are shown before the rest is only counted.
    pub most: usize,
}

impl PlanView {
    pub fn write(&self, all: &Changes, deletions: &[Deletion], screen: &mut Screen) -> io::Result<()> {
        let changes = &alike(&all.effective);
        if changes.is_empty() {
            writeln!(screen, "nothing that is in force changes")?;
        } else {
            let touched = paint(WARNING, Touched::by(changes).sentence());
            write_line([paint(PLAIN, "what is in force changes in "), touched], screen)?;
        }
        for deletion in deletions.iter().filter(|it| !it.with.is_empty()) {
            let object = paint(OBJECT, &deletion.object);
            write_line([paint(PLAIN, "with "), object, paint(PLAIN, format!(" {}", gone_with(deletion)))], screen)?;
        }
        let ends = Ends::new(changes);
        for change in changes {
            writeln!(screen)?;
            self.change(change, &ends.of(change), screen)?;
        }
        if !all.statuses.is_empty() {
            writeln!(screen)?;
            let mut table = Table::new(&["POLICY", "BEFORE", "AFTER"]);
            for status in &all.statuses {
                let (before, after) = words(status);
                table.row([paint(POLICY, &status.policy).into(), before.into(), paint(WARNING, after).into()]);
            }
            table.write(screen)?;
        }
        self.findings(all, screen)
    }

    fn findings(&self, all: &Changes, screen: &mut Screen) -> io::Result<()> {
        let findings = findings(all);
        if findings.is_empty() {
            return Ok(());
        }
        writeln!(screen)?;
        let mut table = Table::new(&["LINT", "RULE", "OBJECT", "WHAT"]);
        let shown = cut(findings.len(), self.most);
        for (word, finding) in &findings[..shown] {
            let style = if *word == NEW { severity_style(finding.rule.severity) } else { GOOD };
            table.row([
                paint(style, format!("{word} {}", finding.rule.severity)).into(),
                finding.rule.id.into(),
                paint(OBJECT, object(finding)).into(),
                finding.problem.message.as_str().into(),
            ]);
        }
        table.write(screen)?;
        if shown < findings.len() {
            let more = findings.len() - shown;
            writeln!(screen, "{}", paint(DIM, format!("and {more} more: {}", in_full())))?;
        }
        Ok(())
    }

    fn change(&self, change: &Change, ends: &[String], screen: &mut Screen) -> io::Result<()> {
        let mut head = Table::plain(0);
        head.row([paint(HEAD, &change.policy_kind).into(), paint(OBJECT, self.places(change, ends)).into()]);
        head.write(screen)?;
        self.leaves(change, screen)
    }

    /// What each leaf was and is.
    pub fn leaves(&self, change: &Change, screen: &mut Screen) -> io::Result<()> {
        let mut table = Table::plain(2);
        let shown = cut(change.leaves.len(), self.most);
        for leaf in &change.leaves[..shown] {
            if let Some(before) = &leaf.before {
                let text = format!("- {}: {}", leaf.path, inline(&before.value));
                table.row([paint(BAD, text).into(), by(before.policy.as_deref()).into()]);
            }
            if let Some(after) = &leaf.after {
                let text = format!("+ {}: {}", leaf.path, inline(&after.value));
                table.row([paint(GOOD, text).into(), by(after.policy.as_deref()).into()]);
            }
        }
        if change.leaves.is_empty() {
            table.row([paint(DIM, ANOTHER_ORDER).into()]);
        }
        if shown < change.leaves.len() {
            let more = change.leaves.len() - shown;
            table.row([paint(DIM, format!("and {more} more: {}", in_full())).into()]);
        }
        table.write(screen)
    }

    fn places(&self, change: &Change, ends: &[String]) -> String {
        let shown = cut(ends.len(), self.most);
        let names = ends[..shown].join(", ");
        let what = how_many(change, ends.len());
        match ends.len() - shown {
            _ if ends.len() == 1 => format!("on {names}"),
            0 => format!("on {what}: {names}"),
            more => format!("on {what}: {names} and {more} more: {}", in_full()),
        }
    }
}

/// How many of each kind go with an object: `go 4 HTTPRoutes, 5 Services`.
fn gone_with(deletion: &Deletion) -> String {
    let verb = if deletion.with.len() == 1 { "goes" } else { "go" };
    let kinds = deletion.with.chunk_by(|a, b| a.group == b.group && a.kind == b.kind);
    let kinds = kinds.map(|alike| counted(alike.len(), &alike[0].kind)).collect::<Vec<_>>();
    format!("{verb} {}", kinds.join(", "))
}

pub const ANOTHER_ORDER: &str = "the same policies apply in another order";

/// The changes with all scopes together in which the same leaves change, whatever else is in force there.
pub fn alike(changes: &[Change]) -> Vec<Change> {
    let mut groups: Vec<Change> = Vec::new();
    let mut known: HashMap<(&str, &[LeafChange]), usize> = HashMap::new();
    for change in changes {
        match known.entry((&change.policy_kind, &change.leaves)) {
            Entry::Occupied(group) => groups[*group.get()].scopes.extend_from_slice(&change.scopes),
            Entry::Vacant(group) => {
                group.insert(groups.len());
                groups.push(change.clone());
            }
        }
    }
    groups
}

/// Where changes happen: the effective targets, each once. Of those that change in several ways, the way to them.
pub struct Ends<'c> {
    /// In how many changes of a kind there is a target.
    changes: HashMap<(&'c str, &'c str), usize>,
}

impl<'c> Ends<'c> {
    pub fn new(changes: &'c [Change]) -> Ends<'c> {
        let mut ends = Ends { changes: HashMap::new() };
        for change in changes {
            let targets: BTreeSet<&str> = change.scopes.iter().map(end).collect();
            for target in targets {
                *ends.changes.entry((&change.policy_kind, target)).or_default() += 1;
            }
        }
        ends
    }

    pub fn of(&self, change: &Change) -> Vec<String> {
        let name = |scope: &ScopeName| {
            let target = end(scope);
            let several = self.changes.get(&(change.policy_kind.as_str(), target)).is_some_and(|count| *count > 1);
            let name = if several { way(&scope.nodes) } else { target.to_owned() };
            match &scope.from {
                Some(from) => format!("{name} (from {from})"),
                None => name,
            }
        };
        let names: BTreeSet<String> = change.scopes.iter().map(name).collect();
        names.into_iter().collect()
    }
}

/// The effective target.
pub fn end(scope: &ScopeName) -> &str {
    scope.nodes.last().map(String::as_str).unwrap_or_default()
}

/// A path without what goes without saying: objects whose section follows, and Namespaces.
fn way(nodes: &[String]) -> String {
    let follows = |at: usize, node: &str| nodes.get(at + 1).is_some_and(|next| next.starts_with(&format!("{node}#")));
    let said = nodes.iter().enumerate().filter(|(at, node)| !follows(*at, node) && !node.starts_with("Namespace/"));
    said.map(|(_, node)| node.as_str()).collect::<Vec<_>>().join(" > ")
}

/// How many places there are, and what they are: `4 Services`, or scopes where several lead to one.
fn how_many(change: &Change, places: usize) -> String {
    let targets: BTreeSet<&str> = change.scopes.iter().map(end).collect();
    let whats: BTreeSet<String> = targets.iter().map(|target| what(target)).collect();
    match whats.first() {
        _ if targets.len() < places => counted(places, "scope"),
        Some(what) if whats.len() == 1 => counted(places, what),
        _ => counted(places, "place"),
    }
}

fn by(policy: Option<&str>) -> Painted {
    paint(POLICY, policy.unwrap_or_default())
}

/// The status in a word, before and after.
pub fn words(status: &StatusChange) -> (&'static str, &'static str) {
    (status.before.as_ref().map_or("new", word), status.after.as_ref().map_or("gone", word))
}

/// For a comment on a pull request.
pub fn write_markdown(all: &Changes, deletions: &[Deletion], screen: &mut Screen) -> io::Result<()> {
    let changes = &alike(&all.effective);
    if changes.is_empty() {
        writeln!(screen, "**Nothing that is in force changes.**")?;
    } else {
        writeln!(screen, "**What is in force changes in {}.**", Touched::by(changes).sentence())?;
    }
    for deletion in deletions.iter().filter(|it| !it.with.is_empty()) {
        writeln!(screen, "\nWith `{}` {}.", deletion.object, gone_with(deletion))?;
    }
    let ends = Ends::new(changes);
    for change in changes {
        let ends = ends.of(change);
        writeln!(
            screen,
            "\n<details open><summary>{} on {}</summary>\n",
            change.policy_kind,
            counted(ends.len(), "place")
        )?;
        writeln!(screen, "{}\n\n```diff", ends.iter().map(|end| format!("`{end}`")).collect::<Vec<_>>().join(", "))?;
        change.leaves.iter().try_for_each(|leaf| write_diff(leaf, screen))?;
        writeln!(screen, "```\n\n</details>")?;
    }
    if !all.statuses.is_empty() {
        writeln!(screen, "\n| policy | before | after |\n|---|---|---|")?;
        for status in &all.statuses {
            let (before, after) = words(status);
            writeln!(screen, "| `{}` | {before} | {after} |", status.policy)?;
        }
    }
    let findings = findings(all);
    if !findings.is_empty() {
        writeln!(screen, "\n| lint | rule | object | what |\n|---|---|---|---|")?;
        for (word, finding) in findings {
            let (severity, id) = (finding.rule.severity, finding.rule.id);
            let what = finding.problem.message.replace('|', "\\|");
            writeln!(screen, "| {word} {severity} | {id} | `{}` | {what} |", object(finding))?;
        }
    }
    Ok(())
}

const NEW: &str = "new";

/// What is new, then what is fixed.
fn findings(changes: &Changes) -> Vec<(&'static str, &Finding)> {
    let new = changes.new_findings.iter().map(|finding| (NEW, finding));
    new.chain(changes.fixed_findings.iter().map(|finding| ("fixed", finding))).collect()
}

fn object(finding: &Finding) -> String {
    finding.problem.object.as_ref().map(ToString::to_string).unwrap_or_default()
}

fn write_diff(leaf: &LeafChange, screen: &mut Screen) -> io::Result<()> {
    for (sign, side) in [('-', &leaf.before), ('+', &leaf.after)] {
        if let Some(set) = side {
            let by = set.policy.as_deref().map(|policy| format!("  # {policy}")).unwrap_or_default();
            writeln!(screen, "{sign} {}: {}{by}", leaf.path, inline(&set.value))?;
        }
    }
    Ok(())
}
