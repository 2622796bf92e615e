use std::io::{self, Write};

use attache_core::names::plural;
use attache_core::policy::PolicyId;
use attache_core::problem::Problem;
use attache_core::reach::{Part, Reach as Reached};
use attache_core::topology::{Level, NodeId};
use clap::Args;

use super::{Format, Verdict};
use crate::cli::{Global, program};
use crate::documents::reach::reach_document;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::effective::EffectiveView;
use crate::render::status::{in_force, status_word};
use crate::render::style::{BAD, DIM, GOOD, LOST, LOST_MARK, OBJECT, POLICY, paint};
use crate::render::table::Table;
use crate::render::{Screen, cut};

/// Show where a policy applies, how much feels it, and who beats it where
///
/// First how many gateways, listeners, routes, rules and backends feel it; then where which part of it is in force, and
/// who took the rest there.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache reach retrypolicy/be-patient -f manifests/
  attache reach authpolicy/gw-auth --rule api-keys -f manifests/
  attache reach retrypolicy/be-patient -o json -f manifests/ | jq .felt")]
pub struct Reach {
    /// The policy
    #[arg(value_name = "POLICY", num_args = 1..=2, required = true)]
    policy: Vec<String>,
    /// Only this rule of it: its name or its dotted path
    #[arg(long, value_name = "RULE")]
    rule: Option<String>,
    /// How to show it; `wide` cuts nothing, `name` lists what feels it
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

/// How many names, or lost values, are shown before the rest is only counted.
const MOST: usize = 8;

impl Reach {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let input = Input::read(global)?;
        let policy = input.policy_named(&self.policy, global)?;
        let reach = input.engine.reach(policy, self.rule.as_deref());
        if let Some(rule) = self.rule.as_deref().filter(|_| reach.parts.is_empty())
            && !input.engine.reach(policy, None).parts.is_empty()
        {
            let message = format!("{} has no rule `{rule}` that is or could be in force", input.policy(policy));
            return Err(Problem::error(message)
                .help(format!("see {} reach {}", program(), input.policy(policy)))
                .into());
        }
        match self.output {
            Some(Format::Json) => screen.json(&reach_document(&input, policy, &reach))?,
            Some(Format::Yaml) => screen.yaml(&reach_document(&input, policy, &reach))?,
            Some(Format::Name) => reach.felt.iter().try_for_each(|node| writeln!(screen, "{}", input.name(*node)))?,
            None | Some(Format::Wide) => {
                let most = if self.output.is_none() { MOST } else { usize::MAX };
                View { input: &input, most, rule: self.rule.is_some() }.write(policy, &reach, screen)?;
            }
        }
        Ok(input.verdict)
    }
}

struct View<'i> {
    input: &'i Input,
    most: usize,
    /// Only one rule is meant.
    rule: bool,
}

impl View<'_> {
    fn write(&self, policy: PolicyId, reach: &Reached, screen: &mut Screen) -> io::Result<()> {
        let statuses = self.input.engine.policy_statuses();
        let Some(status) = statuses.get(policy.0 as usize) else { return Ok(()) };
        let mut head = Table::plain(0);
        let scopes = format!("in force in {} scopes", in_force(status));
        head.row([paint(POLICY, self.input.policy(policy)).into(), status_word(status), scopes.as_str().into()]);
        head.write(screen)?;
        if !status.message.is_empty() {
            writeln!(screen, "{}", status.message)?;
        }
        let felt = counts(self.input, &reach.felt);
        if felt.is_empty() {
            writeln!(screen, "nothing feels {}", if self.rule { "this rule" } else { "it" })?;
        } else {
            writeln!(screen, "felt by {}", felt.join(", "))?;
        }
        for part in &reach.parts {
            writeln!(screen)?;
            self.part(part, screen)?;
        }
        Ok(())
    }

    fn part(&self, part: &Part, screen: &mut Screen) -> io::Result<()> {
        let shown = cut(part.ends.len(), self.most);
        let names: Vec<String> = part.ends[..shown].iter().map(|node| self.input.name(*node)).collect();
        let mut place = format!("on {}", names.join(", "));
        if shown < part.ends.len() {
            place += &format!(" and {} more: {} reach … -o wide", part.ends.len() - shown, program());
        }
        writeln!(screen, "{}", paint(OBJECT, place))?;
        let mut table = Table::plain(2);
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
            table.row([paint(DIM, format!("and {more} more that lost: {} reach … -o wide", program())).into()]);
        }
        table.write(screen)
    }
}

/// How many of each there are: `2 Gateways`, `5 HTTPRoute rules`.
fn counts(input: &Input, nodes: &[NodeId]) -> Vec<String> {
    let mut counts: Vec<(Level, String, usize)> = Vec::new();
    for node in nodes {
        let (level, what) = (input.engine.topology().node(*node).level, input.what(*node));
        match counts.iter_mut().find(|(_, other, _)| *other == what) {
            Some((_, _, count)) => *count += 1,
            None => counts.push((level, what, 1)),
        }
    }
    counts.sort();
    let counted = counts.into_iter();
    counted.map(|(_, what, n)| if n == 1 { format!("1 {what}") } else { format!("{n} {}", plural(&what)) }).collect()
}
