//! Everything about one policy.

use std::collections::BTreeMap;

use attache_engine::{
    Block, BlockKind, Enforcement, GroupKind, NodeId, NodeRef, ObjectRef, PolicyId, PolicyTarget, RejectionReason,
    Value, block_path,
};
use serde::Serialize;

use super::About;
use super::problems::{is_target, problems};
use crate::kind_summary::kind_summary;
use crate::lint::FindingDocument;
use crate::reach::{ReachDocument, ReachPartDocument};
use crate::snapshot::{Snapshot, group_kind};
use crate::status::{AncestorDocument, ConditionDocument};
use crate::target_text::target_text;

/// Everything about one policy.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyDescription {
    /// The policy.
    #[serde(flatten)]
    pub about: About,
    /// Its kind.
    pub policy_kind: GroupKind,
    /// Its targets, as written in it.
    pub targets: Vec<TargetDocument>,
    /// The nodes that it is attached to.
    pub attached: Vec<NodeRef>,
    /// Its content, block by block.
    pub blocks: Vec<BlockDocument>,
    /// How much of it is in force.
    pub enforcement: Enforcement,
    /// Everything that it affects.
    pub affected: Vec<NodeRef>,
    /// Its scopes, grouped by the rules that are in force.
    pub parts: Vec<ReachPartDocument>,
    /// Its conditions.
    pub conditions: Vec<ConditionDocument>,
    /// Its conditions for each ancestor.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<AncestorDocument>,
    /// Where the conditions differ from what is in force.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The lint findings about it.
    pub problems: Vec<FindingDocument>,
    /// A summary of its kind, in a sentence.
    #[serde(skip)]
    pub kind_summary: String,
    /// The targets that are refused.
    #[serde(skip)]
    pub refusals: Vec<TargetRefusal>,
    /// The nodes that it is attached to, with the policies that it conflicts with.
    #[serde(skip)]
    pub attachments: Vec<AttachedTarget>,
    /// Where it applies.
    #[serde(skip)]
    pub reach: ReachDocument,
}

