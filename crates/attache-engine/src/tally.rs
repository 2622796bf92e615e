//! The number of scopes in which each policy is enforced.

use std::sync::Arc;

use crate::fold::FoldOutcome;
use crate::persistent::PersistentVec;
use crate::policy::PolicyId;
use crate::topology::NodeId;

/// How much of a policy is in force, over all scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Enforcement {
    /// All of it, everywhere.
    Enforced,
    /// Not all of it, or not everywhere.
    PartiallyEnforced,
    /// None of it: other policies, or the targets themselves, set everything that it sets.
    Overridden,
    /// None of it, and nothing else sets it: it reaches no scope, or its condition holds nowhere.
    NotEnforced,
}

impl Enforcement {
    /// The name in documents: `PartiallyEnforced`.
    pub fn name(self) -> &'static str {
        match self {
            Enforcement::Enforced => "Enforced",
            Enforcement::PartiallyEnforced => "PartiallyEnforced",
            Enforcement::Overridden => "Overridden",
            Enforcement::NotEnforced => "NotEnforced",
        }
    }
}

/// The scopes that a policy reaches, by how much of it is in force there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScopeCounts {
    /// All scopes that it reaches.
    pub total: u64,
    /// All of it is in force.
    pub enforced: u64,
    /// Some of it is in force.
    pub partial: u64,
    /// None of it is in force, because something else sets it.
    pub overridden: u64,
}

/// The tally of each policy, by its id.
pub(crate) type Tallies = PersistentVec<Option<Arc<Tally>>>;

/// The tally of a policy. It is empty if the policy reaches no scope.
pub(crate) fn policy_tally(tallies: &Tallies, policy: PolicyId) -> Arc<Tally> {
    tallies.get(policy.0.0 as usize).cloned().flatten().unwrap_or_default()
}

/// The outcomes of one policy in all scopes. Counts are signed and wide, so that scopes can be subtracted without
/// overflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    total: i128,
    enforced: i128,
    partial: i128,
    overridden: i128,
    contributes: i128,
    lost: i128,
    /// The policies that it lost to, each with the number of scopes; in the order of ids.
    by: Vec<(PolicyId, i128)>,
    /// The policies together with which it is invalid, each with the number of scopes; in the order of ids. Of the other
    /// counts, these scopes are in `total` only.
    invalid_with: Vec<(PolicyId, i128)>,
    /// The Gateways and mesh Services whose controllers do not handle it, each with the number of scopes; in the order of
    /// ids. These scopes are in none of the other counts.
    unhandled: Vec<(NodeId, i128)>,
}

impl Tally {
    /// Adds scopes with this outcome; a negative number subtracts them.
    pub fn count(&mut self, scopes: i128, outcome: &FoldOutcome) {
        if let Some(root) = outcome.unhandled {
            return add(&mut self.unhandled, root, scopes);
        }
        self.total += scopes;
        if !outcome.contributes && !outcome.invalid_with.is_empty() {
            return outcome.invalid_with.iter().for_each(|with| add(&mut self.invalid_with, *with, scopes));
        }
        let is_whole = !outcome.lost && !outcome.inactive;
        match (outcome.contributes, outcome.lost) {
            _ if is_whole => self.enforced += scopes,
            (true, _) => self.partial += scopes,
            (false, true) => self.overridden += scopes,
            (false, false) => return,
        }
        if outcome.contributes || is_whole {
            self.contributes += scopes;
        }
        if outcome.lost {
            self.lost += scopes;
        }
        outcome.by.iter().for_each(|by| add(&mut self.by, *by, scopes));
    }

    /// Whether the policy reaches no scope, not even one that no controller handles.
    pub fn is_empty(&self) -> bool {
        self.total == 0 && self.unhandled.is_empty()
    }

    /// The Gateways and mesh Services whose controllers do not handle it, in the order of ids.
    pub fn unhandled(&self) -> impl Iterator<Item = NodeId> {
        self.unhandled.iter().map(|(root, _)| *root)
    }

    /// Whether two tallies result in the same status. If not, the status can still be the same, because not all of a
    /// tally is shown: for example, a policy with refused targets is not explained by unhandled Gateways.
    pub fn gives_same_status(&self, other: &Tally) -> bool {
        self.scopes() == other.scopes()
            && self.enforcement() == other.enforcement()
            && (self.lost > 0) == (other.lost > 0)
            && self.by().eq(other.by())
            && self.invalid_with().eq(other.invalid_with())
            && self.unhandled().eq(other.unhandled())
    }

    /// The policies that it lost to, in the order of ids.
    pub fn by(&self) -> impl Iterator<Item = PolicyId> {
        self.by.iter().map(|(policy, _)| *policy)
    }

    /// The policies together with which it is invalid, in the order of ids.
    pub fn invalid_with(&self) -> impl Iterator<Item = PolicyId> {
        self.invalid_with.iter().map(|(policy, _)| *policy)
    }

    /// Whether it lost something, but to no policy: the target itself sets it.
    pub fn lost_to_target(&self) -> bool {
        self.lost > 0 && self.by.is_empty()
    }

    pub fn scopes(&self) -> ScopeCounts {
        let count = |count: i128| u64::try_from(count).unwrap_or(u64::MAX);
        ScopeCounts {
            total: count(self.total),
            enforced: count(self.enforced),
            partial: count(self.partial),
            overridden: count(self.overridden),
        }
    }

