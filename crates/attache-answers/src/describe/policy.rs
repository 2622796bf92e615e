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
use crate::status::ConditionDocument;
use crate::target_text::target_text;

/// Everything about one policy.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyDescription {
    /// Which policy it is.
    #[serde(flatten)]
    pub about: About,
    /// Its kind.
    pub policy_kind: GroupKind,
    /// Its targets as it writes them.
    pub targets: Vec<TargetDocument>,
    /// What it is attached to.
    pub attached: Vec<NodeRef>,
    /// What it says.
    pub blocks: Vec<BlockDocument>,
    /// Whether all of it, a part of it or nothing of it is in force.
    pub enforcement: Enforcement,
    /// Everything that it affects.
    pub affected: Vec<NodeRef>,
    /// Where which of its rules are in force.
    pub parts: Vec<ReachPartDocument>,
    /// Its conditions.
    pub conditions: Vec<ConditionDocument>,
    /// The lint findings about it.
    pub problems: Vec<FindingDocument>,
    /// How its kind works, in a sentence.
    #[serde(skip)]
    pub kind_summary: String,
    /// The targets that are refused.
    #[serde(skip)]
    pub refusals: Vec<TargetRefusal>,
    /// What it is attached to, with the policies that it conflicts with.
    #[serde(skip)]
    pub attachments: Vec<AttachedTarget>,
    /// Where it applies.
    #[serde(skip)]
    pub reach: ReachDocument,
}

/// A target as the policy writes it.
#[derive(Clone, Debug, Serialize)]
pub struct TargetDocument {
    /// The target.
    pub target: String,
    /// Why it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<RejectionReason>,
    /// More about the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Why a target is refused.
#[derive(Clone, Debug)]
pub struct TargetRefusal {
    /// The target as the policy writes it. `None` if it has no target.
    pub target: Option<String>,
    /// Why it is refused.
    pub reason: RejectionReason,
    /// More about the reason.
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
    /// Which block it is.
    pub block: BlockKind,
    /// How it merges.
    pub strategy: String,
    /// Its condition as it is written, even if it cannot be evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The rules that no default above may set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removes: Vec<String>,
    /// What it says.
    pub spec: Value,
}

impl PolicyDescription {
    pub(super) fn new(snapshot: &Snapshot, name: NodeRef, id: PolicyId) -> PolicyDescription {
        let engine = &snapshot.engine;
        let policy = engine.policy(id);
        let kind = engine.kinds().get(policy.kind);
        let rivals: BTreeMap<NodeId, PolicyId> = engine.rivals(id).collect();
        let attachments = engine.attachments().for_policy(id).to.iter().map(|it| AttachedTarget {
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
            problems: problems(snapshot, &name),
            kind_summary: kind_summary(kind),
            refusals: refusals(snapshot, id),
            attachments,
            reach,
            about: About::new(snapshot, name),
        }
    }
}

/// The targets of a policy. One that another policy holds is refused, too.
fn targets(snapshot: &Snapshot, id: PolicyId) -> Vec<TargetDocument> {
    let (engine, own) = (&snapshot.engine, &snapshot.engine.policy_id(id).namespace);
    let refused = &engine.attachments().for_policy(id).refused;
    let conflict = |target: &PolicyTarget| {
        let object = |node: NodeId| engine.topology().id(engine.objects(), node);
        let mut rivals = engine.rivals(id);
        let (node, winner) = rivals.find(|(node, _)| is_target(target, own, object(*node)).unwrap_or(true))?;
        let winner = engine.policy_id(winner);
        Some((RejectionReason::Conflicted, format!("{winner} has attached to {} before it", snapshot.node_ref(node))))
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
            spec: block.spec.clone(),
        }
    }
}

/// The condition of a block as it is written.
fn condition(snapshot: &Snapshot, policy: PolicyId, block: &Block) -> Option<String> {
    let kind = snapshot.engine.kinds().get(snapshot.engine.policy(policy).kind);
    let object = snapshot.engine.policy_object(policy);
    let path = block_path(object, kind, block.kind).key(kind.fields.when.clone());
    path.resolve(&object.body).filter(|_| kind.has_blocks())?.as_str().map(str::to_owned)
}
