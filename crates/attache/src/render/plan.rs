//! What would change, for a person or for a pull request.

use std::collections::BTreeSet;
use std::io::{self, Write};

use attache_engine::change::{EffectiveChange, Leaf, LeafChange, StatusChange};
use attache_engine::lint::Finding;
use attache_engine::plan::Changes;

use super::problem::severity_style;
use super::spec::inline;
use super::style::{BAD, DIM, GOOD, HEAD, OBJECT, PLAIN, POLICY, Painted, WARNING, paint};
use super::table::Table;
use super::{Screen, counted, cut, write_line};
use attache_answers::plan::Deletion;
use attache_answers::plan::{Ends, Touched, alike, end, setters, word};
use attache_answers::topology::what;

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
            let touched = paint(WARNING, sentence(Touched::by(changes)));
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
            writeln!(screen, "{}", paint(DIM, format!("and {more} more: {}", screen.invocation.in_full())))?;
        }
        Ok(())
    }

    fn change(&self, change: &EffectiveChange, ends: &[String], screen: &mut Screen) -> io::Result<()> {
        let mut head = Table::plain(0);
        head.row([paint(HEAD, &change.policy_kind).into(), paint(OBJECT, self.places(change, ends, screen)).into()]);
        head.write(screen)?;
        self.leaves(change, screen)
    }

    /// What each leaf was and is.
    pub fn leaves(&self, change: &EffectiveChange, screen: &mut Screen) -> io::Result<()> {
        let mut table = Table::plain(2);
        let shown = cut(change.leaves.len(), self.most);
        for leaf in &change.leaves[..shown] {
            if let Some(before) = &leaf.before {
                let text = format!("- {}: {}", leaf.path, inline(&before.value));
                table.row([paint(BAD, text).into(), by(before).into()]);
            }
            if let Some(after) = &leaf.after {
                let text = format!("+ {}: {}", leaf.path, inline(&after.value));
                table.row([paint(GOOD, text).into(), by(after).into()]);
            }
        }
        if change.leaves.is_empty() {
            table.row([paint(DIM, ANOTHER_ORDER).into()]);
        }
        if shown < change.leaves.len() {
            let more = change.leaves.len() - shown;
            table.row([paint(DIM, format!("and {more} more: {}", screen.invocation.in_full())).into()]);
        }
        table.write(screen)
    }

    fn places(&self, change: &EffectiveChange, ends: &[String], screen: &Screen) -> String {
        let shown = cut(ends.len(), self.most);
        let names = ends[..shown].join(", ");
        let what = how_many(change, ends.len());
        match ends.len() - shown {
            _ if ends.len() == 1 => format!("on {names}"),
            0 => format!("on {what}: {names}"),
            more => format!("on {what}: {names} and {more} more: {}", screen.invocation.in_full()),
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

/// How many places there are, and what they are: `4 Services`, or scopes where several lead to one.
fn how_many(change: &EffectiveChange, places: usize) -> String {
    let targets: BTreeSet<String> = change.scopes.iter().map(end).collect();
    let whats: BTreeSet<String> = targets.iter().map(|target| what(target)).collect();
    match whats.first() {
        _ if targets.len() < places => counted(places, "scope"),
        Some(what) if whats.len() == 1 => counted(places, what),
        _ => counted(places, "place"),
    }
}

/// `4 scopes: 2 routes, 1 backend`.
fn sentence(touched: Touched) -> String {
    let parts = [(touched.routes, "route"), (touched.backends, "backend"), (touched.namespaces, "namespace")];
    let parts: Vec<String> = parts.iter().filter(|(count, _)| *count > 0).map(|(n, what)| counted(*n, what)).collect();
    let scopes = counted(touched.scopes, "scope");
    if parts.is_empty() { scopes } else { format!("{scopes}: {}", parts.join(", ")) }
}

fn by(leaf: &Leaf) -> Painted {
    paint(POLICY, setters(leaf).unwrap_or_default())
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
        writeln!(screen, "**What is in force changes in {}.**", sentence(Touched::by(changes)))?;
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
            let by = setters(set).map(|policy| format!("  # {policy}")).unwrap_or_default();
            writeln!(screen, "{sign} {}: {}{by}", leaf.path, inline(&set.value))?;
        }
    }
    Ok(())
}
