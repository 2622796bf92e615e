//! The state that questions are asked about: an engine, and what was wrong with its input.

use std::collections::BTreeSet;
use std::sync::Arc;

use attache_engine::engine::Engine;
use attache_engine::incremental::Edit;
use attache_engine::kinds::{KindId, PolicyKind, Settings, built_in};
use attache_engine::model::Model;
use attache_engine::names::nearest;
use attache_engine::object::{Object, ObjectRef, Objects};
use attache_engine::policy::PolicyId;
use attache_engine::problem::Problem;
use attache_engine::text::{declares_resource_scope, described_kind, settle_namespaces};
use attache_engine::topology::{Level, NodeId};
use smol_str::SmolStr;

use crate::object_query::{ObjectQuery, Target};
use crate::scopes::Focus;
use crate::suggestions::{did_you_mean, listed};

#[derive(Clone, Debug)]
pub struct Snapshot {
    pub engine: Arc<Engine>,
    /// What was wrong with the input before the engine saw it.
    pub problems: Vec<Problem>,
}

impl Snapshot {
    pub fn new(engine: Arc<Engine>, problems: Vec<Problem>) -> Snapshot {
        Snapshot { engine, problems }
    }

    /// Nothing but the policy kinds that are built in.
    pub fn empty() -> Snapshot {
        let (built_in, _) = built_in();
        let engine = Engine::new(Objects::default(), &built_in, Settings::default());
        Snapshot::new(Arc::new(engine), Vec::new())
    }

