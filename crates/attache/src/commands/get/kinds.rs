use std::io::{self, Write};

use attache_core::kinds::{KindId, Origin, PolicyKind};
use attache_core::names::KindName;
use serde::Serialize;

use crate::cli::program;
use crate::commands::Format;
use crate::documents::List;
use crate::input::Input;
use crate::render::Screen;
use crate::render::style::{POLICY, paint};
use crate::render::table::Table;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Kind {
    name: String,
    group: String,
    kind: String,
    class: String,
    hierarchy: Vec<String>,
    targets: Vec<String>,
    effective_target: Vec<String>,
    same_level: String,
    strategies: Vec<String>,
    /// Where its description comes from.
    from: String,
    /// How many policies of this kind there are.
    policies: usize,
}

pub fn get(input: &Input, name: Option<&str>, format: Option<Format>, screen: &mut Screen) -> io::Result<()> {
    let wanted = name.map(KindName::parse);
    let is_wanted = |kind: &PolicyKind| wanted.as_ref().is_none_or(|name| name.matches(&kind.group, &kind.kind));
    let kinds = input.engine.kinds().iter().filter(|(_, kind)| is_wanted(kind));
    let kinds: Vec<Kind> = kinds.map(|(id, kind)| describe(input, id, kind)).collect();
    match format {
        Some(Format::Json) => screen.json(&List::new("PolicyKindList", kinds)),
        Some(Format::Yaml) => screen.yaml(&List::new("PolicyKindList", kinds)),
        Some(Format::Name) => kinds.iter().try_for_each(|kind| writeln!(screen, "PolicyKind/{}", kind.name)),
        None | Some(Format::Wide) if kinds.is_empty() => {
            writeln!(screen, "no policy kinds are known: add their CRDs, or PolicyKind documents")?;
            writeln!(screen, "CRDs without a policy label count only with {} --infer-unlabelled", program())
        }
        None => {
            let mut table = Table::new(&["KIND", "CLASS", "MERGES", "POLICIES", "FROM", "TARGETS"]);
            for kind in kinds {
                table.row([
                    paint(POLICY, format!("{}.{}", kind.kind, kind.group)).into(),
                    kind.class.into(),
                    kind.strategies.join(", ").into(),
                    kind.policies.to_string().into(),
                    kind.from.into(),
                    kind.targets.join(", ").into(),
                ]);
            }
            table.write(screen)
        }
        Some(Format::Wide) => {
            let head = [
                "KIND",
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
    }
}

fn describe(input: &Input, id: KindId, kind: &PolicyKind) -> Kind {
    let names = |levels: &[attache_core::kinds::LevelName]| levels.iter().map(ToString::to_string).collect();
    Kind {
        name: kind.name.to_string(),
        group: kind.group.to_string(),
        kind: kind.kind.to_string(),
        class: format!("{:?}", kind.class),
        hierarchy: names(&kind.hierarchy),
        targets: names(&kind.targets),
        effective_target: names(&kind.effective_targets),
        same_level: format!("{:?}", kind.same_level),
        strategies: kind.strategies.iter().map(|strategy| format!("{strategy:?}").to_lowercase()).collect(),
        from: match &kind.origin {
            Origin::BuiltIn(_) => "built in".to_owned(),
            Origin::Given(file) => file.to_string(),
            Origin::Inferred(crd) => format!("CRD {crd}"),
        },
        policies: input.engine.policies().filter(|(_, policy)| policy.kind == id).count(),
    }
}
