//! What a command looks at: the objects it was given, and what the engine makes of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use attache_engine::engine::Engine;
use attache_engine::incremental::{Edit, IncrementalEngine};
use attache_engine::kinds::{KindId, PolicyKind, Settings, built_in};
use attache_engine::model::Model;
use attache_engine::names::nearest;
use attache_engine::object::{Object, ObjectRef, Objects};
use attache_engine::policy::PolicyId;
use attache_engine::problem::{Problem, Severity};
use attache_engine::text::{Reading, declares_scope, described_kind, settle_scopes};
use attache_engine::topology::{Level, NodeId};
use smol_str::SmolStr;

use crate::cli::{Global, again, program};
use crate::commands::Verdict;
use crate::failure::Failure;
use crate::scopes::Focus;
use crate::target::{Query, Target, did_you_mean, listed};
use crate::{render, source};

#[derive(Debug)]
pub struct Input {
    pub engine: Arc<Engine>,
    /// Fine if all of the input could be used. If not, the answer is for the rest of it.
    pub verdict: Verdict,
    /// What was wrong with it before the engine saw it.
    pub problems: Vec<Problem>,
}

impl Input {
    /// Reads what `-f` names. What is wrong with part of it is shown, and the rest is used.
    pub fn read(global: &Global) -> Result<Input, Failure> {
        let input = Input::load(global)?;
        input.show_problems(global);
        input.show_nowhere(global);
        input.not_empty()
    }

    /// The same for those who must not be told that nothing is wrong where nothing is.
    pub fn read_somewhere(global: &Global) -> Result<Input, Failure> {
        let input = Input::load(global)?;
        input.show_problems(global);
        let input = input.not_empty()?;
        match input.nowhere(global) {
            Some(problem) => Err(Problem { severity: Severity::Error, ..problem }.into()),
            None => Ok(input),
        }
    }

    /// The same for those who show what is wrong with it in their own way.
    pub fn read_silently(global: &Global) -> Result<Input, Failure> {
        let input = Input::load(global)?;
        if input.problems.is_empty() { input.not_empty() } else { Ok(input) }
    }

    /// The same as a model that takes changes.
    pub fn read_incremental(global: &Global) -> Result<(Input, IncrementalEngine), Failure> {
        let (reading, kinds) = load(global)?;
        let incremental = IncrementalEngine::one_shot(Objects::new(reading.objects), &kinds, global.settings());
        let input = Input::new(Arc::clone(incremental.now()), reading.problems);
        input.show_problems(global);
        input.show_nowhere(global);
        Ok((input.not_empty()?, incremental))
    }

    fn load(global: &Global) -> Result<Input, Failure> {
        let (reading, kinds) = load(global)?;
        let engine = Engine::new(Objects::new(reading.objects), &kinds, global.settings());
        Ok(Input::new(Arc::new(engine), reading.problems))
    }

    /// What the engine makes of objects that were read with these problems.
    pub fn new(engine: Arc<Engine>, problems: Vec<Problem>) -> Input {
        // Never dropped: the program ends with its answer, and to give all memory back piece by piece takes time.
        std::mem::forget(Arc::clone(&engine));
        let broken = problems.iter().chain(engine.problems()).any(Problem::is_error);
        Input { engine, verdict: if broken { Verdict::No } else { Verdict::Fine }, problems }
    }

    fn not_empty(self) -> Result<Input, Failure> {
        match self.engine.objects().is_empty() {
            true if self.problems.iter().any(Problem::is_error) => Err(Failure::Shown),
            true => Err(Problem::error("there are no objects in the input").into()),
            false => Ok(self),
        }
    }

