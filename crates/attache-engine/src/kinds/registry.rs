//! Every policy kind that is known: given documents first, then the built-in ones, then what CRDs tell.

use hashbrown::HashMap;
use smol_str::SmolStr;

use super::{GROUP, KIND, KindName, KindOrigin, PolicyKind, StrategyRegistry, infer};
use crate::object::{Object, ObjectId, Objects};
use crate::problem::Problem;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(pub u32);

#[derive(Debug, Default)]
pub struct Registry {
    kinds: Vec<PolicyKind>,
    by_kind: HashMap<(SmolStr, SmolStr), KindId>,
    /// For each kind the one with which it decides, or itself.
    leaders: Vec<KindId>,
    /// CRDs that look like those of policies, without a label that says so.
    unlabelled: Vec<ObjectId>,
}

/// What an embedder or a user chooses.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Take a CRD with `targetRef` or `targetRefs` for a policy, even if it has no label that says so.
    pub infer_unlabelled: bool,
    /// The strategies that PolicyKind documents can name.
    pub strategies: StrategyRegistry,
}

impl Registry {
    /// The kinds that hold for `objects`, sorted by name, and what is wrong with the documents that describe them.
    pub fn new(built_in: &[PolicyKind], objects: &Objects, settings: &Settings) -> (Registry, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut kinds: Vec<PolicyKind> = Vec::new();
        let known =
            |kinds: &[PolicyKind], group: &str, kind: &str| kinds.iter().any(|k| k.group == group && k.kind == kind);
        for (_, document) in objects.each_of_kind(GROUP, KIND) {
            match PolicyKind::read(document, KindOrigin::Given(file_of(document)), &settings.strategies) {
                Ok(kind) if known(&kinds, &kind.group, &kind.kind) => problems.push(
                    Problem::error(format!("`{}` is described twice", kind.full_name()))
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
        for (id, crd) in objects.each_of_kind(infer::CRD_GROUP, infer::CRD_KIND) {
            let Some(found) = infer::Crd::read(crd) else { continue };
            if let Some(kind) = kinds.iter_mut().find(|kind| found.defines(kind)) {
                kind.merging.whole.extend(found.string_maps());
                continue;
            }
            match found.policy_kind(settings) {
                infer::Inference::Kind(kind) => kinds.push(*kind),
                infer::Inference::Unlabelled => {
                    unlabelled.push(id);
                    if !objects.of_kind(found.group(), found.kind()).is_empty() {
                        let kind = found.kind();
                        problems.push(
                            Problem::warning(format!(
                                "`{kind}` looks like a policy kind, but its CRD has no policy label"
                            ))
                            .about(crd)
                            .help("run with `--infer-unlabelled`, or describe it with a PolicyKind document"),
                        );
                    }
                }
                infer::Inference::NoPolicy => {}
            }
        }
        kinds.sort_by(|a, b| (&a.group, &a.kind).cmp(&(&b.group, &b.kind)));
        let by_kind = kinds
            .iter()
            .enumerate()
            .map(|(i, kind)| ((kind.group.clone(), kind.kind.clone()), KindId(i as u32)))
            .collect();
        let leaders = leaders(&kinds);
        (Registry { kinds, by_kind, leaders, unlabelled }, problems)
    }

    pub fn get(&self, id: KindId) -> &PolicyKind {
        &self.kinds[id.0 as usize]
    }

    /// The kind whose model a kind's policies are part of: its own, or that of the kind with which it decides.
    pub fn leader(&self, id: KindId) -> KindId {
        self.leaders[id.0 as usize]
    }

    pub fn find(&self, group: &str, kind: &str) -> Option<KindId> {
        self.by_kind.get(&(SmolStr::new(group), SmolStr::new(kind))).copied()
    }

    /// The CRDs that look like those of policies, though no label says so.
    pub fn unlabelled(&self) -> &[ObjectId] {
        &self.unlabelled
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (KindId, &PolicyKind)> + Clone {
        self.kinds.iter().enumerate().map(|(i, kind)| (KindId(i as u32), kind))
    }
}

fn leaders(kinds: &[PolicyKind]) -> Vec<KindId> {
    let position = |wanted: &KindName| kinds.iter().position(|kind| wanted.is(&kind.group, &kind.kind));
    let leader = |kind: &PolicyKind| kind.order.decides_with.as_ref().and_then(position);
    let leaders = kinds.iter().enumerate().map(|(own, kind)| leader(kind).unwrap_or(own));
    leaders.map(|at| KindId(at as u32)).collect()
}

fn file_of(document: &Object) -> SmolStr {
    SmolStr::new(&*document.source.file)
}
