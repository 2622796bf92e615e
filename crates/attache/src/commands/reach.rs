use std::io::{self, Write};

use attache_engine::policy::PolicyId;
use attache_engine::problem::Problem;
use attache_engine::reach::{Reach as Reached, ReachPart};
use clap::Args;

use super::Format;
use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::{Input, policy_named};
use crate::render::reach::ReachView;
use crate::render::status::{in_force, status_word};
use crate::render::style::{DIM, POLICY, paint};
use crate::render::table::Table;
use crate::render::{Screen, cut};
use crate::verdict::Verdict;
use attache_answers::reach::reach_document;
use attache_answers::{did_you_mean, nearest_rules};

/// Show where a policy applies, how much feels it, and who beats it where
///
/// First how many gateways, listeners, routes, rules and backends feel it; then where which part of it is in force, and
/// who took the rest there.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache reach retrypolicy/be-patient -f manifests/
  attache reach authpolicy/gw-auth --rule api-keys -f manifests/
  attache reach retrypolicy/be-patient -o json -f manifests/ | jq .affected")]
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
        let Input { snapshot: input, verdict } = Input::read(global, screen)?;
        let policy = policy_named(&input, &self.policy, global, screen)?;
        let reach = input.engine.reach(policy, self.rule.as_deref());
        if let Some(rule) = self.rule.as_deref().filter(|_| reach.parts.is_empty()) {
            let parts = input.engine.reach(policy, None).parts;
            let paths = parts.iter().flat_map(|part| part.in_force.iter().chain(part.lost.iter().map(|it| &it.path)));
            let near = nearest_rules(rule, paths);
            if !parts.is_empty() {
                let message = format!("{} has no rule `{rule}` that is or could be in force", input.policy(policy));
                let see = || format!("see {}", screen.invocation.question(&["reach", &input.policy(policy)]));
                let help = if near.is_empty() { see() } else { did_you_mean(near) };
                return Err(Problem::error(message).help(help).into());
            }
        }
        match self.output {
            Some(Format::Json) => screen.json(&reach_document(&input, policy, &reach))?,
            Some(Format::Yaml) => screen.yaml(&reach_document(&input, policy, &reach))?,
            Some(Format::Name) => {
                reach.affected.iter().try_for_each(|node| writeln!(screen, "{}", input.name(*node)))?
            }
            None | Some(Format::Wide) => {
                let most = if self.output.is_none() { MOST } else { usize::MAX };
                let view = ReachView { input: &input, reach: &reach, policy: input.policy(policy), most, indent: 0 };
                self.write(&view, policy, screen)?;
            }
        }
        Ok(verdict)
    }

    fn write(&self, view: &ReachView, policy: PolicyId, screen: &mut Screen) -> io::Result<()> {
        let reach = view.reach;
        let status = &view.input.engine.policy_status(policy);
        let mut head = Table::plain(0);
        let scopes = match self.rule {
            None => format!("in force in {} scopes", in_force(status)),
            Some(_) => rule_in_force(reach),
        };
        head.row([paint(POLICY, &view.policy).into(), status_word(status), scopes.as_str().into()]);
        if let Some(explanation) = &status.explanation {
            head.row([explanation.to_string().into()]);
        }
        head.write(screen)?;
        view.affected(if self.rule.is_some() { "this rule" } else { "it" }, screen)?;
        let shown = cut(reach.parts.len(), view.most);
        for part in &reach.parts[..shown] {
            writeln!(screen)?;
            view.part(part, screen)?;
        }
        if shown < reach.parts.len() {
            writeln!(
                screen,
                "\n{}",
                paint(DIM, format!("and {} more: {}", reach.parts.len() - shown, screen.invocation.in_full()))
            )?;
        }
        Ok(())
    }
}

/// In how many scopes the rule that was asked for is in force.
fn rule_in_force(reach: &Reached) -> String {
    let count = |parts: &mut dyn Iterator<Item = &ReachPart>| parts.map(|part| part.scopes.len()).sum::<usize>();
    let affected = count(&mut reach.parts.iter().filter(|part| !part.in_force.is_empty()));
    let total = count(&mut reach.parts.iter());
    format!("this rule is in force in {affected} of {total} scopes")
}
