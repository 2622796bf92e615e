use std::io::{self, Write};

use attache_engine::model::{Model, Scope};
use attache_engine::topology::NodeId;
use serde::Serialize;

use crate::cli::{again, in_full};
use crate::commands::Format;
use crate::documents::{List, Stream};
use crate::input::Input;
use crate::render::style::{DIM, OBJECT, POLICY, paint};
use crate::render::table::Table;
use crate::render::{Screen, cut};
use crate::scopes::{Focus, short_path};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    policy_kind: String,
    scope: Vec<String>,
    #[serde(skip)]
    short: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// Those that contribute to what is in force.
    policies: Vec<String>,
}

/// How many scopes are shown before the rest is only counted.
const MOST: usize = 50;

pub fn get(
    input: &Input,
    models: &[Model],
    namespace: Option<&str>,
    format: Option<Format>,
    screen: &mut Screen,
) -> io::Result<()> {
    let focus = Focus::Everything { namespace: namespace.map(str::to_owned) };
    let each = |found: &mut dyn FnMut(Item)| {
        for model in models {
            focus.scopes(input, model, &mut |scope| found(item(input, model, &scope)));
        }
    };
    let list = || List::new("ScopeList", Stream::new(each));
    match format {
        Some(Format::Json) => screen.json(&list()),
        Some(Format::Yaml) => screen.yaml(&list()),
        Some(Format::Name) => {
            let mut result = Ok(());
            each(&mut |item| {
                if result.is_ok() {
                    result = writeln!(screen, "{}", item.scope.join(" > "));
                }
            });
            result
        }
        None => {
            let total = models.iter().map(|model| count(input, model, namespace)).sum();
            let shown = cut(total, MOST);
            let items = first(input, models, namespace, shown);
            write_table(&items, models.is_empty(), false, screen)?;
            if shown < total {
                let more = format!("and {} more: {}", total - shown, in_full());
                writeln!(screen, "{}", paint(DIM, more))?;
            }
            Ok(())
        }
        Some(Format::Wide) => {
            let mut items = Vec::new();
            each(&mut |item| items.push(item));
            write_table(&items, models.is_empty(), true, screen)
        }
    }
}

fn targets<'i>(input: &'i Input, model: &'i Model, namespace: Option<&'i str>) -> impl Iterator<Item = NodeId> + 'i {
    model.effective_targets(input.engine.world()).filter(move |node| input.is_in(*node, namespace))
}

/// How many scopes of a kind there are, without a look at any.
fn count(input: &Input, model: &Model, namespace: Option<&str>) -> usize {
    let chains = targets(input, model, namespace).flat_map(|node| model.chains_at(input.engine.world(), node));
    chains.fold(0, |sum: usize, (_, scopes)| sum.saturating_add(usize::try_from(*scopes).unwrap_or(usize::MAX)))
}

fn first(input: &Input, models: &[Model], namespace: Option<&str>, most: usize) -> Vec<Item> {
    let mut items = Vec::new();
    for model in models {
        for node in targets(input, model, namespace) {
            if items.len() >= most {
                break;
            }
            model.scopes(input.engine.world(), node, &mut |scope| items.push(item(input, model, &scope)));
        }
    }
    items.truncate(most);
    items
}

fn write_table(items: &[Item], no_policies: bool, wide: bool, screen: &mut Screen) -> io::Result<()> {
    if items.is_empty() {
        let why = match no_policies {
            true => "scopes belong to policy kinds, and there are no policies",
            false => "no route leads to anything on which these policies take effect",
        };
        writeln!(screen, "there are no scopes: {why}")?;
        return writeln!(screen, "{}", paint(DIM, format!("see {}", again(&["topology"]))));
    }
    let mut table = Table::new(&["KIND", "POLICIES", "SCOPE"]);
    for item in items {
        let from = item.from.as_ref().map(|from| format!(" for requests from {from}")).unwrap_or_default();
        let path = if wide { item.scope.join(" > ") } else { item.short.clone() };
        let policies = if item.policies.is_empty() { "-".to_owned() } else { item.policies.join(", ") };
        table.row([
            item.policy_kind.as_str().into(),
            paint(POLICY, policies).into(),
            paint(OBJECT, format!("{path}{from}")).into(),
        ]);
    }
    table.write(screen)
}

fn item(input: &Input, model: &Model, scope: &Scope) -> Item {
    let outcomes = &model.effective(input.engine.world(), scope.chain).outcomes;
    let contributing = outcomes.iter().filter(|(_, outcome)| outcome.contributes);
    Item {
        policy_kind: model.kind.full_name(),
        scope: scope.nodes.iter().map(|node| input.name(*node)).collect(),
        short: short_path(input, &scope.nodes),
        from: scope.from.map(|namespace| input.name(namespace)),
        policies: contributing.map(|(policy, _)| input.policy(*policy)).collect(),
    }
}
