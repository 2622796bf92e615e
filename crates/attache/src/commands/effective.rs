use attache_answers::Snapshot;
use std::collections::BTreeSet;
use std::io::Write;

use attache_engine::model::Model;
use attache_engine::policy::PolicyId;
use clap::Args;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;

use super::Format;
use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::effective::{EffectiveView, write_nothing};
use crate::render::style::{DIM, paint};
use crate::render::{Screen, cut};
use crate::verdict::Verdict;
use attache_answers::effective::{EffectivePolicy, effective_policy, says_something};
use attache_answers::scopes::{Focus, Group};
use attache_answers::{List, Stream};

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
pub struct Effective {
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

impl Effective {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let Input { snapshot: input, verdict } = Input::read(global, screen)?;
        if self.output == Some(Format::Wide) {
            screen.widen();
        }
        let focus = Focus::parse(&input, &self.object, global.namespace.as_deref())?;
        let models = input.models(self.kind.as_deref(), &focus)?;
        match self.output {
            Some(Format::Json) => screen.json(&document(&input, &focus, &models))?,
            Some(Format::Yaml) => screen.yaml(&document(&input, &focus, &models))?,
            Some(Format::Name) => {
                for policy in in_force(&input, &focus, &models) {
                    writeln!(screen, "{}", input.policy(policy))?;
                }
            }
            None | Some(Format::Wide) => {
                let view = EffectiveView { input: &input, most: if self.output.is_none() { MOST } else { usize::MAX } };
                let mut shown = false;
                let groups: Vec<Vec<Group>> = models.par_iter().map(|model| focus.groups(&input, model)).collect();
                for (model, groups) in models.iter().zip(groups) {
                    let count = cut(groups.len(), view.most);
                    for group in &groups[..count] {
                        if shown {
                            writeln!(screen)?;
                        }
                        view.group(model, group, screen)?;
                        shown = true;
                    }
                    if count < groups.len() {
                        let kind = model.kind.full_name();
                        let more = format!(
                            "and {} more answers for {kind}: {}",
                            groups.len() - count,
                            screen.invocation.in_full()
                        );
                        writeln!(screen, "\n{}", paint(DIM, more))?;
                    }
                }
                if !shown {
                    let place = match (self.object.is_empty(), &global.namespace) {
                        (false, _) => "here".to_owned(),
                        (true, Some(namespace)) => format!("in namespace `{namespace}`"),
                        (true, None) => "anywhere".to_owned(),
                    };
                    write_nothing(&input, &models, &place, screen)?;
                }
            }
        }
        Ok(verdict)
    }
}

fn document(input: &Snapshot, focus: &Focus, models: &[Model]) -> impl Serialize {
    let items = Stream::new(move |item: &mut dyn FnMut(EffectivePolicy)| {
        for model in models {
            focus.scopes(input, model, &mut |scope| {
                if says_something(model.effective(input.engine.view(), scope.chain)) {
                    item(effective_policy(input, model, &scope));
                }
            });
        }
    });
    List::new("EffectivePolicyList", items)
}

fn in_force(input: &Snapshot, focus: &Focus, models: &[Model]) -> BTreeSet<PolicyId> {
    let mut policies = BTreeSet::new();
    for model in models {
        for group in focus.groups(input, model) {
            let outcomes = &model.effective(input.engine.view(), group.chain).outcomes;
            policies.extend(outcomes.iter().filter(|(_, outcome)| outcome.contributes).map(|(policy, _)| *policy));
        }
    }
    policies
}