    /// The edits that put these objects, new or in place of what has their name, and delete those.
    pub fn batch<'d>(&self, put: Vec<Object>, delete: impl Iterator<Item = &'d ObjectRef>) -> Vec<Edit> {
        let before = self.engine.objects();
        // What is put may say that objects that are there live elsewhere.
        let declares = put.iter().any(declares_resource_scope);
        let others =
            before.iter().map(|(_, object)| object).filter(|object| declares || declares_resource_scope(object));
        let mut objects: Vec<Object> = others.clone().cloned().collect();
        let there = objects.len();
        objects.extend(put);
        let known = || self.engine.kinds().iter().map(|(_, kind)| kind);
        settle_namespaces(&mut objects, &mut [], |group, kind| is_cluster_scoped(known(), group, kind));
        let mut put = objects.split_off(there);
        for object in &mut put {
            // Who changes an object does not make it younger.
            let existing = before.find(&object.id).and_then(|id| before[id].created);
            object.created = object.created.or(existing);
        }
        let moved = others.zip(objects).filter(|(was, is)| was.id != is.id);
        let moved = moved.flat_map(|(was, is)| [Edit::Delete(was.id.clone()), Edit::Put(is)]);
        let delete = delete.cloned().map(Edit::Delete);
        moved.chain(put.into_iter().map(Edit::Put)).chain(delete).collect()
    }

    /// What to say if there is nothing in a namespace.
    pub fn nothing_in(&self, namespace: &str) -> Option<Problem> {
        let objects = self.engine.objects();
        let named = |object: &Object| {
            if object.id.kind == "Namespace" { object.id.name.clone() } else { object.id.namespace.clone() }
        };
        let namespaces: BTreeSet<SmolStr> =
            objects.iter().map(|(_, object)| named(object)).filter(|name| !name.is_empty()).collect();
        if objects.is_empty() || namespaces.contains(namespace) {
            return None;
        }
        let problem = Problem::warning(format!("there is nothing in namespace `{namespace}`"));
        let near = nearest(namespace, &namespaces);
        let help = if near.is_empty() { format!("there are {}", listed(&namespaces, 12)) } else { did_you_mean(near) };
        Some(if namespaces.is_empty() { problem } else { problem.help(help) })
    }

    /// The object that `words` name, and the words that follow.
    pub fn target<'w>(
        &self,
        words: &'w [String],
        namespace: Option<&str>,
    ) -> Result<(Target, &'w [String]), Box<Problem>> {
        let (query, rest) = ObjectQuery::parse(words)?;
        let (objects, topology) = (self.engine.objects(), self.engine.topology());
        Ok((query.find(objects, topology, namespace)?, rest))
    }

    /// The nodes of the topology that `target` names: a Service in front of routes is two.
    pub fn nodes(&self, target: &Target) -> Vec<NodeId> {
        let topology = self.engine.topology();
        let Some(whole) = topology.find(self.engine.objects(), &target.id) else { return Vec::new() };
        match &target.section {
            None => [whole].into_iter().chain(topology.frontend(whole)).collect(),
            Some(section) => topology.section(whole, section).into_iter().collect(),
        }
    }

    /// The policy kinds that are called `name` and of which there are policies, or all of them, as far as a question is
    /// about them.
    pub fn models(&self, name: Option<&str>, focus: &Focus) -> Result<Vec<Model>, Box<Problem>> {
        let kinds = self.kinds(name)?.into_iter().map(|(id, _)| self.engine.kinds().leader(id));
        let leaders: BTreeSet<KindId> = kinds.collect();
        let among = |mut models: Vec<Model>| {
            models.retain(|model| leaders.contains(&model.id));
            models
        };
        Ok(match focus {
            Focus::Everything { .. } if name.is_none() => self.engine.models().to_vec(),
            Focus::Everything { .. } => leaders.iter().filter_map(|kind| self.engine.model(*kind)).cloned().collect(),
            Focus::At(nodes) => among(self.engine.models_at(nodes.iter().copied())),
            Focus::Through(nodes) => {
                let nodes = self.engine.topology().below(nodes.iter().copied());
                among(self.engine.models_at(nodes))
            }
        })
    }

    /// The policy kinds that are called `name`, or all of them.
    pub fn kinds(&self, name: Option<&str>) -> Result<Vec<(KindId, &PolicyKind)>, Box<Problem>> {
        let kinds = self.engine.kinds().iter();
        let Some(name) = name else { return Ok(kinds.collect()) };
        let found: Vec<_> = kinds.filter(|(_, kind)| kind.is_called(name)).collect();
        if found.is_empty() { Err(self.unknown_kind(name)) } else { Ok(found) }
    }

    /// The one policy kind that is called `name`. Of several, the one that there are policies of, or else the one that
    /// the input describes.
    pub fn kind_named(&self, name: &str) -> Result<KindId, Box<Problem>> {
        let mut meant = self.kinds(Some(name))?;
        let objects = self.engine.objects();
        let is_used = |kind: &PolicyKind| !objects.of_kind(&kind.group, &kind.kind).is_empty();
        let is_described = |kind: &PolicyKind| {
            let name = Some((kind.group.as_str(), kind.kind.as_str()));
            objects.iter().any(|(_, object)| described_kind(object) == name)
        };
        if meant.len() > 1 {
            let strangeness = |kind: &PolicyKind| (!is_used(kind), !is_used(kind) && !is_described(kind));
            let least = meant.iter().map(|(_, kind)| strangeness(kind)).min();
            meant.retain(|(_, kind)| Some(strangeness(kind)) == least);
        }
        if let [(only, _)] = meant.as_slice() {
            return Ok(*only);
        }
        let help = format!("say which: {}", listed(meant.iter().map(|(_, kind)| kind.full_name()), 12));
        Err(Problem::error(format!("`{name}` could be several policy kinds")).help(help).into())
    }

    fn unknown_kind(&self, name: &str) -> Box<Problem> {
        let kinds = || self.engine.kinds().iter().map(|(_, kind)| kind.kind.to_lowercase());
        let near = nearest(name, kinds());
        let help = match kinds().next() {
            None => "the input has no policy kinds: add their CRDs or PolicyKind documents".to_owned(),
            Some(_) if near.is_empty() => format!("there are {}", listed(kinds(), 12)),
            Some(_) => did_you_mean(near),
        };
        Problem::error(format!("unknown policy kind `{name}`")).help(help).into()
    }

    pub fn name(&self, node: NodeId) -> String {
        self.engine.topology().name(self.engine.objects(), node)
    }

    /// What a node is, for a sentence: `Gateway`, `HTTPRoute rule`.
    pub fn what(&self, node: NodeId) -> String {
        let topology = self.engine.topology();
        let kind = &topology.id(self.engine.objects(), node).kind;
        match topology[node].level {
            Level::Listener => format!("{kind} listener"),
            Level::RouteRule => format!("{kind} rule"),
            Level::BackendPort => format!("{kind} port"),
            _ => kind.to_string(),
        }
    }

    pub fn policy(&self, policy: PolicyId) -> String {
        self.engine.policy_id(policy).to_string()
    }

    /// Whether a node is in the namespace that was asked for.
    pub fn is_in(&self, node: NodeId, namespace: Option<&str>) -> bool {
        let id = self.engine.topology().id(self.engine.objects(), node);
        namespace.is_none_or(|wanted| id.namespace == wanted)
    }
}

pub fn is_cluster_scoped<'k>(kinds: impl IntoIterator<Item = &'k PolicyKind>, group: &str, kind: &str) -> bool {
    kinds.into_iter().any(|known| known.is_cluster_scoped() && known.group == group && known.kind == kind)
}
