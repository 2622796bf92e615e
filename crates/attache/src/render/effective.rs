//! Effective policies as text.

use std::collections::BTreeSet;
use std::io::{self, Write};

use attache_answers::effective::{
    AppliedPolicy, ConditionWarning, EffectiveGroup, LostValue, MergedField, NothingInForce, OriginDocument,
};
use attache_answers::scopes::{Extent, cut};
use attache_answers::{SpecLine, inline, spec_lines};
use attache_engine::plural;
use attache_engine::{BlockKind, GroupKind, NodeRef, ObjectRef, Path, Value};

use super::style::{BAD, DIM, HEAD, LOST, LOST_MARK, OBJECT, PLAIN, POLICY, WARNING, paint};
use super::table::{Cell, Table};
use super::{Screen, joined, some, write_line};

/// Options for the lines of a spec.
#[derive(Clone, Copy, Debug)]
pub struct OriginColumns {
    /// Whether values without an origin are the object's own.
    pub merged: bool,
    /// Whether the origin of a rule is shown on each of its lines, and not only on the first.
    pub every_line: bool,
}

/// The effective policy of some scopes, and the values that lost: at most `most`, or one more.
pub fn write_group(group: &EffectiveGroup, most: usize, screen: &mut Screen) -> io::Result<()> {
    write_heading(&group.policy_kind, &group.extent, screen)?;
    if group.objects.is_empty() {
        let effective = &group.effective;
        let answer = EffectiveRows {
            spec: effective.spec.as_ref(),
            applied: effective.policies.as_deref().unwrap_or_default(),
            origins: &effective.origins,
            superseded: &effective.superseded,
            warnings: &group.warnings,
            merged: false,
        };
        answer.write(most, screen)?;
    }
    for MergedField { object, path, value, origins, superseded, warnings } in &group.objects {
        let sentence = paint(DIM, format!("will behave as if its {path} were"));
        writeln!(screen, "  {} {sentence}", paint(OBJECT, object))?;
        EffectiveRows { spec: Some(value), applied: &[], origins, superseded, warnings, merged: true }
            .write(most, screen)?;
    }
    Ok(())
}

struct EffectiveRows<'d> {
    spec: Option<&'d Value>,
    applied: &'d [AppliedPolicy],
    origins: &'d [OriginDocument],
    superseded: &'d [LostValue],
    warnings: &'d [ConditionWarning],
    merged: bool,
}

impl EffectiveRows<'_> {
    fn write(&self, most: usize, screen: &mut Screen) -> io::Result<()> {
        let mut table = Table::plain(if self.merged { 4 } else { 2 });
        let lines = self.spec.map(spec_lines).unwrap_or_default();
        origin_rows(self.origins, lines, OriginColumns { merged: self.merged, every_line: false }, &mut table);
        for AppliedPolicy { policy, target, spec } in self.applied {
            table.row([paint(POLICY, policy).into(), attached(BlockKind::Bare, target)]);
            for line in spec_lines(spec) {
                table.row([format!("  {}", line.text).into()]);
            }
        }
        if self.spec.is_none() && self.applied.is_empty() {
            table.row([paint(DIM, "nothing is in force").into()]);
        }
        self.lost_rows(most, &mut table, screen);
        table.write(screen)?;
        let mut warnings = Table::plain(2);
        for ConditionWarning { policy, message, .. } in self.warnings {
            let text = format!("the condition of {policy} counts as false: {message}");
            warnings.row([[paint(WARNING, "warning: "), paint(PLAIN, text)].into()]);
        }
        warnings.write(screen)
    }

    fn lost_rows(&self, most: usize, table: &mut Table, screen: &Screen) {
        let shown = cut(self.superseded.len(), most);
        for lost in &self.superseded[..shown] {
            let value = lost.value.as_ref().map(|value| format!(": {}", inline(value))).unwrap_or_default();
            table.row([
                [paint(BAD, format!("{LOST_MARK} ")), paint(LOST, format!("{}{value}", lost.origin.path))].into(),
                paint(POLICY, &lost.origin.policy).into(),
                lost.sentence().to_string().into(),
            ]);
        }
        if shown < self.superseded.len() {
            let (more, see) = (self.superseded.len() - shown, screen.invocation.in_full());
            table.row([paint(DIM, format!("and {more} more that lost: {see}")).into()]);
        }
    }
}

