//! Policies: objects of a policy kind, read into targets and blocks.
//!
//! ```text
//! Object + PolicyKind ─→ Policy ─┬→ targets   what it targets, by name, label or host
//!                                ├→ blocks    defaults, bare rules, overrides
//!                                ├→ rank      what decides between policies on one target
//!                                └→ invalid   why it cannot be accepted
//! ```

mod blocks;
mod empties;
mod rank;
mod targets;
mod validation;

use std::ops::Index;
use std::sync::Arc;

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
pub(crate) use validation::check_target;

/// The id of a policy, which is that of its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyId(pub ObjectId);

/// All policies among some objects, by id.
#[derive(Clone, Debug, Default)]
pub struct Policies(PersistentVec<Option<Arc<Policy>>>);

impl Policies {
    /// Reads every object whose kind is in the registry.
    pub fn read<'k>(objects: &Objects, kinds: &'k Registry) -> Policies {
        let objects_of_kind = |(kind_id, kind): (KindId, &'k PolicyKind)| {
            objects.each_of_kind(&kind.group, &kind.kind).map(move |(id, object)| (id, object, kind_id, kind))
        };
        let mut all: Vec<_> = kinds.iter().flat_map(objects_of_kind).collect();
        all.sort_by_key(|(id, ..)| *id);
        let read = |(id, object, kind_id, kind): (ObjectId, &Object, KindId, &PolicyKind)| {
            (id.0 as usize, Some(Arc::new(Policy::read(id, object, kind_id, kind))))
        };
        let all: Vec<_> = all.into_par_iter().map(read).collect();
        let mut policies = Policies::default();
        policies.0.set_sorted(all.into_iter());
        policies
    }

    /// The policy with this id, if there is one.
    pub fn get(&self, id: PolicyId) -> Option<&Policy> {
        self.0.get(id.0.0 as usize)?.as_deref()
    }

    /// Every policy, in the order of ids.
    pub fn iter(&self) -> impl Iterator<Item = (PolicyId, &Policy)> + Clone {
        let slots = self.0.iter().enumerate();
        slots.filter_map(|(at, policy)| Some((PolicyId(ObjectId(at as u32)), &**policy.as_ref()?)))
    }

    /// Adds, replaces or removes a policy.
    pub(crate) fn set(&mut self, id: PolicyId, policy: Option<Policy>) {
        if policy.is_some() || self.get(id).is_some() {
            *self.0.entry(id.0.0 as usize) = policy.map(Arc::new);
        }
    }
}

impl Index<PolicyId> for Policies {
    type Output = Policy;

    /// # Panics
    ///
    /// If no policy has this id, because the id was taken from another snapshot.
    fn index(&self, id: PolicyId) -> &Policy {
        self.get(id).expect("a policy id is only used with the snapshot that it was taken from")
    }
}

/// A policy: what it targets, and what it sets.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The object that it was read from.
    pub object: ObjectId,
    /// Its kind.
    pub kind: KindId,
    /// What it targets.
    pub targets: Vec<PolicyTarget>,
    /// Its blocks, lowest first.
    pub blocks: Vec<Block>,
    /// The kinds of blocks that have no rules, and so set nothing.
    pub empty_blocks: Vec<BlockKind>,
    /// The strategy by which it asks to be merged with the policy above it, for kinds where the lower policy decides.
    pub requested_strategy: Option<Strategy>,
    /// Its precedence among the policies on one target.
    pub rank: PolicyRank,
    /// Why it cannot be accepted.
    pub invalid: Option<InvalidPolicy>,
    /// A field that would select targets by labels, and is ignored because the policy names targets.
    pub ignored_selection: Option<Path>,
    /// Whether it is switched off, or a dry run.
    pub disabled: bool,
    /// Whether it is a dry run.
    pub dry_run: bool,
    /// Whether it is being deleted: controllers ignore it, while the API server waits for finalizers.
    pub deleted: bool,
}

