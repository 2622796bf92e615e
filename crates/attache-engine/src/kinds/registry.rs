//! All known policy kinds: those of PolicyKind documents in the input, then the built-in ones, then those inferred from CRDs.

use hashbrown::HashMap;
use smol_str::SmolStr;

use super::infer::{CRD_GROUP, CRD_KIND, Crd, Inference};
use super::related_kinds::RelatedKinds;
use super::{
    Controllers, GROUP, KIND, KindName, KindOrigin, PolicyKind, ResolvedSetting, StrategyRegistry, TargetLinks,
};
use crate::object::{BorrowedGroupKind, GroupKind, ObjectId, ObjectRef, Objects};
use crate::problem::{Problem, ProblemCode};

/// The id of a policy kind in a [`Registry`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(pub u32);

/// All known policy kinds.
#[derive(Debug, Default)]
pub struct Registry {
    kinds: Vec<PolicyKind>,
    by_kind: HashMap<GroupKind, KindId>,
    related: RelatedKinds,
    /// For each kind, the kind whose list its policies join, or the kind itself.
    leaders: Vec<KindId>,
    /// CRDs that refer to targets, but have no policy label.
    unlabelled: Vec<ObjectId>,
    links: TargetLinks,
    controllers: Controllers,
    unread: Vec<UnreadKind>,
    /// For each kind the settings of its controller.
    settings: Vec<Vec<ResolvedSetting>>,
}

/// Options of an engine.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether a CRD with `targetRef` or `targetRefs` defines a policy kind even without a policy label.
    pub infer_unlabelled: bool,
    /// The strategies that PolicyKind documents can name.
    pub strategies: StrategyRegistry,
    /// Links between custom kinds of targets, besides those of TargetKind documents.
    pub links: TargetLinks,
    /// The controllers of Gateways, besides those of GatewayController documents.
    pub controllers: Controllers,
    /// Kinds of which not all objects are known. Lint does not call an object of such a kind missing.
    pub unread: Vec<UnreadKind>,
}

/// A kind of which not all objects are known, such as one that the user may not list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadKind {
    /// The kind.
    pub kind: GroupKind,
    /// The namespaces whose objects are known.
    pub read_in: Vec<SmolStr>,
}

impl UnreadKind {
    /// Whether an object may exist although it is not known.
    pub fn may_include(&self, object: &ObjectRef) -> bool {
        (&self.kind.group, &self.kind.kind) == (&object.group, &object.kind)
            && !self.read_in.contains(&object.namespace)
    }
}

impl Registry {
    /// The kinds for policies among `objects`, sorted by group and kind, and the problems of the documents that describe
    /// them. A PolicyKind document replaces a built-in kind of the same group and kind.
    pub fn new(built_in: &[PolicyKind], objects: &Objects, settings: &Settings) -> (Registry, Vec<Problem>) {
        let mut links = settings.links.clone();
        let mut problems = links.add_documents(objects);
        let (controllers, found) = settings.controllers.with_documents(objects);
        problems.extend(found);
        let mut kinds: Vec<PolicyKind> = Vec::new();
        let known =
            |kinds: &[PolicyKind], group: &str, kind: &str| kinds.iter().any(|k| k.group == group && k.kind == kind);
        for (_, document) in objects.each_of_kind(GROUP, KIND) {
            match PolicyKind::read(
                document,
                KindOrigin::Given(SmolStr::new(&*document.source.file)),
                &settings.strategies,
            ) {
                Ok(kind) if known(&kinds, &kind.group, &kind.kind) => problems.push(
                    Problem::error(format!("`{}` is described twice", kind.full_name()))
                        .code(ProblemCode::DuplicatePolicyKind)
                        .about(document)
                        .help("keep one of the PolicyKind documents"),
                ),
                Ok(kind) => kinds.push(kind),
                Err(errors) => problems.extend(errors),
            }
        }
        for kind in built_in {
            if !known(&kinds, &kind.group, &kind.kind) {
                kinds.push(kind.clone());
            }
        }
        let mut unlabelled = Vec::new();
        let crds = objects.each_of_kind(CRD_GROUP, CRD_KIND);
        let crds: Vec<_> = crds.filter_map(|(id, crd)| Some((id, crd, Crd::read(crd)?))).collect();
        for &(id, crd, ref definition) in &crds {
            if let Some(kind) = kinds.iter_mut().find(|kind| definition.defines(kind)) {
                kind.merging.whole.extend(definition.string_maps());
                continue;
            }
            match definition.policy_kind(settings) {
                Inference::Kind(kind) => kinds.push(*kind),
                Inference::Unlabelled => {
                    unlabelled.push(id);
                    if !objects.of_kind(definition.group(), definition.kind()).is_empty() {
                        let kind = definition.kind();
                        problems.push(
                            Problem::warning(format!(
                                "`{kind}` looks like a policy kind, but its CRD has no policy label"
                            ))
                            .about(crd)
                            .help("run with `--infer-unlabelled`, or describe it with a PolicyKind document"),
                        );
                    }
                }
                Inference::NoPolicy => {}
            }
        }
        for kind in &mut kinds {
            let definition = crds.iter().find(|(_, _, definition)| definition.defines(kind));
            kind.crd_defaults = definition.map(|(_, _, definition)| definition.defaults()).unwrap_or_default();
        }
        kinds.sort_by(|a, b| (&a.group, &a.kind).cmp(&(&b.group, &b.kind)));
        // Kinds of one controller share settings: report the problems of each setting once.
        let mut unknown = Vec::new();
        let unread = settings.unread.clone();
        let settings = kinds.iter_mut().map(|kind| kind.resolve_settings(objects, &mut unknown)).collect();
        unknown.sort();
        unknown.dedup();
        problems.append(&mut unknown);
        let by_kind = kinds
            .iter()
            .enumerate()
            .map(|(i, kind)| (GroupKind::new(&kind.group, &kind.kind), KindId(i as u32)))
            .collect();
        let (leaders, related) = (leaders(&kinds), RelatedKinds::new(&kinds));
        (Registry { kinds, by_kind, related, leaders, unlabelled, links, controllers, unread, settings }, problems)
    }

