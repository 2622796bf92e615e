//! What a command looks at: the objects it was given, and what the engine makes of them.

use std::sync::Arc;

use attache_answers::{Snapshot, Target, is_cluster_scoped};
use attache_engine::engine::Engine;
use attache_engine::incremental::IncrementalEngine;
use attache_engine::kinds::{PolicyKind, built_in};
use attache_engine::object::Objects;
use attache_engine::policy::PolicyId;
use attache_engine::problem::{Problem, Severity};
use attache_engine::text::Reading;

use crate::arguments::Global;
use crate::failure::Failure;
use crate::render::Screen;
use crate::source::{LiveCluster, read_cluster};
use crate::verdict::Verdict;
use crate::{render, source};

#[derive(Debug)]
pub struct Input {
    pub snapshot: Snapshot,
    /// Fine if all of the input could be used. If not, the answer is for the rest of it.
    pub verdict: Verdict,
}

impl Input {
    /// Reads what `-f` names, or else the cluster. What is wrong with part of it is shown, and the rest is used.
    pub fn read(global: &Global, screen: &mut Screen) -> Result<Input, Failure> {
        let input = Input::load(global, screen)?;
        input.show_problems(global);
        input.show_nowhere(global);
        input.not_empty()
    }

    /// The same for those who must not be told that nothing is wrong where nothing is.
    pub fn read_somewhere(global: &Global, screen: &mut Screen) -> Result<Input, Failure> {
        let input = Input::load(global, screen)?;
        input.show_problems(global);
        let input = input.not_empty()?;
        match input.nowhere(global) {
            Some(problem) => Err(Problem { severity: Severity::Error, ..problem }.into()),
            None => Ok(input),
        }
    }

    /// The same for those who show what is wrong with it in their own way.
    pub fn read_silently(global: &Global, screen: &mut Screen) -> Result<Input, Failure> {
        let input = Input::load(global, screen)?;
        if input.snapshot.problems.is_empty() { input.not_empty() } else { Ok(input) }
    }

    /// The same as a model that takes changes.
    pub fn read_incremental(global: &Global, screen: &mut Screen) -> Result<(Input, IncrementalEngine), Failure> {
        let (reading, kinds) = load(global, screen)?;
        let incremental = IncrementalEngine::one_shot(Objects::new(reading.objects), &kinds, global.settings());
        let input = Input::new(Arc::clone(incremental.now()), reading.problems);
        input.show_problems(global);
        input.show_nowhere(global);
        Ok((input.not_empty()?, incremental))
    }

    fn load(global: &Global, screen: &mut Screen) -> Result<Input, Failure> {
        let (reading, kinds) = load(global, screen)?;
        let engine = Engine::new(Objects::new(reading.objects), &kinds, global.settings());
        Ok(Input::new(Arc::new(engine), reading.problems))
    }

    /// What the engine makes of objects that were read with these problems.
    pub fn new(engine: Arc<Engine>, problems: Vec<Problem>) -> Input {
        // Never dropped: the program ends with its answer, and to give all memory back piece by piece takes time.
        std::mem::forget(Arc::clone(&engine));
        let broken = problems.iter().chain(engine.problems()).any(Problem::is_error);
        let snapshot = Snapshot::new(engine, problems);
        Input { snapshot, verdict: if broken { Verdict::No } else { Verdict::Fine } }
    }

    /// Nothing but the policy kinds that are built in.
    pub fn empty() -> Input {
        Input { snapshot: Snapshot::empty(), verdict: Verdict::Fine }
    }

    /// The same, or nothing but the policy kinds that are built in if there is no cluster.
    pub fn read_or_empty(global: &Global, screen: &mut Screen) -> Result<Input, Failure> {
        let no_cluster = global.reads_cluster() && global.cluster.options().default_namespace().is_err();
        if no_cluster { Ok(Input::empty()) } else { Input::read(global, screen) }
    }

    fn not_empty(self) -> Result<Input, Failure> {
        match self.snapshot.engine.objects().is_empty() {
            true if self.snapshot.problems.iter().any(Problem::is_error) => Err(Failure::Shown),
            true => Err(Problem::error("there are no objects in the input").into()),
            false => Ok(self),
        }
    }

    fn show_problems(&self, global: &Global) {
        let problems = self.snapshot.problems.iter().chain(self.snapshot.engine.problems());
        render::problem::show_some(problems.filter(|problem| problem.is_error() || !global.quiet));
    }

    fn show_nowhere(&self, global: &Global) {
        self.nowhere(global).iter().filter(|_| !global.quiet).for_each(render::problem::show);
    }

    /// What to say if there is nothing in the namespace that was asked for.
    fn nowhere(&self, global: &Global) -> Option<Problem> {
        self.snapshot.nothing_in(global.namespace.as_deref()?)
    }
}

/// The object that `words` name, and the words that follow.
pub fn target<'w>(
    snapshot: &Snapshot,
    words: &'w [String],
    global: &Global,
) -> Result<(Target, &'w [String]), Failure> {
    Ok(snapshot.target(words, global.namespace.as_deref())?)
}

/// The policy that `words` name.
pub fn policy_named(
    snapshot: &Snapshot,
    words: &[String],
    global: &Global,
    screen: &Screen,
) -> Result<PolicyId, Failure> {
    let id = target(snapshot, words, global)?.0.id;
    snapshot.engine.find_policy(&id).ok_or_else(|| {
        let help = format!(
            "see {}, and for objects {}",
            screen.invocation.question(&["get", "policies"]),
            screen.invocation.question(&["effective"])
        );
        Problem::error(format!("{id} is not a policy")).help(help).into()
    })
}

fn load(global: &Global, screen: &mut Screen) -> Result<(Reading, Vec<PolicyKind>), Failure> {
    if global.reads_cluster() {
        let (kinds, _) = built_in();
        let LiveCluster { reading, cluster, .. } = read_cluster(global, &kinds)?;
        screen.unseen = reading.unseen;
        if reading.objects.is_empty() && !screen.unseen.is_empty() {
            render::unseen::show(&screen.unseen);
            let problem =
                Problem::error(format!("there is nothing in the cluster at {} that you may read", cluster.server()));
            return Err(problem.help("docs/cluster.md has a ClusterRole that allows what is needed").into());
        }
        return Ok((Reading { objects: reading.objects, problems: reading.problems }, kinds));
    }
    let read = || source::read_all(&global.files, global.quiet);
    let (reading, (kinds, _)) = rayon::join(read, built_in);
    let reading = source::settle(reading, |group, kind| is_cluster_scoped(&kinds, group, kind));
    Ok((reading, kinds))
}
