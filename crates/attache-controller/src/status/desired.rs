//! The desired status of each object.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use attache_engine::kinds::{KindId, KindOrigin, PolicyKind, StatusWrite};
use attache_engine::{
    AncestorStatus, Engine, Level, NodeId, ObjectRef, PolicyId, StatusCondition, TargetReport, TargetStatus,
};
use serde_json::{Map, Value as Json, json};
use smol_str::SmolStr;

use crate::options::ControllerOptions;

/// The name of the controller in `status.ancestors` and `status.parents`, if the PolicyKind has no other.
pub const DEFAULT_CONTROLLER: &str = "attache.dev/controller";

/// The condition of a PolicyRequirement that says whether it is met.
pub const SATISFIED: &str = "Satisfied";

/// The desired status of an object: the parts that this controller owns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DesiredStatus {
    /// As a policy. `None` if the status of its kind is not written.
    pub policy: Option<DesiredPolicy>,
    /// As a target of policies.
    pub affected: TargetReport,
    /// As a document of Attaché.
    pub document: DesiredDocument,
}

/// The desired status of a PolicyKind or PolicyRequirement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DesiredDocument {
    /// The conditions.
    pub conditions: Vec<StatusCondition>,
    /// Further fields.
    pub fields: Map<String, Json>,
}

impl DesiredDocument {
    /// What a controller for some GatewayClasses says of a PolicyRequirement: whether what is in its classes meets it. It says so
    /// in a condition of its own, since other controllers say it of other classes.
    pub fn within_classes(self, controller: &str) -> DesiredDocument {
        let satisfied = self.conditions.into_iter().filter(|condition| condition.r#type == SATISFIED);
        let conditions = satisfied.map(|it| StatusCondition { r#type: format!("{controller}/{SATISFIED}"), ..it });
        DesiredDocument { conditions: conditions.collect(), fields: Map::new() }
    }
}

/// The desired status of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredPolicy {
    /// The name of the controller of its kind.
    pub controller_name: SmolStr,
    /// The conditions over all ancestors.
    pub conditions: Vec<StatusCondition>,
    /// The conditions for each ancestor.
    pub ancestors: Vec<DesiredAncestor>,
}

/// The desired status of a policy for one ancestor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredAncestor {
    /// The ancestor, as the Gateway API writes it.
    pub reference: Json,
    /// The conditions.
    pub conditions: Vec<StatusCondition>,
}

impl DesiredStatus {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        *self == DesiredStatus::default()
    }

    /// Whether it is that of a document of Attaché.
    pub fn is_document(&self) -> bool {
        self.document != DesiredDocument::default()
    }

