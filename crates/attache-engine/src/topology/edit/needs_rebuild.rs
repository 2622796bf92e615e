//! The changes that are not applied incrementally.

use std::fmt;

/// Why a change is not applied incrementally. Everything is built again, and the two states are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeedsRebuild {
    /// A route delegates to other routes, or did before the change.
    Delegation,
    /// An object becomes a backend because a route refers to it, or stops being one. Its kind does not make it a backend.
    BackendByReference,
    /// An object exists only because a policy targets it, or did before the change.
    VirtualTarget,
    /// A PolicyKind or a CustomResourceDefinition may change which kinds are policies.
    PolicyKinds,
    /// Other objects say where policies of this kind are attached.
    Bindings,
    /// Labels say which Gateway is in front of a Service.
    Waypoints,
    /// The namespace whose policies hold for the whole cluster has a new node.
    RootNamespace,
    /// A TargetKind, or a function of the program, links objects of this kind to their parents or children.
    OwnLinks,
    /// The first GRPCRoute appears beside HTTPRoutes, or the other way round: from now on they compete for hostnames.
    FirstCompetingRoute,
}

impl fmt::Display for NeedsRebuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NeedsRebuild::Delegation => "a route delegates to other routes",
            NeedsRebuild::BackendByReference => "an object is a backend only because a route refers to it",
            NeedsRebuild::VirtualTarget => "an object exists only because a policy targets it",
            NeedsRebuild::PolicyKinds => "policy kinds may have changed",
            NeedsRebuild::Bindings => "other objects say where the policy is attached",
            NeedsRebuild::Waypoints => "labels say which Gateway is in front of a Service",
            NeedsRebuild::RootNamespace => "the root namespace of a policy kind was added or removed",
            NeedsRebuild::OwnLinks => "an object of an own kind is linked to others",
            NeedsRebuild::FirstCompetingRoute => "HTTPRoutes and GRPCRoutes now compete for hostnames",
        })
    }
}