/// A target, as written in the policy.
#[derive(Clone, Debug, Serialize)]
pub struct TargetDocument {
    /// The target.
    pub target: String,
    /// Why it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<RejectionReason>,
    /// Details of the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Why a target is refused.
#[derive(Clone, Debug)]
pub struct TargetRefusal {
    /// The target, as written in the policy. `None` if it has no target.
    pub target: Option<String>,
    /// Why it is refused.
    pub reason: RejectionReason,
    /// Details of the reason.
    pub message: String,
}

/// A node that a policy is attached to.
#[derive(Clone, Debug)]
pub struct AttachedTarget {
    /// The node.
    pub target: NodeRef,
    /// The policy because of which this one does not count there.
    pub conflicts_with: Option<ObjectRef>,
}

/// A block of a policy.
#[derive(Clone, Debug, Serialize)]
pub struct BlockDocument {
    /// The kind of block.
    pub block: BlockKind,
    /// How it merges.
    pub strategy: String,
    /// Its condition as written, even if it cannot be evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The rules of higher policies that it removes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removes: Vec<String>,
    /// Its content.
    pub spec: Value,
}

impl PolicyDescription {
    pub(super) fn new(snapshot: &Snapshot, name: NodeRef, id: PolicyId) -> PolicyDescription {
        let engine = &snapshot.engine;
        let policy = engine.policy(id);
        let kind = engine.kinds().get(policy.kind);
        let rivals: BTreeMap<NodeId, PolicyId> = engine.rivals(id).collect();
        let attachments =
            engine.attachments().for_policy(id).to.iter().filter(|it| !it.is_absent()).map(|it| AttachedTarget {
                target: snapshot.node_ref(it.node),
                conflicts_with: rivals.get(&it.node).map(|rival| snapshot.policy_ref(*rival)),
            });
        let attachments: Vec<AttachedTarget> = attachments.collect();
        let reach = ReachDocument::new(snapshot, id, &engine.reach(id, None));
        PolicyDescription {
            policy_kind: group_kind(kind),
            targets: targets(snapshot, id),
            attached: attachments.iter().map(|it| it.target.clone()).collect(),
            blocks: policy.blocks.iter().map(|block| BlockDocument::new(snapshot, id, block)).collect(),
            enforcement: reach.status.enforcement,
            affected: reach.affected.clone(),
            parts: reach.parts.clone(),
            conditions: reach.status.conditions.clone(),
            ancestors: reach.status.ancestors.clone(),
            notes: reach.status.notes.clone(),
            problems: problems(snapshot, &name),
            kind_summary: kind_summary(kind),
            refusals: refusals(snapshot, id),
            attachments,
            reach,
            about: About::new(snapshot, name),
        }
    }
}

/// The targets of a policy. A target that another policy holds is refused, too.
fn targets(snapshot: &Snapshot, id: PolicyId) -> Vec<TargetDocument> {
    let (engine, own) = (&snapshot.engine, &snapshot.engine.policy_id(id).namespace);
    let refused = &engine.attachments().for_policy(id).refused;
    let conflict = |target: &PolicyTarget| {
        let object = |node: NodeId| engine.topology().id(engine.objects(), node);
        let mut rivals = engine.rivals(id);
        let (node, winner) = rivals.find(|(node, _)| is_target(target, own, object(*node)).unwrap_or(true))?;
        let winner = engine.policy_id(winner);
        Some((RejectionReason::Conflicted, format!("{winner} is already attached to {}", snapshot.node_ref(node))))
    };
    let document = |(i, target): (usize, &PolicyTarget)| {
        let refusal = refused.iter().find(|it| it.target.is_none_or(|at| at == i));
        let refusal = refusal.map(|refusal| (refusal.reason(), refusal.error.to_string()));
        let (reason, message) = refusal.or_else(|| conflict(target)).unzip();
        TargetDocument { target: target_text(target), reason, message }
    };
    engine.policy(id).targets.iter().enumerate().map(document).collect()
}

/// Every refusal, target by target.
fn refusals(snapshot: &Snapshot, id: PolicyId) -> Vec<TargetRefusal> {
    let refused = &snapshot.engine.attachments().for_policy(id).refused;
    let targets = &snapshot.engine.policy(id).targets;
    let mut found = Vec::new();
    for (i, target) in targets.iter().enumerate() {
        for refusal in refused.iter().filter(|it| it.target.is_none_or(|at| at == i)) {
            let target = Some(target_text(target));
            found.push(TargetRefusal { target, reason: refusal.reason(), message: refusal.error.to_string() });
        }
    }
    if targets.is_empty() {
        let refusal = |it: &attache_engine::Refusal| TargetRefusal {
            target: None,
            reason: it.reason(),
            message: it.error.to_string(),
        };
        found.extend(refused.iter().map(refusal));
    }
    found
}

impl BlockDocument {
    fn new(snapshot: &Snapshot, policy: PolicyId, block: &Block) -> BlockDocument {
        BlockDocument {
            block: block.kind,
            strategy: block.strategy.name().to_owned(),
            when: condition(snapshot, policy, block),
            removes: block.removes.iter().map(ToString::to_string).collect(),
            spec: snapshot.shown_spec(snapshot.kind_of(policy), &block.spec),
        }
    }
}

/// The condition of a block, as written.
fn condition(snapshot: &Snapshot, policy: PolicyId, block: &Block) -> Option<String> {
    let kind = snapshot.engine.kinds().get(snapshot.engine.policy(policy).kind);
    let object = snapshot.engine.policy_object(policy);
    let path = block_path(object, kind, block.kind).key(kind.fields.when.clone());
    path.resolve(&object.body).filter(|_| kind.has_blocks())?.as_str().map(str::to_owned)
}
