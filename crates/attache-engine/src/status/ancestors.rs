//! The status of policies for each ancestor: for each Gateway or mesh Service through which requests arrive.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::{HashMap, HashSet};
use smol_str::SmolStr;

use super::ancestor_sets::{AncestorSetId, AncestorSets};
use super::chain_ancestors::ChainAncestorFinder;
use super::{PolicyStatus, policy_status};
use crate::attachment::{AttachmentError, Refusal};
use crate::chain::{ChainId, Link};
use crate::engine::Engine;
use crate::fold::{EffectivePolicy, Loss};
use crate::kinds::{KindId, PolicyKind, PolicyState, RouteAncestors};
use crate::model::Model;
use crate::object::ObjectRef;
use crate::policy::{PolicyId, TargetSpec};
use crate::tally::{Enforcement, Tally};
use crate::topology::{Level, NodeId, NodeRef, RouteParent};
use crate::value::Path;

/// The maximum number of ancestors in the status of a policy, as the Gateway API defines it.
pub const MAX_ANCESTORS: usize = 16;

/// The name of the controller in the status of ancestors, if neither the kind nor a GatewayClass has one.
const DEFAULT_CONTROLLER: &str = "attache.dev/controller";

/// The details of a policy's status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyDetails {
    /// The parts of it that are not in force, by the policy that they lost to.
    pub superseded: Vec<SupersededParts>,
    /// Its status for each ancestor: first where it is not accepted, then where not all of it is in force. At most
    /// [`MAX_ANCESTORS`].
    pub ancestors: Vec<AncestorStatus>,
    /// Whether there are more ancestors.
    pub is_truncated: bool,
}

/// The status of a policy for one ancestor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AncestorStatus {
    /// The Gateway or mesh Service; or the target itself, if requests reach it through neither.
    pub ancestor: NodeRef,
    /// Its node. `None` if it is a target that does not exist.
    pub node: Option<NodeId>,
    /// The controller that the ancestor belongs to.
    pub controller_name: SmolStr,
    /// The status of the policy there. Its scopes are not counted one by one.
    pub status: PolicyStatus,
    /// The parts of it that are not in force there.
    pub superseded: Vec<SupersededParts>,
    /// The targets of the policy that the ancestor is reported for, where it is accepted.
    pub targets: Vec<NodeId>,
}

/// Parts of a policy that are not in force somewhere, because of one other policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupersededParts {
    /// The other policy. `None` if the target itself sets the parts.
    pub by: Option<PolicyId>,
    /// The parts. An empty path is the whole policy.
    pub paths: Vec<Path>,
}

impl SupersededParts {
    /// The parts as text, at most `most` of them or one more: `a, b and 3 more`.
    pub fn shown_paths(&self, most: usize) -> String {
        let shown = if self.paths.len() <= most + 1 { self.paths.len() } else { most };
        let name = |path: &Path| if path.is_empty() { "all of it".to_owned() } else { path.to_string() };
        let names: Vec<String> = self.paths[..shown].iter().map(name).collect();
        match self.paths.len() - shown {
            0 => names.join(", "),
            more => format!("{} and {more} more", names.join(", ")),
        }
    }
}

/// The key of an ancestor: a node, or a target that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum AncestorKey {
    Node(NodeId),
    /// With the object, if it is a section of it that does not exist.
    Missing(Box<NodeRef>, Option<NodeId>),
}

/// The parts that lost, by the policy that they lost to.
type LostParts<'m> = BTreeMap<Option<PolicyId>, BTreeSet<&'m Path>>;

/// The facts about one policy and one ancestor.
#[derive(Default)]
struct AncestorDraft<'m> {
    tally: Tally,
    is_accepted: bool,
    refusals: Vec<Refusal>,
    rivals: Vec<PolicyId>,
    lost: LostParts<'m>,
    targets: BTreeSet<NodeId>,
}

type Drafts<'m> = HashMap<PolicyId, HashMap<AncestorKey, AncestorDraft<'m>>>;

