//! The reason why a value lost, in words.

use std::fmt;

use attache_engine::{Loss, ObjectRef};

use crate::effective::{LossCause, LostPath, LostValue};

/// The reason why a value lost: `overridden by RetryPolicy/infra/time-limit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossSentence<'l> {
    /// The words before the policy that it lost to, or the whole sentence if there is none.
    pub before: &'static str,
    /// The policy that it lost to.
    pub by: Option<&'l ObjectRef>,
    /// The words after the policy.
    pub after: &'static str,
    /// Further policies to each of which it would have lost as well.
    pub also_by: &'l [ObjectRef],
    /// Why the condition could not be evaluated, if that is the reason.
    pub warning: Option<&'l str>,
}

impl<'l> LossSentence<'l> {
    fn new(cause: &'l LossCause, loser: &ObjectRef) -> LossSentence<'l> {
        let (reason, by) = (cause.reason, cause.by.as_ref());
        let (before, after) = match (reason, by) {
            (Loss::ConditionFalse, _) => ("its condition does not hold", ""),
            (Loss::SamePolicy, _) => ("another block of the same policy sets it", ""),
            (Loss::NotHandled, _) => ("no controller handles it here", ""),
            (Loss::Invalid, None) => ("it is refused here", ""),
            (_, None) => ("the object sets it itself", ""),
            (Loss::MoreSpecific, _) => ("", "is more specific"),
            (Loss::Overridden, _) => ("overridden by", ""),
            (Loss::Older, _) => ("", "is older"),
            (Loss::Newer, _) => ("", "is newer"),
            (Loss::ByName, Some(by)) if by < loser => ("", "comes first by name"),
            (Loss::ByName, _) => ("", "comes last by name"),
            (Loss::HigherPriority, _) => ("", "has a higher priority"),
            (Loss::Removed, _) => ("removed by", ""),
            (Loss::Conflicted, _) => ("conflicts with", ""),
            (Loss::Invalid, _) => ("invalid together with", ""),
        };
        let by = by.filter(|_| reason != Loss::ConditionFalse);
        LossSentence { before, by, after, also_by: &cause.also_by, warning: None }
    }
}

impl LostValue {
    /// The reason, in words.
    pub fn sentence(&self) -> LossSentence<'_> {
        LossSentence::new(&self.cause, &self.origin.policy)
    }
}

impl LostPath {
    /// The reason, in words.
    pub fn sentence(&self) -> LossSentence<'_> {
        LossSentence { warning: self.warning.as_deref(), ..LossSentence::new(&self.cause, &self.policy) }
    }
}

impl fmt::Display for LossSentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.before)?;
        if let Some(by) = self.by {
            write!(f, "{}{by}", if self.before.is_empty() { "" } else { " " })?;
        }
        write!(f, "{}{}", if self.after.is_empty() { "" } else { " " }, self.after)?;
        for (at, policy) in self.also_by.iter().enumerate() {
            write!(f, "{}{policy}", if at == 0 { " (also " } else { ", " })?;
        }
        f.write_str(if self.also_by.is_empty() { "" } else { ")" })?;
        self.warning.map_or(Ok(()), |warning| write!(f, ": {warning}"))
    }
}
