use std::io::{self, Write};

use attache_answers::Snapshot;
use attache_engine::model::Model;

use crate::commands::Format;
use crate::render::style::{DIM, OBJECT, POLICY, paint};
use crate::render::table::Table;
use crate::render::{Screen, cut};
use attache_answers::get::{ScopeItem, count, first};
use attache_answers::scopes::Focus;
use attache_answers::{List, Stream};

/// How many scopes are shown before the rest is only counted.
const MOST: usize = 50;

pub fn get(
    input: &Snapshot,
    models: &[Model],
    namespace: Option<&str>,
    format: Option<Format>,
    screen: &mut Screen,
) -> io::Result<()> {
    let focus = Focus::Everything { namespace: namespace.map(str::to_owned) };
    let each = |found: &mut dyn FnMut(ScopeItem)| {
        for model in models {
            focus.scopes(input, model, &mut |scope| found(ScopeItem::new(input, model, &scope)));
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
                let more = format!("and {} more: {}", total - shown, screen.invocation.in_full());
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

fn write_table(items: &[ScopeItem], no_policies: bool, wide: bool, screen: &mut Screen) -> io::Result<()> {
    if items.is_empty() {
        let why = match no_policies {
            true => "scopes belong to policy kinds, and there are no policies",
            false => "no route leads to anything on which these policies take effect",
        };
        writeln!(screen, "there are no scopes: {why}")?;
        return writeln!(screen, "{}", paint(DIM, format!("see {}", screen.invocation.question(&["topology"]))));
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
