//! Everything about one object that is no policy, for a person.

use std::collections::BTreeSet;
use std::io::{self, Write};

use attache_engine::conditions::StatusCondition;
use attache_engine::lint::Finding;
use attache_engine::model::Scope;
use attache_engine::object::{Object, SourceLocation};
use attache_engine::topology::NodeId;
use attache_engine::value::Path;

use super::effective::{Beside, EffectiveView};
use super::lint::write_findings;
use super::reach::counts;
use super::spec::spec_lines;
use super::style::{BAD, DIM, GOOD, HEAD, OBJECT, PLAIN, POLICY, WARNING, paint};
use super::table::{Cell, Table};
use super::{Screen, cut, some};
use attache_answers::Snapshot;
use attache_answers::describe::{Answer, Description, Here, Met};
use attache_answers::managed_by;
use attache_answers::scopes::{from, short_path};

pub struct DescribeView<'i> {
    pub input: &'i Snapshot,
    /// How many names are shown before the rest is only counted.
    pub most: usize,
    /// The same for the lines of what is in force.
    pub most_lines: usize,
}

impl DescribeView<'_> {
    pub fn object(&self, it: &Description, screen: &mut Screen) -> io::Result<()> {
        let name = it.target.to_string();
        self.title(&name, it.object, screen)?;
        self.topology(it, screen)?;
        self.policies(it, screen)?;
        self.effective(it, screen)?;
        let nothing = if it.answers.is_empty() { "no policy affects it" } else { "no policy gives it a condition" };
        write_conditions(&it.conditions, nothing, screen)?;
        self.problems(&it.problems, screen)?;
        let mut deeper = vec![screen.invocation.question(&["topology", &name])];
        if !it.answers.is_empty() {
            deeper.splice(
                0..0,
                [
                    screen.invocation.question(&["explain", &name]),
                    screen.invocation.question(&["effective", &name, "-o", "wide"]),
                ],
            );
        }
        write_deeper(deeper, screen)
    }

    /// Who it is, since when, and where it is written.
    pub fn title(&self, name: &str, object: Option<&Object>, screen: &mut Screen) -> io::Result<()> {
        let created = object.and_then(|object| object.created).map(|created| format!("created {created}"));
        let place = object.filter(|object| !object.source.file.is_empty()).map(|object| {
            let place = object.locate(&Path::default());
            match place {
                Some(SourceLocation { line, .. }) => format!("{}:{line}", object.source.file),
                None => object.source.file.to_string(),
            }
        });
        let named = object.is_none().then(|| "it exists only by being named".to_owned());
        let about: Vec<String> = [named, created, place].into_iter().flatten().collect();
        let mut table = Table::plain(0);
        table.row([paint(HEAD, name).into(), paint(DIM, about.join(", ")).into()]);
        table.write(screen)?;
        object.map_or(Ok(()), |object| write_provenance(object, screen))
    }

    fn topology(&self, it: &Description, screen: &mut Screen) -> io::Result<()> {
        section("topology", screen)?;
        let mut table = Table::plain(2);
        let see = screen.invocation.question(&["topology", &it.target.to_string()]);
        let parents: Vec<NodeId> = it.parents.iter().copied().chain(it.namespace).collect();
        let above = if parents.is_empty() { "nothing".to_owned() } else { self.names(&parents, &see) };
        table.row(["above".into(), paint(OBJECT, above).into()]);
        let below = match counts(self.input, &it.below).join(", ") {
            none if none.is_empty() => "nothing".to_owned(),
            counts => counts,
        };
        table.row(["below".into(), below.into()]);
        if !it.children.is_empty() {
            table.row(["".into(), paint(OBJECT, self.names(&it.children, &see)).into()]);
        }
        if !it.live {
            table.row([paint(WARNING, "no request comes by: it is attached to nothing that takes any").into()]);
        }
        table.write(screen)
    }

    fn names(&self, nodes: &[NodeId], see: &str) -> String {
        let shown = cut(nodes.len(), self.most);
        let names: Vec<String> = nodes[..shown].iter().map(|node| self.input.name(*node)).collect();
        match nodes.len() - shown {
            0 => names.join(", "),
            more => format!("{} and {more} more: {see}", names.join(", ")),
        }
    }

    fn policies(&self, it: &Description, screen: &mut Screen) -> io::Result<()> {
        section("policies", screen)?;
        let mut table = Table::plain(2);
        if it.attached.is_empty() && it.inherited.is_empty() && it.lower.is_empty() {
            let why = match self.input.engine.policies().len() {
                0 => "none: the input has no policies of a known kind".to_owned(),
                1 => "none: the only policy does not reach it".to_owned(),
                policies => format!("none: none of the {policies} policies reaches it"),
            };
            table.row([paint(DIM, why).into()]);
            return table.write(screen);
        }
        let lower = Some(("below", &it.lower)).filter(|(_, lower)| !lower.is_empty());
        for (word, met) in [("attached", &it.attached), ("inherited", &it.inherited)].into_iter().chain(lower) {
            let shown = cut(met.len(), self.most);
            for (i, met) in met[..shown].iter().enumerate() {
                self.met(if i == 0 { word } else { "" }, met, &mut table);
            }
            if met.is_empty() {
                table.row([word.into(), paint(DIM, "none").into(), "".into(), "".into()]);
            } else if shown < met.len() {
                let more = format!("and {} more: {}", met.len() - shown, screen.invocation.in_full());
                table.row(["".into(), paint(DIM, more).into()]);
            }
        }
        table.write(screen)
    }

    fn met(&self, word: &str, met: &Met, table: &mut Table) {
        let policy = paint(POLICY, self.input.policy(met.policy));
        let on = paint(DIM, format!("on {}", self.input.name(met.on)));
        table.row([word.into(), policy.into(), on.into(), self.here(&met.here)]);
    }

    fn here(&self, here: &Here) -> Cell {
        let by: Vec<String> = here.by.iter().map(|policy| self.input.policy(*policy)).collect();
        let taken = if by.is_empty() { String::new() } else { format!(" by {}", by.join(", ")) };
        match (here.contributes, here.lost) {
            (true, false) if !here.inactive => paint(GOOD, "in force"),
            (true, false) => paint(WARNING, "in part: a condition does not hold"),
            (true, true) => paint(WARNING, format!("in part, the rest is taken{taken}")),
            (false, true) => paint(BAD, format!("taken{taken}")),
            (false, false) if !here.affected => paint(DIM, "nothing feels it"),
            (false, false) if here.inactive => paint(BAD, "its condition does not hold"),
            (false, false) => paint(DIM, ""),
        }
        .into()
    }

    fn effective(&self, it: &Description, screen: &mut Screen) -> io::Result<()> {
        if it.answers.is_empty() {
            return Ok(());
        }
        section("effective", screen)?;
        if it.gives && !it.answers.is_empty() {
            writeln!(screen, "  {}", paint(DIM, "for everything below that has no policies of its own"))?;
        }
        let shown = cut(it.answers.len(), self.most);
        for answer in &it.answers[..shown] {
            self.answer(it, answer, screen)?;
        }
        if shown < it.answers.len() {
            let see = screen.invocation.question(&["effective", &it.target.to_string(), "-o", "wide"]);
            let mut table = Table::plain(2);
            table.row([paint(DIM, format!("and {} more answers: {see}", it.answers.len() - shown)).into()]);
            table.write(screen)?;
        }
        Ok(())
    }

    /// Where an answer holds. Where that depends on the way, the ways.
    fn place(&self, answer: &Answer) -> String {
        let divided: BTreeSet<NodeId> = answer.ways.iter().filter_map(Scope::end).collect();
        match answer.ends.as_slice() {
            [only] if divided.is_empty() => self.input.name(*only),
            many if divided.is_empty() => counts(self.input, many).join(", "),
            many => {
                let ends = many.iter().filter(|end| !divided.contains(end)).map(|end| self.input.name(*end));
                let ways = answer.ways.iter().map(|scope| short_path(self.input, &scope.nodes));
                some(&ends.chain(ways).collect::<Vec<_>>(), self.most)
            }
        }
    }

    fn answer(&self, it: &Description, answer: &Answer, screen: &mut Screen) -> io::Result<()> {
        let view = EffectiveView { input: self.input, most: self.most };
        let (model, chain, place) = (&answer.model, answer.chains[0], self.place(answer));
        let requests = from(model, chain).map(|it| format!(", for requests from {}", self.input.name(it)));
        let mut head = Table::plain(2);
        let place = format!("on {place}{}", requests.unwrap_or_default());
        head.row([model.kind.full_name().into(), paint(OBJECT, place).into()]);
        head.write(screen)?;
        let effective = model.effective(self.input.engine.view(), chain);
        let mut lines = effective.spec.as_ref().map(spec_lines).unwrap_or_default();
        let all = lines.len();
        lines.truncate(cut(all, self.most_lines));
        let more = all - lines.len();
        let mut table = Table::plain(4);
        view.in_force(effective, lines, Beside { merged: false, every_line: false }, &mut table);
        for applied in &effective.applied {
            table.row([paint(POLICY, self.input.policy(applied.policy)).into()]);
        }
        if effective.spec.is_none() && effective.applied.is_empty() {
            table.row([paint(DIM, "nothing is in force").into()]);
        }
        if more > 0 {
            let see = screen.invocation.question(&["effective", &it.target.to_string(), "-o", "wide"]);
            table.row([paint(DIM, format!("and {more} more lines: {see}")).into()]);
        }
        table.write(screen)
    }

    pub fn problems(&self, problems: &[Finding], screen: &mut Screen) -> io::Result<()> {
        section("problems", screen)?;
        if problems.is_empty() {
            return writeln!(screen, "  {}", paint(GOOD, "none"));
        }
        let shown = cut(problems.len(), self.most);
        write_findings(&problems[..shown].iter().collect::<Vec<_>>(), screen)?;
        if shown < problems.len() {
            let more = format!(
                "  and {} more: {}",
                problems.len() - shown,
                screen.invocation.question(&["lint", "-o", "wide"])
            );
            writeln!(screen, "{}", paint(DIM, more))?;
        }
        Ok(())
    }
}

