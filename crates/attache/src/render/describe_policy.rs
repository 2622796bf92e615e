//! Everything about one policy, for a person.

use std::collections::BTreeMap;
use std::io::{self, Write};

use attache_engine::attachment::{Refusal, RejectionReason};
use attache_engine::lint::Finding;
use attache_engine::policy::{Block, BlockKind, PolicyId};
use attache_engine::reach::Reach;
use attache_engine::topology::NodeId;

use super::describe::{DescribeView, section, write_conditions, write_deeper};
use super::kind::how_it_works;
use super::reach::ReachView;
use super::spec::spec_lines;
use super::status::{in_force, status_word};
use super::style::{BAD, DIM, GOOD, LOST_MARK, OBJECT, paint};
use super::table::Table;
use super::{Screen, cut};
use attache_answers::describe::condition;
use attache_answers::status::target_words;

impl DescribeView<'_> {
    pub fn policy(&self, policy: PolicyId, problems: &[Finding], screen: &mut Screen) -> io::Result<()> {
        let engine = &self.input.engine;
        let name = self.input.policy(policy);
        self.title(&name, Some(engine.policy_object(policy)), screen)?;
        section("kind", screen)?;
        let mut table = Table::plain(2);
        table.row([how_it_works(engine.kinds().get(engine.policy(policy).kind)).into()]);
        table.write(screen)?;
        self.targets(policy, screen)?;
        section("says", screen)?;
        let blocks = &engine.policy(policy).blocks;
        blocks.iter().try_for_each(|block| self.block(policy, block, screen))?;
        if blocks.is_empty() {
            writeln!(screen, "  {}", paint(DIM, "nothing"))?;
        }
        let status = &engine.policy_status(policy);
        section("in force", screen)?;
        let mut table = Table::plain(2);
        table.row([status_word(status), format!("in {} scopes", in_force(status)).into()]);
        table.write(screen)?;
        self.reach(&name, &engine.reach(policy, None), screen)?;
        let conditions =
            engine.policy_conditions(std::slice::from_ref(status)).into_iter().flatten().collect::<Vec<_>>();
        write_conditions(&conditions, "none", screen)?;
        self.problems(problems, screen)?;
        let question = |words: &[&str]| screen.invocation.question(words);
        let mut commands = vec![question(&["reach", &name, "-o", "wide"]), question(&["plan", "--delete", &name])];
        let others = status.by.iter().take(self.most).map(|by| self.input.policy(*by));
        commands.extend(others.map(|by| question(&["describe", &by])));
        write_deeper(commands, screen)
    }

    /// What it targets, and what became of that.
    fn targets(&self, policy: PolicyId, screen: &mut Screen) -> io::Result<()> {
        section("targets", screen)?;
        let engine = &self.input.engine;
        let attached = engine.attachments().for_policy(policy);
        let mut table = Table::plain(2);
        let mut refuse = |target: String, refusal: &Refusal| {
            let target = [paint(BAD, format!("{LOST_MARK} ")), paint(OBJECT, target)];
            table.row([target.into(), paint(BAD, refusal.reason().name()).into(), refusal.error.to_string().into()]);
        };
        let targets = &engine.policy(policy).targets;
        for (i, target) in targets.iter().enumerate() {
            let refusals = attached.refused.iter().filter(|it| it.target.is_none_or(|at| at == i));
            refusals.for_each(|refusal| refuse(target_words(target), refusal));
        }
        if targets.is_empty() {
            attached.refused.iter().for_each(|refusal| refuse("no target".to_owned(), refusal));
        }
        let rivals: BTreeMap<NodeId, PolicyId> = engine.rivals(policy).collect();
        let nodes: Vec<NodeId> = attached.to.iter().map(|it| it.node).collect();
        let shown = cut(nodes.len(), self.most);
        for node in &nodes[..shown] {
            let name = self.input.name(*node);
            match rivals.get(node) {
                Some(winner) => {
                    let name = [paint(BAD, format!("{LOST_MARK} ")), paint(OBJECT, name)];
                    let why = format!("{} was there before it", self.input.policy(*winner));
                    table.row([name.into(), paint(BAD, RejectionReason::Conflicted.name()).into(), why.into()]);
                }
                None => table.row([paint(OBJECT, name).into(), paint(GOOD, "attached").into(), "".into()]),
            }
        }
        if shown < nodes.len() {
            let more = format!("and {} more: {}", nodes.len() - shown, screen.invocation.in_full());
            table.row([paint(DIM, more).into()]);
        }
        if nodes.is_empty() && attached.refused.is_empty() {
            table.row([paint(DIM, "nothing: it waits for the filter of a rule to name it").into()]);
        }
        table.write(screen)
    }

    fn block(&self, policy: PolicyId, block: &Block, screen: &mut Screen) -> io::Result<()> {
        let mut about = vec![block.strategy.name().to_owned()];
        about.extend(condition(self.input, policy, block).map(|when| format!("when {when}")));
        if !block.removes.is_empty() {
            about.push(format!("removes {}", block.removes.join(", ")));
        }
        let lines = spec_lines(&block.spec);
        let shown = cut(lines.len(), self.most_lines);
        let mut table = Table::plain(2);
        if block.kind != BlockKind::Bare || about.len() > 1 {
            table.row([paint(DIM, format!("{}, {}", block.kind.name(), about.join(", "))).into()]);
        }
        let indent = if block.kind == BlockKind::Bare { "" } else { "  " };
        for line in &lines[..shown] {
            table.row([format!("{indent}{}", line.text).into()]);
        }
        if shown < lines.len() {
            let more = format!("{indent}and {} more lines: {}", lines.len() - shown, screen.invocation.in_full());
            table.row([paint(DIM, more).into()]);
        }
        table.write(screen)
    }

    fn reach(&self, name: &str, reach: &Reach, screen: &mut Screen) -> io::Result<()> {
        let view = ReachView { input: self.input, reach, policy: name.to_owned(), most: self.most, indent: 2 };
        view.affected("it", screen)?;
        let shown = cut(reach.parts.len(), self.most);
        for part in &reach.parts[..shown] {
            view.part(part, screen)?;
        }
        if shown < reach.parts.len() {
            let more = format!(
                "and {} more: {}",
                reach.parts.len() - shown,
                screen.invocation.question(&["reach", name, "-o", "wide"])
            );
            let mut table = Table::plain(2);
            table.row([paint(DIM, more).into()]);
            table.write(screen)?;
        }
        Ok(())
    }
}
