//! Explanations as text: every block, the strongest first, and the effective policy.

use std::io::{self, Write};

use attache_answers::effective::LostPath;
use attache_answers::explain::{Candidate, ExplainedGroup, Explanation, MergeStep};
use attache_answers::scopes::cut;
use attache_answers::{SpecLine, did_you_mean, first_of, value_lines};
use attache_engine::{BlockKind, Loss, NodeRef, Path};

use super::effective::{OriginColumns, attached, origin_rows, write_heading};
use super::style::{BAD, DIM, GOOD, LOST, LOST_MARK, OBJECT, PLAIN, POLICY, Painted, WARNING, paint};
use super::table::{Cell, Table};
use super::{Screen, some};

pub struct ExplainView {
    /// The number of answers or names that are shown before the rest is only counted.
    pub most: usize,
    /// The same for the lines of one block.
    pub most_lines: usize,
}

/// The width of the number of a block. Everything below it is indented as far.
const INDENT: usize = 3;

impl ExplainView {
    pub fn write(&self, explanation: &Explanation, screen: &mut Screen) -> io::Result<()> {
        let groups: Vec<&[ExplainedGroup]> = explanation.items.chunk_by(|a, b| a.group == b.group).collect();
        let shown = cut(groups.len(), self.most);
        for (i, group) in groups[..shown].iter().enumerate() {
            if i > 0 {
                writeln!(screen)?;
            }
            write_heading(&group[0].policy_kind, &group[0].extent, screen)?;
            for item in *group {
                match item.steps.is_empty() {
                    true => self.candidates(item, screen)?,
                    false => self.steps(item, screen)?,
                }
                self.computed(item, screen)?;
            }
        }
        if shown < groups.len() {
            let more = format!("and {} more answers: {}", groups.len() - shown, screen.invocation.in_full());
            writeln!(screen, "\n{}", paint(DIM, more))?;
        }
        Ok(())
    }

    /// Every candidate block, the strongest first.
    fn candidates(&self, item: &ExplainedGroup, screen: &mut Screen) -> io::Result<()> {
        for (i, candidate) in item.candidates.iter().enumerate() {
            let Candidate { policy, block, target, .. } = candidate;
            write_number(i, &policy.to_string(), *block, target, screen)?;
            write_details(candidate, screen)?;
            self.candidate_lines(item, candidate, screen)?;
        }
        Ok(())
    }

    /// The effect of each block, in the order of the merge.
    fn steps(&self, item: &ExplainedGroup, screen: &mut Screen) -> io::Result<()> {
        for (i, step) in item.steps.iter().enumerate() {
            write_number(i, &step.policy.to_string(), step.block, &step.target, screen)?;
            let mut table = Table::plain(INDENT);
            for sentence in self.sentences(item, step) {
                table.row([sentence.into()]);
            }
            table.write(screen)?;
            self.after(item, step, screen)?;
        }
        Ok(())
    }

    /// The effective policy, with the origin of every line.
    fn computed(&self, item: &ExplainedGroup, screen: &mut Screen) -> io::Result<()> {
        let field = item.path.clone().unwrap_or_default();
        let what = match (&item.merged, &item.merges_into) {
            (Some(merged), Some(path)) => format!("effective: {} will behave as if its {path} were", merged.object),
            _ => "effective".to_owned(),
        };
        writeln!(screen, "{:INDENT$}{}", "", paint(DIM, what))?;
        let mut table = Table::plain(INDENT + 2);
        let lines = item.value.as_ref().map(|value| value_lines(value, &field)).unwrap_or_default();
        if !item.applied.is_empty() {
            table.row([paint(DIM, "all of them, one after the other").into()]);
        } else if lines.is_empty() {
            let what = match (&item.path, item.is_own) {
                (None, _) => "nothing is in force".to_owned(),
                (Some(field), true) => format!("{field} is what the object sets itself"),
                (Some(field), false) => format!("{field} is not set"),
            };
            table.row([paint(DIM, what).into()]);
        }
        origin_rows(
            &item.origins,
            lines,
            OriginColumns { merged: item.merged.is_some(), every_line: true },
            &mut table,
        );
        table.write(screen)
    }

    /// The content of a block, with lost values struck out.
    fn candidate_lines(&self, item: &ExplainedGroup, candidate: &Candidate, screen: &mut Screen) -> io::Result<()> {
        let field = item.path.clone().unwrap_or_default();
        let lines = value_lines(&candidate.value, &field);
        let shown = cut(lines.len(), self.most_lines);
        let mut table = Table::plain(INDENT);
        let mut explained: Vec<&LostPath> = Vec::new();
        for line in &lines[..shown] {
            let Some(lost) = candidate.lost.iter().find(|lost| line.path.starts_with(&lost.path)) else {
                table.row([format!("  {}", line.text).into()]);
                continue;
            };
            let text = struck_out(&line.text);
            if explained.contains(&lost) {
                table.row([text]);
            } else {
                explained.push(lost);
                table.row([text, lost.sentence().to_string().into()]);
            }
        }
        if shown < lines.len() {
            let more = format!("  and {} more: {}", lines.len() - shown, screen.invocation.in_full());
            table.row([paint(DIM, more).into()]);
        }
        // Part of a line, or the whole block of a policy that sets nothing.
        let has_line = |lost: &LostPath| lines.iter().any(|line| line.path.starts_with(&lost.path));
        for lost in candidate.lost.iter().filter(|lost| !has_line(lost)) {
            table.row([struck_out(&path_text(&lost.path)), lost.sentence().to_string().into()]);
        }
        table.write(screen)
    }

