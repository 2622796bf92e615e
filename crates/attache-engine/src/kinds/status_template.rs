//! The words in which a system reports the status of its policies: rows of conditions, each for some states.

use smol_str::SmolStr;

use super::LevelName;
use crate::reader::DocumentReader;

/// How the status of policies of a kind, and of what they affect, is put into words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusTemplate {
    /// Of each type the first row that holds counts.
    pub conditions: Vec<ConditionTemplate>,
    /// Levels whose policies are reported as if there were none at other levels, and the other way round.
    pub apart: Vec<LevelName>,
    pub affected: AffectedTemplate,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionTemplate {
    /// It holds in any of these states,
    pub when: Vec<PolicyState>,
    /// and, if there are any, for a target of one of these sorts.
    pub targets: Vec<SmolStr>,
    pub r#type: SmolStr,
    pub is_true: bool,
    pub reason: SmolStr,
    pub message: SmolStr,
    /// What nodes of a sort are called in `{places}`. If none are left to call, the row does not hold.
    pub places: Vec<(SmolStr, SmolStr)>,
}

/// What is said of a target while policies contribute to what is in force there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AffectedTemplate {
    pub r#type: SmolStr,
    pub reason: SmolStr,
    pub message: SmolStr,
}

/// What can be said of a policy. Several may hold at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyState {
    Accepted,
    Conflicted,
    Invalid,
    TargetNotFound,
    RefNotPermitted,
    Enforced,
    PartiallyEnforced,
    Overridden,
    NotEnforced,
    /// In some scope nothing of it is in force, because others took it.
    OverriddenSomewhere,
    /// In some scope it is in force together with others,
    Merged,
    /// with one above it,
    MergedWithHigher,
    /// with one below it.
    MergedWithLower,
}

const STATES: [(&str, PolicyState); 13] = [
    ("Accepted", PolicyState::Accepted),
    ("Conflicted", PolicyState::Conflicted),
    ("Invalid", PolicyState::Invalid),
    ("TargetNotFound", PolicyState::TargetNotFound),
    ("RefNotPermitted", PolicyState::RefNotPermitted),
    ("Enforced", PolicyState::Enforced),
    ("PartiallyEnforced", PolicyState::PartiallyEnforced),
    ("Overridden", PolicyState::Overridden),
    ("NotEnforced", PolicyState::NotEnforced),
    ("OverriddenSomewhere", PolicyState::OverriddenSomewhere),
    ("Merged", PolicyState::Merged),
    ("MergedWithHigher", PolicyState::MergedWithHigher),
    ("MergedWithLower", PolicyState::MergedWithLower),
];
const BOOLS: [(&str, bool); 2] = [("True", true), ("False", false)];

impl Default for StatusTemplate {
    fn default() -> Self {
        use PolicyState::*;
        let row = |when: &[PolicyState], r#type: &str, is_true, reason: &str, message: &str| ConditionTemplate {
            when: when.to_vec(),
            targets: Vec::new(),
            r#type: r#type.into(),
            is_true,
            reason: reason.into(),
            message: message.into(),
            places: Vec::new(),
        };
        let refused = [Conflicted, Invalid, TargetNotFound, RefNotPermitted];
        StatusTemplate {
            conditions: vec![
                row(&[Accepted], "Accepted", true, "Accepted", "{message}"),
                row(&refused, "Accepted", false, "{reason}", "{errors}"),
                row(&[Enforced], "Enforced", true, "Enforced", ""),
                row(&[PartiallyEnforced], "Enforced", true, "PartiallyEnforced", "part of it is taken by [{by}]"),
                row(&[Overridden], "Enforced", false, "Overridden", "all of it is taken by [{by}]"),
                row(&[NotEnforced], "Enforced", false, "NotEnforced", "{message}"),
            ],
            apart: Vec::new(),
            affected: AffectedTemplate {
                r#type: "attache.dev/{kind}Affected".into(),
                reason: "Accepted".into(),
                message: "affected by {kind} [{by}]".into(),
            },
        }
    }
}

pub fn read(reader: &mut DocumentReader<'_, '_>) -> StatusTemplate {
    let usual = StatusTemplate::default();
    let conditions = reader.get("conditions").is_some().then(|| reader.objects("conditions", row));
    StatusTemplate {
        conditions: conditions.unwrap_or(usual.conditions),
        apart: reader.texts("apart").unwrap_or_default().iter().map(|name| LevelName::parse(name)).collect(),
        affected: reader.object("affected", affected).flatten().unwrap_or(usual.affected),
    }
}

fn row(reader: &mut DocumentReader<'_, '_>) -> Option<ConditionTemplate> {
    let (r#type, reason) = (reader.required("type"), reader.required("reason"));
    let when = reader.choices("when", &STATES);
    let is_true = reader.choice("status", &BOOLS);
    Some(ConditionTemplate {
        when: when?,
        targets: reader.texts("target").unwrap_or_default(),
        is_true: is_true.unwrap_or(true),
        message: reader.text("message").unwrap_or_default(),
        places: reader.pairs("places"),
        r#type: r#type?,
        reason: reason?,
    })
}

fn affected(reader: &mut DocumentReader<'_, '_>) -> Option<AffectedTemplate> {
    let (r#type, reason) = (reader.required("type"), reader.required("reason"));
    Some(AffectedTemplate { message: reader.text("message").unwrap_or_default(), r#type: r#type?, reason: reason? })
}