impl Engine {
    /// The details of statuses. They depend on all chains of a kind, and take longer than the statuses themselves.
    pub fn policy_details(&self, statuses: &[PolicyStatus]) -> Vec<PolicyDetails> {
        let wanted: HashSet<PolicyId> = statuses.iter().map(|status| status.policy).collect();
        let kinds: BTreeSet<KindId> = wanted.iter().map(|it| self.kinds().leader(self.policy(*it).kind)).collect();
        let mut sets = AncestorSets::new(self.topology());
        let mut drafts: Drafts<'_> = HashMap::new();
        for model in kinds.into_iter().filter_map(|kind| self.model(kind)) {
            self.draft_chains(model, &wanted, &mut sets, &mut drafts);
        }
        for policy in &wanted {
            self.draft_targets(*policy, &mut sets, drafts.entry(*policy).or_default());
        }
        let details =
            |status: &PolicyStatus| self.finish(status, drafts.remove(&status.policy).unwrap_or_default(), &mut sets);
        statuses.iter().map(details).collect()
    }

    /// Adds the outcomes of policies in all chains.
    fn draft_chains<'m>(
        &'m self,
        model: &'m Model,
        wanted: &HashSet<PolicyId>,
        sets: &mut AncestorSets<'_>,
        drafts: &mut Drafts<'m>,
    ) {
        let is_wanted = |chain: ChainId| {
            let mut attached = attached_policies(model, chain);
            attached.any(|(policy, ..)| wanted.contains(&policy))
        };
        let finder = ChainAncestorFinder::new(model, self.view(), sets);
        for (chain, ids) in finder.find(is_wanted) {
            let effective = model.effective(self.view(), chain);
            let attached: Vec<(PolicyId, NodeId, bool)> = attached_policies(model, chain).collect();
            for (policy, outcome) in effective.outcomes.iter().filter(|(policy, _)| wanted.contains(policy)) {
                let own = attached.iter().filter(|(it, ..)| it == policy);
                let is_accepted = own.clone().any(|(.., is_accepted)| *is_accepted);
                let mut keys: HashSet<AncestorKey> = HashSet::new();
                for (_, node, _) in own {
                    ids.iter()
                        .for_each(|id| keys.extend(self.reached_keys(self.policy_kind(*policy), *node, *id, sets)));
                }
                let drafts = drafts.entry(*policy).or_default();
                for key in keys {
                    let draft = drafts.entry(key).or_default();
                    draft.tally.count(1, outcome);
                    draft.is_accepted |= is_accepted;
                    if outcome.lost {
                        add_lost_parts(&mut draft.lost, effective, *policy);
                    }
                }
            }
        }
    }

    /// Adds the targets of a policy, whether or not it is attached to them.
    fn draft_targets(
        &self,
        policy: PolicyId,
        sets: &mut AncestorSets<'_>,
        drafts: &mut HashMap<AncestorKey, AncestorDraft<'_>>,
    ) {
        let kind = self.policy_kind(policy);
        let is_in_force = drafts.values().any(|draft| draft.is_accepted);
        let accepted = self.stacks_of(policy).flat_map(|stack| &stack.accepted);
        let accepted = accepted.filter(|it| it.policy == policy && !it.is_refused());
        for attachment in accepted {
            let id = sets.at(attachment.node);
            // A policy above Gateways is reported for the Gateways that it is in force on.
            let is_above = !matches!(
                self.topology()[attachment.node].level,
                Level::ListenerSet | Level::Listener | Level::Route | Level::RouteRule
            );
            if id == AncestorSetId::EMPTY && is_above && is_in_force {
                continue;
            }
            for key in self.keys(kind, attachment.node, sets) {
                let draft = drafts.entry(key).or_default();
                draft.is_accepted = true;
                draft.targets.insert(attachment.node);
            }
        }
        for (node, rival) in self.rejections(policy) {
            let (winner, view) = (rival.policy, self.view());
            let (target, at) = (view.node_ref(node), view.node_ref(rival.node));
            let error = Box::new(AttachmentError::Conflicted { winner: self.policy_id(winner).clone(), target, at });
            for key in self.keys(kind, node, sets) {
                let draft = drafts.entry(key).or_default();
                draft.refusals.push(Refusal { policy, target: None, error: error.clone() });
                draft.rivals.push(winner);
            }
        }
        for refusal in &self.attachments().for_policy(policy).refused {
            for key in self.refused_keys(refusal, sets) {
                drafts.entry(key).or_default().refusals.push(refusal.clone());
            }
        }
    }

    /// The ancestors of the targets that are refused.
    fn refused_keys(&self, refusal: &Refusal, sets: &mut AncestorSets<'_>) -> Vec<AncestorKey> {
        let (policy, kind) = (self.policy(refusal.policy), self.policy_kind(refusal.policy));
        let own = &self.policy_id(refusal.policy).namespace;
        let mut keys = Vec::new();
        for (at, target) in policy.targets.iter().enumerate() {
            if refusal.target.is_some_and(|refused| refused != at) {
                continue;
            }
            let TargetSpec::Object { group, kind: wanted, namespace, name, section } = &target.spec else {
                // For a selector, the error names the refused target.
                let refused = refusal.error.target().and_then(|it| self.find_node(&it));
                keys.extend(refused.into_iter().flat_map(|node| self.keys(kind, node, sets)));
                continue;
            };
            let id = ObjectRef::new(group, wanted, namespace.as_ref().unwrap_or(own), name);
            let missing = Box::new(NodeRef { object: id, section: section.clone() });
            let Some(node) = self.named_object(refusal.policy, &target.spec) else {
                keys.push(AncestorKey::Missing(missing, None));
                continue;
            };
            let has_listeners = matches!(self.topology()[node].level, Level::Gateway | Level::ListenerSet);
            match section.as_ref().map(|name| self.topology().section(node, name)) {
                Some(None) if has_listeners && is_ancestor(kind, Level::Listener) => {
                    keys.push(AncestorKey::Missing(missing, Some(node)));
                }
                found => keys.extend(self.keys(kind, found.flatten().unwrap_or(node), sets)),
            }
        }
        keys
    }

    /// All ancestors of a policy that targets `node`.
    fn keys(&self, kind: &PolicyKind, node: NodeId, sets: &mut AncestorSets<'_>) -> Vec<AncestorKey> {
        let parents = self.parent_refs(kind, node);
        if !parents.is_empty() {
            return parents.into_iter().map(|(parent, _)| parent).collect();
        }
        let id = sets.at(node);
        self.reached_keys(kind, node, id, sets)
    }

    /// The ancestors of a policy that targets `node` through which requests come that pass the Gateways of a set: the target
    /// itself if the set is empty, or if the kind says so.
    fn reached_keys(
        &self,
        kind: &PolicyKind,
        node: NodeId,
        id: AncestorSetId,
        sets: &AncestorSets<'_>,
    ) -> Vec<AncestorKey> {
        if is_ancestor(kind, self.topology()[node].level) {
            return vec![AncestorKey::Node(node)];
        }
        let gateways = sets.get(id);
        let parents = self.parent_refs(kind, node).into_iter().filter(|(_, gateway)| gateways.contains(gateway));
        let parents: Vec<AncestorKey> = parents.map(|(parent, _)| parent).collect();
        // A mesh Service has two nodes.
        let whole = |node: &NodeId| AncestorKey::Node(self.topology().whole(*node));
        match gateways {
            _ if !parents.is_empty() => parents,
            [] => vec![whole(&node)],
            several => several.iter().map(whole).collect(),
        }
    }

    /// What the parentRefs of a route name, each with its Gateway, for kinds whose ancestors they are.
    fn parent_refs(&self, kind: &PolicyKind, node: NodeId) -> Vec<(AncestorKey, NodeId)> {
        let topology = self.topology();
        let is_route = matches!(topology[node].level, Level::Route | Level::RouteRule);
        if !is_route || kind.status.route_ancestors == RouteAncestors::Gateways {
            return Vec::new();
        }
        let parents = topology.route_parents(self.objects(), topology.whole(node)).into_iter();
        let key = |it: &RouteParent| match (it.listener, &it.section) {
            (None, Some(section)) => {
                let missing = NodeRef { section: Some(section.clone()), ..self.view().node_ref(it.owner) };
                AncestorKey::Missing(Box::new(missing), Some(it.owner))
            }
            (listener, _) => AncestorKey::Node(listener.unwrap_or(it.owner)),
        };
        parents.map(|it| (key(&it), it.gateway)).collect()
    }

    /// The object that a target of a policy names, if it exists. Its section need not exist.
    pub(crate) fn named_object(&self, policy: PolicyId, target: &TargetSpec) -> Option<NodeId> {
        let TargetSpec::Object { group, kind, namespace, name, .. } = target else { return None };
        let own = &self.policy_id(policy).namespace;
        let find =
            |namespace: &str| self.topology().find(self.objects(), &ObjectRef::new(group, kind, namespace, name));
        find(namespace.as_ref().unwrap_or(own)).or_else(|| find(""))
    }

    fn policy_kind(&self, policy: PolicyId) -> &PolicyKind {
        self.kinds().get(self.policy(policy).kind)
    }

    fn finish(
        &self,
        status: &PolicyStatus,
        drafts: HashMap<AncestorKey, AncestorDraft<'_>>,
        sets: &mut AncestorSets<'_>,
    ) -> PolicyDetails {
        let kind = self.policy_kind(status.policy);
        let mut all_lost: LostParts<'_> = BTreeMap::new();
        for (by, paths) in drafts.values().flat_map(|draft| &draft.lost) {
            all_lost.entry(*by).or_default().extend(paths);
        }
        let mut details = PolicyDetails { superseded: self.superseded(&all_lost), ..PolicyDetails::default() };
        if kind.status.conditions.is_empty() {
            return details;
        }
        let mut is_reported = |key: &AncestorKey| match key {
            AncestorKey::Node(node) | AncestorKey::Missing(_, Some(node)) => {
                self.is_reported(status.policy, *node, sets)
            }
            AncestorKey::Missing(_, None) => true,
        };
        let drafts: Vec<_> = drafts.into_iter().filter(|(key, _)| is_reported(key)).collect();
        let ancestor = |(key, draft): (AncestorKey, AncestorDraft<'_>)| AncestorStatus {
            controller_name: self.controller_name(status.policy, &key, sets),
            node: match &key {
                AncestorKey::Node(node) => Some(*node),
                AncestorKey::Missing(..) => None,
            },
            ancestor: match key {
                AncestorKey::Node(node) => self.view().node_ref(node),
                AncestorKey::Missing(reference, _) => *reference,
            },
            superseded: self.superseded(&draft.lost),
            targets: draft.targets.iter().copied().collect(),
            status: self.ancestor_status(status.policy, draft),
        };
        details.ancestors = drafts.into_iter().map(ancestor).collect();
        details.ancestors.sort_by(|a, b| a.rank().cmp(&b.rank()).then_with(|| a.ancestor.cmp(&b.ancestor)));
        details.is_truncated = details.ancestors.len() > MAX_ANCESTORS;
        details.ancestors.truncate(MAX_ANCESTORS);
        details
    }

    /// Whether the status of a policy includes an ancestor. Controllers write no status for Gateways of other
    /// controllers, unless the kind has conditions for that.
    fn is_reported(&self, policy: PolicyId, ancestor: NodeId, sets: &mut AncestorSets<'_>) -> bool {
        let kind = self.policy(policy).kind;
        let mut states = self.kinds().get(kind).status.conditions.iter().flat_map(|it| it.when.iter());
        let gateways = self.gateways_of(ancestor, sets);
        let handles = |gateway: &NodeId| self.handles(kind, *gateway);
        states.any(|state| *state == PolicyState::NotHandled) || gateways.is_empty() || gateways.iter().any(handles)
    }

    /// The Gateways and mesh Services that requests for an ancestor come through; for a ListenerSet that is not attached, the
    /// Gateway that it names.
    fn gateways_of(&self, ancestor: NodeId, sets: &mut AncestorSets<'_>) -> Vec<NodeId> {
        let id = sets.at(ancestor);
        let named = || self.topology().gateway(self.objects(), self.topology().whole(ancestor));
        match sets.get(id) {
            [] => named().into_iter().collect(),
            gateways => gateways.iter().map(|gateway| self.topology().whole(*gateway)).collect(),
        }
    }

    fn ancestor_status(&self, policy: PolicyId, draft: AncestorDraft<'_>) -> PolicyStatus {
        let AncestorDraft { tally, is_accepted, mut refusals, rivals, .. } = draft;
        refusals.sort_by_cached_key(|refusal| refusal.error.to_string());
        let mut status = policy_status(policy, self.policy(policy), &tally, is_accepted, refusals);
        if !is_accepted {
            status.by = rivals;
        }
        self.sort_policies(&mut status.by);
        self.explain_unhandled(&mut status, &tally);
        self.explain_invalid(&mut status, &tally);
        status
    }

    /// The name of the controller that writes the status of a policy for an ancestor: that of its Gateway.
    fn controller_name(&self, policy: PolicyId, key: &AncestorKey, sets: &mut AncestorSets<'_>) -> SmolStr {
        let kind = self.policy_kind(policy);
        let (AncestorKey::Node(node) | AncestorKey::Missing(_, Some(node))) = key else {
            return kind.status.controller_name.clone().unwrap_or(SmolStr::new_static(DEFAULT_CONTROLLER));
        };
        let (topology, objects) = (self.topology(), self.objects());
        let gateways = self.gateways_of(*node, sets);
        let of_class = |gateway: &NodeId| {
            let class = topology.parents(*gateway).iter().find(|it| topology[**it].level == Level::GatewayClass)?;
            objects[topology[*class].owner.object()?].spec().get_str("controllerName").map(SmolStr::new)
        };
        let given = kind.status.controller_name.clone();
        let is_handled = |gateway: &&NodeId| self.handles(self.policy(policy).kind, **gateway);
        let mut handled_first = gateways.iter().filter(is_handled).chain(&gateways);
        let found = given.or_else(|| handled_first.find_map(of_class));
        found.unwrap_or(SmolStr::new_static(DEFAULT_CONTROLLER))
    }

    /// Parts that lost, sorted by the name of the policy that they lost to.
    fn superseded(&self, lost: &LostParts<'_>) -> Vec<SupersededParts> {
        let parts = lost
            .iter()
            .map(|(by, paths)| SupersededParts { by: *by, paths: paths.iter().map(|path| (*path).clone()).collect() });
        let mut parts: Vec<SupersededParts> = parts.collect();
        parts.sort_by(|a, b| a.by.map(|by| self.policy_id(by)).cmp(&b.by.map(|by| self.policy_id(by))));
        parts
    }
}

