//! Custom kinds of targets, and the links to their parents.

use std::fmt;
use std::sync::Arc;

use smol_str::SmolStr;

use super::{GROUP, KindName, Pattern};
use crate::document::{Diagnostics, DocumentReader, Location, document};
use crate::object::{Object, ObjectRef, Objects};
use crate::problem::Problem;
use crate::selector;
use crate::value::{Path, Value};

/// The kind of TargetKind documents.
pub const TARGET_KIND: &str = "TargetKind";

document! {
    /// A kind of targets that the Gateway API does not know, and its parents in the topology.
    ///
    /// It is data: a `TargetKind` document. A PolicyKind whose `hierarchy` names both kinds inherits along the links.
    ///
    /// ```
    /// use attache_engine::kinds::TargetKind;
    /// use attache_engine::text;
    ///
    /// let document = "
    /// apiVersion: attache.dev/v1alpha1
    /// kind: TargetKind
    /// metadata: {name: buckets.storage.acme.io}
    /// spec:
    ///   group: storage.acme.io
    ///   kind: Bucket
    ///   parents:
    ///   - kind: Store.storage.acme.io
    ///     reference: spec.storeRef
    /// ";
    /// let objects = text::read(&"buckets.yaml".into(), document).objects;
    /// let kind = TargetKind::read(&objects[0]).expect("no mistakes");
    /// assert_eq!(kind.parents[0].kind.to_string(), "Store.storage.acme.io");
    /// ```
    pub struct TargetKind {
        /// The group of the kind.
        #[field("group", required)]
        pub group: SmolStr,

        /// The kind.
        #[field("kind", required)]
        pub kind: SmolStr,

        /// The links from an object of this kind to its parents.
        #[field("parents")]
        pub parents: Vec<ParentLink>,
    }
}

document! {
    /// A link from an object to its parents.
    pub struct ParentLink {
        /// The kind of the parents.
        #[field("kind", required)]
        pub kind: KindName,

        /// The field that names the parents: a name, a reference with `name` and, if it has them, `namespace`, `kind` and
        /// `group`, or a list of either.
        #[field("reference")]
        pub reference: Option<Pattern>,

        /// The field with the namespace of the parents, for references without one.
        #[field("namespace", unset = "the namespace of the object")]
        pub namespace: Option<Path>,

        /// The field with a label selector that selects the parents in the namespace of the object.
        #[field("selector")]
        pub selector: Option<Path>,
    }
}

impl TargetKind {
    /// Reads a TargetKind document, or reports everything that is wrong with it.
    pub fn read(document: &Object) -> Result<TargetKind, Vec<Problem>> {
        let mut diagnostics = Diagnostics::default();
        let kind =
            DocumentReader::read(document.spec(), &Location::top("spec"), &mut diagnostics, TargetKind::read_fields);
        let problems = diagnostics.into_problems(document);
        kind.filter(|_| problems.is_empty()).ok_or(problems)
    }
}

/// Finds the parents of an object.
type FindParents = dyn Fn(&Object) -> Vec<ObjectRef> + Send + Sync;

/// The links between custom kinds of targets, from TargetKind documents or functions.
///
/// ```
/// use attache_engine::kinds::TargetLinks;
/// use attache_engine::ObjectRef;
///
/// let mut links = TargetLinks::default();
/// // The name of a bucket starts with the name of its store.
/// links.add("Bucket.storage.acme.io", "Store.storage.acme.io", |bucket| {
///     let store = bucket.id.name.split('-').next().unwrap_or_default();
///     vec![ObjectRef::new("storage.acme.io", "Store", &bucket.id.namespace, store)]
/// });
/// ```
#[derive(Clone, Debug, Default)]
pub struct TargetLinks(Vec<TargetLink>);

#[derive(Clone, Debug)]
struct TargetLink {
    child: KindName,
    parent: KindName,
    rule: LinkRule,
}

#[derive(Clone)]
enum LinkRule {
    Field(Arc<ParentLink>),
    Function(Arc<FindParents>),
}

impl fmt::Debug for LinkRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkRule::Field(link) => link.fmt(f),
            LinkRule::Function(_) => f.write_str("Function"),
        }
    }
}

impl TargetLinks {
    /// Links objects of the kind `child` to parents of the kind `parent`. The function returns the parents of an
    /// object; parents of another kind, and parents that do not exist, are ignored. The result must depend only on the
    /// spec, labels and annotations of the object.
    pub fn add(
        &mut self,
        child: &str,
        parent: &str,
        parents: impl Fn(&Object) -> Vec<ObjectRef> + Send + Sync + 'static,
    ) {
        let rule = LinkRule::Function(Arc::new(parents));
        self.0.push(TargetLink { child: KindName::parse(child), parent: KindName::parse(parent), rule });
    }

