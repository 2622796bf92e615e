//! Everything about one object, or one policy.

mod object;
mod policy;
mod problems;

use attache_engine::{NodeRef, Object, Path};
use serde::Serialize;

use crate::document::API_VERSION;
use crate::error::QueryError;
use crate::object_query::ObjectQuery;
use crate::provenance::{LastChangeDocument, ManagedBy, last_change, managed_by};
use crate::snapshot::Snapshot;

pub use object::{DescribedEffective, ObjectDescription, PolicyEffect};
pub use policy::{AttachedTarget, BlockDocument, PolicyDescription, TargetDocument, TargetRefusal};

/// The object to describe.
#[derive(Clone, Debug)]
pub struct DescribeQuery {
    /// The object, or the policy.
    pub object: ObjectQuery,
    /// Its namespace.
    pub namespace: Option<String>,
}

/// The document `Description`.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Description {
    /// An object that is not a policy.
    Object(Box<ObjectDescription>),
    /// A policy.
    Policy(Box<PolicyDescription>),
}

/// The start of every description.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    api_version: &'static str,
    kind: &'static str,
    /// The object.
    pub object: NodeRef,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// Its last change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_changed: Option<LastChangeDocument>,
    /// What manages it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub managed_by: Vec<ManagedBy>,
    /// The file that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Whether it has no manifest, and exists because other objects refer to it.
    #[serde(skip)]
    pub is_virtual: bool,
}

/// Describes an object or a policy.
pub fn describe(snapshot: &Snapshot, query: &DescribeQuery) -> Result<Description, QueryError> {
    let object = snapshot.find(&query.object, query.namespace.as_deref())?;
    Ok(match snapshot.engine.find_policy(&object.object) {
        Some(policy) => Description::Policy(Box::new(PolicyDescription::new(snapshot, object, policy))),
        None => Description::Object(Box::new(ObjectDescription::new(snapshot, object))),
    })
}

impl About {
    fn new(snapshot: &Snapshot, name: NodeRef) -> About {
        let objects = snapshot.engine.objects();
        let object: Option<&Object> = objects.find(&name.object).map(|id| &objects[id]);
        let location = object.and_then(|object| object.locate(&Path::default()));
        About {
            api_version: API_VERSION,
            kind: "Description",
            object: name,
            created: object.and_then(|object| object.created).map(|created| created.to_string()),
            last_changed: object.and_then(last_change),
            managed_by: object.map(managed_by).unwrap_or_default(),
            file: object.map(|object| object.source.file.to_string()).filter(|file| !file.is_empty()),
            line: location.map(|location| location.line),
            is_virtual: object.is_none(),
        }
    }
}
