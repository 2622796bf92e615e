//! Settings for the listeners of one port.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::tree::{BlockSource, Sources};
use super::{EffectivePolicy, Fold, FoldInput, FoldStep, ValueOrigin, fold};
use crate::attachment::Attachment;
use crate::policy::PolicyId;
use crate::value::{Path, Segment, Value};

/// A part of the policies of a listener, merged for all ports, as the controller reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedOrigin {
    /// Where it is, in the words of the controller, and the policy that sets it.
    pub origin: ValueOrigin,
    /// Whether it counts on the listener.
    pub in_force: bool,
}

/// What the controller reports of the policies of a chain, and is not among the values in force.
pub fn reported(input: FoldInput<'_>, effective: &EffectivePolicy) -> Vec<ReportedOrigin> {
    let (Some(per_port), Some(port)) = (&input.kind.merging.per_port, input.context.port()) else { return Vec::new() };
    let (Some(name), None) = (&per_port.reported_as, input.unhandled) else { return Vec::new() };
    let merged = fold(FoldInput { context: input.context.for_all_ports(), ..input });
    let list = Path::default().key(per_port.list.clone());
    let items = merged.spec.as_ref().and_then(|spec| spec.get(&per_port.list)).map_or(&[][..], Value::items);

    let others = merged.origins.iter().filter(|it| !it.path.starts_with(&list) && !effective.origins.contains(it));
    let others = others.map(|origin| ReportedOrigin { origin: origin.clone(), in_force: false });
    let items = items.iter().enumerate().filter_map(|(i, item)| {
        let number = usize::try_from(item.get(&per_port.port)?.as_int()?).ok()?;
        // The first policy that has the item sets its port.
        let at = list.index(i).key(per_port.port.clone());
        let first = merged.origins.iter().find(|it| at.starts_with(&it.path))?;
        let origin = ValueOrigin { path: Path::default().key(name.clone()).index(number), ..first.clone() };
        Some(ReportedOrigin { origin, in_force: number == usize::from(port) })
    });
    others.chain(items).collect()
}

impl Fold<'_> {
    /// The settings of a block without those for other ports than that of the listener.
    pub(super) fn select_port<'v>(&self, spec: &'v Value) -> Cow<'v, Value> {
        match (&self.kind.merging.per_port, self.context.port()) {
            (Some(per_port), Some(port)) => per_port.select(spec, port),
            _ => Cow::Borrowed(spec),
        }
    }

    /// Whether all settings of a policy are for other ports than that of the listener.
    pub(super) fn is_for_other_ports(&self, attachment: &Attachment) -> bool {
        let policy = self.policy(attachment);
        self.context.port().is_some()
            && !policy.is_empty()
            && policy.blocks.iter().all(|block| self.select_port(&block.spec).entries().is_empty())
    }

    /// Removes the settings that those for the port of the listener replace. A policy that has both loses nothing.
    pub(super) fn replace_by_port(&mut self) {
        let (Some(per_port), Some(_)) = (&self.kind.merging.per_port, self.context.port()) else { return };
        let list = self.tree.get_mut(&[Segment::Key(per_port.list.clone())]);
        let Some(items) = list.and_then(|items| items.sources()) else { return };
        let policies: BTreeSet<PolicyId> = items.as_slice().iter().map(|it| self.policy_at(*it)).collect();
        let winners = items.as_slice().iter().map(|source| self.step_for_port(*source)).collect();
        let Some(winners) = Sources::new(winners) else { return };

        let mut path = vec![Segment::Key(per_port.replaces.clone())];
        let Some(fields) = self.tree.get_mut(&path).and_then(|replaced| replaced.split()) else { return };
        let (kept, replaced) = std::mem::take(fields).into_iter().partition(|(key, _)| per_port.except.contains(key));
        *fields = kept;
        let is_empty = fields.is_empty();
        if is_empty && let Some(settings) = self.tree.split() {
            settings.retain(|(key, _)| *key != per_port.replaces);
        }
        let replaced: Vec<_> = replaced;
        for (key, field) in &replaced {
            path.push(Segment::Key(key.clone()));
            field.each_piece(&mut path, &mut |path, value, loser| {
                if !policies.contains(&self.steps[loser.0 as usize].attachment.policy) {
                    self.merge.lose_value(value, path, loser, &winners, false);
                }
            });
            path.pop();
        }
    }

    fn policy_at(&self, source: BlockSource) -> PolicyId {
        self.steps[source.0 as usize].attachment.policy
    }

    /// The source of the same block, with settings for the port of the listener.
    fn step_for_port(&mut self, source: BlockSource) -> BlockSource {
        let step = FoldStep { for_port: true, ..self.steps[source.0 as usize] };
        self.steps.push(step);
        BlockSource(self.steps.len() as u32 - 1)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::ReportedOrigin;
    use crate::fixture::{engine, kind, node, policy};

    const GATEWAY: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g, namespace: default}
spec: {gatewayClassName: c, listeners: [{name: a, port: 80, protocol: HTTP}, {name: b, port: 81, protocol: HTTP}]}
---
";
    const KIND: &str = "hierarchy: [Gateway, Listener], targets: [Gateway], effectiveTarget: Listener, class: Inherited, \
        sameLevel: OldestWins, strategies: [shallow], rules: [\"all.*\", \"ports[*].set.*\"], keys: {ports: port}, \
        perPort: {list: ports, port: port, replaces: all, reportedAs: portPolicy}";

    /// What the controller reports of a listener: path and policy, and whether it is in force.
    fn reported(policies: &str, listener: &str) -> Vec<String> {
        let engine = engine(&[GATEWAY, &kind(KIND), policies].concat());
        let (model, view) = (&engine.models()[0], engine.view());
        let node = node(&engine, &format!("Gateway/default/g#{listener}"));
        let chain = model.chains_at(view, node).first().unwrap().0;
        let text = |it: ReportedOrigin| {
            format!("{} {} {}", it.origin.path, engine.policy_id(it.origin.policy).name, it.in_force)
        };
        model.reported(view, chain).into_iter().map(text).collect()
    }

    #[test]
    fn settings_for_all_ports_are_reported_on_each_listener() {
        let policies = policy("x", "Gateway/g", "ports: [{port: 80, set: {color: red}}]");
        assert_eq!(reported(&policies, "a"), ["portPolicy[80] x true"]);
        assert_eq!(reported(&policies, "b"), ["portPolicy[80] x false"]);
    }

    #[test]
    fn an_item_is_of_the_first_policy_that_has_it_and_what_it_replaces_is_not_in_force() {
        let x = policy("x", "Gateway/g", "all: {color: red}, ports: [{port: 81, set: {size: 1}}]");
        let z = policy("z", "Gateway/g", "all: {size: 2}, ports: [{port: 81, set: {color: blue}}]");
        let policies = x + &z;
        assert_eq!(reported(&policies, "a"), ["portPolicy[81] x false"]);
        assert_eq!(reported(&policies, "b"), ["all.color x false", "all.size z false", "portPolicy[81] x true"]);
    }

    #[test]
    fn policies_without_settings_for_ports_have_nothing_to_report() {
        assert!(reported(&policy("x", "Gateway/g", "all: {color: red}"), "a").is_empty());
    }
}
