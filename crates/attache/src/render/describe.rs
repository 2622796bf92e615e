//! Descriptions of objects that are not policies, as text.

use std::io::{self, Write};

use attache_answers::describe::{About, DescribedEffective, ObjectDescription, PolicyEffect};
use attache_answers::lint::FindingDocument;
use attache_answers::reach::NodeCount;
use attache_answers::scopes::{ScopeDocument, cut};
use attache_answers::spec_lines;
use attache_answers::status::ConditionDocument;
use attache_engine::NodeRef;

use super::effective::{OriginColumns, origin_rows};
use super::lint::write_findings;
use super::style::{BAD, DIM, GOOD, HEAD, OBJECT, PLAIN, POLICY, WARNING, paint};
use super::table::{Cell, Table};
use super::{Screen, counted, joined, some};

pub struct DescribeView {
    /// The number of names that are shown before the rest is only counted.
    pub most: usize,
    /// The same for the lines of an effective policy.
    pub most_lines: usize,
}

impl DescribeView {
    pub fn object(&self, it: &ObjectDescription, screen: &mut Screen) -> io::Result<()> {
        let name = it.about.object.to_string();
        write_title(&it.about, screen)?;
        self.topology(it, screen)?;
        self.policies(it, screen)?;
        self.effective(it, screen)?;
        let is_affected = !it.effective.is_empty() || !it.policies_on_routes.is_empty();
        let nothing = if is_affected { "no policy gives it a condition" } else { "no policy affects it" };
        write_conditions(&it.conditions, nothing, screen)?;
        self.problems(&it.problems, screen)?;
        let question = |words: &[&str]| screen.invocation.question(words);
        let mut commands = vec![question(&["topology", &name])];
        if let Some(route) = it.policies_on_routes.first() {
            commands.insert(0, question(&["effective", &route.to_string()]));
        }
        if !it.effective.is_empty() {
            commands.splice(0..0, [question(&["explain", &name]), question(&["effective", &name, "-o", "wide"])]);
        }
        write_see_also(commands, screen)
    }

    fn topology(&self, it: &ObjectDescription, screen: &mut Screen) -> io::Result<()> {
        write_section("topology", screen)?;
        let mut table = Table::plain(2);
        let see = screen.invocation.question(&["topology", &it.about.object.to_string()]);
        let parents: Vec<&NodeRef> = it.parents.iter().chain(&it.namespace).collect();
        let above = if parents.is_empty() { "nothing".to_owned() } else { self.names(&parents, &see) };
        table.row(["above".into(), paint(OBJECT, above).into()]);
        let below = if it.below_counts.is_empty() { "nothing".to_owned() } else { node_counts(&it.below_counts) };
        table.row(["below".into(), below.into()]);
        if !it.children.is_empty() {
            table.row(["".into(), paint(OBJECT, self.names(&it.children.iter().collect::<Vec<_>>(), &see)).into()]);
        }
        if !it.live {
            table
                .row([paint(WARNING, "no request reaches it: it is not attached to anything that receives requests")
                    .into()]);
        }
        table.write(screen)
    }

    fn names(&self, nodes: &[&NodeRef], see: &str) -> String {
        let shown = cut(nodes.len(), self.most);
        let names = joined(&nodes[..shown]);
        match nodes.len() - shown {
            0 => names,
            more => format!("{names} and {more} more: {see}"),
        }
    }

