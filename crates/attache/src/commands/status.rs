use std::io::Write;

use attache_answers::status::{policy_statuses, status, target_statuses};
use clap::Args;

use super::Format;
use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::Screen;
use crate::render::status::{write_policies, write_targets};
use crate::render::style::{DIM, paint};
use crate::verdict::Verdict;

/// Show the status each policy and target should have
///
/// For each policy: whether it is accepted, and if so, whether it is enforced, partially enforced, overridden or not
/// enforced, and by which policies it is overridden. For each target: the policies that affect it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache status -f manifests/
  attache status -n baker -f manifests/
  attache status -o json -f manifests/ | jq '.policies[] | select(.enforcement != \"Enforced\")'")]
pub struct StatusCommand {
    /// Output format; `wide` shortens nothing
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

/// The number of targets that are shown before the rest is only counted.
const MOST: usize = 20;
/// In an input with more objects, targets are not shown: the first few would not be useful, and take as long as all.
const MANY: usize = 2000;

impl StatusCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let input = Input::read(global, screen)?;
        let (snapshot, namespace) = (&input.snapshot, global.namespace.as_deref());
        match self.output {
            Some(Format::Json) => screen.json(&status(snapshot, namespace))?,
            Some(Format::Yaml) => screen.yaml(&status(snapshot, namespace))?,
            Some(Format::Name) => {
                let policies = policy_statuses(snapshot, namespace);
                policies.iter().try_for_each(|status| writeln!(screen, "{}", status.policy))?;
            }
            None if snapshot.engine.objects().len() > MANY => {
                write_policies(&policy_statuses(snapshot, namespace), namespace, screen)?;
                let see = format!("the policies that affect each target: {}", screen.invocation.in_full());
                writeln!(screen, "\n{}", paint(DIM, see))?;
            }
            None => {
                write_policies(&policy_statuses(snapshot, namespace), namespace, screen)?;
                write_targets(&target_statuses(snapshot, namespace), MOST, screen)?;
            }
            Some(Format::Wide) => {
                screen.widen();
                write_policies(&policy_statuses(snapshot, namespace), namespace, screen)?;
                write_targets(&target_statuses(snapshot, namespace), usize::MAX, screen)?;
            }
        }
        Ok(input.verdict())
    }
}
