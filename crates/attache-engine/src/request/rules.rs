//! Selects the rule that serves a request among all rules of the routes on a listener. A rule that delegates is
//! replaced by the rules of the routes it delegates to.

use std::cmp::Ordering;

use hashbrown::HashSet;

use super::client_request::Request;
use super::hostname::hostname_rank;
use super::matching::{self, MatchDetails, MatchFailure};
use super::not_chosen::{NotChosenList, NotChosenReason};
use super::precedence::{GRPC_CRITERIA, HOSTNAME_CRITERIA, HTTP_CRITERIA, Precedence};
use crate::engine_view::EngineView;
use crate::object::Object;
use crate::topology::api::RouteKind;
use crate::topology::delegation::inherits_matches;
use crate::topology::{Level, NodeId, matches};
use crate::value::Value;

/// A route whose rules are considered.
#[derive(Clone, Copy, Debug)]
pub struct CandidateRoute<'o> {
    pub node: NodeId,
    /// The hostname that the host of the request matches; empty for any.
    pub hostname: &'o str,
}

/// A rule with a match that the request meets.
#[derive(Clone, Debug)]
pub struct MatchedRule<'o> {
    pub rule: NodeId,
    /// The match.
    pub route_match: &'o Value,
    pub details: MatchDetails<'o>,
    /// The path prefix that the match inherits from the rule that delegates to its route.
    pub base: Option<String>,
    /// The rule that delegates to the route of this rule: an index of [`RuleSearch::delegating`].
    delegated_by: Option<usize>,
}

/// A matched rule that does not delegate.
#[derive(Debug)]
struct CandidateRule<'o> {
    matched: MatchedRule<'o>,
    route: &'o Object,
    /// The position of the rule in its route.
    position: usize,
    hostname: &'o str,
}

struct RuleSearch<'w, 'r> {
    view: EngineView<'w>,
    request: &'r Request,
    kind: RouteKind,
    /// The matched rules that delegate.
    delegating: Vec<MatchedRule<'w>>,
    candidates: Vec<CandidateRule<'w>>,
}

/// The rule that serves a request, preceded by the rules that delegate to its route.
pub fn choose<'w>(
    view: EngineView<'w>,
    request: &Request,
    kind: RouteKind,
    routes: impl Iterator<Item = CandidateRoute<'w>>,
    not_chosen: &mut NotChosenList<'w>,
) -> Option<Vec<MatchedRule<'w>>> {
    let mut search = RuleSearch { view, request, kind, delegating: Vec::new(), candidates: Vec::new() };
    search.collect(routes, not_chosen);
    let winner = search.candidates.iter().enumerate().max_by(|(_, a), (_, b)| search.compare(a, b).0)?.0;
    let winner = search.candidates.swap_remove(winner);
    for loser in &search.candidates {
        not_chosen.add(loser.matched.rule, || NotChosenReason::LowerPrecedence(search.compare(&winner, loser).1));
    }
    let mut rules = vec![winner.matched];
    while let Some(parent) = rules.last().and_then(|rule| search.delegating.get(rule.delegated_by?)) {
        rules.push(parent.clone());
    }
    rules.reverse();
    Some(rules)
}

/// The route of a rule, and the rule's entry in `spec.rules`.
pub fn route_and_rule(view: EngineView<'_>, rule: NodeId) -> Option<(&Object, &Value)> {
    let EngineView { objects, topology, .. } = view;
    Some((&objects[topology[rule].owner.object()?], topology.section_value(objects, rule)?))
}

