//! Which policy kinds can matter to a question about one object.

use attache_engine::Level;
use attache_engine::kinds::{LevelName, PolicyKind};

use crate::Discovery;
use crate::subject::Subject;

/// The object of a question, as far as it determines which kinds are read.
#[derive(Debug, Default)]
pub(crate) enum Relevance {
    /// Anything.
    #[default]
    Everything,
    /// A Gateway, a route, a Service or another object on the path of requests. Policies that apply to workloads only
    /// do not matter.
    Path,
    /// A policy of one of these kinds. Only related kinds matter.
    Policies(Vec<PolicyKind>),
}

impl Relevance {
    /// The object of a question, by its kind as the user writes it.
    pub(crate) fn new(subject: Option<&Subject>, kinds: &[PolicyKind], discovery: &Discovery) -> Relevance {
        let Some(subject) = subject else { return Relevance::Everything };
        let meant: Vec<_> = discovery.each().filter(|it| subject.is_of_kind(it)).collect();
        let policies: Vec<PolicyKind> = kinds.iter().filter(|kind| kind.is_called(&subject.kind)).cloned().collect();
        let is_policy =
            |group: &str, kind: &str| policies.iter().any(|policy| policy.group == group && policy.kind == kind);
        if !meant.is_empty() && meant.iter().all(|it| is_policy(&it.group, &it.kind)) {
            return Relevance::Policies(policies);
        }
        let is_on_path = |group: &str, kind: &str| {
            let level = LevelName::parse(kind).level();
            (group.is_empty() || group.starts_with("gateway.networking."))
                && !matches!(level, Level::Namespace | Level::Workload | Level::Other)
        };
        match !meant.is_empty() && meant.iter().all(|it| is_on_path(&it.group, &it.kind)) {
            true => Relevance::Path,
            false => Relevance::Everything,
        }
    }

    /// Whether policies of a kind can matter.
    pub(crate) fn matters(&self, kind: &PolicyKind) -> bool {
        match self {
            Relevance::Everything => true,
            Relevance::Path => {
                let levels = kind.hierarchy.levels.iter().chain(kind.targets.allowed.iter());
                let mut levels = levels.chain(kind.hierarchy.effective_targets.iter());
                kind.targets.bindings.is_none()
                    && levels.any(|level| !matches!(level.level(), Level::Namespace | Level::Workload))
            }
            Relevance::Policies(kinds) => kinds.iter().any(|it| {
                let is_same = it.group == kind.group && it.kind == kind.kind;
                is_same || it.yields_to(kind) || kind.yields_to(it) || decides_with(it, kind) || decides_with(kind, it)
            }),
        }
    }

    /// Whether workloads can matter.
    pub(crate) fn has_workloads(&self) -> bool {
        !matches!(self, Relevance::Path)
    }
}

fn decides_with(kind: &PolicyKind, other: &PolicyKind) -> bool {
    kind.order.decides_with.as_ref().is_some_and(|name| name.is(&other.group, &other.kind))
}
