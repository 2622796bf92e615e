use std::collections::BTreeSet;
use std::io::{self, Write};

use attache_core::fold::{Effective as Answer, Loss, Superseded};
use attache_core::model::Model;
use attache_core::names::plural;
use attache_core::policy::{PolicyId, Which};
use attache_core::topology::NodeId;
use attache_core::value::{Path, Value};
use clap::Args;

use super::{Format, Verdict};
use crate::cli::{Global, program};
use crate::documents::List;
use crate::documents::effective::{EffectivePolicy, effective_policy, says_something};
use crate::failure::Failure;
use crate::input::Input;
use crate::render::Screen;
use crate::render::spec::{inline, spec_lines};
use crate::render::style::{BAD, DIM, HEAD, LOST, LOST_MARK, OBJECT, POLICY, WARNING, paint};
use crate::render::table::{Cell, Table};
use crate::scopes::{Focus, Group, from};

/// Show the effective policies: what is in force, and who set each value
///
/// For every place where a policy can take effect, the policies that meet there are folded into one. Places with the
/// same answer are shown together. Below each answer is what lost, and why.
///
/// With a route, rule or backend: what is in force on requests that pass through it. With a gateway, listener, class or
/// namespace: what it gives to everything below that has no policies of its own.
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
        let input = Input::read(global)?;
        let focus = Focus::parse(&input, &self.object, global)?;
        let models = input.models(self.kind.as_deref())?;
        match self.output {
            Some(Format::Json) => screen.json(&document(&input, &focus, &models))?,
            Some(Format::Yaml) => screen.yaml(&document(&input, &focus, &models))?,
            Some(Format::Name) => {
                for policy in in_force(&input, &focus, &models) {
                    writeln!(screen, "{}", input.policy(policy))?;
                }
            }
            None | Some(Format::Wide) => {
                let view = View { input: &input, most: if self.output.is_none() { 6 } else { usize::MAX } };
                let mut shown = false;
                for model in &models {
                    for group in focus.groups(&input, model) {
                        if shown {
                            writeln!(screen)?;
                        }
                        shown |= view.group(model, &group, screen)?;
                    }
                }
                if !shown {
                    self.write_nothing(&input, &models, screen)?;
                }
            }
        }
        Ok(input.verdict)
    }

    fn write_nothing(&self, input: &Input, models: &[&Model], screen: &mut Screen) -> io::Result<()> {
        let policies = input.engine.policies().len();
        let place = if self.object.is_empty() { "anywhere" } else { "here" };
        let why = match (policies, models.is_empty()) {
            (0, _) => "the input has no policies of a known kind".to_owned(),
            (_, true) => "there are no policies of this kind".to_owned(),
            (1, _) => "the only policy does not reach it".to_owned(),
            (policies, _) => format!("none of the {policies} policies reaches it"),
        };
        let see = if policies == 0 { "get kinds" } else { "get policies" };
        writeln!(screen, "no policy is in force {place}: {why}")?;
        writeln!(screen, "{}", paint(DIM, format!("see {} {see}", program())))
    }
}

fn document(input: &Input, focus: &Focus, models: &[&Model]) -> List<EffectivePolicy> {
    let mut items = Vec::new();
    for model in models {
        focus.scopes(input, model, &mut |scope| {
            if says_something(model.effective(input.engine.world(), scope.chain)) {
                items.push(effective_policy(input, model, &scope));
            }
        });
    }
    List::new("EffectivePolicyList", items)
}

fn in_force(input: &Input, focus: &Focus, models: &[&Model]) -> BTreeSet<PolicyId> {
    let mut policies = BTreeSet::new();
    for model in models {
        for group in focus.groups(input, model) {
            let outcomes = &model.effective(input.engine.world(), group.chain).outcomes;
            policies.extend(outcomes.iter().filter(|(_, outcome)| outcome.contributes).map(|(policy, _)| *policy));
        }
    }
    policies
}

/// One answer after the other, for a person.
struct View<'i> {
    input: &'i Input,
    /// How many names, or lost values, are shown before the rest is only counted.
    most: usize,
}

