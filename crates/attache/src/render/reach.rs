//! The reach of a policy, as text.

use std::io::{self, Write};

use attache_answers::reach::{ReachDocument, ReachPartDocument};
use attache_answers::scopes::cut;

use super::Screen;
use super::describe::node_counts;
use super::status::{counted_of, in_force, status_word, write_scope_note};
use super::style::{BAD, DIM, GOOD, LOST, LOST_MARK, OBJECT, POLICY, paint};
use super::table::Table;

pub struct ReachView<'d> {
    pub reach: &'d ReachDocument,
    /// The number of names, or lost values, that are shown before the rest is only counted.
    pub most: usize,
    pub indent: usize,
}

impl ReachView<'_> {
    /// The whole answer, for the policy or for one `rule` of it.
    pub fn write(&self, rule: Option<&str>, screen: &mut Screen) -> io::Result<()> {
        let ReachDocument { policy, parts, status, .. } = self.reach;
        let mut head = Table::plain(0);
        let scopes = match rule {
            None => format!("in force on {}", in_force(status)),
            Some(_) => rule_in_force(parts),
        };
        head.row([paint(POLICY, policy).into(), status_word(status), scopes.as_str().into()]);
        if !status.accepted.message.is_empty() {
            head.row([status.accepted.message.as_str().into()]);
        }
        head.write(screen)?;
        self.affected(if rule.is_some() { "this rule" } else { "it" }, screen)?;
        let shown = cut(parts.len(), self.most);
        for part in &parts[..shown] {
            writeln!(screen)?;
            self.part(part, screen)?;
        }
        if shown < parts.len() {
            let more = format!("and {} more: {}", parts.len() - shown, screen.invocation.in_full());
            writeln!(screen, "\n{}", paint(DIM, more))?;
        }
        if rule.is_some() { write_scope_note(screen) } else { Ok(()) }
    }

    /// The number of nodes of each kind that the policy affects.
    pub fn affected(&self, what: &str, screen: &mut Screen) -> io::Result<()> {
        let mut table = Table::plain(self.indent);
        table.row([match node_counts(&self.reach.affected_counts).as_str() {
            "" => format!("{what} affects nothing").into(),
            counts => format!("affects {counts}").into(),
        }]);
        table.write(screen)
    }

    /// The rules that are in force in some scopes, and those that are not.
    pub fn part(&self, part: &ReachPartDocument, screen: &mut Screen) -> io::Result<()> {
        let targets = part.whole_targets.iter().map(ToString::to_string);
        let places: Vec<String> = targets.chain(part.ways.iter().map(ToString::to_string)).collect();
        let shown = cut(places.len(), self.most);
        let mut place = format!("on {}", places[..shown].join(", "));
        if shown < places.len() {
            place += &format!(" and {} more: {}", places.len() - shown, self.in_full(screen));
        }
        let mut head = Table::plain(self.indent);
        head.row([paint(OBJECT, place).into()]);
        head.write(screen)?;
        let mut table = Table::plain(self.indent + 2);
        for path in &part.in_force {
            let text = if path.is_empty() { "all of it".to_owned() } else { path.to_string() };
            table.row([paint(GOOD, text).into(), paint(DIM, "in force").into()]);
        }
        let shown = cut(part.lost.len(), self.most);
        for lost in &part.lost[..shown] {
            let text = if lost.path.is_empty() { "all of it".to_owned() } else { lost.path.to_string() };
            let cell = [paint(BAD, format!("{LOST_MARK} ")), paint(LOST, text)];
            table.row([cell.into(), lost.sentence().to_string().into()]);
        }
        if shown < part.lost.len() {
            let (more, see) = (part.lost.len() - shown, self.in_full(screen));
            table.row([paint(DIM, format!("and {more} more that lost: {see}")).into()]);
        }
        table.write(screen)
    }

    /// The command that shows everything.
    pub fn in_full(&self, screen: &Screen) -> String {
        screen.invocation.question(&["reach", &self.reach.policy.to_string(), "-o", "wide"])
    }
}

/// The number of scopes in which one rule of a policy is in force.
fn rule_in_force(parts: &[ReachPartDocument]) -> String {
    let in_force = parts.iter().filter(|part| !part.in_force.is_empty());
    let (in_force, total): (usize, usize) =
        (in_force.map(|part| part.scopes).sum(), parts.iter().map(|part| part.scopes).sum());
    format!("this rule is in force in {}", counted_of(in_force as u64, total as u64, "scope"))
}
