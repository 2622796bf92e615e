use attache_answers::Snapshot;
use std::collections::HashMap;
use std::io::{self, Write};

use attache_engine::kinds::{KindId, PolicyKind};

use crate::commands::Format;
use crate::render::style::{POLICY, paint};
use crate::render::table::Table;
use crate::render::{Screen, write_line};
use attache_answers::List;
use attache_answers::get::KindItem;

pub fn get(
    input: &Snapshot,
    wanted: &[(KindId, &PolicyKind)],
    format: Option<Format>,
    screen: &mut Screen,
) -> io::Result<()> {
    if format == Some(Format::Yaml) {
        let documents: Vec<String> =
            wanted.iter().filter_map(|(_, kind)| kind.document(input.engine.objects())).collect();
        return write!(screen, "{}", documents.join("---\n"));
    }
    let mut policies: HashMap<KindId, usize> = HashMap::new();
    input.engine.policies().for_each(|(_, policy)| *policies.entry(policy.kind).or_default() += 1);
    let of = |id: &KindId| policies.get(id).copied().unwrap_or_default();
    let mut kinds: Vec<KindItem> = wanted.iter().map(|(id, kind)| KindItem::new(kind, of(id))).collect();
    // Those that matter here first.
    kinds.sort_by_key(|kind| kind.policies == 0);
    match format {
        Some(Format::Json) => screen.json(&List::new("PolicyKindList", kinds)),
        Some(Format::Name) => kinds.iter().try_for_each(|kind| writeln!(screen, "PolicyKind/{}", kind.name)),
        _ if kinds.is_empty() => {
            writeln!(screen, "no policy kinds are known: add their CRDs, or PolicyKind documents")?;
            let infer = screen.invocation.with("--infer-unlabelled");
            write_line(format!("CRDs without a policy label count only with {infer}"), screen)
        }
        Some(Format::Wide) => {
            let head = [
                "KIND",
                "PLURAL",
                "SHORT",
                "VERSIONS",
                "CLASS",
                "MERGES",
                "SAME LEVEL",
                "POLICIES",
                "FROM",
                "TAKES EFFECT ON",
                "TARGETS",
                "HIERARCHY",
            ];
            let mut table = Table::new(&head);
            for kind in kinds {
                table.row([
                    paint(POLICY, format!("{}.{}", kind.kind, kind.group)).into(),
                    kind.name.split('.').next().unwrap_or_default().into(),
                    kind.short_names.join(", ").into(),
                    kind.versions.join(", ").into(),
                    kind.class.into(),
                    kind.strategies.join(", ").into(),
                    kind.same_level.into(),
                    kind.policies.to_string().into(),
                    kind.from.into(),
                    kind.effective_target.join(", ").into(),
                    kind.targets.join(", ").into(),
                    kind.hierarchy.join(" > ").into(),
                ]);
            }
            table.write(screen)
        }
        _ => {
            let mut table = Table::new(&["KIND", "SHORT", "CLASS", "MERGES", "POLICIES", "FROM", "TARGETS"]);
            for kind in kinds {
                table.row([
                    paint(POLICY, format!("{}.{}", kind.kind, kind.group)).into(),
                    kind.short_names.join(", ").into(),
                    kind.class.into(),
                    kind.strategies.join(", ").into(),
                    kind.policies.to_string().into(),
                    kind.from.into(),
                    kind.targets.join(", ").into(),
                ]);
            }
            table.write(screen)
        }
    }
}