/// What to ask next, ready to be copied.
pub fn write_deeper(commands: impl IntoIterator<Item = String>, screen: &mut Screen) -> io::Result<()> {
    section("deeper", screen)?;
    commands.into_iter().try_for_each(|command| writeln!(screen, "  {}", paint(PLAIN, command)))
}

/// Where an object is edited: who changed it last, and what manages it.
fn write_provenance(object: &Object, screen: &mut Screen) -> io::Result<()> {
    let mut table = Table::plain(0);
    if let Some(change) = &object.last_change {
        table.row([paint(DIM, format!("last changed by {} at {}", change.manager, change.time)).into()]);
    }
    let managers: Vec<String> = managed_by(object).iter().map(ToString::to_string).collect();
    if !managers.is_empty() {
        table.row([paint(DIM, format!("managed by {}", managers.join(", "))).into()]);
    }
    table.write(screen)
}

pub fn section(name: &str, screen: &mut Screen) -> io::Result<()> {
    writeln!(screen, "\n{}", paint(HEAD, name))
}

pub fn write_conditions(conditions: &[StatusCondition], nothing: &str, screen: &mut Screen) -> io::Result<()> {
    section("status", screen)?;
    let mut table = Table::plain(2);
    for condition in conditions {
        let word = if condition.is_true { paint(GOOD, "True") } else { paint(BAD, "False") };
        let text = match condition.message.as_str() {
            "" => condition.reason.clone(),
            message => format!("{}: {message}", condition.reason),
        };
        table.row([condition.r#type.as_str().into(), word.into(), text.into()]);
    }
    if conditions.is_empty() {
        table.row([paint(DIM, nothing).into()]);
    }
    table.write(screen)
}
