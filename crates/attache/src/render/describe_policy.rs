//! Descriptions of policies, as text.

use std::io::{self, Write};

use attache_answers::describe::{AttachedTarget, BlockDocument, PolicyDescription};
use attache_answers::scopes::cut;
use attache_answers::spec_lines;
use attache_answers::status::AncestorDocument;
use attache_engine::{BlockKind, RejectionReason};

use super::Screen;
use super::describe::{DescribeView, write_conditions, write_section, write_see_also, write_title};
use super::reach::ReachView;
use super::status::{in_force, overridden_parts, status_word};
use super::style::{BAD, DIM, GOOD, LOST_MARK, OBJECT, paint};
use super::table::Table;

impl DescribeView {
    pub fn policy(&self, it: &PolicyDescription, screen: &mut Screen) -> io::Result<()> {
        let name = it.about.object.to_string();
        write_title(&it.about, screen)?;
        write_section("kind", screen)?;
        let mut table = Table::plain(2);
        table.row([it.kind_summary.as_str().into()]);
        table.write(screen)?;
        self.targets(it, screen)?;
        write_section("spec", screen)?;
        it.blocks.iter().try_for_each(|block| self.block(block, screen))?;
        if it.blocks.is_empty() {
            writeln!(screen, "  {}", paint(DIM, "nothing"))?;
        }
        let status = &it.reach.status;
        write_section("in force", screen)?;
        let mut table = Table::plain(2);
        table.row([status_word(status), format!("in force on {}", in_force(status)).into()]);
        table.write(screen)?;
        self.reach(it, screen)?;
        write_conditions(&it.conditions, "none", screen)?;
        let mut table = Table::plain(2);
        it.notes.iter().for_each(|note| table.row([paint(DIM, format!("note: {note}")).into()]));
        table.write(screen)?;
        self.ancestors(&it.ancestors, screen)?;
        self.problems(&it.problems, screen)?;
        let question = |words: &[&str]| screen.invocation.question(words);
        let mut commands = vec![question(&["reach", &name, "-o", "wide"]), question(&["plan", "--delete", &name])];
        let others = status.by.iter().take(self.most);
        commands.extend(others.map(|by| question(&["describe", &by.to_string()])));
        write_see_also(commands, screen)
    }

    /// Its targets, and whether it is attached to them.
    fn targets(&self, it: &PolicyDescription, screen: &mut Screen) -> io::Result<()> {
        write_section("targets", screen)?;
        let mut table = Table::plain(2);
        for refusal in &it.refusals {
            let target = refusal.target.as_deref().unwrap_or("no target");
            let target = [paint(BAD, format!("{LOST_MARK} ")), paint(OBJECT, target)];
            table.row([target.into(), paint(BAD, refusal.reason.name()).into(), refusal.message.as_str().into()]);
        }
        let shown = cut(it.attachments.len(), self.most);
        for AttachedTarget { target, conflicts_with } in &it.attachments[..shown] {
            match conflicts_with {
                Some(winner) => {
                    let target = [paint(BAD, format!("{LOST_MARK} ")), paint(OBJECT, target)];
                    let why = format!("conflicts with {winner}");
                    table.row([target.into(), paint(BAD, RejectionReason::Conflicted.name()).into(), why.into()]);
                }
                None => table.row([paint(OBJECT, target).into(), paint(GOOD, "attached").into(), "".into()]),
            }
        }
        if shown < it.attachments.len() {
            let more = format!("and {} more: {}", it.attachments.len() - shown, screen.invocation.in_full());
            table.row([paint(DIM, more).into()]);
        }
        if it.attachments.is_empty() && it.refusals.is_empty() {
            table.row([paint(DIM, "nothing: no filter of a rule refers to it").into()]);
        }
        table.write(screen)
    }

    /// How much is in force for each Gateway, if requests arrive through more than one.
    fn ancestors(&self, ancestors: &[AncestorDocument], screen: &mut Screen) -> io::Result<()> {
        if ancestors.len() < 2 {
            return Ok(());
        }
        write_section("ancestors", screen)?;
        let mut table = Table::plain(2);
        let shown = cut(ancestors.len(), self.most);
        for at in &ancestors[..shown] {
            let reasons = [Some(at.message.clone()), overridden_parts(&at.superseded, &[], self.most)];
            let reasons: Vec<String> = reasons.into_iter().flatten().filter(|reason| !reason.is_empty()).collect();
            table.row([paint(OBJECT, &at.ancestor).into(), at.word.into(), reasons.join("; ").into()]);
        }
        if shown < ancestors.len() {
            let more = format!("and {} more: {}", ancestors.len() - shown, screen.invocation.in_full());
            table.row([paint(DIM, more).into()]);
        }
        table.write(screen)
    }

    fn block(&self, block: &BlockDocument, screen: &mut Screen) -> io::Result<()> {
        let mut details = vec![block.strategy.clone()];
        details.extend(block.when.as_ref().map(|when| format!("when {when}")));
        if !block.removes.is_empty() {
            details.push(format!("removes {}", block.removes.join(", ")));
        }
        let lines = spec_lines(&block.spec);
        let shown = cut(lines.len(), self.most_lines);
        let mut table = Table::plain(2);
        if block.block != BlockKind::Bare || details.len() > 1 {
            table.row([paint(DIM, format!("{}, {}", block.block.name(), details.join(", "))).into()]);
        }
        let indent = if block.block == BlockKind::Bare { "" } else { "  " };
        for line in &lines[..shown] {
            table.row([format!("{indent}{}", line.text).into()]);
        }
        if shown < lines.len() {
            let more = format!("{indent}and {} more lines: {}", lines.len() - shown, screen.invocation.in_full());
            table.row([paint(DIM, more).into()]);
        }
        table.write(screen)
    }

    fn reach(&self, it: &PolicyDescription, screen: &mut Screen) -> io::Result<()> {
        let view = ReachView { reach: &it.reach, most: self.most, indent: 2 };
        view.affected("it", screen)?;
        let parts = &it.reach.parts;
        let shown = cut(parts.len(), self.most);
        parts[..shown].iter().try_for_each(|part| view.part(part, screen))?;
        if shown < parts.len() {
            let mut table = Table::plain(2);
            table.row([paint(DIM, format!("and {} more: {}", parts.len() - shown, view.in_full(screen))).into()]);
            table.write(screen)?;
        }
        Ok(())
    }
}
