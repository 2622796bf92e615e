use attache_answers::Snapshot;
use std::collections::BTreeMap;
use std::io::{self, Write};

use attache_engine::policy::PolicyId;
use attache_engine::status::{PolicyStatus, TargetStatus};
use attache_engine::topology::NodeId;
use clap::Args;

use super::Format;
use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::status::{in_force, no_policies, status_word, why};
use crate::render::style::{DIM, OBJECT, POLICY, paint};
use crate::render::table::Table;
use crate::render::{Screen, cut, write_line};
use crate::verdict::Verdict;
use attache_answers::status::status_list;

/// Show the status that every policy and every target deserves
///
/// For each policy: whether it is accepted, and if so, whether all of it, part of it or nothing of it is in force, and who
/// took the rest. For each target: the policies that contribute to what is in force there.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache status -f manifests/
  attache status -n baker -f manifests/
  attache status -o json -f manifests/ | jq '.policies[] | select(.enforcement != \"Enforced\")'")]
pub struct Status {
    /// How to show it; `wide` cuts nothing
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

/// How many targets are shown before the rest is only counted.
const MOST: usize = 20;
/// Of more objects than these the first few targets tell nobody anything, and to find them takes as long as to find all.
const MANY: usize = 2000;

impl Status {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let Input { snapshot: input, verdict } = Input::read(global, screen)?;
        if self.output == Some(Format::Wide) {
            screen.widen();
        }
        let namespace = global.namespace.as_deref();
        let mut policies = input.engine.policy_statuses();
        policies
            .retain(|status| namespace.is_none_or(|wanted| input.engine.policy_id(status.policy).namespace == wanted));
        let targets = || {
            let mut targets = input.engine.target_statuses();
            targets.retain(|status| input.is_in(status.target, namespace));
            targets
        };
        match self.output {
            Some(Format::Json) => screen.json(&status_list(&input, &policies, &targets()))?,
            Some(Format::Yaml) => screen.yaml(&status_list(&input, &policies, &targets()))?,
            Some(Format::Name) => {
                for status in &policies {
                    writeln!(screen, "{}", input.policy(status.policy))?;
                }
            }
            None if input.engine.objects().len() > MANY => {
                write_policies(&input, &policies, namespace, screen)?;
                let see = format!("the policies that affect each target: {}", screen.invocation.in_full());
                writeln!(screen, "\n{}", paint(DIM, see))?;
            }
            None | Some(Format::Wide) => {
                write_policies(&input, &policies, namespace, screen)?;
                let most = if self.output.is_none() { MOST } else { usize::MAX };
                write_targets(&input, &targets(), most, screen)?;
            }
        }
        Ok(verdict)
    }
}

fn write_policies(
    input: &Snapshot,
    policies: &[PolicyStatus],
    namespace: Option<&str>,
    screen: &mut Screen,
) -> io::Result<()> {
    if policies.is_empty() {
        return write_line(no_policies(namespace, screen), screen);
    }
    let mut table = Table::new(&["POLICY", "STATUS", "IN SCOPES", "WHY"]);
    for status in policies {
        table.row([
            paint(POLICY, input.policy(status.policy)).into(),
            status_word(status),
            in_force(status).into(),
            why(input, status, usize::MAX).into(),
        ]);
    }
    table.write(screen)
}

fn write_targets(input: &Snapshot, targets: &[TargetStatus], most: usize, screen: &mut Screen) -> io::Result<()> {
    if targets.is_empty() {
        return Ok(());
    }
    writeln!(screen)?;
    // A section to which nothing else happens than to the whole says nothing new.
    let affected: BTreeMap<NodeId, &[PolicyId]> =
        targets.iter().map(|status| (status.target, status.affected_by.as_slice())).collect();
    let topology = input.engine.topology();
    let is_new = |status: &&TargetStatus| {
        let whole = topology.find(input.engine.objects(), topology.id(input.engine.objects(), status.target));
        whole == Some(status.target) || whole.and_then(|whole| affected.get(&whole)) != Some(&&*status.affected_by)
    };
    let targets: Vec<&TargetStatus> = targets.iter().filter(|status| most == usize::MAX || is_new(status)).collect();
    let shown = cut(targets.len(), most);
    let mut table = Table::new(&["TARGET", "AFFECTED BY"]);
    for status in &targets[..shown] {
        let policies: Vec<String> = status.affected_by.iter().map(|policy| input.policy(*policy)).collect();
        table.row([paint(OBJECT, input.name(status.target)).into(), paint(POLICY, policies.join(", ")).into()]);
    }
    table.write(screen)?;
    if shown < targets.len() {
        let more = format!("and {} more: {}", targets.len() - shown, screen.invocation.in_full());
        writeln!(screen, "{}", paint(DIM, more))?;
    }
    Ok(())
}
