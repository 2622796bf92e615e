//! All known policy kinds: those of PolicyKind documents in the input, then the built-in ones, then those inferred from CRDs.

use hashbrown::HashMap;
use smol_str::SmolStr;

use super::infer::{CRD_GROUP, CRD_KIND, Crd, Inference};
use super::{GROUP, KIND, KindName, KindOrigin, PolicyKind, StrategyRegistry, TargetLinks};
use crate::object::{ObjectId, Objects};
use crate::problem::{Problem, ProblemCode};

/// The id of a policy kind in a [`Registry`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(pub u32);

/// All known policy kinds.
#[derive(Debug, Default)]
pub struct Registry {
    kinds: Vec<PolicyKind>,
    by_kind: HashMap<(SmolStr, SmolStr), KindId>,
    /// For each kind the kind with whose policies its own form one list, or itself.
    leaders: Vec<KindId>,
    /// CRDs that refer to targets, but have no policy label.
    unlabelled: Vec<ObjectId>,
    links: TargetLinks,
}

/// What the user of an engine chooses.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether a CRD with `targetRef` or `targetRefs` defines a policy kind even without a policy label.
    pub infer_unlabelled: bool,
    /// The strategies that PolicyKind documents can name.
    pub strategies: StrategyRegistry,
    /// Links between kinds of targets that the Gateway API does not know, besides those of TargetKind documents.
    pub links: TargetLinks,
}

impl Registry {
    /// The kinds for policies among `objects`, sorted by group and kind, and the problems of the documents that describe
    /// them. A PolicyKind document replaces a built-in kind of the same group and kind.
    pub fn new(built_in: &[PolicyKind], objects: &Objects, settings: &Settings) -> (Registry, Vec<Problem>) {
        let mut links = settings.links.clone();
        let mut problems = links.add_documents(objects);
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
        for (id, crd) in objects.each_of_kind(CRD_GROUP, CRD_KIND) {
            let Some(definition) = Crd::read(crd) else { continue };
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
        kinds.sort_by(|a, b| (&a.group, &a.kind).cmp(&(&b.group, &b.kind)));
        let by_kind = kinds
            .iter()
            .enumerate()
            .map(|(i, kind)| ((kind.group.clone(), kind.kind.clone()), KindId(i as u32)))
            .collect();
        let leaders = leaders(&kinds);
        (Registry { kinds, by_kind, leaders, unlabelled, links }, problems)
    }

    /// The kind with this id.
    pub fn get(&self, id: KindId) -> &PolicyKind {
        &self.kinds[id.0 as usize]
    }

    /// The kind in whose model the policies of a kind are: the kind that it `decidesWith`, or itself.
    pub fn leader(&self, id: KindId) -> KindId {
        self.leaders[id.0 as usize]
    }

    /// The id of a kind, if it is known.
    pub fn find(&self, group: &str, kind: &str) -> Option<KindId> {
        self.by_kind.get(&(SmolStr::new(group), SmolStr::new(kind))).copied()
    }

    /// The CRDs that refer to targets, but have no policy label.
    pub fn unlabelled(&self) -> &[ObjectId] {
        &self.unlabelled
    }

    /// The links between kinds of targets that the Gateway API does not know.
    pub fn links(&self) -> &TargetLinks {
        &self.links
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