    /// The edits that put these objects, new or in place of what has their name, and delete those.
    pub fn batch<'d>(&self, put: Vec<Object>, delete: impl Iterator<Item = &'d ObjectRef>) -> Vec<Edit> {
        let before = self.engine.objects();
        // What is put may say that objects that are there live elsewhere.
        let declares = put.iter().any(declares_scope);
        let others = before.iter().map(|(_, object)| object).filter(|object| declares || declares_scope(object));
        let mut objects: Vec<Object> = others.clone().cloned().collect();
        let there = objects.len();
        objects.extend(put);
        let known = || self.engine.kinds().iter().map(|(_, kind)| kind);
        settle_scopes(&mut objects, &mut [], |group, kind| is_cluster_scoped(known(), group, kind));
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

    fn show_problems(&self, global: &Global) {
        let problems = self.problems.iter().chain(self.engine.problems());
        render::problem::show_some(problems.filter(|problem| problem.is_error() || !global.quiet));
    }

    fn show_nowhere(&self, global: &Global) {
        self.nowhere(global).iter().filter(|_| !global.quiet).for_each(render::problem::show);
    }

    /// What to say if there is nothing in the namespace that was asked for.
    fn nowhere(&self, global: &Global) -> Option<Problem> {
        let namespace = global.namespace.as_deref()?;
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

    /// Nothing but what is built in.
    pub fn empty() -> Input {
        let (built_in, _) = built_in();
        Input::of(Arc::new(Engine::new(Objects::default(), &built_in, Settings::default())))
    }

    /// What the engine makes of objects, wherever they are from.
    pub fn of(engine: Arc<Engine>) -> Input {
        Input { engine, verdict: Verdict::Fine, problems: Vec::new() }
    }

    /// The object that `words` name, and the words that follow.
    pub fn target<'w>(&self, words: &'w [String], global: &Global) -> Result<(Target, &'w [String]), Failure> {
        let (query, rest) = Query::parse(words)?;
        let (objects, topology) = (self.engine.objects(), self.engine.topology());
        Ok((query.find(objects, topology, global.namespace.as_deref())?, rest))
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

    /// The policy that `words` name.
    pub fn policy_named(&self, words: &[String], global: &Global) -> Result<PolicyId, Failure> {
        let id = self.target(words, global)?.0.id;
        self.engine.find_policy(&id).ok_or_else(|| {
            let help = format!("see {}, and for objects {}", again(&["get", "policies"]), again(&["effective"]));
            Problem::error(format!("{id} is not a policy")).help(help).into()
        })
    }

    /// The policy kinds that are called `name` and of which there are policies, or all of them, as far as a question is
    /// about them.
    pub fn models(&self, name: Option<&str>, focus: &Focus) -> Result<Vec<Model>, Failure> {
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
    pub fn kinds(&self, name: Option<&str>) -> Result<Vec<(KindId, &PolicyKind)>, Failure> {
        let kinds = self.engine.kinds().iter();
        let Some(name) = name else { return Ok(kinds.collect()) };
        let found: Vec<_> = kinds.filter(|(_, kind)| kind.is_called(name)).collect();
        if found.is_empty() { Err(self.unknown_kind(name)) } else { Ok(found) }
    }

    /// The one policy kind that is called `name`. Of several, the one that there are policies of, or else the one that
    /// the input describes.
    pub fn kind_named(&self, name: &str) -> Result<KindId, Failure> {
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

    fn unknown_kind(&self, name: &str) -> Failure {
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
        match topology.node(node).level {
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

fn load(global: &Global) -> Result<(Reading, Vec<PolicyKind>), Failure> {
    files_given(global)?;
    let read = || source::read_all(&global.files, global.quiet);
    let (reading, (kinds, _)) = rayon::join(read, built_in);
    let reading = source::settle(reading, |group, kind| is_cluster_scoped(&kinds, group, kind));
    Ok((reading, kinds))
}

/// Without `-f` there is nothing to look at.
pub fn files_given(global: &Global) -> Result<(), Failure> {
    if global.files.is_empty() {
        let help = format!("give manifests with `-f`: {} topology -f FILE|DIR|-", program());
        return Err(Problem::error("there is nothing to look at").help(help).into());
    }
    Ok(())
}

pub fn is_cluster_scoped<'k>(kinds: impl IntoIterator<Item = &'k PolicyKind>, group: &str, kind: &str) -> bool {
    kinds.into_iter().any(|known| known.cluster_scoped && known.group == group && known.kind == kind)
}