impl View<'_> {
    /// Whether there was something to show.
    fn group(&self, model: &Model, group: &Group, screen: &mut Screen) -> io::Result<bool> {
        let answer = model.effective(self.input.engine.world(), group.chain);
        if !says_something(answer) {
            return Ok(false);
        }
        self.heading(model, group, screen)?;
        let mut table = Table::plain(2);
        self.in_force(answer, &mut table);
        for applied in &answer.applied {
            table.row([paint(POLICY, self.input.policy(applied.policy)).into(), self.on(Which::Bare, applied.target)]);
            for line in spec_lines(&applied.spec) {
                table.row([format!("  {}", line.text).into()]);
            }
        }
        if answer.spec.is_none() && answer.applied.is_empty() {
            table.row([paint(DIM, "nothing is in force").into()]);
        }
        self.lost(&answer.superseded, &mut table);
        table.write(screen)?;
        for warning in &answer.warnings {
            let policy = paint(POLICY, self.input.policy(warning.policy));
            let word = paint(WARNING, "warning:");
            writeln!(screen, "  {word} the condition of {policy} counts as false: {}", warning.message)?;
        }
        Ok(true)
    }

    /// What it is, and where it holds.
    fn heading(&self, model: &Model, group: &Group, screen: &mut Screen) -> io::Result<()> {
        let names: Vec<String> = group.ends.iter().map(|end| self.input.name(*end)).collect();
        let shown = if names.len() == self.most + 1 { names.len() } else { names.len().min(self.most) };
        let mut text = match names.as_slice() {
            [only] => format!("on {only}"),
            many => format!("on {} {}: {}", many.len(), self.what(&group.ends), many[..shown].join(", ")),
        };
        if shown < names.len() {
            text += &format!(
                " and {} more: {} get scopes --kind {}",
                names.len() - shown,
                program(),
                model.kind.kind.to_lowercase()
            );
        }
        if group.scopes > names.len() as u64 {
            text += &format!(" ({} scopes)", group.scopes);
        }
        if let Some(namespace) = from(model, group.chain) {
            text += &format!(", for requests from {}", self.input.name(namespace));
        }
        let mut table = Table::plain(0);
        table.row([paint(HEAD, model.kind.full_name()).into(), paint(OBJECT, text).into()]);
        table.write(screen)
    }

    /// What the nodes are: `Services`, `HTTPRoute rules`.
    fn what(&self, nodes: &[NodeId]) -> String {
        let whats: BTreeSet<String> = nodes.iter().map(|node| self.input.what(*node)).collect();
        match whats.first() {
            Some(what) if whats.len() == 1 => plural(what),
            _ => "places".to_owned(),
        }
    }

    fn in_force(&self, answer: &Answer, table: &mut Table) {
        for line in answer.spec.iter().flat_map(spec_lines) {
            // The origin of a rule stands beside its name, and not beside each part of it again.
            let origin = answer
                .origins
                .iter()
                .find(|origin| origin.path == line.path || origin.path.is_empty() && line.path.segments().len() <= 1);
            match origin {
                Some(origin) => table.row([
                    line.text.into(),
                    paint(POLICY, self.input.policy(origin.policy)).into(),
                    self.on(origin.which, origin.target),
                ]),
                None => table.row([line.text.into()]),
            }
        }
    }

    fn lost(&self, superseded: &[Superseded], table: &mut Table) {
        let shown = if superseded.len() == self.most + 1 { superseded.len() } else { superseded.len().min(self.most) };
        for lost in &superseded[..shown] {
            let said = self.said(lost.policy, lost.which, &lost.path).map(|value| format!(": {}", inline(value)));
            let text = format!("{}{}", lost.path, said.unwrap_or_default());
            table.row([
                [paint(BAD, format!("{LOST_MARK} ")), paint(LOST, text)].into(),
                paint(POLICY, self.input.policy(lost.policy)).into(),
                self.why(lost).into(),
            ]);
        }
        if shown < superseded.len() {
            let more = superseded.len() - shown;
            table.row([paint(DIM, format!("and {more} more that lost: {} effective -o wide", program())).into()]);
        }
    }

    /// What a policy itself says at a path.
    fn said(&self, policy: PolicyId, which: Which, path: &Path) -> Option<&Value> {
        let blocks = &self.input.engine.policy(policy).blocks;
        path.resolve(&blocks.iter().find(|block| block.which == which)?.spec)
    }

    fn on(&self, which: Which, target: NodeId) -> Cell {
        let target = self.input.name(target);
        let text = match which {
            Which::Bare => format!("on {target}"),
            block => format!("{} on {target}", block.name()),
        };
        paint(DIM, text).into()
    }

    fn why(&self, lost: &Superseded) -> String {
        let Some(by) = lost.by.map(|by| self.input.policy(by)) else {
            return match lost.reason {
                Loss::ConditionFalse => "its condition does not hold".to_owned(),
                _ => "the object says otherwise itself".to_owned(),
            };
        };
        match lost.reason {
            Loss::MoreSpecific => format!("{by} is more specific"),
            Loss::Overridden => format!("overridden by {by}"),
            Loss::Older => format!("{by} is older"),
            Loss::Newer => format!("{by} is newer"),
            Loss::ByName => format!("{by} comes first by name"),
            Loss::HigherPriority => format!("{by} has a higher priority"),
            Loss::Removed => format!("removed by {by}"),
            Loss::ConditionFalse => "its condition does not hold".to_owned(),
            Loss::Conflicted => format!("conflicts with {by}"),
        }
    }
}
