//! Which rule of all routes on a listener serves a request. Rules that delegate give way to those of their children.

use std::cmp::Ordering;

use hashbrown::HashSet;

use super::client::Request;
use super::host::{self, HOST_RANK};
use super::matching::{self, GRPC_RANK, HTTP_RANK, MatchDetails, MatchFailure};
use super::not_chosen::NotChosenList;
use crate::engine_view::EngineView;
use crate::object::Object;
use crate::topology::api::RouteKind;
use crate::topology::delegation::inherits_matches;
use crate::topology::{Level, NodeId, matches};
use crate::value::Value;

/// A route that a request may be for.
#[derive(Clone, Copy, Debug)]
pub struct Route<'o> {
    pub node: NodeId,
    /// The hostname of it that the request comes by; empty for any.
    pub hostname: &'o str,
}

/// A rule of which a match holds for a request.
#[derive(Clone, Debug)]
pub struct MatchedRule<'o> {
    pub rule: NodeId,
    pub wanted: &'o Value,
    pub fit: MatchDetails<'o>,
    /// The path prefix below which the match is meant.
    pub base: Option<String>,
    /// The rule that delegates to this one's route, among all [`Search::steps`].
    above: Option<usize>,
}

/// A rule that can serve the request.
#[derive(Debug)]
struct Candidate<'o> {
    step: MatchedRule<'o>,
    route: &'o Object,
    position: usize,
    hostname: &'o str,
}

struct Search<'w, 'r> {
    view: EngineView<'w>,
    request: &'r Request,
    kind: RouteKind,
    /// The rules that delegate.
    steps: Vec<MatchedRule<'w>>,
    candidates: Vec<Candidate<'w>>,
}

/// The rule that serves a request, after those that delegate to its route.
pub fn choose<'w>(
    view: EngineView<'w>,
    request: &Request,
    kind: RouteKind,
    routes: impl Iterator<Item = Route<'w>>,
    not_chosen: &mut NotChosenList,
) -> Option<Vec<MatchedRule<'w>>> {
    let mut search = Search { view, request, kind, steps: Vec::new(), candidates: Vec::new() };
    search.look(routes, not_chosen);
    let winner = search.candidates.iter().enumerate().max_by(|(_, a), (_, b)| search.compare(a, b).0)?.0;
    let winner = search.candidates.swap_remove(winner);
    for loser in &search.candidates {
        let name = view.topology.name(view.objects, winner.step.rule);
        not_chosen.add(loser.step.rule, || format!("matches too, but {name} {}", search.compare(&winner, loser).1));
    }
    let mut way = vec![winner.step];
    while let Some(above) = way.last().and_then(|step| step.above).and_then(|above| search.steps.get(above)) {
        way.push(above.clone());
    }
    way.reverse();
    Some(way)
}

/// The route that a rule is of, and what it says of the rule.
pub fn rule(view: EngineView<'_>, rule: NodeId) -> Option<(&Object, &Value)> {
    let EngineView { objects, topology, .. } = view;
    Some((&objects[topology.node(rule).owner.object()?], topology.section_value(objects, rule)?))
}

impl<'w> Search<'w, '_> {
    /// Collects the rules that can serve the request. Nothing is looked at twice, so that routes which delegate to one
    /// another in many ways cost no more than their rules.
    fn look(&mut self, routes: impl Iterator<Item = Route<'w>>, not_chosen: &mut NotChosenList) {
        let mut seen: HashSet<(NodeId, NodeId, *const Value)> = HashSet::new();
        let mut open: Vec<(Route, Option<usize>)> = routes.map(|route| (route, None)).collect();
        while let Some((route, above)) = open.pop() {
            for (position, rule) in self.view.topology.sections(route.node).enumerate() {
                let Some((object, value)) = self::rule(self.view, rule) else { continue };
                if !matches!(self.kind, RouteKind::Http | RouteKind::Grpc) && position > 0 {
                    not_chosen.add(rule, || "is not the first: only that one is used".to_owned());
                    continue;
                }
                let below = self.view.topology.children(rule).iter().copied();
                let below: Vec<NodeId> =
                    below.filter(|it| self.view.topology.node(*it).level == Level::Route).collect();
                let mut best: Option<MatchedRule> = None;
                let mut mismatches: Vec<String> = Vec::new();
                for wanted in matches::each(value) {
                    let step = match self.fit(object, rule, wanted, above) {
                        Ok(step) => step,
                        Err(mismatch) => {
                            if not_chosen.wanted {
                                mismatches.push(mismatch.to_string());
                            }
                            continue;
                        }
                    };
                    let new = below.iter().filter(|child| seen.insert((**child, rule, wanted)));
                    let at = self.steps.len();
                    open.extend(new.map(|child| (Route { node: *child, hostname: route.hostname }, Some(at))));
                    if !below.is_empty() {
                        self.steps.push(step.clone());
                    }
                    if best.as_ref().is_none_or(|best| best.fit.rank < step.fit.rank) {
                        best = Some(step);
                    }
                }
                match best {
                    None => not_chosen.add(rule, || mismatches.join("; ")),
                    Some(step) if below.is_empty() => {
                        self.candidates.push(Candidate { step, route: object, position, hostname: route.hostname });
                    }
                    Some(_) => {}
                }
            }
        }
    }

    fn fit(
        &self,
        route: &Object,
        rule: NodeId,
        wanted: &'w Value,
        above: Option<usize>,
    ) -> Result<MatchedRule<'w>, MatchFailure<'w>> {
        let parent = above.and_then(|above| self.steps.get(above));
        let mut base = None;
        match parent {
            Some(parent) if inherits_matches(route) => base = parent.fit.prefix.as_deref().map(str::to_owned),
            Some(parent) if !matches::lies_within(wanted, parent.wanted) => return Err(MatchFailure::Outside),
            _ => {}
        }
        let fit = match self.kind {
            RouteKind::Http => matching::http(self.request, wanted, base.as_deref())?,
            RouteKind::Grpc => matching::grpc(self.request, wanted)?,
            RouteKind::Tls | RouteKind::Tcp | RouteKind::Udp => MatchDetails { rank: [0; 5], prefix: None },
        };
        Ok(MatchedRule { rule, wanted, fit, base, above })
    }

    /// Which of two rules goes first, and why.
    fn compare(&self, a: &Candidate, b: &Candidate) -> (Ordering, &'static str) {
        let words = if self.kind == RouteKind::Grpc { GRPC_RANK } else { HTTP_RANK };
        let ranks = |it: &Candidate| host::rank(it.hostname).into_iter().chain(it.step.fit.rank);
        for ((a, b), words) in ranks(a).zip(ranks(b)).zip(HOST_RANK.into_iter().chain(words)) {
            if a != b {
                return (a.cmp(&b), words);
            }
        }
        // The older, and the first, is the greater.
        let words = if a.route.id == b.route.id {
            "comes first in the route"
        } else if a.route.created != b.route.created {
            "is of an older route"
        } else {
            "comes first by name"
        };
        (b.route.by_age(a.route).then(b.position.cmp(&a.position)), words)
    }
}
