//! Objects that answers depend on and that are not in the input: GatewayClasses, parents, policy kinds and
//! ReferenceGrants.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use smol_str::SmolStr;

use crate::engine::Engine;
use crate::kinds::{ClassOwner, ControllerReference, GROUP, KindId};
use crate::object::{GroupKind, Object, ObjectRef};
use crate::topology::api::{self, GATEWAY_API};
use crate::topology::{Level, NodeId, ParentRefusal, RefusalCause};
use crate::value::{Path, Value};

/// Something that is not in the input, and that could change answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// A GatewayClass. Its Gateways are assumed to belong to a controller that handles the policies.
    Class {
        /// The name of the class.
        class: SmolStr,
        /// The controllers that handle the policies of the input.
        controllers: Vec<SmolStr>,
        /// Whether the class is assumed to belong to one of them.
        is_assumed: bool,
        /// The Gateways of the class.
        gateways: Vec<ObjectRef>,
    },
    /// The parent of routes. The policies on it and above it are unknown.
    Parent {
        /// The parent.
        parent: ObjectRef,
        /// The routes and ListenerSets that refer to it.
        children: Vec<ObjectRef>,
    },
    /// A policy kind without a description.
    PolicyKind {
        /// The kind.
        kind: GroupKind,
        /// The objects of the kind that look like policies.
        policies: Vec<UnknownPolicy>,
    },
    /// The ReferenceGrants of a namespace that other namespaces refer to.
    Grants {
        /// The namespace.
        namespace: SmolStr,
        /// The objects that refer to objects of the namespace.
        from: Vec<ObjectRef>,
    },
}

/// An object that looks like a policy of an unknown kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnknownPolicy {
    /// The object.
    pub policy: ObjectRef,
    /// What it targets. The targets need not exist.
    pub targets: Vec<ObjectRef>,
}

impl Unknown {
    /// The objects whose answers depend on it.
    pub fn objects(&self) -> Vec<&ObjectRef> {
        match self {
            Unknown::Class { gateways: objects, .. }
            | Unknown::Parent { children: objects, .. }
            | Unknown::Grants { from: objects, .. } => objects.iter().collect(),
            Unknown::PolicyKind { policies, .. } => policies.iter().flat_map(|it| &it.targets).collect(),
        }
    }
}

/// What is unknown, and what is assumed instead or may differ.
impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unknown::Class { class, is_assumed: false, .. } => {
                write!(f, "GatewayClass {class} is not in the input: which controller handles its Gateways is unknown")
            }
            Unknown::Class { class, controllers, .. } => {
                let owner = match controllers.as_slice() {
                    [] => "a controller of its policies".to_owned(),
                    [one] => one.to_string(),
                    [others @ .., last] => format!("{} or {last}", others.join(", ")),
                };
                write!(f, "assuming that GatewayClass {class} belongs to {owner}: it is not in the input")
            }
            Unknown::Parent { parent, children } => {
                write!(f, "{parent} is not in the input: what policies above {} do is unknown", Some3(children))
            }
            Unknown::PolicyKind { kind, policies } => {
                let policies: Vec<ObjectRef> = policies.iter().map(|it| it.policy.clone()).collect();
                write!(f, "kind {kind} is unknown: the effect of {} is not part of the answer", Some3(&policies))
            }
            Unknown::Grants { namespace, from } => {
                let from = Some3(from);
                write!(
                    f,
                    "no ReferenceGrant of namespace {namespace} is in the input: whether {from} may refer to it is unknown"
                )
            }
        }
    }
}

/// The first three names.
struct Some3<'o>(&'o [ObjectRef]);