    /// Adds the links of a TargetKind.
    pub fn add_kind(&mut self, kind: &TargetKind) {
        let child = KindName { kind: kind.kind.clone(), group: Some(kind.group.clone()) };
        self.0.extend(kind.parents.iter().map(|link| TargetLink {
            child: child.clone(),
            parent: link.kind.clone(),
            rule: LinkRule::Field(Arc::new(link.clone())),
        }));
    }

    /// Adds the links of the TargetKind documents among the objects, and returns the problems of the documents.
    pub(crate) fn add_documents(&mut self, objects: &Objects) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (_, document) in objects.each_of_kind(GROUP, TARGET_KIND) {
            match TargetKind::read(document) {
                Ok(kind) => self.add_kind(&kind),
                Err(found) => problems.extend(found),
            }
        }
        problems
    }

    /// Whether there are no links.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a link starts or ends at objects of this kind.
    pub(crate) fn concern(&self, group: &str, kind: &str) -> bool {
        self.0.iter().any(|link| link.child.is(group, kind) || link.parent.is(group, kind))
    }

    /// Whether objects of this kind have parents by a link.
    pub(crate) fn have_child(&self, group: &str, kind: &str) -> bool {
        self.0.iter().any(|link| link.child.is(group, kind))
    }

    /// The parents of an object that exist, and those that do not.
    pub(crate) fn parents(&self, objects: &Objects, child: &Object) -> LinkedParents {
        let mut found = LinkedParents::default();
        for link in self.0.iter().filter(|link| link.child.is(&child.id.group, &child.id.kind)) {
            match &link.rule {
                LinkRule::Function(parents) => {
                    let of_kind = |id: &ObjectRef| link.parent.is(&id.group, &id.kind);
                    for id in parents(child).into_iter().filter(of_kind) {
                        found.add(objects, id);
                    }
                }
                LinkRule::Field(field) => field.find(objects, child, &mut found),
            }
        }
        found.existing.sort_unstable();
        found.existing.dedup();
        found
    }
}

/// The parents of an object by [`TargetLinks`].
#[derive(Debug, Default)]
pub(crate) struct LinkedParents {
    pub existing: Vec<crate::object::ObjectId>,
    pub missing: Vec<ObjectRef>,
}

impl LinkedParents {
    fn add(&mut self, objects: &Objects, id: ObjectRef) {
        // A reference does not say whether the parent is namespaced.
        let cluster_scoped = ObjectRef { namespace: SmolStr::default(), ..id.clone() };
        match objects.find(&id).or_else(|| objects.find(&cluster_scoped)) {
            Some(parent) => self.existing.push(parent),
            None => self.missing.push(id),
        }
    }
}

impl ParentLink {
    fn find(&self, objects: &Objects, child: &Object, found: &mut LinkedParents) {
        let kinds: Vec<(&str, &str)> = objects.kinds().filter(|(group, kind)| self.kind.is(group, kind)).collect();
        if let Some(reference) = &self.reference {
            let home = self.namespace.as_ref().and_then(|path| path.resolve(&child.body)?.as_str());
            let home = home.unwrap_or(&child.id.namespace);
            for value in reference.find(&child.body).into_iter().flat_map(one_or_many) {
                let Some(name) = value.as_str().or_else(|| value.get_str("name")) else { continue };
                let is_of_kind = |id: &(&str, &str)| {
                    value.get_str("kind").is_none_or(|kind| kind == id.1)
                        && value.get_str("group").is_none_or(|group| group == id.0)
                };
                let namespace = value.get_str("namespace").unwrap_or(home);
                let group = self.kind.group.as_deref().unwrap_or_default();
                let (group, kind) = kinds.iter().copied().find(is_of_kind).unwrap_or((group, &self.kind.kind));
                found.add(objects, ObjectRef::new(group, kind, namespace, name));
            }
        }
        if let Some(labels) = self.selector.as_ref().and_then(|path| path.resolve(&child.body)) {
            for (group, kind) in kinds {
                let parents = objects.of_kind_in(group, kind, &child.id.namespace).iter().copied();
                let is_selected = |parent: &Object| selector::selects(labels, |label| parent.label(label));
                found.existing.extend(parents.filter(|id| objects.get(*id).is_some_and(is_selected)));
            }
        }
    }
}

fn one_or_many(value: &Value) -> &[Value] {
    match value {
        Value::List(_) => value.items(),
        _ => std::slice::from_ref(value),
    }
}
