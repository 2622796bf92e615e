use std::io::{self, Write};

use attache_engine::kinds::{KindId, PolicyKind};
use attache_engine::policy::Policy;
use attache_engine::status::PolicyStatus;
use serde::Serialize;

use crate::commands::Format;
use crate::documents::List;
use crate::input::Input;
use crate::render::status::{in_force, no_policies, status_word, target_words};
use crate::render::style::{OBJECT, POLICY, paint};
use crate::render::table::Table;
use crate::render::{Screen, write_line};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    policy: String,
    policy_kind: String,
    targets: Vec<String>,
    accepted: bool,
    enforcement: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    file: String,
}

pub fn get(
    input: &Input,
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
    let items = || List::new("PolicyList", statuses.iter().map(|status| item(input, status)).collect::<Vec<_>>());
    match format {
        Some(Format::Json) => screen.json(&items()),
        Some(Format::Yaml) => screen.yaml(&items()),
        Some(Format::Name) => {
            statuses.iter().try_for_each(|status| writeln!(screen, "{}", input.policy(status.policy)))
        }
        None | Some(Format::Wide) if statuses.is_empty() => write_line(no_policies(namespace), screen),
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
                let item = item(input, status);
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

fn item(input: &Input, status: &PolicyStatus) -> Item {
    let policy = input.engine.policy(status.policy);
    let object = input.engine.policy_object(status.policy);
    Item {
        policy: input.policy(status.policy),
        policy_kind: input.engine.kinds().get(policy.kind).full_name(),
        targets: targets(policy),
        accepted: status.refused.is_none(),
        enforcement: status.enforcement.name(),
        created: object.created.map(|created| created.to_string()),
        file: object.source.file.to_string(),
    }
}

/// What a policy says it targets, in its own words.
fn targets(policy: &Policy) -> Vec<String> {
    policy.targets.iter().map(target_words).collect()
}