impl fmt::Display for Some3<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<String> = self.0.iter().take(3).map(ToString::to_string).collect();
        f.write_str(&shown.join(", "))?;
        match self.0.len().saturating_sub(3) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl Engine {
    /// Everything that is not in the input and could change answers, GatewayClasses first.
    pub fn unknown(&self) -> Vec<Unknown> {
        let parent = |(parent, children): (ObjectRef, BTreeSet<ObjectRef>)| Unknown::Parent {
            parent,
            children: children.into_iter().collect(),
        };
        let parents = self.unknown_parents().into_iter().map(parent).collect();
        [self.unknown_classes(), parents, self.unknown_policy_kinds(), self.unknown_grants()].concat()
    }

    /// The GatewayClasses whose controller is unknown, if policies depend on the controller.
    fn unknown_classes(&self) -> Vec<Unknown> {
        let Some(controllers) = self.controllers_in_use() else { return Vec::new() };
        let mut classes: BTreeMap<&str, Vec<ObjectRef>> = BTreeMap::new();
        for (id, gateway) in self.objects().each_of_kind(GATEWAY_API, "Gateway") {
            if let Some(ClassOwner::Unknown { class }) =
                self.topology().gateway_owner(self.objects(), NodeId::whole(id))
                && self.objects().lookup(GATEWAY_API, "GatewayClass", "", class).is_none()
            {
                classes.entry(class).or_default().push(gateway.id.clone());
            }
        }
        let unknown = |(class, gateways): (&str, Vec<ObjectRef>)| Unknown::Class {
            class: class.into(),
            controllers: controllers.clone(),
            is_assumed: self.kinds().controllers().assume_classes(),
            gateways,
        };
        classes.into_iter().map(unknown).collect()
    }

    /// The controllers that handle all policies of the input, or else those that handle any of them. `None` if no kind of
    /// policy depends on controllers.
    fn controllers_in_use(&self) -> Option<Vec<SmolStr>> {
        let kinds: BTreeSet<KindId> = self.parts().policies.iter().map(|(_, policy)| policy.kind).collect();
        let known = self.kinds().controllers();
        let title = |it: &ControllerReference| match it {
            ControllerReference::Named(name) => known.named(name).map_or_else(|| name.clone(), |it| it.title.clone()),
            ControllerReference::Pattern(pattern) => {
                let text = pattern.to_string();
                known.find(text.trim_end_matches('*')).map_or_else(|| text.into(), |it| it.title.clone())
            }
        };
        let titles = kinds.into_iter().map(|kind| &self.kinds().get(kind).controllers.references);
        let titles: Vec<Vec<SmolStr>> =
            titles.filter(|it| !it.is_empty()).map(|it| it.iter().map(title).collect()).collect();
        let (first, others) = titles.split_first()?;
        let common = first.iter().filter(|title| others.iter().all(|other| other.contains(title)));
        let common: Vec<SmolStr> = common.cloned().collect();
        Some(if common.is_empty() { BTreeSet::from_iter(titles.concat()).into_iter().collect() } else { common })
    }

    /// Parents that are not in the input, with the routes and ListenerSets that refer to them.
    pub(crate) fn unknown_parents(&self) -> BTreeMap<ObjectRef, BTreeSet<ObjectRef>> {
        let mut parents: BTreeMap<ObjectRef, BTreeSet<ObjectRef>> = BTreeMap::new();
        for refused in self.topology().refused(self.objects()) {
            if let RefusalCause::Parent(ParentRefusal::NotFound(missing)) = &refused.cause
                && missing.existing.is_empty()
            {
                parents.entry(missing.object.clone()).or_default().insert(refused.child.object.clone());
            }
        }
        parents
    }

    /// Namespaces without the ReferenceGrants that are needed.
    fn unknown_grants(&self) -> Vec<Unknown> {
        let mut grants: BTreeMap<SmolStr, BTreeSet<ObjectRef>> = BTreeMap::new();
        for refused in self.topology().refused(self.objects()) {
            if let Some(missing) = refused.cause.missing_grant()
                && self.objects().of_kind_in(GATEWAY_API, "ReferenceGrant", &missing.to.namespace).is_empty()
            {
                grants.entry(missing.to.namespace.clone()).or_default().insert(missing.from.clone());
            }
        }
        let unknown = |(namespace, from): (SmolStr, BTreeSet<ObjectRef>)| Unknown::Grants {
            namespace,
            from: from.into_iter().collect(),
        };
        grants.into_iter().map(unknown).collect()
    }

    /// Unknown kinds of objects that look like policies.
    fn unknown_policy_kinds(&self) -> Vec<Unknown> {
        let mut found = Vec::new();
        for (group, kind) in self.objects().kinds() {
            if !self.is_unknown_kind(group, kind) {
                continue;
            }
            let policy = |object: &Object| UnknownPolicy { policy: object.id.clone(), targets: targets(object) };
            let objects = self.objects().each_of_kind(group, kind).map(|(_, object)| object);
            let policies: Vec<UnknownPolicy> =
                objects.filter(|object| target_path(object).is_some()).map(policy).collect();
            if !policies.is_empty() {
                found.push(Unknown::PolicyKind { kind: GroupKind::new(group, kind), policies });
            }
        }
        found
    }

    /// Whether a kind is neither one of the Gateway API and its backends, nor described as a policy kind.
    pub(crate) fn is_unknown_kind(&self, group: &str, kind: &str) -> bool {
        api::level(group, kind) == Level::Other && group != GROUP && self.kinds().find(group, kind).is_none()
    }
}

/// The path of a `targetRef` in the form that policies use. Other kinds of objects have an `apiVersion` in theirs.
pub(crate) fn target_path(object: &Object) -> Option<Path> {
    let spec = object.spec();
    if spec.get("targetRef").is_some_and(is_target) {
        return Some(Path::parse("spec.targetRef"));
    }
    spec.list_at("targetRefs").iter().any(is_target).then(|| Path::parse("spec.targetRefs"))
}

fn is_target(value: &Value) -> bool {
    let named = value.get_str("kind").is_some() && (value.get("name").is_some() || value.get("selector").is_some());
    named && value.get("apiVersion").is_none()
}

/// The objects that the `targetRef`s of an object refer to.
fn targets(object: &Object) -> Vec<ObjectRef> {
    let spec = object.spec();
    let references = spec.get("targetRef").into_iter().chain(spec.list_at("targetRefs"));
    let target = |value: &Value| {
        let namespace = value.get_str("namespace").unwrap_or(&object.id.namespace);
        let group = value.get_str("group").unwrap_or_default();
        Some(ObjectRef::new(group, value.get_str("kind")?, namespace, value.get_str("name")?))
    };
    references.filter(|value| is_target(value)).filter_map(target).collect()
}