    /// The result after a block, with its changes marked.
    fn after(&self, item: &ExplainedGroup, step: &MergeStep, screen: &mut Screen) -> io::Result<()> {
        let field = item.path.clone().unwrap_or_default();
        let lines = step.after.as_ref().map(|value| value_lines(value, &field)).unwrap_or_default();
        let mut table = Table::plain(INDENT);
        let shown = cut(lines.len(), self.most_lines);
        for line in &lines[..shown] {
            table.row([changed(step, line)]);
        }
        if shown < lines.len() {
            let more = format!("  and {} more: {}", lines.len() - shown, screen.invocation.in_full());
            table.row([paint(DIM, more).into()]);
        }
        if let Some(field) = item.path.as_ref().filter(|_| lines.is_empty()) {
            table.row([paint(DIM, format!("  {field} is not set")).into()]);
        }
        table.write(screen)
    }

    /// The effect of a block, in sentences.
    fn sentences(&self, item: &ExplainedGroup, step: &MergeStep) -> Vec<String> {
        let mut sentences = Vec::new();
        let set = if step.is_first { "set" } else { "filled" };
        let did = [
            (set, &step.filled),
            ("combined", &step.combined),
            ("replaced", &step.replaced),
            ("removed", &step.removed),
        ];
        for (verb, paths) in did {
            let paths: Vec<String> = paths.iter().map(path_text).collect();
            if !paths.is_empty() {
                sentences.push(format!("{verb} {}", some(&paths, self.most)));
            }
        }
        match (step.lost.first(), &item.path) {
            (Some(lost), _) if lost.cause.reason == Loss::ConditionFalse => {
                sentences.push(format!("has no effect: {}", lost.sentence()));
                return sentences;
            }
            (Some(_), _) => {
                let lost = step.lost.iter();
                sentences.extend(lost.map(|lost| format!("not {}: {}", path_text(&lost.path), lost.sentence())));
            }
            (None, None) if sentences.is_empty() => sentences.push("has no effect: it sets nothing".to_owned()),
            (None, Some(field)) if sentences.is_empty() => {
                sentences.push(format!("has no effect: it does not set {field}"));
            }
            (None, _) => {}
        }
        if !step.removes.is_empty() {
            sentences.push(format!("removes defaults of higher policies: {}", step.removes.join(", ")));
        }
        sentences
    }
}

/// The number of a block, its policy and the node that it is attached to.
fn write_number(i: usize, policy: &str, block: BlockKind, target: &NodeRef, screen: &mut Screen) -> io::Result<()> {
    let mut table = Table::plain(0);
    let number = format!("{:<INDENT$}", i + 1);
    table.row([[paint(DIM, number), paint(POLICY, policy)].into(), attached(block, target)]);
    table.write(screen)
}

/// The strategy of a block, its condition, its age and its location.
fn write_details(candidate: &Candidate, screen: &mut Screen) -> io::Result<()> {
    let strategy = (!candidate.is_exclusive).then(|| candidate.strategy.clone());
    let when = candidate.when.as_ref().map(|when| format!("when {when}"));
    let removes = (!candidate.removes.is_empty()).then(|| format!("removes {}", candidate.removes.join(", ")));
    let age = match &candidate.created {
        Some(created) => format!("created {created}"),
        None => "not created yet".to_owned(),
    };
    let location = candidate.file.as_ref().map(|file| match candidate.line {
        Some(line) => format!("{file}:{line}"),
        None => file.clone(),
    });
    let changed = candidate.last_changed.as_ref();
    let changed = changed.map(|change| format!("last changed by {} at {}", change.manager, change.time));
    let managers = candidate.managed_by.iter().map(|manager| format!("managed by {manager}"));
    let all = [strategy, when, removes, Some(age), changed, location].into_iter().flatten();
    let all: Vec<String> = all.chain(managers).collect();
    let mut table = Table::plain(INDENT);
    table.row([paint(DIM, all.join(", ")).into()]);
    table.write(screen)
}

fn path_text(path: &Path) -> String {
    if path.is_empty() { "all of it".to_owned() } else { path.to_string() }
}

/// A line that lost: marked at its beginning, and struck out without its indentation.
fn struck_out(text: &str) -> Cell {
    let value = text.trim_start();
    let indent = " ".repeat(text.len() - value.len() + 1);
    [paint(BAD, LOST_MARK), paint(PLAIN, indent), paint(LOST, value)].into()
}

/// A line after a block, marked if the block set it.
fn changed(step: &MergeStep, line: &SpecLine) -> Cell {
    let is_in = |paths: &[Path]| paths.iter().any(|path| line.path.starts_with(path));
    let (mark, style) = match () {
        () if is_in(&step.combined) || is_in(&step.replaced) => ("~", WARNING),
        () if is_in(&step.filled) => ("+", GOOD),
        () => (" ", PLAIN),
    };
    let spans: [Painted; 2] = [paint(style, format!("{mark} ")), paint(style, &line.text)];
    spans.into()
}

/// The message if no policy sets a field: suggests a similar field, or lists those that are set.
pub fn write_not_set(
    object: &NodeRef,
    field: &Path,
    near: &[String],
    known: &[String],
    screen: &mut Screen,
) -> io::Result<()> {
    writeln!(screen, "no policy sets `{field}` on {}", paint(OBJECT, object))?;
    let help = match near {
        [] => format!("they set {}", first_of(known, 12)),
        near => did_you_mean(near),
    };
    let mut table = Table::plain(0);
    table.row([paint(DIM, help).into()]);
    table.write(screen)
}