    fn policies(&self, it: &ObjectDescription, screen: &mut Screen) -> io::Result<()> {
        write_section("policies", screen)?;
        let mut table = Table::plain(2);
        for policy in &it.unknown_policies {
            let unknown = paint(WARNING, "its kind is unknown, and so is its effect");
            table.row(["unknown".into(), paint(POLICY, policy).into(), "".into(), unknown.into()]);
        }
        if it.attached.is_empty() && it.inherited.is_empty() && it.lower.is_empty() {
            let why = match it.policies_in_input {
                _ if !it.policies_on_routes.is_empty() => {
                    let routes = some(&it.policies_on_routes, self.most);
                    format!("none on it, but on routes that lead to it: {routes}")
                }
                _ if !it.effective.is_empty() && !it.live => "none in force: no request reaches it".to_owned(),
                _ if !it.effective.is_empty() => "none in force".to_owned(),
                0 => "none: there are no policies of a known kind".to_owned(),
                1 => "none: the only policy does not reach it".to_owned(),
                policies => format!("none: none of the {policies} policies reaches it"),
            };
            table.row([paint(DIM, why).into()]);
            return table.write(screen);
        }
        let lower = Some(("below", &it.lower)).filter(|(_, lower)| !lower.is_empty());
        for (word, effects) in [("attached", &it.attached), ("inherited", &it.inherited)].into_iter().chain(lower) {
            let shown = cut(effects.len(), self.most);
            for (i, effect) in effects[..shown].iter().enumerate() {
                let word = if i == 0 { word } else { "" };
                let policy = paint(POLICY, &effect.policy);
                let target = paint(DIM, format!("on {}", effect.target));
                table.row([word.into(), policy.into(), target.into(), effect_text(effect)]);
            }
            if effects.is_empty() {
                table.row([word.into(), paint(DIM, "none").into(), "".into(), "".into()]);
            } else if shown < effects.len() {
                let more = format!("and {} more: {}", effects.len() - shown, screen.invocation.in_full());
                table.row(["".into(), paint(DIM, more).into()]);
            }
        }
        table.write(screen)
    }

    fn effective(&self, it: &ObjectDescription, screen: &mut Screen) -> io::Result<()> {
        if it.effective.is_empty() {
            return Ok(());
        }
        write_section("effective", screen)?;
        if it.hands_down {
            writeln!(
                screen,
                "  {}",
                paint(DIM, "for everything below; policies there can change defaults, but not overrides")
            )?;
        }
        let see = screen.invocation.question(&["effective", &it.about.object.to_string(), "-o", "wide"]);
        let shown = cut(it.effective.len(), self.most);
        for effective in &it.effective[..shown] {
            self.effective_policy(effective, &see, screen)?;
        }
        if shown < it.effective.len() {
            let mut table = Table::plain(2);
            table.row([paint(DIM, format!("and {} more answers: {see}", it.effective.len() - shown)).into()]);
            table.write(screen)?;
        }
        Ok(())
    }

    /// The targets of an answer, or the paths to a target if the answer depends on them.
    fn place(&self, it: &DescribedEffective) -> String {
        match it.targets.as_slice() {
            [only] if it.ways.is_empty() => only.to_string(),
            _ if it.ways.is_empty() => node_counts(&it.target_counts),
            _ => {
                let targets = it.whole_targets.iter().map(ToString::to_string);
                // The heading names the namespace that requests come from.
                some(&targets.chain(it.ways.iter().map(ScopeDocument::path)).collect::<Vec<_>>(), self.most)
            }
        }
    }

    fn effective_policy(&self, it: &DescribedEffective, see: &str, screen: &mut Screen) -> io::Result<()> {
        let requests = it.from.as_ref().map(|from| format!(", for requests from {from}")).unwrap_or_default();
        let mut head = Table::plain(2);
        let reached = if it.in_force { "" } else { ", once requests reach it" };
        let place = format!("on {}{requests}{reached}", self.place(it));
        head.row([it.policy_kind.to_string().into(), paint(OBJECT, place).into()]);
        head.write(screen)?;
        let mut lines = it.spec.as_ref().map(spec_lines).unwrap_or_default();
        let all = lines.len();
        lines.truncate(cut(all, self.most_lines));
        let more = all - lines.len();
        let mut table = Table::plain(4);
        origin_rows(&it.origins, lines, OriginColumns { merged: false, every_line: false }, &mut table);
        for policy in &it.applied {
            table.row([paint(POLICY, policy).into()]);
        }
        if it.spec.is_none() && it.applied.is_empty() {
            table.row([paint(DIM, "nothing is in force").into()]);
        }
        if more > 0 {
            table.row([paint(DIM, format!("and {more} more lines: {see}")).into()]);
        }
        table.write(screen)
    }