    /// The types of all conditions, and the names of annotations.
    pub fn types(&self) -> impl Iterator<Item = &str> {
        let conditions = self.conditions().map(|condition| condition.r#type.as_str());
        conditions.chain(self.affected.annotations.keys().map(String::as_str))
    }

    /// The conditions over all ancestors.
    pub fn conditions(&self) -> impl Iterator<Item = &StatusCondition> {
        let policy = self.policy.iter().flat_map(|policy| &policy.conditions);
        policy.chain(&self.affected.conditions).chain(&self.document.conditions)
    }
}

/// The policy kinds whose status is written.
#[derive(Clone, Debug, Default)]
pub struct WrittenKinds {
    /// Kinds whose policies get a status.
    pub policies: BTreeSet<KindId>,
    /// Kinds whose targets get a condition.
    pub targets: BTreeSet<KindId>,
}

impl WrittenKinds {
    /// The kinds of an engine whose status is written.
    pub fn new(engine: &Engine, options: &ControllerOptions) -> WrittenKinds {
        let mut written = WrittenKinds::default();
        for (id, kind) in engine.kinds().iter() {
            let write = status_write(kind);
            if matches!(write, StatusWrite::All | StatusWrite::Policies) {
                written.policies.insert(id);
            }
            let is_named = || options.write_targets.iter().any(|name| kind.is_called(name));
            if matches!(write, StatusWrite::All | StatusWrite::Targets) || is_named() {
                written.targets.insert(id);
            }
        }
        written
    }
}

/// Whose status is written for a kind.
pub fn status_write(kind: &PolicyKind) -> StatusWrite {
    match kind.origin {
        KindOrigin::Given(_) => kind.status.write.unwrap_or(StatusWrite::All),
        // Their own controllers write their status.
        KindOrigin::Program | KindOrigin::BuiltIn(_) | KindOrigin::Inferred(_) => StatusWrite::Nothing,
    }
}

/// The controller name in the status of a kind.
pub fn controller_name(kind: &PolicyKind) -> SmolStr {
    kind.status.controller_name.as_deref().unwrap_or(DEFAULT_CONTROLLER).into()
}

/// The desired status of the `wanted` policies of some kinds, or of all.
pub fn desired_policies(
    engine: &Engine,
    kinds: &BTreeSet<KindId>,
    wanted: Option<&BTreeSet<ObjectRef>>,
) -> BTreeMap<ObjectRef, DesiredPolicy> {
    let mut policies: Vec<PolicyId> = match wanted {
        None => engine.policies().map(|(policy, _)| policy).collect(),
        Some(wanted) => wanted.iter().filter_map(|id| engine.find_policy(id)).collect(),
    };
    policies.retain(|policy| kinds.contains(&engine.policy(*policy).kind));
    if policies.is_empty() {
        return BTreeMap::new();
    }
    let statuses: Vec<_> = policies.iter().map(|policy| engine.policy_status(*policy)).collect();
    let desired = statuses.iter().zip(engine.policy_reports(&statuses)).map(|(status, report)| {
        let kind = engine.kinds().get(engine.policy(status.policy).kind);
        let ancestor = |(ancestor, conditions)| DesiredAncestor { reference: reference(&ancestor), conditions };
        let desired = DesiredPolicy {
            controller_name: controller_name(kind),
            conditions: report.conditions,
            ancestors: report.ancestors.into_iter().map(ancestor).collect(),
        };
        (engine.policy_id(status.policy).clone(), desired)
    });
    desired.collect()
}

fn reference(ancestor: &AncestorStatus) -> Json {
    let object = &ancestor.ancestor.object;
    let mut reference = json!({"group": object.group, "kind": object.kind, "name": object.name});
    if !object.namespace.is_empty() {
        reference["namespace"] = json!(object.namespace);
    }
    if let Some(section) = &ancestor.ancestor.section {
        reference["sectionName"] = json!(section);
    }
    reference
}

/// The desired status of the `wanted` targets, or of all. Only policies of `kinds` count. Targets that no policy affects are
/// left out.
pub fn desired_targets(
    engine: &Engine,
    kinds: &BTreeSet<KindId>,
    wanted: Option<&HashSet<ObjectRef>>,
) -> BTreeMap<ObjectRef, TargetReport> {
    let (topology, objects) = (engine.topology(), engine.objects());
    let statuses = match wanted {
        None => engine.target_statuses(),
        Some(wanted) => {
            let nodes = wanted.iter().filter_map(|id| topology.find(objects, id));
            let (namespaces, nodes): (HashSet<NodeId>, HashSet<NodeId>) =
                nodes.partition(|node| topology[*node].level == Level::Namespace);
            let nodes = nodes.into_iter();
            let nodes =
                nodes.flat_map(|node| [node].into_iter().chain(topology.sections(node)).chain(topology.frontend(node)));
            // Namespaces have no links: what they contain is found among all nodes.
            let all = topology.nodes().map(|(node, _)| node).filter(|_| !namespaces.is_empty());
            let contained = all.filter(|node| topology.namespace(*node).is_some_and(|it| namespaces.contains(&it)));
            let within = namespaces.iter().copied().chain(nodes).chain(contained);
            engine.target_statuses_within(engine.models(), &topology.below(within))
        }
    };
    let mut by_object: BTreeMap<ObjectRef, TargetStatus> = BTreeMap::new();
    for status in statuses {
        let Some(object) = topology[status.target].owner.object() else { continue };
        let id = &objects[object].id;
        if wanted.is_some_and(|wanted| !wanted.contains(id)) {
            continue;
        }
        let counts = |policy: &PolicyId| kinds.contains(&engine.policy(*policy).kind);
        let affected_by: Vec<PolicyId> = status.affected_by.into_iter().filter(counts).collect();
        if affected_by.is_empty() {
            continue;
        }
        let whole = topology.whole(status.target);
        let rolled_up =
            by_object.entry(id.clone()).or_insert_with(|| TargetStatus { target: whole, affected_by: Vec::new() });
        rolled_up.affected_by.extend(affected_by);
    }
    for status in by_object.values_mut() {
        status.affected_by.sort_by(|a, b| engine.policy_id(*a).cmp(engine.policy_id(*b)));
        status.affected_by.dedup();
    }
    let (ids, statuses): (Vec<ObjectRef>, Vec<TargetStatus>) = by_object.into_iter().unzip();
    let reports = engine.target_reports(&statuses);
    ids.into_iter().zip(reports).filter(|(_, report)| *report != TargetReport::default()).collect()
}
