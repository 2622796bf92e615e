//! How far a policy reaches, for a person.

use std::io;

use attache_engine::model::Scope;
use attache_engine::names::plural;
use attache_engine::reach::{Reach, ReachPart};
use attache_engine::topology::{Level, NodeId};

use super::effective::EffectiveView;
use super::style::{BAD, DIM, GOOD, LOST, LOST_MARK, OBJECT, paint};
use super::table::Table;
use super::{Screen, cut};
use attache_answers::Snapshot;
use attache_answers::scopes::scope_name;

pub struct ReachView<'i> {
    pub input: &'i Snapshot,
    pub reach: &'i Reach,
    /// The policy, as it can be given to commands.
    pub policy: String,
    /// How many names, or lost values, are shown before the rest is only counted.
    pub most: usize,
    pub indent: usize,
}

impl ReachView<'_> {
    /// How much feels what is called `what`.
    pub fn affected(&self, what: &str, screen: &mut Screen) -> io::Result<()> {
        let affected = counts(self.input, &self.reach.affected);
        let mut table = Table::plain(self.indent);
        table.row([match affected.is_empty() {
            true => format!("nothing feels {what}").into(),
            false => format!("felt by {}", affected.join(", ")).into(),
        }]);
        table.write(screen)
    }

    /// What becomes of it in some scopes.
    pub fn part(&self, part: &ReachPart, screen: &mut Screen) -> io::Result<()> {
        let places = self.places(part);
        let shown = cut(places.len(), self.most);
        let mut place = format!("on {}", places[..shown].join(", "));
        if shown < places.len() {
            place += &format!(" and {} more: {}", places.len() - shown, self.whole(screen));
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
        let view = EffectiveView { input: self.input, most: self.most };
        for lost in &part.lost[..shown] {
            let text = if lost.path.is_empty() { "all of it".to_owned() } else { lost.path.to_string() };
            let cell = [paint(BAD, format!("{LOST_MARK} ")), paint(LOST, text)];
            table.row([cell.into(), view.why(lost).as_str().into()]);
        }
        if shown < part.lost.len() {
            let more = part.lost.len() - shown;
            table.row([paint(DIM, format!("and {more} more that lost: {}", self.whole(screen))).into()]);
        }
        table.write(screen)
    }

    /// Where the scopes of a part end. Where that depends on the way, the ways.
    fn places(&self, part: &ReachPart) -> Vec<String> {
        let is_divided = |scope: &&Scope| scope.end().is_some_and(|end| self.reach.divided.contains(&end));
        let ends = part.ends().into_iter().filter(|end| !self.reach.divided.contains(end));
        let ways = part.scopes.iter().filter(is_divided).map(|scope| scope_name(self.input, scope));
        ends.map(|end| self.input.name(end)).chain(ways).collect()
    }

    /// The command that shows everything.
    fn whole(&self, screen: &Screen) -> String {
        screen.invocation.question(&["reach", &self.policy, "-o", "wide"])
    }
}

/// How many of each there are: `2 Gateways`, `5 HTTPRoute rules`.
pub fn counts(input: &Snapshot, nodes: &[NodeId]) -> Vec<String> {
    let mut counts: Vec<(Level, String, usize)> = Vec::new();
    for node in nodes {
        let (level, what) = (input.engine.topology()[*node].level, input.what(*node));
        match counts.iter_mut().find(|(_, other, _)| *other == what) {
            Some((_, _, count)) => *count += 1,
            None => counts.push((level, what, 1)),
        }
    }
    counts.sort();
    let counted = counts.into_iter();
    counted.map(|(_, what, n)| if n == 1 { format!("1 {what}") } else { format!("{n} {}", plural(&what)) }).collect()
}
