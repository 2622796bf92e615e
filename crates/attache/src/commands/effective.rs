use std::io::Write;

use attache_answers::effective::{EffectivePolicies, EffectiveQuery};
use clap::Args;

use super::Format;
use crate::arguments::{Global, optional_object};
use crate::failure::Failure;
use crate::input::Input;
use crate::render::Screen;
use crate::render::effective::{write_group, write_nothing};
use crate::render::style::{DIM, paint};
use crate::verdict::Verdict;

/// How many answers, names or lost values are shown before the rest is only counted.
const MOST: usize = 6;

/// Show the effective policies: what is in force, and who set each value
///
/// For every place where a policy can take effect, the policies that meet there are folded into one. Places with the
/// same answer are shown together. Below each answer is what lost, and why.
///
/// With a route, rule or backend: what is in force on requests that pass through it. With a gateway, listener or class:
/// what it gives to everything below that has no policies of its own. With a namespace: what is in force in it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache effective -f manifests/
  attache effective httproute/cakes -f manifests/
  attache effective gateway/main --kind retrypolicy -f manifests/
  attache effective -o json -f manifests/ | jq '.items[].spec'")]
pub struct EffectiveCommand {
    /// Only what is in force here
    #[arg(value_name = "OBJECT", num_args = 0..=2)]
    object: Vec<String>,
    /// Only policies of this kind
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// How to show it; `wide` cuts nothing, `name` lists the policies that are in force
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

impl EffectiveCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let input = Input::read(global, screen)?;
        let query = EffectiveQuery {
            object: optional_object(&self.object)?,
            kind: self.kind.clone(),
            namespace: global.namespace.clone(),
        };
        let effective = EffectivePolicies::find(&input.snapshot, &query)?;
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
                (false, _) => "here".to_owned(),
                (true, Some(namespace)) => format!("in namespace `{namespace}`"),
                (true, None) => "anywhere".to_owned(),
            };
            write_nothing(effective.nothing_in_force(), &place, screen)?;
        }
        Ok(())
    }
}
