//! The two resources, and their objects.

use std::hash::{DefaultHasher, Hash, Hasher};

use attache_answers::Snapshot;
use attache_answers::in_force::{InForceDocument, ObjectAndKind, objects_and_kinds};
use attache_answers::reach::{ReachSummary, reach_summaries};
use attache_engine::{GroupKind, Object, ObjectRef, PolicyId, Value};
use serde::Serialize;

use super::names;
use super::selector::Selectors;

/// A resource of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The effective policies of an object, of one policy kind.
    EffectivePolicies,
    /// Where a policy is in force.
    PolicyReaches,
}

/// An entry of a list. Its document is computed on demand.
#[derive(Clone, Copy, Debug)]
pub enum ApiEntry<'s> {
    /// An EffectivePolicy, if something is in force.
    Effective(ObjectAndKind<'s>),
    /// A PolicyReach.
    Reach {
        /// Its state.
        snapshot: &'s Snapshot,
        /// The policy.
        policy: PolicyId,
    },
}

/// Identifies an entry in all states.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiEntryKey {
    object: ObjectRef,
    /// `Kind.group`, for an EffectivePolicy.
    policy_kind: String,
}

/// An object of the API.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiObject {
    api_version: &'static str,
    kind: &'static str,
    /// The metadata.
    pub metadata: Metadata,
    /// Identifies the object or policy that it describes.
    pub spec: Spec,
    /// The computed answer.
    pub status: Status,
}

/// The metadata of an object.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The name.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// The version of the state that the object is from.
    pub resource_version: String,
    /// The creation time of the object that it describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<String>,
    /// The labels of the object that it describes.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub labels: Value,
}

/// Identifies what an object of the API describes.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Spec {
    /// An object, and a policy kind.
    #[serde(rename_all = "camelCase")]
    Effective {
        /// The object.
        object: ObjectReference,
        /// The policy kind.
        policy_kind: GroupKind,
    },
    /// A policy.
    Reach {
        /// The policy.
        policy: ObjectReference,
    },
}

/// The computed answer.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Status {
    /// The effective policies of an object.
    Effective(InForceDocument),
    /// How far the policy reaches.
    Reach(Box<ReachSummary>),
}

/// An object that is referred to.
#[derive(Clone, Debug, Serialize)]
pub struct ObjectReference {
    group: String,
    kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    name: String,
}

impl Resource {
    /// Both.
    pub const ALL: [Resource; 2] = [Resource::EffectivePolicies, Resource::PolicyReaches];

    /// The resource with this plural.
    pub fn find(plural: &str) -> Option<Resource> {
        Resource::ALL.into_iter().find(|resource| resource.plural() == plural)
    }

    /// The name in paths.
    pub fn plural(self) -> &'static str {
        match self {
            Resource::EffectivePolicies => "effectivepolicies",
            Resource::PolicyReaches => "policyreaches",
        }
    }

    /// The name of one object.
    pub fn singular(self) -> &'static str {
        match self {
            Resource::EffectivePolicies => "effectivepolicy",
            Resource::PolicyReaches => "policyreach",
        }
    }

    /// The short name, for kubectl.
    pub fn short_name(self) -> &'static str {
        match self {
            Resource::EffectivePolicies => "effpol",
            Resource::PolicyReaches => "polreach",
        }
    }

    /// The kind of its objects.
    pub fn kind(self) -> &'static str {
        match self {
            Resource::EffectivePolicies => "EffectivePolicy",
            Resource::PolicyReaches => "PolicyReach",
        }
    }

    /// The kind of its lists.
    pub fn list_kind(self) -> &'static str {
        match self {
            Resource::EffectivePolicies => "EffectivePolicyList",
            Resource::PolicyReaches => "PolicyReachList",
        }
    }

    /// The fields that objects can be selected by.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Resource::EffectivePolicies => &[
                "metadata.name",
                "metadata.namespace",
                "spec.object.group",
                "spec.object.kind",
                "spec.object.name",
                "spec.policyKind",
            ],
            Resource::PolicyReaches => {
                &["metadata.name", "metadata.namespace", "spec.policy.group", "spec.policy.kind", "spec.policy.name"]
            }
        }
    }

    /// The entries of one namespace, or of all, in the order of lists.
    pub fn entries<'s>(
        self,
        snapshot: &'s Snapshot,
        namespace: Option<&'s str>,
    ) -> Box<dyn Iterator<Item = ApiEntry<'s>> + 's> {
        match self {
            Resource::EffectivePolicies => Box::new(objects_and_kinds(snapshot, namespace).map(ApiEntry::Effective)),
            Resource::PolicyReaches => {
                let engine = &snapshot.engine;
                let is_in = move |policy: &PolicyId| {
                    let own = &engine.policy_id(*policy).namespace;
                    namespace.map_or(!own.is_empty(), |namespace| own == namespace)
                };
                let policies = engine.policies().map(|(policy, _)| policy).filter(is_in);
                Box::new(policies.map(move |policy| ApiEntry::Reach { snapshot, policy }))
            }
        }
    }
}

