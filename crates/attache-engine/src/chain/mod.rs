//! Chains: the policies that apply together at a node, from the root down. They are interned: a hundred thousand routes
//! without policies of their own share one chain.

mod hierarchy;
mod levels;
mod merge_context;
mod sets;

use crate::persistent::{PersistentIndex, PersistentVec, hash};
use crate::topology::NodeId;

pub use hierarchy::{EdgeTraffic, Hierarchy, HierarchyEntry, HierarchyShape, ParentEdge, is_effective_target};
pub use levels::Levels;
pub use merge_context::MergeContext;
pub use sets::{ChainSets, SetId};

/// The number of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainId(pub u32);

impl ChainId {
    /// The chain without policies.
    pub const EMPTY: ChainId = ChainId(0);
}

/// What a chain adds to the one above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// The policies on this node.
    Node(NodeId),
    /// From here on, the chain is for requests from this Namespace. Requests from other Namespaces have other chains.
    From(NodeId),
    /// From here on, policies merge in this context.
    Context(MergeContext),
    /// From here on, the chain is for requests from this Namespace, and no other chain continues from here.
    Only(NodeId),
    /// The chain is for requests through this Gateway or mesh Service, whose controller does not handle the policies.
    Unhandled(NodeId),
    /// The policies merge into fields of this target.
    Target(NodeId),
}

impl Link {
    /// The node whose policies the link adds.
    pub fn node(self) -> Option<NodeId> {
        match self {
            Link::Node(node) => Some(node),
            Link::From(_) | Link::Only(_) | Link::Context(_) | Link::Unhandled(_) | Link::Target(_) => None,
        }
    }

    /// The Namespace to whose requests the link limits the chain.
    pub fn consumer(self) -> Option<NodeId> {
        match self {
            Link::Node(_) | Link::Context(_) | Link::Unhandled(_) | Link::Target(_) => None,
            Link::From(namespace) | Link::Only(namespace) => Some(namespace),
        }
    }
}

/// All chains of one kind, each stored as its last link and the chain above it.
#[derive(Clone, Debug)]
pub struct Chains {
    /// The parent chain and the added link; `None` for a free id. The empty chain is its own parent, and its link is unused.
    links: PersistentVec<Option<(ChainId, Link)>>,
    by_link: PersistentIndex,
}

impl Default for Chains {
    fn default() -> Self {
        let nothing = Some((ChainId::EMPTY, Link::Context(MergeContext::default())));
        Chains { links: [nothing].into_iter().collect(), by_link: PersistentIndex::default() }
    }
}

impl Chains {
    /// No chains, not even the empty one.
    pub fn none() -> Chains {
        Chains { links: PersistentVec::default(), by_link: PersistentIndex::default() }
    }

    /// The chain that extends `chain` by a link. A new chain gets the id that `free` returns.
    pub fn push(&mut self, chain: ChainId, link: Link, free: impl FnOnce(&Self) -> ChainId) -> ChainId {
        if let Some(known) = self.find(chain, link) {
            return known;
        }
        let id = free(self);
        *self.links.entry(id.0 as usize) = Some((chain, link));
        let links = &self.links;
        self.by_link.insert(hash(&Some((chain, link))), id.0, |at| hash_at(links, at));
        id
    }

    /// The lowest id that was never used.
    pub fn next(&self) -> ChainId {
        ChainId(self.links.len() as u32)
    }

    /// Removes a chain. Returns its parent and the link that it added.
    pub fn remove(&mut self, chain: ChainId) -> Option<(ChainId, Link)> {
        let (above, link) = self.links.get(chain.0 as usize).copied().flatten()?;
        let links = &self.links;
        self.by_link.remove(hash(&Some((above, link))), chain.0, |at| hash_at(links, at));
        *self.links.entry(chain.0 as usize) = None;
        Some((above, link))
    }

    /// The chain that extends `chain` by a link, if it exists.
    pub fn find(&self, chain: ChainId, link: Link) -> Option<ChainId> {
        let is_it = |at: u32| self.links[at as usize] == Some((chain, link));
        self.by_link.find(hash(&Some((chain, link))), is_it).map(ChainId)
    }

    pub fn knows(&self, chain: ChainId) -> bool {
        self.links.get(chain.0 as usize).is_some_and(Option::is_some)
    }

