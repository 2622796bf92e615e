use std::io::{self, Write};

use attache_answers::Snapshot;
use attache_engine::kinds::{KindId, PolicyKind};
use attache_engine::status::PolicyStatus;

use crate::commands::Format;
use crate::render::status::{in_force, no_policies, status_word};
use crate::render::style::{OBJECT, POLICY, paint};
use crate::render::table::Table;
use crate::render::{Screen, write_line};
use attache_answers::List;
use attache_answers::get::{PolicyItem, targets};

pub fn get(
    input: &Snapshot,
    kinds: &[(KindId, &PolicyKind)],
    namespace: Option<&str>,
    format: Option<Format>,
    screen: &mut Screen,
) -> io::Result<()> {
    let engine = &input.engine;
    let is_wanted = |status: &PolicyStatus| {
        let kind = engine.policy(status.policy).kind;
        kinds.iter().any(|(it, _)| engine.kinds().leader(*it) == engine.kinds().leader(kind))
            && namespace.is_none_or(|wanted| engine.policy_id(status.policy).namespace == wanted)
    };
    let statuses: Vec<PolicyStatus> = engine.policy_statuses().into_iter().filter(is_wanted).collect();
    let items =
        || List::new("PolicyList", statuses.iter().map(|status| PolicyItem::new(input, status)).collect::<Vec<_>>());
    match format {
        Some(Format::Json) => screen.json(&items()),
        Some(Format::Yaml) => screen.yaml(&items()),
        Some(Format::Name) => {
            statuses.iter().try_for_each(|status| writeln!(screen, "{}", input.policy(status.policy)))
        }
        None | Some(Format::Wide) if statuses.is_empty() => write_line(no_policies(namespace, screen), screen),
        None => {
            let mut table = Table::new(&["POLICY", "STATUS", "IN SCOPES", "TARGETS"]);
            for status in &statuses {
                table.row([
                    paint(POLICY, input.policy(status.policy)).into(),
                    status_word(status),
                    in_force(status).into(),
                    paint(OBJECT, targets(engine.policy(status.policy)).join(", ")).into(),
                ]);
            }
            table.write(screen)
        }
        Some(Format::Wide) => {
            let mut table = Table::new(&["POLICY", "KIND", "STATUS", "IN SCOPES", "CREATED", "FILE", "TARGETS"]);
            for status in &statuses {
                let item = PolicyItem::new(input, status);
                table.row([
                    paint(POLICY, item.policy).into(),
                    item.policy_kind.into(),
                    status_word(status),
                    in_force(status).into(),
                    item.created.unwrap_or_default().into(),
                    item.file.into(),
                    paint(OBJECT, item.targets.join(", ")).into(),
                ]);
            }
            table.write(screen)
        }
    }
}