    pub fn enforcement(&self) -> Enforcement {
        match (self.contributes > 0, self.lost > 0) {
            (true, _) if self.enforced == self.total => Enforcement::Enforced,
            (true, _) => Enforcement::PartiallyEnforced,
            (false, true) => Enforcement::Overridden,
            (false, false) => Enforcement::NotEnforced,
        }
    }
}

/// Adds scopes to the count of an id; a count of zero is removed.
fn add<K: Ord + Copy>(counts: &mut Vec<(K, i128)>, id: K, scopes: i128) {
    match counts.binary_search_by_key(&id, |(id, _)| *id) {
        Err(at) => counts.insert(at, (id, scopes)),
        Ok(at) => {
            counts[at].1 += scopes;
            if counts[at].1 == 0 {
                counts.remove(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ObjectId;

    const RIVAL: PolicyId = PolicyId(ObjectId(7));

    fn outcome(contributes: bool, lost: bool, inactive: bool) -> FoldOutcome {
        let by = if lost { vec![RIVAL] } else { Vec::new() };
        FoldOutcome { contributes, lost, by, inactive, ..FoldOutcome::default() }
    }

    fn tally(outcomes: &[(i128, FoldOutcome)]) -> Tally {
        let mut tally = Tally::default();
        outcomes.iter().for_each(|(scopes, outcome)| tally.count(*scopes, outcome));
        tally
    }

    #[test]
    fn a_policy_without_scopes_is_not_enforced() {
        assert_eq!(Tally::default().enforcement(), Enforcement::NotEnforced);
        assert!(Tally::default().is_empty());
    }

    #[test]
    fn a_policy_is_enforced_if_all_of_it_is_in_force_everywhere() {
        let whole = outcome(true, false, false);
        assert_eq!(tally(&[(3, whole.clone())]).enforcement(), Enforcement::Enforced);
        let partial = tally(&[(3, whole), (2, outcome(true, true, false)), (1, outcome(false, true, false))]);
        assert_eq!(partial.enforcement(), Enforcement::PartiallyEnforced);
        assert_eq!(partial.scopes(), ScopeCounts { total: 6, enforced: 3, partial: 2, overridden: 1 });
    }

    #[test]
    fn a_policy_that_sets_nothing_and_loses_nothing_is_enforced() {
        assert_eq!(tally(&[(2, outcome(false, false, false))]).enforcement(), Enforcement::Enforced);
    }

    #[test]
    fn a_policy_that_contributes_nowhere_is_overridden_if_it_lost_and_else_not_enforced() {
        let lost = tally(&[(1, outcome(false, true, false))]);
        assert_eq!((lost.enforcement(), lost.by().collect()), (Enforcement::Overridden, vec![RIVAL]));
        let inactive = tally(&[(1, outcome(false, false, true))]);
        assert_eq!(inactive.enforcement(), Enforcement::NotEnforced);
        assert_eq!(inactive.scopes(), ScopeCounts { total: 1, ..ScopeCounts::default() });
    }

    #[test]
    fn a_policy_that_is_invalid_together_with_another_is_not_overridden_by_it() {
        let invalid = FoldOutcome { invalid_with: vec![RIVAL], ..outcome(false, false, true) };
        let nowhere = tally(&[(2, invalid.clone())]);
        assert_eq!(nowhere.enforcement(), Enforcement::NotEnforced);
        assert_eq!(nowhere.scopes(), ScopeCounts { total: 2, ..ScopeCounts::default() });
        assert_eq!((nowhere.by().count(), nowhere.invalid_with().collect()), (0, vec![RIVAL]));
        let mut somewhere = tally(&[(1, outcome(true, false, false)), (2, invalid.clone())]);
        assert_eq!(somewhere.enforcement(), Enforcement::PartiallyEnforced);
        somewhere.count(-2, &invalid);
        assert_eq!(somewhere, tally(&[(1, outcome(true, false, false))]));
    }

    #[test]
    fn subtracted_scopes_leave_no_trace() {
        let mut tally = tally(&[(2, outcome(true, false, false)), (5, outcome(true, true, false))]);
        tally.count(-5, &outcome(true, true, false));
        let mut expected = Tally::default();
        expected.count(2, &outcome(true, false, false));
        assert_eq!(tally, expected);
        tally.count(-2, &outcome(true, false, false));
        assert_eq!(tally, Tally::default());
    }

    #[test]
    fn what_is_lost_without_a_rival_is_lost_to_the_target() {
        let own = FoldOutcome { by: Vec::new(), ..outcome(true, true, false) };
        assert!(tally(&[(1, own)]).lost_to_target());
        assert!(!tally(&[(1, outcome(true, true, false))]).lost_to_target());
        assert!(!tally(&[(1, outcome(true, false, false))]).lost_to_target());
    }

    #[test]
    fn the_status_depends_on_the_scopes_and_on_who_won() {
        let [one, two] = [1, 2].map(|scopes| tally(&[(scopes, outcome(false, true, false))]));
        assert!(one.gives_same_status(&one.clone()));
        assert!(!one.gives_same_status(&two));
        let by_target = FoldOutcome { by: Vec::new(), ..outcome(false, true, false) };
        assert!(!one.gives_same_status(&tally(&[(1, by_target)])));
    }
}