impl<'w> RuleSearch<'w, '_> {
    /// Collects the rules that match. Each delegation is followed once for each match, so the cost does not grow with
    /// the number of paths through routes that delegate to each other.
    fn collect(&mut self, routes: impl Iterator<Item = CandidateRoute<'w>>, not_chosen: &mut NotChosenList<'w>) {
        let mut seen: HashSet<(NodeId, NodeId, *const Value)> = HashSet::new();
        let mut open: Vec<(CandidateRoute, Option<usize>)> = routes.map(|route| (route, None)).collect();
        while let Some((route, delegated_by)) = open.pop() {
            for (position, rule) in self.view.topology.sections(route.node).enumerate() {
                let Some((object, value)) = route_and_rule(self.view, rule) else { continue };
                if !matches!(self.kind, RouteKind::Http | RouteKind::Grpc) && position > 0 {
                    not_chosen.add(rule, || NotChosenReason::NotFirstRule);
                    continue;
                }
                let children = self.view.topology.children(rule).iter().copied();
                let children: Vec<NodeId> =
                    children.filter(|child| self.view.topology[*child].level == Level::Route).collect();
                let mut best: Option<MatchedRule> = None;
                let mut failures: Vec<MatchFailure> = Vec::new();
                for route_match in matches::each(value) {
                    let matched = match self.test(object, rule, route_match, delegated_by) {
                        Ok(matched) => matched,
                        Err(failure) => {
                            failures.push(failure);
                            continue;
                        }
                    };
                    let unseen = children.iter().filter(|child| seen.insert((**child, rule, route_match)));
                    let at = self.delegating.len();
                    open.extend(unseen.map(|child| {
                        let child = CandidateRoute { node: *child, hostname: route.hostname };
                        (child, Some(at))
                    }));
                    if !children.is_empty() {
                        self.delegating.push(matched.clone());
                    }
                    if best.as_ref().is_none_or(|best| best.details.rank < matched.details.rank) {
                        best = Some(matched);
                    }
                }
                match best {
                    None => not_chosen.add(rule, || NotChosenReason::NoMatch(failures)),
                    Some(matched) if children.is_empty() => {
                        let hostname = route.hostname;
                        self.candidates.push(CandidateRule { matched, route: object, position, hostname });
                    }
                    Some(_) => {}
                }
            }
        }
    }

    fn test(
        &self,
        route: &Object,
        rule: NodeId,
        route_match: &'w Value,
        delegated_by: Option<usize>,
    ) -> Result<MatchedRule<'w>, MatchFailure<'w>> {
        let parent = delegated_by.and_then(|at| self.delegating.get(at));
        let mut base = None;
        match parent {
            Some(parent) if inherits_matches(route) => base = parent.details.prefix.as_deref().map(str::to_owned),
            Some(parent) if !matches::lies_within(route_match, parent.route_match) => {
                return Err(MatchFailure::OutsideDelegation);
            }
            _ => {}
        }
        let details = match self.kind {
            RouteKind::Http => matching::http(self.request, route_match, base.as_deref())?,
            RouteKind::Grpc => matching::grpc(self.request, route_match)?,
            RouteKind::Tls | RouteKind::Tcp | RouteKind::Udp => MatchDetails { rank: [0; 5], prefix: None },
        };
        Ok(MatchedRule { rule, route_match, details, base, delegated_by })
    }

    /// Compares two rules, and returns the criterion that decides. The greater one serves the request.
    fn compare(&self, a: &CandidateRule, b: &CandidateRule) -> (Ordering, Precedence) {
        let criteria = if self.kind == RouteKind::Grpc { GRPC_CRITERIA } else { HTTP_CRITERIA };
        let ranks = |rule: &CandidateRule| hostname_rank(rule.hostname).into_iter().chain(rule.matched.details.rank);
        for ((a, b), criterion) in ranks(a).zip(ranks(b)).zip(HOSTNAME_CRITERIA.into_iter().chain(criteria)) {
            if a != b {
                return (a.cmp(&b), criterion);
            }
        }
        let criterion = if a.route.id == b.route.id {
            Precedence::FirstInRoute
        } else if a.route.created != b.route.created {
            Precedence::OlderRoute
        } else {
            Precedence::FirstByName
        };
        (b.route.by_age(a.route).then(b.position.cmp(&a.position)), criterion)
    }
}
