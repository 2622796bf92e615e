use std::io::Write;

use attache_answers::reach::{ReachQuery, reach};
use clap::Args;

use super::Format;
use crate::arguments::{Global, object};
use crate::failure::Failure;
use crate::input::{Input, answered};
use crate::render::Screen;
use crate::render::reach::ReachView;
use crate::verdict::Verdict;

/// Show where a policy applies, what it affects, and which policies override it
///
/// First how many gateways, listeners, routes, route rules and backends it affects; then where each of its own rules is in
/// force, and which policies override it elsewhere.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache reach retrypolicy/be-patient -f manifests/
  attache reach authpolicy/gw-auth --rule api-keys -f manifests/
  attache reach retrypolicy/be-patient -o json -f manifests/ | jq .affected")]
pub struct ReachCommand {
    /// The policy
    #[arg(value_name = "POLICY", num_args = 1..=2, required = true)]
    policy: Vec<String>,
    /// Only this rule of it: its name or its dotted path
    #[arg(long, value_name = "RULE")]
    rule: Option<String>,
    /// Output format; `wide` shortens nothing, `name` lists the affected objects
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

/// The number of names, or lost values, that are shown before the rest is only counted.
const MOST: usize = 8;

impl ReachCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let input = Input::read_about(&self.policy, global, screen)?;
        let query =
            ReachQuery { policy: object(&self.policy)?, rule: self.rule.clone(), namespace: global.namespace.clone() };
        input.limit_unknown(&query.policy, global, screen);
        let reach = answered(reach(&input.snapshot, &query), screen)?;
        match self.output {
            Some(Format::Json) => screen.json(&reach)?,
            Some(Format::Yaml) => screen.yaml(&reach)?,
            Some(Format::Name) => reach.affected.iter().try_for_each(|node| writeln!(screen, "{node}"))?,
            None | Some(Format::Wide) => {
                let most = if self.output.is_none() { MOST } else { usize::MAX };
                ReachView { reach: &reach, most, indent: 0 }.write(self.rule.as_deref(), screen)?;
            }
        }
        Ok(input.verdict())
    }
}
