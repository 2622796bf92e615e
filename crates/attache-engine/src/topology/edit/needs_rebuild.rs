//! Changes that are not applied incrementally.

use std::fmt;

/// Why a change is not applied incrementally. Everything is rebuilt, and the two states are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeedsRebuild {
    /// A route delegates to other routes, or did before the change.
    Delegation,
    /// An object of another kind becomes a backend because a route refers to it, or stops being one.
    BackendByReference,
    /// An object exists only because a policy targets it, or did before the change.
    VirtualTarget,
    /// A PolicyKind, GatewayController or CustomResourceDefinition may change the policy kinds, and the Gateways that
    /// they apply to.
    PolicyKinds,
    /// A setting of a controller changes a policy kind.
    ControllerSettings,
    /// Policies of two kinds with the same name exist, or did before the change.
    AmbiguousKinds,
    /// Other objects determine the attachment of policies of this kind.
    Bindings,
    /// Labels determine which Gateway serves a Service.
    Waypoints,
    /// The node of the namespace whose policies apply to the whole cluster is replaced.
    RootNamespace,
    /// A TargetKind, or a function of the program, links objects of this kind to their parents or children.
    OwnLinks,
    /// An object or annotation that creates the Secrets of listeners changes.
    MadeSecrets,
    /// Policies merge into fields of objects.
    MergedFields,
    /// Whether a policy is attached depends on the hostnames and paths of all routes.
    SharedPaths,
    /// Whether a policy is accepted depends on the targets that routes and controllers serve.
    UsedTargets,
    /// A Gateway gets another controller.
    Controllers,
    /// The first GRPCRoute is added beside HTTPRoutes, or the first HTTPRoute beside GRPCRoutes: they now compete for
    /// hostnames.
    FirstCompetingRoute,
}

impl fmt::Display for NeedsRebuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NeedsRebuild::Delegation => "a route delegates to other routes",
            NeedsRebuild::BackendByReference => "an object is a backend only because a route refers to it",
            NeedsRebuild::VirtualTarget => "an object exists only because a policy targets it",
            NeedsRebuild::PolicyKinds => "policy kinds may have changed",
            NeedsRebuild::ControllerSettings => "a setting of a controller changed",
            NeedsRebuild::AmbiguousKinds => "two policy kinds have the same name",
            NeedsRebuild::Bindings => "other objects determine where the policy is attached",
            NeedsRebuild::Waypoints => "labels determine which Gateway serves a Service",
            NeedsRebuild::RootNamespace => "the root namespace of a policy kind was added or removed",
            NeedsRebuild::OwnLinks => "an object of an own kind is linked to others",
            NeedsRebuild::MadeSecrets => "an object that makes Secrets of listeners has changed",
            NeedsRebuild::MergedFields => "policies merge into fields of objects",
            NeedsRebuild::SharedPaths => "policies of a kind need routes with paths of their own",
            NeedsRebuild::UsedTargets => "policies of a kind conflict only on targets that their controller serves",
            NeedsRebuild::Controllers => "a Gateway belongs to another controller than before",
            NeedsRebuild::FirstCompetingRoute => "HTTPRoutes and GRPCRoutes now compete for hostnames",
        })
    }
}
