//! The input of a command: files or a cluster, read and given to the engine.

use std::sync::Arc;

use attache_answers::{ObjectQuery, QueryError, Snapshot, is_cluster_scoped};
use attache_cluster::{Cluster, ClusterReading, Subject, Unseen};
use attache_engine::kinds::{PolicyKind, built_in};
use attache_engine::text::Reading;
use attache_engine::{Engine, IncrementalEngine, Unknown};
use attache_engine::{Objects, Problem, Severity};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::render::problem::{show, show_some};
use crate::render::reported::Reported;
use crate::render::{self, Screen};
use crate::source::{self, LiveCluster, read_cluster};
use crate::verdict::Verdict;

#[derive(Debug)]
pub struct Input {
    pub snapshot: Snapshot,
}

impl Input {
    /// Reads the files of `-f`, or else the cluster. Problems with parts of it are shown, and the rest is used.
    pub fn read(global: &Global, screen: &mut Screen) -> Result<Input, Failure> {
        Input::read_about(&[], global, screen)
    }

    /// Reads the files of `-f`, or else what can matter in the cluster to an object, which is written as the user writes
    /// it.
    pub fn read_about(object: &[String], global: &Global, screen: &mut Screen) -> Result<Input, Failure> {
        Input::read_subject(subject(object), global, screen)
    }

    /// As [`Input::read_about`]. If only policies of a kind count, all objects are read, because the kind can be meant by
    /// the policies that there are.
    pub fn read_about_kind(
        object: &[String],
        kind: Option<&str>,
        global: &Global,
        screen: &mut Screen,
    ) -> Result<Input, Failure> {
        let subject = subject(object).map(|it| Subject { name: it.name.filter(|_| kind.is_none()), ..it });
        Input::read_subject(subject, global, screen)
    }

    fn read_subject(subject: Option<Subject>, global: &Global, screen: &mut Screen) -> Result<Input, Failure> {
        let input = Input::load(subject, global, screen)?;
        input.show_problems(global);
        input.warn_of_empty_namespace(global);
        input.not_empty()
    }

    /// Reads the files of `-f`, or else the cluster, and fails if the namespace of `-n` has no objects.
    pub fn read_in_namespace(global: &Global, screen: &mut Screen) -> Result<Input, Failure> {
        let input = Input::load(None, global, screen)?;
        input.show_problems(global);
        let input = input.not_empty()?;
        global.namespace.as_ref().map_or(Ok(()), |namespace| input.snapshot.check_namespace(namespace))?;
        Ok(input)
    }

    /// Reads the files of `-f`, or else the cluster, without showing problems.
    pub fn read_silently(global: &Global, screen: &mut Screen) -> Result<Input, Failure> {
        let input = Input::load(None, global, screen)?;
        if input.snapshot.problems.is_empty() { input.not_empty() } else { Ok(input) }
    }

    /// Reads the files of `-f`, or else the cluster, into an incremental engine.
    pub fn read_incremental(global: &Global, screen: &mut Screen) -> Result<(Input, IncrementalEngine), Failure> {
        let Loaded { reading, kinds, .. } = load(None, global, screen)?;
        let incremental =
            IncrementalEngine::one_shot(Objects::new(reading.objects), &kinds, global.settings_without(&screen.unseen));
        let input = Input { snapshot: Snapshot::new(Arc::clone(incremental.now()), reading.problems) };
        screen.unknown = input.unknown(global, &screen.unseen);
        input.show_problems(global);
        input.warn_of_empty_namespace(global);
        Ok((input.not_empty()?, incremental))
    }

    fn load(about: Option<Subject>, global: &Global, screen: &mut Screen) -> Result<Input, Failure> {
        let Loaded { reading, kinds, policies_left_out } = load(about, global, screen)?;
        let engine = Engine::new(Objects::new(reading.objects), &kinds, global.settings_without(&screen.unseen));
        let snapshot = Snapshot::new(Arc::new(engine), reading.problems).with_policies_left_out(policies_left_out);
        let input = Input { snapshot };
        screen.unknown = input.unknown(global, &screen.unseen);
        Ok(input)
    }

    /// What answers depend on and the input does not contain. Objects that are not in a cluster do not exist, except
    /// for classes and kinds, and for parents that could not be read.
    fn unknown(&self, global: &Global, unseen: &[Unseen]) -> Vec<Unknown> {
        let mut unknown = self.snapshot.engine.unknown();
        let is_unread = |it: &Unknown| match it {
            Unknown::Class { .. } | Unknown::PolicyKind { .. } => true,
            Unknown::Parent { parent, .. } => unseen.iter().any(|kind| kind.unread_kind().may_include(parent)),
            Unknown::Grants { .. } => false,
        };
        unknown.retain(|it| !global.reads_cluster() || is_unread(it));
        unknown
    }

    /// Keeps only the unknown facts that the answer about one object depends on.
    pub fn limit_unknown(&self, query: &ObjectQuery, global: &Global, screen: &mut Screen) {
        if let Ok(object) = self.snapshot.find(query, global.namespace.as_deref()) {
            let about = self.snapshot.unknown_about(&object);
            screen.unknown.retain(|it| about.contains(it));
        }
    }

