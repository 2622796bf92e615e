//! Serializes names and enums as the text that is displayed for them.

use serde::{Serialize, Serializer};

use crate::attachment::RejectionReason;
use crate::change::LeafPath;
use crate::fold::Loss;
use crate::object::{GroupKind, ObjectRef};
use crate::policy::BlockKind;
use crate::problem::Severity;
use crate::request::RequestOutcome;
use crate::status::Enforcement;
use crate::topology::NodeRef;
use crate::value::Path;

macro_rules! as_displayed {
    ($($type:ty),*) => {
        $(impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        })*
    };
}

macro_rules! as_named {
    ($($type:ty),*) => {
        $(impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        })*
    };
}

as_displayed!(GroupKind, LeafPath, NodeRef, ObjectRef, Path, Severity);
as_named!(BlockKind, Enforcement, Loss, RejectionReason, RequestOutcome);
