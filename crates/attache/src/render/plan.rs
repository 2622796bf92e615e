//! Plans as text, and as Markdown for a pull request.

use std::collections::BTreeSet;
use std::io::{self, Write};

use attache_answers::change::{ChangeGroup, LeafDocument, SetValue};
use attache_answers::inline;
use attache_answers::lint::FindingDocument;
use attache_answers::plan::{Deletion, PlanDocument, PlannedStatus, Touched};
use attache_answers::scopes::cut;
use attache_answers::topology::kind_of;
use attache_engine::NodeRef;

use super::problem::severity_style;
use super::status::write_scope_note;
use super::style::{BAD, DIM, GOOD, HEAD, OBJECT, PLAIN, POLICY, Painted, WARNING, paint};
use super::table::Table;
use super::{Screen, counted, joined, write_line};

pub struct PlanView {
    /// The number of names and values that are shown before the rest is only counted.
    pub most: usize,
}

impl PlanView {
    pub fn write(&self, plan: &PlanDocument, screen: &mut Screen) -> io::Result<()> {
        if plan.groups.is_empty() {
            writeln!(screen, "no effective policy changes")?;
        } else {
            let touched = paint(WARNING, touched(plan.touched));
            write_line([paint(PLAIN, "effective policies change in "), touched], screen)?;
        }
        for deletion in plan.deleted.iter().filter(|it| !it.with.is_empty()) {
            let object = paint(OBJECT, &deletion.object);
            write_line([paint(PLAIN, "with "), object, paint(PLAIN, format!(" {}", deleted_with(deletion)))], screen)?;
        }
        if !plan.unrouted.is_empty() {
            write_line([paint(WARNING, no_route_any_more(&plan.unrouted, self.most))], screen)?;
        }
        for group in &plan.groups {
            writeln!(screen)?;
            let mut head = Table::plain(0);
            head.row([paint(HEAD, &group.policy_kind).into(), paint(OBJECT, self.places(group, screen)).into()]);
            head.write(screen)?;
            self.leaves(&group.leaves, screen)?;
        }
        if !plan.groups.is_empty() {
            write_scope_note(screen)?;
        }
        if !plan.policies.is_empty() {
            writeln!(screen)?;
            let mut table = Table::new(&["POLICY", "BEFORE", "AFTER"]);
            for status in &plan.policies {
                let (before, after) = words(status);
                table.row([paint(POLICY, &status.policy).into(), before.into(), paint(WARNING, after).into()]);
            }
            table.write(screen)?;
        }
        self.findings(plan, screen)
    }

    fn findings(&self, plan: &PlanDocument, screen: &mut Screen) -> io::Result<()> {
        let findings = findings(plan);
        if findings.is_empty() {
            return Ok(());
        }
        writeln!(screen)?;
        let mut table = Table::new(&["LINT", "RULE", "OBJECT", "WHAT"]);
        let shown = cut(findings.len(), self.most);
        for (word, finding) in &findings[..shown] {
            let style = if *word == NEW { severity_style(finding.severity) } else { GOOD };
            table.row([
                paint(style, format!("{word} {}", finding.severity)).into(),
                finding.id.into(),
                paint(OBJECT, object(finding)).into(),
                finding.message.as_str().into(),
            ]);
        }
        table.write(screen)?;
        if shown < findings.len() {
            let (more, see) = (findings.len() - shown, screen.invocation.in_full());
            writeln!(screen, "{}", paint(DIM, format!("and {more} more: {see}")))?;
        }
        Ok(())
    }

    /// Each value before and after.
    pub fn leaves(&self, leaves: &[LeafDocument], screen: &mut Screen) -> io::Result<()> {
        let mut table = Table::plain(2);
        let shown = cut(leaves.len(), self.most);
        for leaf in &leaves[..shown] {
            if let Some(before) = &leaf.before {
                let text = format!("- {}: {}", leaf.path, inline(&before.value));
                table.row([paint(BAD, text).into(), by(before).into()]);
            }
            if let Some(after) = &leaf.after {
                let text = format!("+ {}: {}", leaf.path, inline(&after.value));
                table.row([paint(GOOD, text).into(), by(after).into()]);
            }
        }
        if leaves.is_empty() {
            table.row([paint(DIM, ANOTHER_ORDER).into()]);
        }
        if shown < leaves.len() {
            let (more, see) = (leaves.len() - shown, screen.invocation.in_full());
            table.row([paint(DIM, format!("and {more} more: {see}")).into()]);
        }
        table.write(screen)
    }

    fn places(&self, group: &ChangeGroup, screen: &Screen) -> String {
        let places = &group.places;
        let shown = cut(places.len(), self.most);
        let names = joined(&places[..shown]);
        match places.len() - shown {
            _ if places.len() == 1 => format!("on {names}"),
            0 => format!("on {}: {names}", count_places(group)),
            more => format!("on {}: {names} and {more} more: {}", count_places(group), screen.invocation.in_full()),
        }
    }
}

pub const ANOTHER_ORDER: &str = "the same policies apply in another order";