    /// Whether an object may exist although it is not known.
    pub fn may_be_unread(&self, object: &ObjectRef) -> bool {
        self.unread.iter().any(|kind| kind.may_include(object))
    }

    /// The kind with this id.
    pub fn get(&self, id: KindId) -> &PolicyKind {
        &self.kinds[id.0 as usize]
    }

    /// The settings of the controller that handles the policies of a kind, with their effective values.
    pub fn settings(&self, id: KindId) -> &[ResolvedSetting] {
        &self.settings[id.0 as usize]
    }

    /// The kind in whose model the policies of a kind are: the kind that it `decidesWith`, or itself.
    pub fn leader(&self, id: KindId) -> KindId {
        self.leaders[id.0 as usize]
    }

    /// The id of a kind, if it is known.
    pub fn find(&self, group: &str, kind: &str) -> Option<KindId> {
        self.by_kind.get(&BorrowedGroupKind { group, kind }).copied()
    }

    /// The CRDs that refer to targets, but have no policy label.
    pub fn unlabelled(&self) -> &[ObjectId] {
        &self.unlabelled
    }

    /// The links between custom kinds of targets.
    pub fn links(&self) -> &TargetLinks {
        &self.links
    }

    /// The controllers of Gateways.
    pub fn controllers(&self) -> &Controllers {
        &self.controllers
    }

    /// Whether policies can target objects of this kind that have no manifest: they exist because they are referred to.
    pub fn is_virtual(&self, group: &str, kind: &str) -> bool {
        self.related.virtual_targets.iter().any(|name| name.is(group, kind))
    }

    /// Whether objects of this kind can have settings of controllers.
    pub(crate) fn has_settings(&self, group: &str, kind: &str) -> bool {
        self.related.settings.iter().any(|it| it.kind == kind && it.group == group)
    }

    /// Whether objects of this kind determine which targets policies are bound to.
    pub(crate) fn binds_policies(&self, group: &str, kind: &str) -> bool {
        self.related.bindings.iter().any(|name| name.is(group, kind))
    }

    /// Whether there are policies of two kinds with this name.
    pub(crate) fn is_ambiguous(&self, objects: &Objects, name: &str) -> bool {
        let same_named = || self.kinds.iter().filter(|kind| kind.kind == name);
        let has_policies = |kind: &&PolicyKind| !objects.of_kind(&kind.group, &kind.kind).is_empty();
        self.related.shared_names.iter().any(|shared| shared == name) && same_named().filter(has_policies).count() > 1
    }

    /// Makes policies display the plural and group of their kind, if there are policies of another kind with the same
    /// name.
    pub(crate) fn qualify_ambiguous(&self, objects: &mut Objects) {
        for kind in self.kinds.iter().filter(|kind| self.related.shared_names.contains(&kind.kind)) {
            let is_ambiguous = self.is_ambiguous(objects, &kind.kind);
            objects.qualify(&kind.group, &kind.kind, is_ambiguous);
        }
    }

    /// Every kind, in the order of ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (KindId, &PolicyKind)> + Clone {
        self.kinds.iter().enumerate().map(|(i, kind)| (KindId(i as u32), kind))
    }
}

fn leaders(kinds: &[PolicyKind]) -> Vec<KindId> {
    let position = |name: &KindName| kinds.iter().position(|kind| name.is(&kind.group, &kind.kind));
    let leader = |kind: &PolicyKind| kind.order.decides_with.as_ref().and_then(position);
    let leaders = kinds.iter().enumerate().map(|(own, kind)| leader(kind).unwrap_or(own));
    leaders.map(|at| KindId(at as u32)).collect()
}
