//! Lists of policies, policy kinds and scopes, as tables.

use std::io::{self, Write};

use attache_answers::get::{KindSetting, PolicyItem, PolicyKindItem, ScopeItem};

use super::status::{in_force, status_word, write_no_policies, write_scope_note};
use super::style::{DIM, OBJECT, POLICY, paint};
use super::table::Table;
use super::{Screen, joined, write_line};

pub fn write_policies(
    items: &[PolicyItem],
    namespace: Option<&str>,
    wide: bool,
    screen: &mut Screen,
) -> io::Result<()> {
    if items.is_empty() {
        return write_no_policies(namespace, screen);
    }
    if !wide {
        let mut table = Table::new(&["POLICY", "STATUS", "IN FORCE ON", "TARGETS"]);
        for item in items {
            table.row([
                paint(POLICY, &item.policy).into(),
                status_word(&item.status),
                in_force(&item.status).into(),
                paint(OBJECT, item.targets.join(", ")).into(),
            ]);
        }
        return table.write(screen);
    }
    let mut table = Table::new(&["POLICY", "KIND", "STATUS", "IN FORCE ON", "CREATED", "FILE", "TARGETS"]);
    for item in items {
        table.row([
            paint(POLICY, &item.policy).into(),
            item.policy_kind.to_string().into(),
            status_word(&item.status),
            in_force(&item.status).into(),
            item.created.clone().unwrap_or_default().into(),
            item.file.as_str().into(),
            paint(OBJECT, item.targets.join(", ")).into(),
        ]);
    }
    table.write(screen)
}

pub fn write_kinds(items: &[PolicyKindItem], wide: bool, screen: &mut Screen) -> io::Result<()> {
    if items.is_empty() {
        writeln!(screen, "no policy kinds are known: add their CRDs, or PolicyKind documents")?;
        let infer = screen.invocation.with("--infer-unlabelled");
        return write_line(format!("CRDs without a policy label count only with {infer}"), screen);
    }
    if !wide {
        let mut table = Table::new(&["KIND", "SHORT", "CLASS", "MERGES", "POLICIES", "FROM", "TARGETS"]);
        for item in items {
            table.row([
                paint(POLICY, format!("{}.{}", item.kind, item.group)).into(),
                item.short_names.join(", ").into(),
                item.class.as_str().into(),
                item.strategies.join(", ").into(),
                item.policies.to_string().into(),
                item.from.as_str().into(),
                item.targets.join(", ").into(),
            ]);
        }
        return table.write(screen);
    }
    let mut table = Table::new(&[
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
        "SETTINGS OF THE CONTROLLER",
    ]);
    for item in items {
        table.row([
            paint(POLICY, format!("{}.{}", item.kind, item.group)).into(),
            item.name.split('.').next().unwrap_or_default().into(),
            item.short_names.join(", ").into(),
            item.versions.join(", ").into(),
            item.class.as_str().into(),
            item.strategies.join(", ").into(),
            item.same_level.as_str().into(),
            item.policies.to_string().into(),
            item.from.as_str().into(),
            item.effective_target.join(", ").into(),
            item.targets.join(", ").into(),
            item.hierarchy.join(" > ").into(),
            item.settings.iter().map(setting_text).collect::<Vec<_>>().join(", ").into(),
        ]);
    }
    table.write(screen)
}

/// `rootNamespace: bank (ConfigMap/istio-system/istio)`, `globalNamespace: none (assumed: no Deployment with label a=b sets it)`.
fn setting_text(setting: &KindSetting) -> String {
    let value = if setting.value.is_empty() { "none".to_owned() } else { setting.value.join(" ") };
    match &setting.found_in {
        Some(object) => format!("{}: {value} ({object})", setting.sets),
        None => format!("{}: {value} (assumed: no {} sets it)", setting.sets, setting.looked_for),
    }
}

/// Some scopes. `no_policies` if there are none for that reason.
pub fn write_scopes(items: &[ScopeItem], no_policies: bool, wide: bool, screen: &mut Screen) -> io::Result<()> {
    if items.is_empty() {
        let why = match no_policies {
            true => "scopes belong to policy kinds, and there are no policies",
            false => "no route leads to anything on which these policies take effect",
        };
        writeln!(screen, "there are no scopes: {why}")?;
        let see = screen.invocation.question(&["topology"]);
        return writeln!(screen, "{}", paint(DIM, format!("see {see}")));
    }
    let mut table = Table::new(&["KIND", "POLICIES", "SCOPE"]);
    for item in items {
        let from = item.scope.from.as_ref().map(|from| format!(" for requests from {from}")).unwrap_or_default();
        let path = match wide {
            true => item.scope.scope.iter().map(ToString::to_string).collect::<Vec<_>>().join(" > "),
            false => item.scope.path(),
        };
        let policies = if item.policies.is_empty() { "-".to_owned() } else { joined(&item.policies) };
        table.row([
            item.policy_kind.to_string().into(),
            paint(POLICY, policies).into(),
            paint(OBJECT, format!("{path}{from}")).into(),
        ]);
    }
    table.write(screen)?;
    write_scope_note(screen)
}
