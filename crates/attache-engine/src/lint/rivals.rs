//! Policies on one target that differ by chance only.

use super::facts::Facts;
use super::{Findings, rule, scopes};
use crate::fold::Loss;
use crate::status::Enforcement;

/// Two policies on one target say the same thing differently, and the age or the name decides. Policies that never win
/// at all have their own finding.
pub fn decided_by_age_or_name(facts: &Facts<'_>, findings: &mut Findings) {
    let engine = facts.engine;
    for ((loser, winner, loss), lost) in &facts.losses {
        let (rule, why) = match loss {
            Loss::Older => (&rule::DECIDED_BY_AGE, "is older"),
            Loss::Newer => (&rule::DECIDED_BY_AGE, "is newer"),
            Loss::ByName => (&rule::DECIDED_BY_NAME, engine.by_name(*winner, *loser)),
            _ => continue,
        };
        if facts.status(*loser).enforcement == Enforcement::Overridden {
            continue;
        }
        let first = lost.paths.first().map(ToString::to_string).unwrap_or_default();
        let what = match lost.paths.len() {
            _ if first.is_empty() => "all of it".to_owned(),
            1 => format!("`{first}`"),
            count => format!("`{first}` and {} more", count - 1),
        };
        let message = format!(
            "{what} loses in {} to {} on the same target, only because that {why}",
            scopes(lost.scopes),
            engine.policy_id(*winner)
        );
        findings.push(rule.about(engine.policy_object(*loser), message));
    }
}