/// That no route leads to some backends after the change: what is in force there then does not count for requests to a
/// Gateway.
fn no_route_any_more(backends: &[NodeRef], most: usize) -> String {
    let shown = cut(backends.len(), most);
    let more = if shown < backends.len() { format!(" and {} more", backends.len() - shown) } else { String::new() };
    format!(
        "no route leads to {}{more} any more: what is in force there is for direct requests and those of a mesh",
        joined(&backends[..shown])
    )
}

/// `4 scopes: 2 routes, 1 backend`.
fn touched(touched: Touched) -> String {
    let parts = [(touched.routes, "route"), (touched.backends, "backend"), (touched.namespaces, "namespace")];
    let parts: Vec<String> = parts.iter().filter(|(count, _)| *count > 0).map(|(n, what)| counted(*n, what)).collect();
    let scopes = counted(touched.scopes, "scope");
    if parts.is_empty() { scopes } else { format!("{scopes}: {}", parts.join(", ")) }
}

/// The number of objects of each kind that are deleted with an object: `go 4 HTTPRoutes, 5 Services`.
fn deleted_with(deletion: &Deletion) -> String {
    let verb = if deletion.with.len() == 1 { "goes" } else { "go" };
    let kinds = deletion.with.chunk_by(|a, b| a.group == b.group && a.kind == b.kind);
    let kinds = kinds.map(|alike| counted(alike.len(), &alike[0].kind)).collect::<Vec<_>>();
    format!("{verb} {}", kinds.join(", "))
}

/// The number of targets, and their kind: `4 Services`, or scopes if several lead to one target.
fn count_places(group: &ChangeGroup) -> String {
    let places = group.places.len();
    let kinds: BTreeSet<String> = group.targets.iter().map(kind_of).collect();
    match kinds.first() {
        _ if group.targets.len() < places => counted(places, "scope"),
        Some(kind) if kinds.len() == 1 => counted(places, kind),
        _ => counted(places, "place"),
    }
}

fn by(value: &SetValue) -> Painted {
    paint(POLICY, joined(&value.policies))
}

/// The status before and after, each as one word.
fn words(status: &PlannedStatus) -> (&'static str, &'static str) {
    (status.before.unwrap_or("new"), status.after.unwrap_or("gone"))
}

pub fn write_markdown(plan: &PlanDocument, screen: &mut Screen) -> io::Result<()> {
    if plan.groups.is_empty() {
        writeln!(screen, "**No effective policy changes.**")?;
    } else {
        writeln!(screen, "**Effective policies change in {}.**", touched(plan.touched))?;
    }
    for deletion in plan.deleted.iter().filter(|it| !it.with.is_empty()) {
        writeln!(screen, "\nWith `{}` {}.", deletion.object, deleted_with(deletion))?;
    }
    if !plan.unrouted.is_empty() {
        writeln!(screen, "\n**Warning:** {}.", no_route_any_more(&plan.unrouted, usize::MAX))?;
    }
    for group in &plan.groups {
        let places: Vec<String> = group.places.iter().map(|place| format!("`{place}`")).collect();
        let summary = format!("{} on {}", group.policy_kind, counted(places.len(), "place"));
        writeln!(screen, "\n<details open><summary>{summary}</summary>\n")?;
        writeln!(screen, "{}\n\n```diff", places.join(", "))?;
        group.leaves.iter().try_for_each(|leaf| write_diff(leaf, screen))?;
        writeln!(screen, "```\n\n</details>")?;
    }
    if !plan.policies.is_empty() {
        writeln!(screen, "\n| policy | before | after |\n|---|---|---|")?;
        for status in &plan.policies {
            let (before, after) = words(status);
            writeln!(screen, "| `{}` | {before} | {after} |", status.policy)?;
        }
    }
    let findings = findings(plan);
    if !findings.is_empty() {
        writeln!(screen, "\n| lint | rule | object | what |\n|---|---|---|---|")?;
        for (word, finding) in findings {
            let what = finding.message.replace('|', "\\|");
            writeln!(screen, "| {word} {} | {} | `{}` | {what} |", finding.severity, finding.id, object(finding))?;
        }
    }
    Ok(())
}

const NEW: &str = "new";

/// The new findings, then the fixed ones.
fn findings(plan: &PlanDocument) -> Vec<(&'static str, &FindingDocument)> {
    let new = plan.findings.new.iter().map(|finding| (NEW, finding));
    new.chain(plan.findings.fixed.iter().map(|finding| ("fixed", finding))).collect()
}

fn object(finding: &FindingDocument) -> String {
    finding.object.as_ref().map(ToString::to_string).unwrap_or_default()
}

fn write_diff(leaf: &LeafDocument, screen: &mut Screen) -> io::Result<()> {
    for (sign, side) in [('-', &leaf.before), ('+', &leaf.after)] {
        if let Some(set) = side {
            let by = if set.policies.is_empty() { String::new() } else { format!("  # {}", joined(&set.policies)) };
            writeln!(screen, "{sign} {}: {}{by}", leaf.path, inline(&set.value))?;
        }
    }
    Ok(())
}
