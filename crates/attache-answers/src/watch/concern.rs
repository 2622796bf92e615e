//! Which changes somebody wants to know about.

use attache_engine::change::{Change, LeafChange, ScopeName, StatusChange, TargetChange};
use attache_engine::incremental::Report;

use crate::object_query::Target;

#[derive(Debug)]
pub enum Concern {
    /// What ends in a namespace, or everything.
    Everything { namespace: Option<String> },
    /// What passes through a node, is set by a policy, or is its status.
    One(String),
}

/// What is different, as far as it is of concern.
#[derive(Debug)]
pub struct Changed {
    pub effective: Vec<Change>,
    pub policies: Vec<StatusChange>,
    pub targets: Vec<TargetChange>,
}

impl Concern {
    pub fn about(target: &Target) -> Concern {
        Concern::One(target.to_string())
    }

    pub fn of(&self, report: &Report) -> Changed {
        let (mut effective, mut policies, mut targets) = (report.effective(), report.policies(), report.targets());
        for change in &mut effective {
            if !self.is_set(&change.leaves) {
                change.scopes.retain(|scope| self.is_through(scope));
            }
        }
        effective.retain(|change| !change.scopes.is_empty());
        policies.retain(|change| self.is(&change.policy));
        targets.retain(|change| self.is(&change.target));
        Changed { effective, policies, targets }
    }

    /// Whether one of these was set by it, or is.
    fn is_set(&self, leaves: &[LeafChange]) -> bool {
        let Concern::One(name) = self else { return false };
        let sides = leaves.iter().flat_map(|leaf| leaf.before.iter().chain(&leaf.after));
        sides.filter_map(|leaf| leaf.policy.as_ref()).any(|policy| policy == name)
    }

    fn is_through(&self, scope: &ScopeName) -> bool {
        match self {
            Concern::Everything { .. } => scope.nodes.last().is_some_and(|end| self.is(end)),
            Concern::One(name) => scope.nodes.iter().chain(&scope.from).any(|node| node == name),
        }
    }

    /// Whether a policy or a node is meant. Who asks for an object asks for its sections too.
    fn is(&self, name: &str) -> bool {
        match self {
            Concern::Everything { namespace: None } => true,
            Concern::Everything { namespace: Some(wanted) } => namespace(name) == Some(wanted),
            Concern::One(wanted) => {
                name.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
            }
        }
    }
}

/// `baker` of `HTTPRoute/baker/cakes#rule-1`.
fn namespace(name: &str) -> Option<&str> {
    let mut parts = name.split('/').skip(1);
    let (namespace, name) = (parts.next(), parts.next());
    namespace.filter(|_| name.is_some())
}