/// The policy kind, and the targets.
pub fn write_heading(kind: &GroupKind, extent: &Extent, screen: &mut Screen) -> io::Result<()> {
    let targets = extent.target_count;
    let mut text = match extent.places.as_slice() {
        [only] => format!("on {only}"),
        paths if targets == 1 => format!("on {}", joined(paths)),
        many => {
            let what = extent.target_kind.as_ref().map_or_else(|| "places".to_owned(), |kind| plural(kind));
            format!("on {targets} {what}: {}", joined(many))
        }
    };
    if extent.shown < targets {
        text += &format!(" and {} more: {}", targets - extent.shown, screen.invocation.in_full());
    }
    if extent.scopes > extent.places.len().max(targets) as u64 {
        text += &format!(" ({} scopes)", extent.scopes);
    }
    if let Some(namespace) = &extent.from {
        text += &format!(", for requests from {namespace}");
    }
    if !extent.reached {
        text += ", once requests reach it";
    }
    let mut table = Table::plain(0);
    table.row([paint(HEAD, kind).into(), paint(OBJECT, text).into()]);
    table.write(screen)
}

/// Lines of a spec, each with the policy that set it.
pub fn origin_rows(origins: &[OriginDocument], lines: Vec<SpecLine>, columns: OriginColumns, table: &mut Table) {
    for line in lines {
        let is_shown = |origin: &Path| {
            let is_first_of_item = line.starts_item && line.path.segments().len() == origin.segments().len() + 1;
            *origin == line.path
                || columns.every_line
                || is_first_of_item
                || origin.is_empty() && line.path.segments().len() <= 1
        };
        let origin = origins.iter().find(|it| line.path.starts_with(&it.path) && is_shown(&it.path));
        let is_leaf = !line.text.ends_with(':');
        let inside = origins.iter().filter(|origin| is_leaf && origin.path.starts_with(&line.path));
        let inside: BTreeSet<&ObjectRef> = inside.map(|origin| &origin.policy).collect();
        match origin {
            // The first line of the rule shows its origin.
            Some(origin) if columns.every_line && origin.path != line.path && !origin.path.is_empty() => {
                table.row([line.text.into(), paint(POLICY, &origin.policy).into(), "".into()]);
            }
            Some(origin) => {
                let policy = paint(POLICY, &origin.policy);
                table.row([line.text.into(), policy.into(), attached(origin.block, &origin.target)]);
            }
            None if !inside.is_empty() => {
                let policies = joined(&Vec::from_iter(inside));
                table.row([line.text.into(), paint(POLICY, policies).into()]);
            }
            None if columns.merged && is_leaf => table.row([line.text.into(), paint(DIM, "its own").into()]),
            None => table.row([line.text.into()]),
        }
    }
}

/// The block of a policy, and the node that the policy is attached to: `defaults on Gateway/infra/main`.
pub fn attached(block: BlockKind, target: &NodeRef) -> Cell {
    let text = match block {
        BlockKind::Bare => format!("on {target}"),
        block => format!("{} on {target}", block.name()),
    };
    paint(DIM, text).into()
}

/// The number of routes that are named before the rest is only counted.
const MOST_ROUTES: usize = 3;

/// Where nothing is in force.
pub enum Place<'p> {
    /// On an object, in words: `here`, `on Service/baker/cakes`.
    Object(String),
    Namespace(&'p str),
    Anywhere,
}

/// Why nothing is in force.
pub fn write_nothing(nothing: &NothingInForce, place: Place<'_>, screen: &mut Screen) -> io::Result<()> {
    let (place, reaches, reach) = match place {
        Place::Object(place) => (place, "reaches it", "reach it"),
        Place::Namespace(name) => {
            let place = format!("in namespace `{name}`");
            (place, "takes effect on a route or backend in it", "take effect on a route or backend in it")
        }
        Place::Anywhere => ("anywhere".to_owned(), "takes effect", "take effect"),
    };
    let question = |words: &[&str]| screen.invocation.question(words);
    let (why, see) = match nothing {
        NothingInForce::NoPolicies => {
            (": there are no policies of a known kind".to_owned(), question(&["get", "kinds"]))
        }
        NothingInForce::NoneOfKind => {
            (": there are no policies of this kind".to_owned(), question(&["get", "policies"]))
        }
        NothingInForce::NoneReaches { policies: 1 } => {
            (format!(": the only policy does not {reach}"), question(&["get", "policies"]))
        }
        NothingInForce::NoneReaches { policies } => {
            (format!(": none of the {policies} policies {reaches}"), question(&["get", "policies"]))
        }
        NothingInForce::OnRoutes { routes } => {
            let first = routes.first().map(ToString::to_string).unwrap_or_default();
            let why = format!(", but on routes that lead to it: {}", some(routes, MOST_ROUTES));
            (why, question(&["effective", &first]))
        }
    };
    write_line(format!("no policy is in force {place}{why}"), screen)?;
    writeln!(screen, "{}", paint(DIM, format!("see {see}")))
}
