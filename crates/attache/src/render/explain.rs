//! Why things are as they are, for a person: every block, the strongest first, and what came of them.

use std::io::{self, Write};

use attache_engine::fold::{BlockTrace, Loss, Superseded};
use attache_engine::kinds::Strategy;
use attache_engine::object::SourceLocation;
use attache_engine::value::{Path, Value};

use super::effective::{Beside, EffectiveView};
use super::spec::{SpecLine, field_lines};
use super::style::{BAD, DIM, GOOD, LOST, LOST_MARK, OBJECT, PLAIN, POLICY, Painted, WARNING, paint};
use super::table::{Cell, Table};
use super::{Screen, cut};
use attache_answers::Snapshot;
use attache_answers::explain::{Answer, block, place};
use attache_answers::{did_you_mean, listed, managed_by};

pub struct ExplainView<'i> {
    pub input: &'i Snapshot,
    /// Who is explained, as it can be given to commands.
    pub object: String,
    /// How many names are shown before the rest is only counted.
    pub most: usize,
    /// The same for the lines of one block.
    pub most_lines: usize,
}

/// Everything below a number stands this far to the right.
const INDENT: usize = 3;

impl ExplainView<'_> {
    /// All that was said of a field, the strongest first, and what came of it. An empty path is everything.
    pub fn candidates(&self, answer: &Answer, field: &Path, screen: &mut Screen) -> io::Result<()> {
        let speaks =
            |turn: &&BlockTrace| field.is_empty() || self.said(turn).is_some_and(|it| field.resolve(it).is_some());
        for (i, turn) in answer.candidates().filter(speaks).enumerate() {
            self.numbered(i, turn, screen)?;
            self.circumstances(turn, field, screen)?;
            self.said_lines(answer, turn, field, screen)?;
        }
        Ok(())
    }

    /// What each block did, in the order of the fold.
    pub fn steps(&self, answer: &Answer, field: &Path, screen: &mut Screen) -> io::Result<()> {
        let mut before = answer.merged.as_ref().map(|(_, merged)| &merged.own);
        for (i, turn) in answer.trace.blocks.iter().enumerate() {
            self.numbered(i, turn, screen)?;
            let mut table = Table::plain(INDENT);
            for sentence in self.did(turn, before, field) {
                table.row([sentence.into()]);
            }
            table.write(screen)?;
            self.after(turn, field, screen)?;
            before = turn.after.as_ref();
        }
        Ok(())
    }

    /// What is in force, with who set it on every line.
    pub fn computed(&self, answer: &Answer, field: &Path, screen: &mut Screen) -> io::Result<()> {
        let view = EffectiveView { input: self.input, most: self.most };
        let mut table = Table::plain(INDENT + 2);
        let lines = answer.spec().map(|spec| field_lines(spec, field)).unwrap_or_default();
        let applied = &answer.effective().applied;
        let what = match &answer.merged {
            Some((object, merged)) => format!("effective: {object} will behave as if its {} were", merged.path),
            None => "effective".to_owned(),
        };
        writeln!(screen, "{:INDENT$}{}", "", paint(DIM, what))?;
        if !applied.is_empty() {
            table.row([paint(DIM, "all of them, one after the other").into()]);
        } else if lines.is_empty() {
            let is_own = |lost: &&Superseded| lost.by.is_none() && lost.reason != Loss::ConditionFalse;
            let mut lost = answer.effective().superseded.iter().filter(|lost| lost.path.overlaps(field));
            let what = match field.is_empty() {
                true => "nothing is in force".to_owned(),
                false if lost.any(|lost| is_own(&lost)) => format!("{field} is what the object sets itself"),
                false => format!("{field} is not set"),
            };
            table.row([paint(DIM, what).into()]);
        }
        view.in_force(
            answer.effective(),
            lines,
            Beside { merged: answer.merged.is_some(), every_line: true },
            &mut table,
        );
        table.write(screen)
    }

    fn numbered(&self, i: usize, turn: &BlockTrace, screen: &mut Screen) -> io::Result<()> {
        let view = EffectiveView { input: self.input, most: self.most };
        let mut table = Table::plain(0);
        let number = format!("{:<INDENT$}", i + 1);
        let policy = [paint(DIM, number), paint(POLICY, self.input.policy(turn.policy))];
        table.row([policy.into(), view.on(turn.block, turn.target)]);
        table.write(screen)
    }

    /// How it merges, on what condition, since when, and where it is written.
    fn circumstances(&self, turn: &BlockTrace, field: &Path, screen: &mut Screen) -> io::Result<()> {
        let block = block(self.input, turn);
        let when = block.and_then(|block| block.when.as_ref()).map(|when| format!("when {when}"));
        let removes = block.filter(|block| !block.removes.is_empty());
        let removes = removes.map(|block| format!("removes {}", block.removes.join(", ")));
        let age = match self.input.engine.policy_object(turn.policy).created {
            Some(created) => format!("created {created}"),
            None => "not created yet".to_owned(),
        };
        let object = self.input.engine.policy_object(turn.policy);
        let changed = object.last_change.as_ref();
        let changed = changed.map(|change| format!("last changed by {} at {}", change.manager, change.time));
        let managers = managed_by(object).into_iter().map(|it| format!("managed by {it}"));
        let place = place(self.input, turn, field).map(|(file, place)| match place {
            Some(SourceLocation { line, .. }) => format!("{file}:{line}"),
            None => file.to_owned(),
        });
        let strategy = Some(turn.strategy.name().to_owned()).filter(|_| turn.strategy != Strategy::NONE);
        let all = [strategy, when, removes, Some(age), changed, place].into_iter().flatten();
        let all: Vec<String> = all.chain(managers).collect();
        let mut table = Table::plain(INDENT);
        table.row([paint(DIM, all.join(", ")).into()]);
        table.write(screen)
    }

    /// What a block says, with what lost struck out.
    fn said_lines(&self, answer: &Answer, turn: &BlockTrace, field: &Path, screen: &mut Screen) -> io::Result<()> {
        let lines = self.said(turn).map(|spec| field_lines(spec, field)).unwrap_or_default();
        let lost: Vec<&Superseded> = answer.lost(turn).filter(|lost| lost.path.overlaps(field)).collect();
        let shown = cut(lines.len(), self.most_lines);
        let mut table = Table::plain(INDENT);
        let mut told: Vec<&Superseded> = Vec::new();
        for line in &lines[..shown] {
            let Some(why) = lost.iter().find(|lost| line.path.starts_with(&lost.path)) else {
                table.row([format!("  {}", line.text).into()]);
                continue;
            };
            let text = struck(&line.text);
            if told.contains(why) {
                table.row([text]);
            } else {
                told.push(why);
                table.row([text, self.why(turn, why).into()]);
            }
        }
        if shown < lines.len() {
            let more = format!("  and {} more: {}", lines.len() - shown, screen.invocation.in_full());
            table.row([paint(DIM, more).into()]);
        }
        // Inside a line, or nothing at all was said.
        let is_shown = |lost: &Superseded| lines.iter().any(|line| line.path.starts_with(&lost.path));
        for lost in lost.iter().filter(|lost| !is_shown(lost)) {
            let what = if lost.path.is_empty() { "all of it".to_owned() } else { lost.path.to_string() };
            table.row([struck(&what), self.why(turn, lost).into()]);
        }
        table.write(screen)
    }

    /// What was in force after a block, with what it changed marked.
    fn after(&self, turn: &BlockTrace, field: &Path, screen: &mut Screen) -> io::Result<()> {
        let lines = turn.after.as_ref().map(|spec| field_lines(spec, field)).unwrap_or_default();
        let mut table = Table::plain(INDENT);
        let shown = cut(lines.len(), self.most_lines);
        for line in &lines[..shown] {
            table.row([changed(turn, line)]);
        }
        if shown < lines.len() {
            let more = format!("  and {} more: {}", lines.len() - shown, screen.invocation.in_full());
            table.row([paint(DIM, more).into()]);
        }
        if lines.is_empty() && !field.is_empty() {
            table.row([paint(DIM, format!("  {field} is not set")).into()]);
        }
        table.write(screen)
    }

    /// What a block did, in sentences.
    fn did(&self, turn: &BlockTrace, before: Option<&Value>, field: &Path) -> Vec<String> {
        let mut sentences = Vec::new();
        let set = if before.is_none() { "took" } else { "filled" };
        for (did, paths) in [(set, &turn.filled), ("replaced", &turn.replaced), ("removed", &turn.removed)] {
            let paths: Vec<String> = paths.iter().filter(|path| path.overlaps(field)).map(named).collect();
            let shown = cut(paths.len(), self.most);
            let more = if shown < paths.len() { format!(" and {} more", paths.len() - shown) } else { String::new() };
            if !paths.is_empty() {
                sentences.push(format!("{did} {}{more}", paths[..shown].join(", ")));
            }
        }
        let lost: Vec<&Superseded> = turn.lost.iter().filter(|lost| lost.path.overlaps(field)).collect();
        let block = block(self.input, turn);
        match lost.first().map(|lost| lost.reason) {
            Some(Loss::ConditionFalse) => {
                let why = lost.first().map(|lost| self.why(turn, lost)).unwrap_or_default();
                sentences.push(format!("did nothing: {why}"));
                return sentences;
            }
            Some(_) => {
                sentences.extend(lost.iter().map(|lost| format!("not {}: {}", named(&lost.path), self.why(turn, lost))))
            }
            None if sentences.is_empty() && field.is_empty() => {
                sentences.push("did nothing: it says nothing".to_owned())
            }
            None if sentences.is_empty() => sentences.push(format!("did nothing: it says nothing of {field}")),
            None => {}
        }
        if let Some(block) = block.filter(|block| !block.removes.is_empty()) {
            sentences.push(format!("lets no default above it set {}", block.removes.join(", ")));
        }
        sentences
    }

    fn said(&self, turn: &BlockTrace) -> Option<&Value> {
        block(self.input, turn).map(|block| &block.spec)
    }

    fn why(&self, turn: &BlockTrace, lost: &Superseded) -> String {
        let why = EffectiveView { input: self.input, most: self.most }.why(lost);
        match (&turn.warning, lost.reason) {
            (Some(error), Loss::ConditionFalse) => format!("{why}: {error}"),
            _ => why,
        }
    }
}