impl AncestorStatus {
    /// The order of ancestors: those that need attention come first.
    fn rank(&self) -> u8 {
        match (self.status.refused, self.status.enforcement) {
            (Some(_), _) => 0,
            (None, Enforcement::Enforced) => 2,
            (None, _) => 1,
        }
    }
}

/// Whether a kind reports nodes of a level as ancestors if a policy targets them.
fn is_ancestor(kind: &PolicyKind, level: Level) -> bool {
    kind.status.ancestors.iter().any(|name| name.level() == level)
}

/// The policies of a chain, each with its node and whether it is accepted there.
fn attached_policies(model: &Model, chain: ChainId) -> impl Iterator<Item = (PolicyId, NodeId, bool)> {
    let nodes = model.links(chain).filter_map(Link::node);
    nodes.filter_map(|node| Some((node, model.stack(node)?))).flat_map(|(node, stack)| {
        let accepted = stack.accepted.iter().filter(|it| !it.is_refused()).map(move |it| (it.policy, node, true));
        accepted.chain(stack.rejected.iter().map(move |it| (it.attachment.policy, node, false)))
    })
}

/// Adds the parts of a policy that another policy, or the target itself, supersedes.
fn add_lost_parts<'m>(lost: &mut LostParts<'m>, effective: &'m EffectivePolicy, policy: PolicyId) {
    for part in effective.superseded.iter().filter(|it| it.policy == policy && it.reason != Loss::Invalid) {
        for by in part.rivals().filter(|by| *by != policy) {
            lost.entry(Some(by)).or_default().insert(&part.path);
        }
        if part.is_set_by_object() {
            lost.entry(None).or_default().insert(&part.path);
        }
    }
}
