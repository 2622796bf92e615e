//! Settings for the listeners of one port.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::tree::{BlockSource, Sources};
use super::{Fold, FoldStep};
use crate::attachment::Attachment;
use crate::policy::PolicyId;
use crate::value::{Segment, Value};

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
        let Some(per_port) = &self.kind.merging.per_port else { return };
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
