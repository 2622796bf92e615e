//! Chains: the policies that meet at a node, from the root down. Interned, so that a hundred thousand routes
//! without policies of their own share one.

mod hierarchy;
mod sets;
mod terms;
mod waypoints;

use hashbrown::HashMap;

use crate::topology::NodeId;

pub use hierarchy::{Arrival, Hierarchy, Shape, is_effective_target};
pub use sets::{ChainSets, SetId};
pub use terms::Terms;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainId(pub u32);

impl ChainId {
    /// No policies at all.
    pub const EMPTY: ChainId = ChainId(0);
}

/// What a chain has more than the one above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// The policies on this node.
    Node(NodeId),
    /// From here on, requests from this Namespace are meant, apart from all others.
    From(NodeId),
    /// From here on, policies meet on these terms.
    On(Terms),
    /// From here on, there are only requests from this Namespace.
    Only(NodeId),
}

impl Link {
    /// The node whose policies it adds.
    pub fn node(self) -> Option<NodeId> {
        match self {
            Link::Node(node) => Some(node),
            Link::From(_) | Link::Only(_) | Link::On(_) => None,
        }
    }

    /// The Namespace to whose requests it limits the chain.
    pub fn from(self) -> Option<NodeId> {
        match self {
            Link::Node(_) | Link::On(_) => None,
            Link::From(namespace) | Link::Only(namespace) => Some(namespace),
        }
    }
}

#[derive(Debug)]
pub struct Chains {
    links: Vec<(ChainId, Link)>,
    by_link: HashMap<(ChainId, Link), ChainId>,
}

impl Default for Chains {
    fn default() -> Self {
        // The empty chain is its own parent; its link is never looked at.
        Chains { links: vec![(ChainId::EMPTY, Link::Node(NodeId(u32::MAX)))], by_link: HashMap::new() }
    }
}

impl Chains {
    pub fn push(&mut self, chain: ChainId, link: Link) -> ChainId {
        *self.by_link.entry((chain, link)).or_insert_with(|| {
            self.links.push((chain, link));
            ChainId(self.links.len() as u32 - 1)
        })
    }

    pub fn find(&self, chain: ChainId, link: Link) -> Option<ChainId> {
        self.by_link.get(&(chain, link)).copied()
    }

    /// The links of a chain, lowest first.
    pub fn links(&self, chain: ChainId) -> impl Iterator<Item = Link> + '_ {
        let mut at = chain;
        std::iter::from_fn(move || {
            if at == ChainId::EMPTY {
                return None;
            }
            let (parent, link) = self.links[at.0 as usize];
            at = parent;
            Some(link)
        })
    }

    pub fn contains(&self, chain: ChainId, node: NodeId) -> bool {
        self.links(chain).any(|link| link == Link::Node(node))
    }

    /// The Namespace whose requests are meant, if not all are.
    pub fn from(&self, chain: ChainId) -> Option<NodeId> {
        self.links(chain).find_map(Link::from)
    }

    /// The terms on which the policies of a chain meet.
    pub fn terms(&self, chain: ChainId) -> Terms {
        self.links(chain).fold(Terms::default(), |terms, link| match link {
            Link::On(more) => terms.and(more),
            Link::Node(_) | Link::From(_) | Link::Only(_) => terms,
        })
    }

    /// How many chains there are, the empty one included.
    pub fn count(&self) -> usize {
        self.links.len()
    }
}
