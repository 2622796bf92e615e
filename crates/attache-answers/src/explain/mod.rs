//! Why things are as they are on one object: for each kind of policy, all that was said and what came of it.

mod document;

use std::collections::BTreeSet;

use attache_engine::fold::{BlockTrace, EffectivePolicy, FoldTrace, Superseded};
use attache_engine::model::Model;
use attache_engine::names::nearest;
use attache_engine::object::SourceLocation;
use attache_engine::object_merge::Merged;
use attache_engine::policy::{Block, PolicyId, block_path};
use attache_engine::value::{Path, Segment, Value};

use crate::scopes::Group;

use crate::snapshot::Snapshot;
pub use document::explanation;

/// What is to be explained for scopes with the same answer.
#[derive(Debug)]
pub struct Answer<'i> {
    pub model: &'i Model,
    pub group: Group,
    /// For kinds that merge into objects: the object, and the place in it.
    pub merged: Option<(String, Merged)>,
    pub trace: FoldTrace,
    effective: EffectivePolicy,
}

impl<'i> Answer<'i> {
    pub fn new(input: &Snapshot, model: &'i Model, group: Group, merged: Option<(String, Merged)>) -> Answer<'i> {
        let own = merged.as_ref().map(|(_, merged)| &merged.own);
        let trace = model.trace(input.engine.view(), group.chain, own);
        let effective = match &merged {
            Some((_, merged)) => merged.effective.clone(),
            None => EffectivePolicy::clone(model.effective(input.engine.view(), group.chain)),
        };
        Answer { model, group, merged, trace, effective }
    }

    pub fn effective(&self) -> &EffectivePolicy {
        &self.effective
    }

    /// What is in force: of the policies alone or, if they merge into an object, there.
    pub fn spec(&self) -> Option<&Value> {
        match &self.merged {
            Some((_, merged)) => Some(&merged.value),
            None => self.effective.spec.as_ref(),
        }
    }

    /// The blocks, the strongest first.
    pub fn candidates(&self) -> impl Iterator<Item = &BlockTrace> {
        self.trace.by_strength.iter().filter_map(|at| self.trace.blocks.get(*at))
    }

    /// What of a block did not count in the end.
    pub fn lost(&self, turn: &BlockTrace) -> impl Iterator<Item = &Superseded> {
        self.effective.superseded.iter().filter(|lost| turn.is_loser(lost))
    }

    /// The policies that set something of a field in the end.
    pub fn in_force(&self, field: &Path) -> impl Iterator<Item = PolicyId> {
        let origins = self.effective.origins.iter().filter(|it| it.path.overlaps(field)).map(|it| it.policy);
        origins.chain(self.effective.applied.iter().map(|it| it.policy))
    }

    /// The paths of what is called `field`: its path, or the end of it.
    pub fn fields(&self, input: &Snapshot, field: &Path) -> Vec<Path> {
        let all = self.paths(input);
        if all.contains(field) {
            return vec![field.clone()];
        }
        let mut found: Vec<Path> = Vec::new();
        for path in all {
            if path.segments().ends_with(field.segments()) && !found.iter().any(|above| path.starts_with(above)) {
                found.push(path);
            }
        }
        found
    }

    /// The path of everything that is said, in order.
    pub fn paths(&self, input: &Snapshot) -> BTreeSet<Path> {
        let mut found = BTreeSet::new();
        let blocks = self.trace.blocks.iter().filter_map(|turn| block(input, turn)).map(|block| &block.spec);
        for spec in blocks.chain(self.spec()) {
            collect(spec, &Path::default(), &mut found);
        }
        found
    }
}

fn collect(value: &Value, path: &Path, found: &mut BTreeSet<Path>) {
    let fields = value.entries().iter().map(|(key, child)| (path.key(key.clone()), child));
    let items = value.items().iter().enumerate().map(|(i, child)| (path.index(i), child));
    for (path, child) in fields.chain(items) {
        collect(child, &path, found);
        found.insert(path);
    }
}

/// The block whose turn it was.
pub fn block<'i>(input: &'i Snapshot, turn: &BlockTrace) -> Option<&'i Block> {
    input.engine.policy(turn.policy).blocks.iter().find(|block| block.kind == turn.block)
}

/// The file of a block, and the place of what it says at `field`.
pub fn place<'i>(input: &'i Snapshot, turn: &BlockTrace, field: &Path) -> Option<(&'i str, Option<SourceLocation>)> {
    let object = input.engine.policy_object(turn.policy);
    let kind = input.engine.kinds().get(input.engine.policy(turn.policy).kind);
    let mut path = block_path(object, kind, turn.block).segments().to_vec();
    path.extend_from_slice(field.segments());
    let file = &*object.source.file;
    (!file.is_empty()).then(|| (file, object.locate(&Path::new(path))))
}

/// The fields whose names are near one that nobody sets, or else those that are set.
pub fn near(field: &Path, all: &BTreeSet<Path>) -> Result<Vec<String>, Vec<String>> {
    let end = |path: &Path| {
        let segments = path.segments();
        Path::new(segments[segments.len().saturating_sub(field.segments().len())..].to_vec()).to_string()
    };
    let names = all.iter().filter(|path| !path.segments().iter().any(|it| matches!(it, Segment::Index(_))));
    let ends: BTreeSet<String> = names.clone().map(end).collect();
    let near = nearest(&field.to_string(), ends);
    let found: Vec<String> = names.clone().filter(|path| near.contains(&end(path))).map(ToString::to_string).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let is_leaf = |path: &&Path| !names.clone().any(|other| other != *path && other.starts_with(path));
    Err(names.clone().filter(is_leaf).map(ToString::to_string).collect())
}