    /// Every chain but the empty one, with its parent and the link that it adds.
    pub fn iter(&self) -> impl Iterator<Item = (ChainId, ChainId, Link)> + '_ {
        let links = self.links.iter().enumerate().skip(1);
        links.filter_map(|(at, link)| link.map(|(above, link)| (ChainId(at as u32), above, link)))
    }

    /// The links of a chain, lowest first.
    pub fn links(&self, chain: ChainId) -> impl Iterator<Item = Link> + '_ {
        let mut at = chain;
        std::iter::from_fn(move || {
            if at == ChainId::EMPTY {
                return None;
            }
            let (parent, link) = self.links[at.0 as usize]?;
            at = parent;
            Some(link)
        })
    }

    /// Whether the policies on a node are part of a chain.
    pub fn contains(&self, chain: ChainId, node: NodeId) -> bool {
        self.links(chain).any(|link| link.node() == Some(node))
    }

    /// The Namespace to whose requests a chain is limited.
    pub fn consumer(&self, chain: ChainId) -> Option<NodeId> {
        self.links(chain).find_map(Link::consumer)
    }

    /// The Gateway or mesh Service whose controller does not handle the policies of a chain.
    pub fn unhandled(&self, chain: ChainId) -> Option<NodeId> {
        self.links(chain).find_map(|link| match link {
            Link::Unhandled(root) => Some(root),
            _ => None,
        })
    }

    /// The target into whose fields the policies of a chain merge.
    pub fn target(&self, chain: ChainId) -> Option<NodeId> {
        self.links(chain).find_map(|link| match link {
            Link::Target(target) => Some(target),
            _ => None,
        })
    }

    /// The context in which the policies of a chain merge.
    pub fn context(&self, chain: ChainId) -> MergeContext {
        self.links(chain).fold(MergeContext::default(), |context, link| match link {
            Link::Context(above) => context.and(above),
            Link::Node(_) | Link::From(_) | Link::Only(_) | Link::Unhandled(_) | Link::Target(_) => context,
        })
    }

    /// One more than the highest id in use.
    pub fn bound(&self) -> usize {
        self.links.len()
    }
}

fn hash_at(links: &PersistentVec<Option<(ChainId, Link)>>, at: u32) -> u64 {
    hash(&links[at as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ObjectId;

    fn node(number: u32) -> NodeId {
        NodeId::whole(ObjectId(number))
    }

    fn push(chains: &mut Chains, chain: ChainId, link: Link) -> ChainId {
        chains.push(chain, link, Chains::next)
    }

    #[test]
    fn equal_chains_are_one_chain() {
        let mut chains = Chains::default();
        let one = push(&mut chains, ChainId::EMPTY, Link::Node(node(1)));
        assert_eq!(push(&mut chains, ChainId::EMPTY, Link::Node(node(1))), one);
        let two = push(&mut chains, one, Link::Node(node(2)));
        assert_ne!(two, push(&mut chains, ChainId::EMPTY, Link::Node(node(2))));
        assert_eq!(chains.find(one, Link::Node(node(2))), Some(two));
    }

    #[test]
    fn links_are_listed_lowest_first() {
        let mut chains = Chains::default();
        let gateway = push(&mut chains, ChainId::EMPTY, Link::Node(node(1)));
        let route = push(&mut chains, gateway, Link::Node(node(2)));
        assert_eq!(chains.links(route).collect::<Vec<_>>(), [Link::Node(node(2)), Link::Node(node(1))]);
        assert!(chains.contains(route, node(1)) && !chains.contains(gateway, node(2)));
        assert_eq!(chains.links(ChainId::EMPTY).count(), 0);
    }

    #[test]
    fn a_chain_is_limited_to_the_requests_of_a_namespace() {
        let mut chains = Chains::default();
        let service = push(&mut chains, ChainId::EMPTY, Link::Node(node(1)));
        let consumer = push(&mut chains, service, Link::From(node(9)));
        let below = push(&mut chains, consumer, Link::Node(node(2)));
        assert_eq!((chains.consumer(service), chains.consumer(below)), (None, Some(node(9))));
    }

    #[test]
    fn a_chain_that_was_removed_is_unknown() {
        let mut chains = Chains::default();
        let one = push(&mut chains, ChainId::EMPTY, Link::Node(node(1)));
        assert_eq!(chains.remove(one), Some((ChainId::EMPTY, Link::Node(node(1)))));
        assert_eq!((chains.find(ChainId::EMPTY, Link::Node(node(1))), chains.iter().count()), (None, 0));
        assert_eq!(chains.remove(one), None);
    }

    #[test]
    fn a_set_of_chains_adds_up_their_scopes() {
        let mut sets = ChainSets::default();
        let set = sets.intern(&mut vec![(ChainId(2), 1), (ChainId(1), 3), (ChainId(2), 4)], ChainSets::next);
        assert_eq!(sets.get(set), [(ChainId(1), 3), (ChainId(2), 5)]);
        assert_eq!(sets.intern(&mut vec![(ChainId(2), 5), (ChainId(1), 3)], ChainSets::next), set);
        assert_eq!(sets.get(SetId::ROOT), [(ChainId::EMPTY, 1)]);
    }
}