impl<'s> ApiEntry<'s> {
    /// Identifies the entry.
    pub fn key(&self) -> ApiEntryKey {
        let policy_kind = match self {
            ApiEntry::Effective(it) => it.policy_kind().to_string(),
            ApiEntry::Reach { .. } => String::new(),
        };
        ApiEntryKey { object: self.object().id.clone(), policy_kind }
    }

    /// The object that it describes.
    pub fn object(&self) -> &'s Object {
        match self {
            ApiEntry::Effective(it) => it.object(),
            ApiEntry::Reach { snapshot, policy } => snapshot.engine.policy_object(*policy),
        }
    }

    /// Whether selectors select it.
    pub fn is_selected(&self, selectors: &Selectors) -> bool {
        let object = self.object();
        selectors.select_labels(|label| object.label(label)) && selectors.select_fields(|it, value| self.has(it, value))
    }

    fn has(&self, field: &str, value: &str) -> bool {
        let id = &self.object().id;
        match field {
            "metadata.name" => self.name() == value,
            "metadata.namespace" => self.namespace() == value,
            "spec.object.group" | "spec.policy.group" => id.group == value,
            "spec.object.kind" | "spec.policy.kind" => id.kind == value,
            "spec.object.name" | "spec.policy.name" => id.name == value,
            "spec.policyKind" => matches!(self, ApiEntry::Effective(it) if it.policy_kind().to_string() == value),
            _ => false,
        }
    }

    /// Its name in the API.
    pub fn name(&self) -> String {
        match self {
            ApiEntry::Effective(it) => {
                let GroupKind { group, kind } = it.policy_kind();
                names::effective_policy(&it.object().id, &group, &kind)
            }
            ApiEntry::Reach { .. } => names::policy_reach(&self.object().id),
        }
    }

    /// The namespace that it is in.
    pub fn namespace(&self) -> &'s str {
        match self {
            ApiEntry::Effective(it) => it.namespace(),
            ApiEntry::Reach { .. } => &self.object().id.namespace,
        }
    }

    /// The object, if something is in force.
    pub fn api_object(&self, version: u64) -> Option<ApiObject> {
        let status = match self {
            ApiEntry::Effective(it) => Status::Effective(it.document()?),
            ApiEntry::Reach { snapshot, policy } => {
                Status::Reach(Box::new(reach_summaries(snapshot, &[*policy]).pop()?))
            }
        };
        Some(self.with_status(status, version))
    }

    fn with_status(&self, status: Status, version: u64) -> ApiObject {
        let object = self.object();
        let reference = ObjectReference::new(&object.id);
        let (kind, spec) = match self {
            ApiEntry::Effective(it) => (
                Resource::EffectivePolicies.kind(),
                Spec::Effective { object: reference, policy_kind: it.policy_kind() },
            ),
            ApiEntry::Reach { .. } => (Resource::PolicyReaches.kind(), Spec::Reach { policy: reference }),
        };
        let metadata = Metadata {
            name: self.name(),
            namespace: self.namespace().to_owned(),
            resource_version: version.to_string(),
            creation_timestamp: object.created.map(|created| created.to_string()),
            labels: object.labels().clone(),
        };
        ApiObject { api_version: super::API_VERSION, kind, metadata, spec, status }
    }
}

/// The objects of entries. Those of a resource that is computed for many at once are computed together.
pub fn api_objects<'s>(entries: &[ApiEntry<'s>], version: u64) -> Vec<ApiObject> {
    let policies = entries.iter().filter_map(|entry| match entry {
        ApiEntry::Reach { snapshot, policy } => Some((*snapshot, *policy)),
        ApiEntry::Effective(_) => None,
    });
    let (snapshots, policies): (Vec<&Snapshot>, Vec<PolicyId>) = policies.unzip();
    match snapshots.first() {
        None => entries.iter().filter_map(|entry| entry.api_object(version)).collect(),
        Some(snapshot) => {
            let summaries = reach_summaries(snapshot, &policies).into_iter();
            let with_entry = entries.iter().zip(summaries);
            with_entry.map(|(entry, summary)| entry.with_status(Status::Reach(Box::new(summary)), version)).collect()
        }
    }
}

/// The fingerprint of each entry: objects with different content have different ones, see [`ObjectAndKind::fingerprint`].
/// `None` if there is no object.
pub fn fingerprints(entries: &[ApiEntry<'_>]) -> Vec<Option<u64>> {
    let number = |entry: &ApiEntry<'_>| match entry {
        ApiEntry::Effective(it) => it.fingerprint(),
        ApiEntry::Reach { .. } => None,
    };
    if entries.iter().all(|entry| matches!(entry, ApiEntry::Effective(_))) {
        return entries.iter().map(number).collect();
    }
    let hash = |object: &ApiObject| {
        let mut hasher = DefaultHasher::new();
        serde_json::to_string(object).unwrap_or_default().hash(&mut hasher);
        hasher.finish()
    };
    api_objects(entries, 0).iter().map(|object| Some(hash(object))).collect()
}

impl ObjectReference {
    fn new(id: &ObjectRef) -> ObjectReference {
        let [group, kind, namespace, name] =
            [&id.group, &id.kind, &id.namespace, &id.name].map(|part| part.to_string());
        ObjectReference { group, kind, namespace, name }
    }
}
