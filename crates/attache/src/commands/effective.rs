use std::io::Write;

use attache_answers::effective::{EffectivePolicies, EffectiveQuery};
use clap::Args;

use super::Format;
use crate::arguments::{Global, optional_object};
use crate::failure::Failure;
use crate::input::{Input, answered};
use crate::render::effective::{Place, write_group, write_nothing};
use crate::render::reported;
use crate::render::style::{DIM, paint};
use crate::render::{Screen, no_route};
use crate::verdict::Verdict;

/// The number of answers, names or lost values that are shown before the rest is only counted.
const MOST: usize = 6;

/// Show the effective policies: what is in force, and the origin of each value
///
/// Policies on a path from a Gateway to a route rule or backend (a scope) are merged into one effective policy. Scopes
/// with the same result are shown together. Below each result are the values that were overridden, and by which policy.
///
/// For a route, rule or backend: what applies to requests that pass through it. For a Gateway, listener or
/// GatewayClass: what everything below inherits unless it has policies of its own. For a Namespace: what applies in it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache effective -f manifests/
  attache effective httproute/cakes -f manifests/
  attache effective gateway/main --kind retrypolicy -f manifests/
  attache effective -o json -f manifests/ | jq '.items[].spec'")]
pub struct EffectiveCommand {
    /// Only policies in force on this object
    #[arg(value_name = "OBJECT", num_args = 0..=2)]
    object: Vec<String>,
    /// Only policies of this kind
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Output format; `wide` shortens nothing, `name` lists the policies that are in force
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

impl EffectiveCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let input = Input::read_about_kind(&self.object, self.kind.as_deref(), global, screen)?;
        let query = EffectiveQuery {
            object: optional_object(&self.object)?,
            kind: self.kind.clone(),
            namespace: global.namespace.clone(),
        };
        if let Some(object) = &query.object {
            input.limit_unknown(object, global, screen);
        }
        input.add_reported(query.object.as_ref(), global, screen);
        let effective = answered(EffectivePolicies::find(&input.snapshot, &query), screen)?;
        match self.output {
            Some(Format::Json) => screen.json(&effective.list())?,
            Some(Format::Yaml) => screen.yaml(&effective.list())?,
            Some(Format::Name) => {
                effective.policies().iter().try_for_each(|policy| writeln!(screen, "{policy}"))?;
            }
            None => self.write(&effective, MOST, global, screen)?,
            Some(Format::Wide) => {
                screen.widen();
                self.write(&effective, usize::MAX, global, screen)?;
            }
        }
        Ok(input.verdict())
    }

    fn write(
        &self,
        effective: &EffectivePolicies,
        most: usize,
        global: &Global,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let mut is_first = true;
        for kind in effective.groups(most) {
            for group in &kind.groups {
                if !is_first {
                    writeln!(screen)?;
                }
                write_group(group, most, screen)?;
                is_first = false;
            }
            if kind.more > 0 {
                let (more, see) = (kind.more, screen.invocation.in_full());
                let text = format!("and {more} more answers for {}: {see}", kind.policy_kind);
                writeln!(screen, "\n{}", paint(DIM, text))?;
            }
        }
        if is_first {
            let place = match (self.object.is_empty(), &global.namespace) {
                (false, _) => Place::Object("here".to_owned()),
                (true, Some(namespace)) => Place::Namespace(namespace),
                (true, None) => Place::Anywhere,
            };
            write_nothing(&effective.nothing_in_force(), place, screen)?;
        }
        if let Some(backend) = effective.unrouted() {
            writeln!(screen, "\n{}", paint(DIM, no_route(&[backend])))?;
        }
        let reported = std::mem::take(&mut screen.reported);
        Ok(reported::write(&reported, screen)?)
    }
}
