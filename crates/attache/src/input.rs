//! The input of a command: files or a cluster, read and given to the engine.

use std::sync::Arc;

use attache_answers::{QueryError, Snapshot, is_cluster_scoped};
use attache_engine::kinds::{PolicyKind, built_in};
use attache_engine::text::Reading;
use attache_engine::{Engine, IncrementalEngine};
use attache_engine::{Objects, Problem, Severity};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::render::problem::{show, show_some};
use crate::render::{self, Screen};
use crate::source::{self, LiveCluster, read_cluster};
use crate::verdict::Verdict;

#[derive(Debug)]
pub struct Input {
    pub snapshot: Snapshot,
}

impl Input {
    /// Reads what `-f` names, or else the cluster. Problems with parts of it are shown, and the rest is used.
    pub fn read(global: &Global, screen: &mut Screen) -> Result<Input, Failure> {
        let input = Input::load(global, screen)?;
        input.show_problems(global);
        input.warn_of_empty_namespace(global);
        input.not_empty()
    }

    /// Reads what `-f` names, or else the cluster, and fails if there is nothing in the namespace that `-n` names.
    pub fn read_in_namespace(global: &Global, screen: &mut Screen) -> Result<Input, Failure> {
        let input = Input::load(global, screen)?;
        input.show_problems(global);
        let input = input.not_empty()?;
        global.namespace.as_ref().map_or(Ok(()), |namespace| input.snapshot.check_namespace(namespace))?;
        Ok(input)
    }

    /// Reads what `-f` names, or else the cluster, without showing problems.
    pub fn read_silently(global: &Global, screen: &mut Screen) -> Result<Input, Failure> {
        let input = Input::load(global, screen)?;
        if input.snapshot.problems.is_empty() { input.not_empty() } else { Ok(input) }
    }

    /// Reads what `-f` names, or else the cluster, with an engine that can be changed.
    pub fn read_incremental(global: &Global, screen: &mut Screen) -> Result<(Input, IncrementalEngine), Failure> {
        let (reading, kinds) = load(global, screen)?;
        let incremental = IncrementalEngine::one_shot(Objects::new(reading.objects), &kinds, global.settings());
        let input = Input { snapshot: Snapshot::new(Arc::clone(incremental.now()), reading.problems) };
        input.show_problems(global);
        input.warn_of_empty_namespace(global);
        Ok((input.not_empty()?, incremental))
    }

    fn load(global: &Global, screen: &mut Screen) -> Result<Input, Failure> {
        let (reading, kinds) = load(global, screen)?;
        let engine = Engine::new(Objects::new(reading.objects), &kinds, global.settings());
        Ok(Input { snapshot: Snapshot::new(Arc::new(engine), reading.problems) })
    }

    /// Reads what `-f` names, or else the cluster. Where there is none, the policy kinds that are built in are left.
    pub fn read_or_empty(global: &Global, screen: &mut Screen) -> Result<Input, Failure> {
        let no_cluster = global.reads_cluster() && global.cluster.options().default_namespace().is_err();
        if no_cluster { Ok(Input { snapshot: Snapshot::empty() }) } else { Input::read(global, screen) }
    }

    /// Fine if all of the input could be used.
    pub fn verdict(&self) -> Verdict {
        if self.snapshot.is_incomplete() { Verdict::No } else { Verdict::Fine }
    }

    fn not_empty(self) -> Result<Input, Failure> {
        match self.snapshot.engine.objects().is_empty() {
            true if self.snapshot.problems.iter().any(Problem::is_error) => Err(Failure::Shown),
            true => Err(Problem::error("there are no objects in the input").into()),
            false => Ok(self),
        }
    }

    fn show_problems(&self, global: &Global) {
        show_some(self.snapshot.input_problems().filter(|problem| problem.is_error() || !global.quiet));
    }

    fn warn_of_empty_namespace(&self, global: &Global) {
        let Some(namespace) = global.namespace.as_ref().filter(|_| !global.quiet) else { return };
        if let Err(error) = self.snapshot.check_namespace(namespace) {
            show(&Problem { severity: Severity::Warning, ..error.into() });
        }
    }
}

/// An answer. If there is none, the error says which command to try where only the command line knows that.
pub fn answered<T>(answer: Result<T, QueryError>, screen: &Screen) -> Result<T, Failure> {
    answer.map_err(|error| {
        let question = |words: &[&str]| screen.invocation.question(words);
        let help = match &error {
            QueryError::NotAPolicy { .. } => {
                Some(format!("see {}, and for objects {}", question(&["get", "policies"]), question(&["effective"])))
            }
            QueryError::IsAPolicy { policy } => {
                Some(format!("what it does is shown by {}", question(&["describe", &policy.to_string()])))
            }
            QueryError::RuleNotFound { policy, near, .. } if near.is_empty() => {
                Some(format!("see {}", question(&["reach", &policy.to_string()])))
            }
            _ => None,
        };
        let problem = Problem::from(error);
        match help {
            Some(help) => problem.help(help).into(),
            None => problem.into(),
        }
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
