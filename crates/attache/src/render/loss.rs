//! Why a value lost, in words.

use attache_answers::effective::{LostPath, LostValue};
use attache_engine::{Loss, ObjectRef};

pub fn value_loss(lost: &LostValue) -> String {
    loss(lost.reason, lost.by.as_ref(), &lost.origin.policy)
}

pub fn path_loss(lost: &LostPath) -> String {
    let text = loss(lost.reason, lost.by.as_ref(), &lost.policy);
    match &lost.warning {
        Some(warning) => format!("{text}: {warning}"),
        None => text,
    }
}

fn loss(reason: Loss, by: Option<&ObjectRef>, loser: &ObjectRef) -> String {
    let Some(by) = by else {
        return match reason {
            Loss::ConditionFalse => "its condition does not hold".to_owned(),
            _ => "the object sets it itself".to_owned(),
        };
    };
    match reason {
        Loss::MoreSpecific => format!("{by} is more specific"),
        Loss::Overridden => format!("overridden by {by}"),
        Loss::Older => format!("{by} is older"),
        Loss::Newer => format!("{by} is newer"),
        Loss::ByName if by < loser => format!("{by} comes first by name"),
        Loss::ByName => format!("{by} comes last by name"),
        Loss::HigherPriority => format!("{by} has a higher priority"),
        Loss::Removed => format!("removed by {by}"),
        Loss::ConditionFalse => "its condition does not hold".to_owned(),
        Loss::Conflicted => format!("conflicts with {by}"),
    }
}
