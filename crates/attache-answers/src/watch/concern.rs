//! Which changes somebody wants to know about.

use attache_engine::change::{EffectiveChange, LeafChange, ScopeRef, StatusChange, TargetChange};
use attache_engine::incremental::Report;
use attache_engine::object::ObjectRef;
use attache_engine::topology::NodeRef;

use crate::object_query::Target;

#[derive(Debug)]
pub enum Concern {
    /// What ends in a namespace, or everything.
    Everything { namespace: Option<String> },
    /// What passes through a node, is set by a policy, or is its status.
    One(NodeRef),
}

/// What is different, as far as it is of concern.
#[derive(Debug)]
pub struct Changed {
    pub effective: Vec<EffectiveChange>,
    pub policies: Vec<StatusChange>,
    pub targets: Vec<TargetChange>,
}

impl Concern {
    pub fn about(target: &Target) -> Concern {
        Concern::One(NodeRef { object: target.id.clone(), section: target.section.clone() })
    }

    pub fn of(&self, report: &Report) -> Changed {
        let (mut effective, mut policies, mut targets) = (report.effective(), report.policies(), report.targets());
        for change in &mut effective {
            if !self.is_set(&change.leaves) {
                change.scopes.retain(|scope| self.is_through(scope));
            }
        }
        effective.retain(|change| !change.scopes.is_empty());
        policies.retain(|change| self.includes_object(&change.policy));
        targets.retain(|change| self.includes(&change.target));
        Changed { effective, policies, targets }
    }

    /// Whether the policy sets one of these values, or did.
    fn is_set(&self, leaves: &[LeafChange]) -> bool {
        let Concern::One(NodeRef { object, section: None }) = self else { return false };
        let mut sides = leaves.iter().flat_map(|leaf| leaf.before.iter().chain(&leaf.after));
        sides.any(|leaf| leaf.policies.contains(object))
    }

    fn is_through(&self, scope: &ScopeRef) -> bool {
        match self {
            Concern::Everything { .. } => scope.target().is_some_and(|target| self.includes(target)),
            Concern::One(wanted) => scope.nodes.iter().chain(&scope.from).any(|node| **node == *wanted),
        }
    }

    /// Whether a node is asked for. Who asks for an object asks for its sections too.
    fn includes(&self, node: &NodeRef) -> bool {
        match self {
            Concern::One(NodeRef { object, section: Some(section) }) => {
                node.object == *object && node.section.as_ref() == Some(section)
            }
            _ => self.includes_object(&node.object),
        }
    }

    fn includes_object(&self, id: &ObjectRef) -> bool {
        match self {
            Concern::Everything { namespace: None } => true,
            Concern::Everything { namespace: Some(wanted) } => id.namespace == wanted.as_str(),
            Concern::One(wanted) => wanted.section.is_none() && wanted.object == *id,
        }
    }
}
