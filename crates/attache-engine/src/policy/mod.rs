//! Policies: objects whose kind is a policy kind, read into targets and blocks.

mod blocks;
mod rank;
mod targets;
mod validation;

use std::ops::Index;
use std::sync::{Arc, LazyLock};

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use smol_str::SmolStr;

use crate::cel::CelCondition;
use crate::kinds::{DictatedBy, KindId, LowerPolicyField, PolicyKind, Registry, Strategy};
use crate::object::{Object, ObjectId, Objects};
use crate::persistent::PersistentVec;
use crate::value::{Path, Value};

pub use blocks::path as block_path;
pub use rank::PolicyRank;
pub use targets::{LabelSelection, NamespaceSelection, PolicyTarget, TargetSelector, TargetSpec};

/// A policy has the number of its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyId(pub ObjectId);

/// Every policy among the objects.
#[derive(Clone, Debug, Default)]
pub struct Policies(PersistentVec<Option<Arc<Policy>>>);

impl Policies {
    pub fn read<'k>(objects: &Objects, kinds: &'k Registry) -> Policies {
        let of_kind = |(id, kind): (KindId, &'k PolicyKind)| {
            objects.each_of_kind(&kind.group, &kind.kind).map(move |(object, it)| (object, it, id, kind))
        };
        let mut all: Vec<_> = kinds.iter().flat_map(of_kind).collect();
        all.sort_by_key(|(object, ..)| *object);
        let all = all.into_par_iter();
        let all = all.map(|(object, it, id, kind)| (object.0 as usize, Some(Arc::new(read(object, it, id, kind)))));
        let mut policies = Policies::default();
        policies.0.put_all(all.collect::<Vec<_>>().into_iter());
        policies
    }

    pub fn get(&self, id: PolicyId) -> Option<&Policy> {
        self.0.get(id.0.0 as usize)?.as_deref()
    }

    /// In the order of ids.
    pub fn iter(&self) -> impl Iterator<Item = (PolicyId, &Policy)> + Clone {
        let slots = self.0.iter().enumerate();
        slots.filter_map(|(at, policy)| Some((PolicyId(ObjectId(at as u32)), &**policy.as_ref()?)))
    }

    pub(crate) fn set(&mut self, id: PolicyId, policy: Option<Policy>) {
        if policy.is_some() || self.get(id).is_some() {
            *self.0.entry(id.0.0 as usize) = policy.map(Arc::new);
        }
    }
}

impl Index<PolicyId> for Policies {
    type Output = Policy;

    fn index(&self, id: PolicyId) -> &Policy {
        static NONE: LazyLock<Policy> = LazyLock::new(Policy::default);
        self.get(id).unwrap_or(&NONE)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub object: ObjectId,
    pub kind: KindId,
    pub targets: Vec<PolicyTarget>,
    pub blocks: Vec<Block>,
    /// How it wants to merge with what is above it, for kinds where the lower policy says so.
    pub joins: Option<Strategy>,
    pub rank: PolicyRank,
    /// Why it cannot be used at all.
    pub invalid: Option<InvalidPolicy>,
    /// Where it chooses targets that do not count, because it names others.
    pub unused: Option<Path>,
    /// It is switched off.
    pub disabled: bool,
}

/// What is wrong with a policy, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidPolicy {
    pub path: Path,
    pub message: String,
}

/// One group of rules of a policy.
#[derive(Clone, Debug)]
pub struct Block {
    pub which: BlockKind,
    pub strategy: Strategy,
    pub when: Option<CelCondition>,
    /// Rules of policies above that this one does not want: names or dotted paths.
    pub removes: Vec<SmolStr>,
    pub spec: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockKind {
    Defaults,
    Bare,
    Overrides,
}

impl BlockKind {
    pub fn name(self) -> &'static str {
        match self {
            BlockKind::Defaults => "defaults",
            BlockKind::Bare => "bare",
            BlockKind::Overrides => "overrides",
        }
    }
}

pub(crate) fn read(id: ObjectId, object: &Object, kind_id: KindId, kind: &PolicyKind) -> Policy {
    let mut invalid = None;
    let mut complain = |path: Path, message: String| {
        invalid.get_or_insert(InvalidPolicy { path, message });
    };
    let (targets, unused) = targets::read(object, kind, &mut complain);
    let mut blocks = blocks::read(object, kind, &mut complain);
    let joins = joins(object, kind, &mut complain);
    if let Some(strategy) = &joins {
        blocks.iter_mut().for_each(|block| block.strategy = strategy.clone());
    }
    let rank = rank::read(object, kind, &mut complain);
    validation::check(object, kind, &mut complain);
    let disabled =
        kind.acceptance.disabled.as_ref().and_then(|path| path.resolve(&object.body)).and_then(Value::as_bool);
    let disabled = disabled == Some(true);
    Policy { object: id, kind: kind_id, targets, blocks, joins, rank, invalid, unused, disabled }
}

fn joins(object: &Object, kind: &PolicyKind, complain: &mut impl FnMut(Path, String)) -> Option<Strategy> {
    let DictatedBy::Lower(LowerPolicyField { field, values, .. }) = &kind.merging.dictated_by else { return None };
    let text = field.resolve(&object.body)?.as_str()?;
    let chosen = values.iter().find(|(value, _)| value == text).map(|(_, strategy)| strategy.clone());
    if chosen.is_none() {
        let known: Vec<String> = values.iter().map(|(value, _)| format!("`{value}`")).collect();
        complain(field.clone(), format!("unknown value `{text}`: use {}", known.join(" or ")));
    }
    chosen
}