    /// Adds what the controller of the cluster reports about an object, or a namespace, if not all policies could be read.
    pub fn add_reported(&self, query: Option<&ObjectQuery>, global: &Global, screen: &mut Screen) {
        let object = query.and_then(|query| self.snapshot.find(query, global.namespace.as_deref()).ok());
        let object = object.map(|object| object.object);
        let namespace = object.as_ref().map(|it| it.namespace.to_string()).or_else(|| global.namespace.clone());
        let (Some(namespace), false) = (namespace.filter(|it| !it.is_empty()), screen.unseen.is_empty()) else {
            return;
        };
        let Ok(cluster) = Cluster::connect(&global.cluster.options()) else { return };
        let engine = &self.snapshot.engine;
        let known = engine.policies().map(|(policy, _)| engine.policy_id(policy).to_string()).collect();
        let items = cluster.reported(&namespace, object.as_ref());
        screen.reported = items.iter().filter_map(|item| Reported::new(item, &known)).collect();
    }

    /// Reads the files of `-f`, or else the cluster. Without a cluster, only the built-in policy kinds remain.
    pub fn read_or_empty(global: &Global, screen: &mut Screen) -> Result<Input, Failure> {
        let no_cluster = global.reads_cluster() && global.cluster.options().default_namespace().is_err();
        if no_cluster { Ok(Input { snapshot: Snapshot::empty() }) } else { Input::read(global, screen) }
    }

    /// Success, if all of the input could be used.
    pub fn verdict(&self) -> Verdict {
        if self.snapshot.is_incomplete() { Verdict::Incomplete } else { Verdict::Fine }
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
        warn_of_empty_namespace(&self.snapshot, global);
    }
}

/// The object that the words of a command name. If they name none, the kind is known all the same.
fn subject(words: &[String]) -> Option<Subject> {
    match ObjectQuery::parse_words(words) {
        Ok((query, rest)) => {
            // Whether a further word is an object is known only if all objects are.
            let name = rest.iter().all(|word| !word.contains('/')).then(|| query.name().to_owned());
            Some(Subject { kind: query.kind().to_string(), name })
        }
        Err(_) => Some(Subject { kind: words.first()?.split('/').next()?.to_owned(), name: None }),
    }
}

/// Warns if there are no objects in the namespace of `-n`.
pub fn warn_of_empty_namespace(snapshot: &Snapshot, global: &Global) {
    let Some(namespace) = global.namespace.as_ref().filter(|_| !global.quiet) else { return };
    if let Err(error) = snapshot.check_namespace(namespace) {
        show(&Problem { severity: Severity::Warning, ..error.into() });
    }
}

/// An answer. If there is none, the error suggests a command where only the command line knows one. An object of a kind
/// that may not be read may exist.
pub fn answered<T>(answer: Result<T, QueryError>, screen: &Screen) -> Result<T, Failure> {
    answer.map_err(|error| {
        if let Some(problem) = unreadable(&error, &screen.unseen) {
            return problem.into();
        }
        let question = |words: &[&str]| screen.invocation.question(words);
        let help = match &error {
            QueryError::NotAPolicy { .. } => {
                Some(format!("see {}, and for objects {}", question(&["get", "policies"]), question(&["effective"])))
            }
            QueryError::IsAPolicy { policy } => {
                Some(format!("its effect is shown by {}", question(&["describe", &policy.to_string()])))
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

/// The problem of an object that was not found because not all objects of its kind could be read.
fn unreadable(error: &QueryError, unseen: &[Unseen]) -> Option<Problem> {
    let QueryError::ObjectNotFound(it) = error else { return None };
    let was_searched = |kind: &Unseen| it.namespace.as_ref().is_some_and(|namespace| kind.seen_in.contains(namespace));
    let kind = unseen.iter().find(|kind| kind.kind == it.kind && !was_searched(kind))?;
    let place = it.namespace.as_ref().map_or(String::new(), |namespace| format!(" in namespace `{namespace}`"));
    let problem = Problem::error(format!("cannot read {} `{}`{place}: {}", it.kind, it.name, kind.cause()));
    Some(problem.help("docs/cluster.md has a ClusterRole that allows what is needed"))
}

/// Fails if nothing in a cluster could be read.
pub fn check_readable(reading: &ClusterReading, server: &str) -> Result<(), Failure> {
    if !reading.objects.is_empty() || reading.unseen.is_empty() {
        return Ok(());
    }
    render::unseen::show(&reading.unseen);
    let problem = Problem::error(format!("there is nothing in the cluster at {server} that you may read"));
    let help =
        "name a namespace that you may read with `-n`; docs/cluster.md has a ClusterRole that allows what is needed";
    Err(problem.help(help).into())
}

/// What was read.
struct Loaded {
    reading: Reading,
    kinds: Vec<PolicyKind>,
    policies_left_out: usize,
}

fn load(about: Option<Subject>, global: &Global, screen: &mut Screen) -> Result<Loaded, Failure> {
    if global.reads_cluster() {
        let LiveCluster { reading, cluster, interest } = read_cluster(global, about)?;
        check_readable(&reading, cluster.server())?;
        screen.unseen = reading.unseen;
        let policies_left_out = reading.policies_left_out;
        let reading = Reading { objects: reading.objects, problems: reading.problems };
        return Ok(Loaded { reading, kinds: interest.kinds, policies_left_out });
    }
    let read = || source::read_all(&global.files, global.quiet);
    let (reading, (kinds, _)) = rayon::join(read, built_in);
    let reading = source::resolve(reading, |group, kind| is_cluster_scoped(&kinds, group, kind));
    Ok(Loaded { reading, kinds, policies_left_out: 0 })
}