/// What is wrong with a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidPolicy {
    /// The field that is wrong.
    pub path: Path,
    /// What is wrong with it.
    pub message: String,
}

/// One group of rules of a policy.
#[derive(Clone, Debug)]
pub struct Block {
    /// Whether the rules are defaults, bare or overrides.
    pub kind: BlockKind,
    /// How the rules merge with those of other policies.
    pub strategy: Strategy,
    /// The condition under which the block counts.
    pub when: Option<CelCondition>,
    /// The rules of higher policies that the block removes: names or dotted paths.
    pub removes: Vec<SmolStr>,
    /// The rules.
    pub spec: Value,
}

/// The kinds of blocks, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockKind {
    /// Rules that lower policies can replace.
    Defaults,
    /// Rules outside of `defaults` and `overrides`: defaults, too.
    Bare,
    /// Rules that lower policies cannot replace.
    Overrides,
}

impl BlockKind {
    /// The name in documents: `defaults`, `bare` or `overrides`.
    pub fn name(self) -> &'static str {
        match self {
            BlockKind::Defaults => "defaults",
            BlockKind::Bare => "bare",
            BlockKind::Overrides => "overrides",
        }
    }
}

impl Policy {
    /// Whether it is ignored entirely.
    pub(crate) fn is_left_out(&self) -> bool {
        self.disabled || self.deleted
    }

    /// Whether it has no rules, and removes none of others.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.iter().all(|block| block.spec.entries().is_empty() && block.removes.is_empty())
    }

    /// Reads an object of a policy kind, with the defaults of its CRD. Of several mistakes the first one makes the policy invalid.
    pub(crate) fn read(id: ObjectId, object: &Object, kind_id: KindId, kind: &PolicyKind) -> Policy {
        let object = &*kind.crd_defaults.fill(object);
        let mut invalid = None;
        let mut report = |path: Path, message: String| {
            invalid.get_or_insert(InvalidPolicy { path, message });
        };
        let (targets, ignored_selection) = targets::read(object, kind, &mut report);
        let (mut blocks, empty_blocks) = blocks::read(object, kind, &mut report);
        let requested_strategy = requested_strategy(object, kind, &mut report);
        if let Some(strategy) = &requested_strategy {
            blocks.iter_mut().for_each(|block| block.strategy = strategy.clone());
        }
        let rank = PolicyRank::read(object, kind, &mut report);
        validation::check(object, kind, &mut report);
        if kind.acceptance.rules_required {
            validation::check_rules(object, kind, &blocks, &empty_blocks, &mut report);
        }
        let switch = kind.acceptance.disabled.as_ref().and_then(|path| path.resolve(&object.body));
        let annotation = kind.acceptance.dry_run.as_ref().and_then(|name| object.annotation(name));
        let dry_run = annotation.is_some_and(|text| ["1", "t", "true"].contains(&text.to_ascii_lowercase().as_str()));
        let disabled = dry_run || switch.and_then(Value::as_bool) == Some(true);
        Policy {
            object: id,
            kind: kind_id,
            targets,
            blocks,
            empty_blocks,
            requested_strategy,
            rank,
            invalid,
            ignored_selection,
            disabled,
            dry_run,
            deleted: object.deletion_timestamp().is_some(),
        }
    }
}

/// The strategy by which a policy asks to be merged with the policy above it.
fn requested_strategy(object: &Object, kind: &PolicyKind, report: &mut impl FnMut(Path, String)) -> Option<Strategy> {
    let DictatedBy::Lower(LowerPolicyField { field, values, .. }) = &kind.merging.dictated_by else { return None };
    let text = field.resolve(&object.body)?.as_str()?;
    let found = values.iter().find(|(value, _)| value == text).map(|(_, strategy)| strategy.clone());
    if found.is_none() {
        let known: Vec<String> = values.iter().map(|(value, _)| format!("`{value}`")).collect();
        report(field.clone(), format!("unknown value `{text}`: use {}", known.join(" or ")));
    }
    found
}