    pub fn problems(&self, problems: &[FindingDocument], screen: &mut Screen) -> io::Result<()> {
        write_section("problems", screen)?;
        if problems.is_empty() {
            return writeln!(screen, "  {}", paint(GOOD, "none"));
        }
        let shown = cut(problems.len(), self.most);
        write_findings(&problems[..shown].iter().collect::<Vec<_>>(), screen)?;
        if shown < problems.len() {
            let see = screen.invocation.question(&["lint", "-o", "wide"]);
            writeln!(screen, "{}", paint(DIM, format!("  and {} more: {see}", problems.len() - shown)))?;
        }
        Ok(())
    }
}

/// The object, its age, its file, its last change and what manages it.
pub fn write_title(about: &About, screen: &mut Screen) -> io::Result<()> {
    let created = about.created.as_ref().map(|created| format!("created {created}"));
    let location = about.file.as_ref().map(|file| match about.line {
        Some(line) => format!("{file}:{line}"),
        None => file.clone(),
    });
    let named = about.is_virtual.then(|| "it has no manifest, and exists because other objects refer to it".to_owned());
    let details: Vec<String> = [named, created, location].into_iter().flatten().collect();
    let mut table = Table::plain(0);
    table.row([paint(HEAD, &about.object).into(), paint(DIM, details.join(", ")).into()]);
    table.write(screen)?;
    let mut table = Table::plain(0);
    if let Some(change) = &about.last_changed {
        table.row([paint(DIM, format!("last changed by {} at {}", change.manager, change.time)).into()]);
    }
    if !about.managed_by.is_empty() {
        table.row([paint(DIM, format!("managed by {}", joined(&about.managed_by))).into()]);
    }
    table.write(screen)
}

/// The effect of a policy on the object.
fn effect_text(effect: &PolicyEffect) -> Cell {
    let by = if effect.by.is_empty() { String::new() } else { format!(" by {}", joined(&effect.by)) };
    match (effect.in_force, effect.is_overridden) {
        (true, false) if !effect.is_inactive => paint(GOOD, "in force"),
        (true, false) if !effect.invalid_with.is_empty() => {
            paint(WARNING, format!("in part: invalid together with {}", joined(&effect.invalid_with)))
        }
        (true, false) => paint(WARNING, "in part: a condition does not hold"),
        (true, true) => paint(WARNING, format!("in part, the rest is overridden{by}")),
        (false, true) => paint(BAD, format!("overridden{by}")),
        (false, false) if !effect.has_scopes => paint(DIM, "affects nothing"),
        (false, false) if !effect.not_handled_by.is_empty() => {
            paint(BAD, format!("not handled by the controller of {}", joined(&effect.not_handled_by)))
        }
        (false, false) if !effect.invalid_with.is_empty() => {
            paint(BAD, format!("invalid together with {}", joined(&effect.invalid_with)))
        }
        (false, false) if effect.is_inactive => paint(BAD, "its condition does not hold"),
        (false, false) => paint(DIM, ""),
    }
    .into()
}

/// `2 Gateways, 5 HTTPRoute rules`.
pub fn node_counts(counts: &[NodeCount]) -> String {
    counts.iter().map(|it| counted(it.count, &it.kind)).collect::<Vec<_>>().join(", ")
}

/// Commands with more detail, ready to copy.
pub fn write_see_also(commands: impl IntoIterator<Item = String>, screen: &mut Screen) -> io::Result<()> {
    write_section("see also", screen)?;
    commands.into_iter().try_for_each(|command| writeln!(screen, "  {}", paint(PLAIN, command)))
}

pub fn write_section(name: &str, screen: &mut Screen) -> io::Result<()> {
    writeln!(screen, "\n{}", paint(HEAD, name))
}

pub fn write_conditions(conditions: &[ConditionDocument], nothing: &str, screen: &mut Screen) -> io::Result<()> {
    write_section("status", screen)?;
    let mut table = Table::plain(2);
    for condition in conditions {
        let style = if condition.status == "True" { GOOD } else { BAD };
        let text = match condition.message.as_str() {
            "" => condition.reason.clone(),
            message => format!("{}: {message}", condition.reason),
        };
        table.row([condition.r#type.as_str().into(), paint(style, condition.status).into(), text.into()]);
    }
    if conditions.is_empty() {
        table.row([paint(DIM, nothing).into()]);
    }
    table.write(screen)
}
