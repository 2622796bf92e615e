//! Which scopes a question is about, and which of them have the same answer.

use std::collections::{HashMap, HashSet};

use attache_engine::chain::{ChainId, Link};
use attache_engine::model::{Model, Scope};
use attache_engine::problem::Problem;
use attache_engine::topology::{Level, NodeId};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::effective::says_something;
use crate::object_query::Target;
use crate::snapshot::Snapshot;

/// The part of the topology that a question is about.
#[derive(Debug)]
pub enum Focus {
    /// Every effective target, in one namespace or in all.
    Everything { namespace: Option<String> },
    /// What these nodes give to whatever stands below them.
    At(Vec<NodeId>),
    /// The effective targets at these nodes or below them, for requests that pass through them.
    Through(Vec<NodeId>),
}

/// Scopes with the same chain, and so with the same answer.
#[derive(Clone, Debug)]
pub struct Group {
    pub chain: ChainId,
    pub scopes: u64,
    /// Where the scopes end, each once.
    pub ends: Vec<NodeId>,
}

/// Groups, in the order in which their chains are met.
#[derive(Debug, Default)]
pub struct Groups {
    groups: Vec<Group>,
    by_chain: HashMap<ChainId, usize>,
}

impl Groups {
    /// Adds scopes that end at a node.
    pub fn add(&mut self, chain: ChainId, scopes: u64, end: NodeId) {
        let at = *self.by_chain.entry(chain).or_insert(self.groups.len());
        if at == self.groups.len() {
            self.groups.push(Group { chain, scopes: 0, ends: Vec::new() });
        }
        let group = &mut self.groups[at];
        group.scopes = group.scopes.saturating_add(scopes);
        if group.ends.last() != Some(&end) {
            group.ends.push(end);
        }
    }

    /// Those with something in force.
    pub fn in_force(self, input: &Snapshot, model: &Model) -> Vec<Group> {
        let is_in_force = |group: &Group| {
            group.chain != ChainId::EMPTY && says_something(model.effective(input.engine.view(), group.chain))
        };
        self.groups.into_par_iter().filter(is_in_force).collect()
    }
}

impl Focus {
    /// What `words` name, or everything.
    pub fn parse(input: &Snapshot, words: &[String], namespace: Option<&str>) -> Result<Focus, Box<Problem>> {
        if words.is_empty() {
            return Ok(Focus::Everything { namespace: namespace.map(str::to_owned) });
        }
        Ok(Focus::on(input, &input.target(words, namespace)?.0))
    }

    /// A route, rule or backend is asked for what is in force on its requests; whatever stands above routes, for what it
    /// gives to those below that have nothing of their own; a Namespace, for what is in force in it.
    pub fn on(input: &Snapshot, target: &Target) -> Focus {
        let nodes = input.nodes(target);
        if nodes.iter().any(|node| input.engine.topology()[*node].level == Level::Namespace) {
            return Focus::Everything { namespace: Some(target.id.name.to_string()) };
        }
        let serves = |node: &NodeId| input.engine.topology()[*node].level >= Level::Route;
        if nodes.iter().any(serves) { Focus::Through(nodes) } else { Focus::At(nodes) }
    }

    /// The scopes of one kind that are meant, one by one.
    pub fn scopes(&self, input: &Snapshot, model: &Model, found: &mut impl FnMut(Scope)) {
        let view = input.engine.view();
        match self {
            Focus::Everything { namespace } => {
                let targets = model.effective_targets(view).filter(|node| input.is_in(*node, namespace.as_deref()));
                targets.for_each(|node| model.scopes(view, node, found));
            }
            Focus::At(nodes) => nodes.iter().for_each(|node| model.scopes(view, *node, found)),
            Focus::Through(nodes) => {
                let topology = input.engine.topology();
                let (above, below) = (topology.above(nodes.iter().copied()), topology.below(nodes.iter().copied()));
                // A label may say which Gateway stands before a Service.
                let is_gateway = |node: NodeId| topology[node].level <= Level::Gateway;
                let way = |node: NodeId| below.contains(&node) || above.contains(&node) || is_gateway(node);
                for target in self.targets(input, model, nodes) {
                    model.scopes_within(view, target, &way, &mut |scope| {
                        if scope.nodes.iter().any(|node| nodes.contains(node)) {
                            found(scope);
                        }
                    });
                }
            }
        }
    }

    /// The same scopes, by chain. Those with nothing in force are left out.
    pub fn groups(&self, input: &Snapshot, model: &Model) -> Vec<Group> {
        let mut groups = Groups::default();
        if let Focus::Everything { namespace } = self {
            // Counted, not listed: a hundred thousand scopes may have three answers.
            let view = input.engine.view();
            for node in model.effective_targets(view).filter(|node| input.is_in(*node, namespace.as_deref())) {
                model.chains_at(view, node).iter().for_each(|(chain, scopes)| groups.add(*chain, *scopes, node));
            }
        } else {
            self.scopes(input, model, &mut |scope| {
                if let Some(end) = scope.nodes.last() {
                    groups.add(scope.chain, 1, *end);
                }
            });
        }
        groups.in_force(input, model)
    }

    /// The effective targets at `nodes` or below. Where there are none, the nodes themselves.
    fn targets(&self, input: &Snapshot, model: &Model, nodes: &[NodeId]) -> Vec<NodeId> {
        let (view, topology) = (input.engine.view(), input.engine.topology());
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut todo = nodes.to_vec();
        while let Some(node) = todo.pop() {
            if !seen.insert(node) {
                continue;
            }
            if model.is_effective_target(view, node) {
                found.push(node);
            }
            todo.extend(topology.children(node));
        }
        if found.is_empty() {
            nodes.to_vec()
        } else {
            found.sort_unstable();
            found
        }
    }
}

/// The Namespace whose requests are meant, if not all are.
pub fn from(model: &Model, chain: ChainId) -> Option<NodeId> {
    model.links(chain).find_map(Link::from)
}

/// A scope on one line, with whose requests are meant if not all are.
pub fn scope_name(input: &Snapshot, scope: &Scope) -> String {
    let from = scope.from.map(|namespace| format!(" (from {})", input.name(namespace)));
    format!("{}{}", short_path(input, &scope.nodes), from.unwrap_or_default())
}

/// A path on one line: an object whose section follows, and Namespaces, go without saying.
pub fn short_path(input: &Snapshot, nodes: &[NodeId]) -> String {
    let topology = input.engine.topology();
    let goes_without_saying = |at: usize, node: NodeId| {
        let next = nodes.get(at + 1).map(|next| &topology[*next]);
        let section_follows = next.is_some_and(|next| next.section.is_some() && next.owner == topology[node].owner);
        section_follows || topology[node].level == Level::Namespace && nodes.len() > 1
    };
    let said = nodes.iter().enumerate().filter(|(at, node)| !goes_without_saying(*at, **node));
    said.map(|(_, node)| input.name(*node)).collect::<Vec<_>>().join(" > ")
}