fn named(path: &Path) -> String {
    if path.is_empty() { "all of it".to_owned() } else { path.to_string() }
}

/// A line that lost: marked at its beginning, and struck out without its indentation.
fn struck(text: &str) -> Cell {
    let value = text.trim_start();
    let indent = " ".repeat(text.len() - value.len() + 1);
    [paint(BAD, LOST_MARK), paint(PLAIN, indent), paint(LOST, value)].into()
}

/// A line after a block, marked if the block set it.
fn changed(turn: &BlockTrace, line: &SpecLine) -> Cell {
    let is_in = |paths: &[Path]| paths.iter().any(|path| line.path.starts_with(path));
    let (mark, style) = match () {
        () if is_in(&turn.replaced) => ("~", WARNING),
        () if is_in(&turn.filled) => ("+", GOOD),
        () => (" ", PLAIN),
    };
    let spans: [Painted; 2] = [paint(style, format!("{mark} ")), paint(style, &line.text)];
    spans.into()
}

/// What to say where nothing is set, and what to try.
pub fn nobody_sets(
    object: &str,
    field: &Path,
    near: &Result<Vec<String>, Vec<String>>,
    screen: &mut Screen,
) -> io::Result<()> {
    writeln!(screen, "nobody sets `{field}` on {}", paint(OBJECT, object))?;
    let help = match near {
        Ok(near) => did_you_mean(near),
        Err(there) => format!("they set {}", listed(there, 12)),
    };
    let mut table = Table::plain(0);
    table.row([paint(DIM, help).into()]);
    table.write(screen)
}
