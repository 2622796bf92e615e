//! The controllers that handle policies of a kind.

use std::fmt;

use smol_str::SmolStr;

use super::{ClassOwner, ControllerPattern};
use crate::document::{document, written_as_string};

document! {
    /// The controllers that handle policies of the kind.
    #[derive(Hash)]
    pub struct KindControllers {
        /// The controllers: names of GatewayController documents, or `controllerName`s such as `gateway.acme.io/*`. Policies
        /// are not in force on the Gateways of other controllers.
        #[field("controllers", unset = "every controller")]
        pub references: Vec<ControllerReference>,

        /// Whether policies hold for mesh routes: routes whose parent is a Service.
        #[field("mesh", default = true)]
        pub mesh: bool,

        /// Whether policies hold for routes of ListenerSets.
        #[field("listenerSets", default = true)]
        pub listener_sets: bool,
    }
}

impl KindControllers {
    /// Whether policies are in force on Gateways of a class. An unknown class is assumed to fit.
    pub(super) fn handle(&self, owner: ClassOwner<'_>) -> bool {
        self.references.is_empty()
            || match owner {
                ClassOwner::Known { controller, controller_name } => self.references.iter().any(|it| match it {
                    ControllerReference::Named(name) => *name == controller.name,
                    ControllerReference::Pattern(pattern) => pattern.matches(controller_name),
                }),
                ClassOwner::Other { controller_name } => self.references.iter().any(|it| match it {
                    ControllerReference::Named(_) => false,
                    ControllerReference::Pattern(pattern) => pattern.matches(controller_name),
                }),
                ClassOwner::Unknown { .. } => true,
            }
    }
}

/// A controller, as a PolicyKind refers to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ControllerReference {
    /// The name of a GatewayController document.
    Named(SmolStr),
    /// A `controllerName`, which has a `/`.
    Pattern(ControllerPattern),
}

written_as_string!(ControllerReference, ControllerReference::parse, "controller");

impl ControllerReference {
    /// Reads `acme-gateway` or `gateway.acme.io/*`.
    pub fn parse(text: &str) -> ControllerReference {
        match text.contains('/') {
            true => ControllerReference::Pattern(ControllerPattern::parse(text)),
            false => ControllerReference::Named(text.into()),
        }
    }
}

impl fmt::Display for ControllerReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControllerReference::Named(name) => f.write_str(name),
            ControllerReference::Pattern(pattern) => pattern.fmt(f),
        }
    }
}
