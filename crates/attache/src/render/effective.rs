//! Effective policies, for a person.

use std::collections::BTreeSet;
use std::io::{self, Write};

use attache_engine::chain::ChainId;
use attache_engine::fold::{EffectivePolicy, Loss, Superseded};
use attache_engine::model::Model;
use attache_engine::names::plural;
use attache_engine::policy::{BlockKind, PolicyId};
use attache_engine::topology::NodeId;
use attache_engine::value::{Path, Value};

use super::spec::{SpecLine, inline, spec_lines};
use super::style::{BAD, DIM, HEAD, LOST, LOST_MARK, OBJECT, PLAIN, POLICY, WARNING, paint};
use super::table::{Cell, Table};
use super::{Screen, cut, write_line};
use attache_answers::Snapshot;
use attache_answers::effective::merged;
use attache_answers::scopes::{Group, from, short_path};

/// One answer after the other, for a person.
pub struct EffectiveView<'i> {
    pub input: &'i Snapshot,
    /// How many names, or lost values, are shown before the rest is only counted.
    pub most: usize,
}

/// What stands beside the lines of what is in force.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// What nobody set is the object's own.
    pub merged: bool,
    /// The origin of a rule stands beside each of its lines, and not only beside its name.
    pub every_line: bool,
}

impl EffectiveView<'_> {
    pub fn group(&self, model: &Model, group: &Group, screen: &mut Screen) -> io::Result<()> {
        let answer = model.effective(self.input.engine.view(), group.chain);
        self.heading(model, group, screen)?;
        let merged = merged(self.input, self.most, model, group);
        if merged.is_empty() {
            self.answer(answer, answer.spec.as_ref(), false, screen)?;
        }
        for (object, merged) in merged {
            let object = &self.input.engine.objects()[object].id;
            writeln!(
                screen,
                "  {} {}",
                paint(OBJECT, object),
                paint(DIM, format!("will behave as if its {} were", merged.path))
            )?;
            self.answer(&merged.effective, Some(&merged.value), true, screen)?;
        }
        Ok(())
    }

    /// What is in force and what lost. If it is `merged`, what nobody set is the object's own.
    fn answer(
        &self,
        answer: &EffectivePolicy,
        spec: Option<&Value>,
        merged: bool,
        screen: &mut Screen,
    ) -> io::Result<()> {
        let mut table = Table::plain(if merged { 4 } else { 2 });
        let lines = spec.map(spec_lines).unwrap_or_default();
        self.in_force(answer, lines, Beside { merged, every_line: false }, &mut table);
        for applied in &answer.applied {
            table.row([
                paint(POLICY, self.input.policy(applied.policy)).into(),
                self.on(BlockKind::Bare, applied.target),
            ]);
            for line in spec_lines(&applied.spec) {
                table.row([format!("  {}", line.text).into()]);
            }
        }
        if spec.is_none() && answer.applied.is_empty() {
            table.row([paint(DIM, "nothing is in force").into()]);
        }
        self.lost(&answer.superseded, &mut table, screen);
        table.write(screen)?;
        let mut warnings = Table::plain(2);
        for warning in &answer.warnings {
            let policy = self.input.policy(warning.policy);
            let text = format!("the condition of {policy} counts as false: {}", warning.message);
            warnings.row([[paint(WARNING, "warning: "), paint(PLAIN, text)].into()]);
        }
        warnings.write(screen)
    }

    /// What it is, and where it holds.
    pub fn heading(&self, model: &Model, group: &Group, screen: &mut Screen) -> io::Result<()> {
        let ends = &group.ends;
        let shown = cut(ends.len(), self.most);
        let names: Vec<String> = ends[..shown].iter().flat_map(|end| self.places(model, group.chain, *end)).collect();
        let mut text = match names.as_slice() {
            [only] => format!("on {only}"),
            many => format!("on {} {}: {}", ends.len(), self.what(ends), many.join(", ")),
        };
        if shown < ends.len() {
            text += &format!(" and {} more: {}", ends.len() - shown, screen.invocation.in_full());
        }
        if group.scopes > names.len().max(ends.len()) as u64 {
            text += &format!(" ({} scopes)", group.scopes);
        }
        if let Some(namespace) = from(model, group.chain) {
            text += &format!(", for requests from {}", self.input.name(namespace));
        }
        let mut table = Table::plain(0);
        table.row([paint(HEAD, model.kind.full_name()).into(), paint(OBJECT, text).into()]);
        table.write(screen)
    }

    /// The name of a node. If its answer depends on the way to it, the ways on which this one holds.
    fn places(&self, model: &Model, chain: ChainId, end: NodeId) -> Vec<String> {
        let mut ways = Vec::new();
        if model.chains_at(self.input.engine.view(), end).len() > 1 {
            model.scopes(self.input.engine.view(), end, &mut |scope| {
                if scope.chain == chain {
                    ways.push(short_path(self.input, &scope.nodes));
                }
            });
        }
        match ways.len() {
            1.. if ways.len() <= self.most => ways,
            _ => vec![self.input.name(end)],
        }
    }

    /// What the nodes are: `Services`, `HTTPRoute rules`.
    fn what(&self, nodes: &[NodeId]) -> String {
        let whats: BTreeSet<String> = nodes.iter().map(|node| self.input.what(*node)).collect();
        match whats.first() {
            Some(what) if whats.len() == 1 => plural(what),
            _ => "places".to_owned(),
        }
    }

    /// Lines of what is in force, with who set what.
    pub fn in_force(&self, answer: &EffectivePolicy, lines: Vec<SpecLine>, beside: Beside, table: &mut Table) {
        for line in lines {
            let is_beside = |origin: &Path| {
                let is_first_of_item = line.starts_item() && line.path.segments().len() == origin.segments().len() + 1;
                *origin == line.path
                    || beside.every_line
                    || is_first_of_item
                    || origin.is_empty() && line.path.segments().len() <= 1
            };
            let origin = answer.origins.iter().find(|it| line.path.starts_with(&it.path) && is_beside(&it.path));
            let is_leaf = !line.text.ends_with(':');
            let inside = answer.origins.iter().filter(|origin| is_leaf && origin.path.starts_with(&line.path));
            let inside: BTreeSet<PolicyId> = inside.map(|origin| origin.policy).collect();
            match origin {
                // Beside the name of the rule stands where it comes from.
                Some(origin) if beside.every_line && origin.path != line.path && !origin.path.is_empty() => {
                    let policy = paint(POLICY, self.input.policy(origin.policy));
                    table.row([line.text.into(), policy.into(), "".into()]);
                }
                Some(origin) => table.row([
                    line.text.into(),
                    paint(POLICY, self.input.policy(origin.policy)).into(),
                    self.on(origin.block, origin.target),
                ]),
                None if !inside.is_empty() => {
                    let policies: Vec<String> = inside.into_iter().map(|policy| self.input.policy(policy)).collect();
                    table.row([line.text.into(), paint(POLICY, policies.join(", ")).into()]);
                }
                None if beside.merged && is_leaf => table.row([line.text.into(), paint(DIM, "its own").into()]),
                None => table.row([line.text.into()]),
            }
        }
    }

    fn lost(&self, superseded: &[Superseded], table: &mut Table, screen: &Screen) {
        let shown = cut(superseded.len(), self.most);
        for lost in &superseded[..shown] {
            let said = self.said(lost.policy, lost.block, &lost.path).map(|value| format!(": {}", inline(value)));
            let text = format!("{}{}", lost.path, said.unwrap_or_default());
            table.row([
                [paint(BAD, format!("{LOST_MARK} ")), paint(LOST, text)].into(),
                paint(POLICY, self.input.policy(lost.policy)).into(),
                self.why(lost).into(),
            ]);
        }
        if shown < superseded.len() {
            let more = superseded.len() - shown;
            table.row([paint(DIM, format!("and {more} more that lost: {}", screen.invocation.in_full())).into()]);
        }
    }

    /// What a policy itself says at a path.
    fn said(&self, policy: PolicyId, which: BlockKind, path: &Path) -> Option<&Value> {
        let blocks = &self.input.engine.policy(policy).blocks;
        path.resolve(&blocks.iter().find(|block| block.kind == which)?.spec)
    }

    pub fn on(&self, which: BlockKind, target: NodeId) -> Cell {
        let target = self.input.name(target);
        let text = match which {
            BlockKind::Bare => format!("on {target}"),
            block => format!("{} on {target}", block.name()),
        };
        paint(DIM, text).into()
    }

    /// Why a value lost, in words.
    pub fn why(&self, lost: &Superseded) -> String {
        let Some(winner) = lost.by else {
            return match lost.reason {
                Loss::ConditionFalse => "its condition does not hold".to_owned(),
                _ => "the object sets it itself".to_owned(),
            };
        };
        let by = self.input.policy(winner);
        match lost.reason {
            Loss::MoreSpecific => format!("{by} is more specific"),
            Loss::Overridden => format!("overridden by {by}"),
            Loss::Older => format!("{by} is older"),
            Loss::Newer => format!("{by} is newer"),
            Loss::ByName => format!("{by} {}", self.input.engine.name_order(winner, lost.policy).description()),
            Loss::HigherPriority => format!("{by} has a higher priority"),
            Loss::Removed => format!("removed by {by}"),
            Loss::ConditionFalse => "its condition does not hold".to_owned(),
            Loss::Conflicted => format!("conflicts with {by}"),
        }
    }
}

/// Why nothing is in force at some place.
pub fn write_nothing(input: &Snapshot, models: &[Model], place: &str, screen: &mut Screen) -> io::Result<()> {
    let policies = input.engine.policies().len();
    let why = match (policies, models.is_empty()) {
        (0, _) => "the input has no policies of a known kind".to_owned(),
        (_, true) => "there are no policies of this kind".to_owned(),
        (1, _) => "the only policy does not reach it".to_owned(),
        (policies, _) => format!("none of the {policies} policies reaches it"),
    };
    let see = screen.invocation.question(&["get", if policies == 0 { "kinds" } else { "policies" }]);
    write_line(format!("no policy is in force {place}: {why}"), screen)?;
    writeln!(screen, "{}", paint(DIM, format!("see {see}")))
}
