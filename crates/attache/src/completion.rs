//! Completes an unfinished command line, for shells and for kubectl.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use attache_cluster::{ApiResource, ClientOptions, Cluster};
use attache_engine::kinds::{Registry, Settings, built_in};
use attache_engine::lint::RULES;
use attache_engine::{KindQuery, Object, ObjectRef, Objects, Topology, known_kinds};
use clap::Arg;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};
use clap_complete::env::CompleteEnv;

use crate::commands::completions::VARIABLE;
use crate::invocation::Program;
use crate::{cli, source};
use attache_answers::ObjectQuery;
use attache_answers::is_cluster_scoped;

/// Manifests above this size take too long to read.
const MOST_BYTES: u64 = 8 << 20;

/// The maximum time for a response of a cluster.
const PATIENCE: Duration = Duration::from_secs(2);

/// Prints completions if a shell or kubectl requests them, and returns whether one did. Errors are silent: a message
/// would appear in the middle of the user's command line.
pub fn answer(arguments: &[OsString]) -> bool {
    let program = Program::from_arguments(arguments);
    let line = Arc::new(TypedLine::read(arguments, program));
    if program == Program::KubectlCompletion {
        let _ = answer_kubectl(arguments, &line);
        return true;
    }
    let folder = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(|| definition(&line)).var(VARIABLE);
    asked.try_complete(arguments.iter().cloned(), folder.as_deref()).unwrap_or(true)
}

/// Prints one candidate on each line, then what kubectl should do with them: 4 is to offer no files, 2 to add no space.
fn answer_kubectl(arguments: &[OsString], line: &Arc<TypedLine>) -> io::Result<()> {
    let (last, folder) = (arguments.len().saturating_sub(1), std::env::current_dir().ok());
    let candidates = complete(&mut definition(line), arguments.to_vec(), last, folder.as_deref()).unwrap_or_default();
    let mut out = io::stdout().lock();
    for candidate in &candidates {
        write!(out, "{}", candidate.get_value().to_string_lossy())?;
        match candidate.get_help().map(ToString::to_string) {
            Some(help) => writeln!(out, "\t{}", help.lines().next().unwrap_or_default())?,
            None => writeln!(out)?,
        }
    }
    let goes_on = candidates.iter().any(|candidate| candidate.get_value().to_string_lossy().ends_with('/'));
    writeln!(out, ":{}", if goes_on { 6 } else { 4 })
}

/// The definition of the command line, with a completer for each argument.
fn definition(line: &Arc<TypedLine>) -> clap::Command {
    let mut command = cli::definition(line.program);
    // Adds `--help`.
    command.build();
    with_completers(command, line)
}

/// The name of a value determines how it is completed. For an empty word, options are offered only if there is nothing
/// else.
fn with_completers(command: clap::Command, line: &Arc<TypedLine>) -> clap::Command {
    let is_empty = line.word().is_empty();
    let prepare = |arg: Arg| {
        let hidden = arg.is_hide_set() || is_empty && !arg.is_positional();
        let name = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string).unwrap_or_default();
        let complete: fn(&TypedLine, &str) -> Vec<CompletionCandidate> = match (name.as_str(), arg.get_id().as_str()) {
            ("OBJECT" | "OBJECT [FIELD]", _) => |line, word| line.objects(word, |_, _| true),
            ("POLICY", _) => |line, word| line.objects(word, |kinds, id| kinds.find(&id.group, &id.kind).is_some()),
            ("KIND" | "KIND[:RULE]", _) => TypedLine::policy_kinds,
            ("NS", _) => TypedLine::namespaces,
            ("ID", "explain") => |_, word| lint_rules(word),
            ("NS/NAME", "gateway") => |line, word| line.names_of_kind("gateway", word),
            ("NS/NAME", "service") => |line, word| line.names_of_kind("service", word),
            _ => return arg.hide(hidden),
        };
        let line = Arc::clone(line);
        let completer = ArgValueCompleter::new(move |word: &OsStr| complete(&line, &word.to_string_lossy()));
        arg.add(completer).hide(hidden)
    };
    command.mut_args(prepare).mut_subcommands(|command| with_completers(command, line))
}

fn lint_rules(word: &str) -> Vec<CompletionCandidate> {
    offer(RULES.iter().map(|rule| rule.id.to_owned()).collect(), word)
}

fn offer(words: BTreeSet<String>, start: &str) -> Vec<CompletionCandidate> {
    words.into_iter().filter(|word| word.starts_with(start)).map(CompletionCandidate::new).collect()
}

/// The typed words, and which of them is to be completed.
struct TypedLine {
    program: Program,
    words: Vec<String>,
    at: usize,
}

impl TypedLine {
    fn read(arguments: &[OsString], program: Program) -> TypedLine {
        let mut words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        // Shells pass the line after `--`, kubectl passes nothing but the line.
        if program != Program::KubectlCompletion {
            let start = words.iter().position(|word| word == "--").map_or(words.len(), |dashes| dashes + 1);
            words.drain(..start);
        }
        let index = std::env::var("_CLAP_COMPLETE_INDEX").ok().and_then(|index| index.parse().ok());
        let at = index.unwrap_or(words.len().saturating_sub(1));
        TypedLine { program, words, at }
    }

    fn word(&self) -> &str {
        self.words.get(self.at).map_or("", String::as_str)
    }

    /// The values of an option on the line, in all notations.
    fn values(&self, short: &str, long: &str) -> Vec<&str> {
        let others = self.words.iter().enumerate().filter(|(at, _)| *at != self.at);
        let mut others = others.map(|(_, word)| word.as_str());
        let mut values = Vec::new();
        while let Some(word) = others.next() {
            if word == short || word == long {
                values.extend(others.next());
            } else if let Some(value) = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('=')) {
                values.push(value);
            } else if let Some(value) = word.strip_prefix(short) {
                values.push(value.trim_start_matches('='));
            }
        }
        values
    }

    /// The objects in the files of `-f`, and their policy kinds. Of a cluster, only the objects of the requested kind.
    fn input(&self, kind: Option<&str>) -> (Objects, Registry) {
        let files: Vec<PathBuf> = self.values("-f", "--filename").into_iter().filter_map(file).collect();
        let (kinds, _) = built_in();
        let objects = match source::size_of(&files) {
            0 if self.reads_cluster() => kind.map_or_else(Vec::new, |kind| self.live_objects(kind)),
            0 => Vec::new(),
            size if size > MOST_BYTES => Vec::new(),
            _ => source::load(&files, true, |group, kind| is_cluster_scoped(&kinds, group, kind)).objects,
        };
        let objects = Objects::new(objects);
        let (kinds, _) = Registry::new(&kinds, &objects, &Settings::default());
        (objects, kinds)
    }

    fn reads_cluster(&self) -> bool {
        self.values("-f", "--filename").is_empty()
    }

    /// The cluster that the line selects, with a short timeout.
    fn cluster(&self) -> Option<Cluster> {
        let last = |long: &str| self.values(long, long).pop().map(str::to_owned);
        let options = ClientOptions {
            kubeconfig: last("--kubeconfig").as_deref().and_then(file),
            context: last("--context"),
            cluster: last("--cluster"),
            user: last("--user"),
            impersonate: last("--as"),
            impersonate_groups: self.values("--as-group", "--as-group").into_iter().map(str::to_owned).collect(),
            request_timeout: Some(PATIENCE),
        };
        Cluster::connect(&options).ok()
    }

    fn live_objects(&self, kind: &str) -> Vec<Object> {
        let query = KindQuery::parse(kind);
        let is_wanted = |it: &ApiResource| {
            let is_called = |name: &str| name.eq_ignore_ascii_case(kind);
            query.matches(&it.group, &it.kind) || is_called(&it.plural) || it.short_names.iter().any(|it| is_called(it))
        };
        let Some(cluster) = self.cluster() else { return Vec::new() };
        let all = self.words.iter().any(|word| word == "-A" || word == "--all-namespaces");
        let namespace = self.values("-n", "--namespace").pop().unwrap_or(cluster.namespace()).to_owned();
        // A name with a slash may name another namespace.
        let elsewhere = all || self.word().matches('/').count() > 1;
        cluster.names(is_wanted, (!elsewhere).then_some(&namespace)).unwrap_or_default()
    }

    /// The kinds of a cluster that commands accept.
    fn live_kinds(&self) -> BTreeSet<String> {
        let kinds = self.cluster().and_then(|cluster| cluster.kinds(&built_in().0).ok()).unwrap_or_default();
        kinds.into_iter().map(|(_, kind)| kind.to_lowercase()).collect()
    }

    /// The policy kinds with policies in the input, or all known ones.
    fn policy_kinds(&self, word: &str) -> Vec<CompletionCandidate> {
        let (objects, kinds) = self.input(None);
        let names = |used: bool| {
            let kinds = kinds.iter().filter(|(_, kind)| !used || !objects.of_kind(&kind.group, &kind.kind).is_empty());
            kinds.map(|(_, kind)| kind.kind.to_lowercase()).collect::<BTreeSet<_>>()
        };
        let used = names(true);
        offer(if used.is_empty() { names(false) } else { used }, word)
    }

    fn namespaces(&self, word: &str) -> Vec<CompletionCandidate> {
        let (objects, _) = self.input(Some("namespace"));
        let named = objects.iter().map(|(_, object)| match object.id.kind.as_str() {
            "Namespace" => object.id.name.to_string(),
            _ => object.id.namespace.to_string(),
        });
        offer(named.filter(|namespace| !namespace.is_empty()).collect(), word)
    }

    /// `NAMESPACE/NAME` of every object of a kind.
    fn names_of_kind(&self, kind: &str, word: &str) -> Vec<CompletionCandidate> {
        let (objects, _) = self.input(Some(kind));
        let named = objects.iter().filter(|(_, object)| object.id.kind.eq_ignore_ascii_case(kind));
        offer(named.map(|(_, object)| format!("{}/{}", object.id.namespace, object.id.name)).collect(), word)
    }

    /// The objects that start with `word`: a kind first, then names, then sections.
    fn objects(&self, word: &str, wanted: impl Fn(&Registry, &ObjectRef) -> bool) -> Vec<CompletionCandidate> {
        let previous = self.at.checked_sub(1).and_then(|at| self.words.get(at)).map_or("", String::as_str);
        let asked = word.split_once('/').map_or(previous, |(kind, _)| kind);
        let (objects, kinds) = self.input(Some(asked).filter(|kind| !kind.starts_with('-')));
        // It is unknown which kinds of a cluster are policies, so every kind that is named is accepted.
        let is_wanted = |id: &ObjectRef| self.reads_cluster() || wanted(&kinds, id);
        let ids: Vec<&ObjectRef> = objects.iter().map(|(_, object)| &object.id).filter(|id| is_wanted(id)).collect();
        let is_kind = |text: &str| ids.iter().any(|id| KindQuery::parse(text).matches(&id.group, &id.kind));
        let found = match word.split_once('/') {
            Some((kind, name)) if name.contains('#') => sections(&objects, kind, name),
            Some((kind, name)) => {
                self.names(&ids, kind, name).into_iter().map(|name| format!("{kind}/{name}")).collect()
            }
            None if is_kind(previous) => self.names(&ids, previous, word),
            None if ids.is_empty() && self.reads_cluster() && self.cluster().is_some() => {
                self.live_kinds().into_iter().map(|kind| format!("{kind}/")).collect()
            }
            None if ids.is_empty() => known_kinds().map(|(_, kind)| format!("{}/", kind.to_lowercase())).collect(),
            None => ids.iter().map(|id| format!("{}/", id.kind.to_lowercase())).collect(),
        };
        offer(found, word)
    }

    /// The names of all objects of a kind, with the namespace if it is needed, or already typed.
    fn names(&self, ids: &[&ObjectRef], kind: &str, start: &str) -> BTreeSet<String> {
        let kind = KindQuery::parse(kind);
        let namespace = self.values("-n", "--namespace").pop();
        let is_meant =
            |id: &ObjectRef| namespace.is_none_or(|wanted| id.namespace == wanted || id.namespace.is_empty());
        let meant: Vec<_> = ids.iter().filter(|id| kind.matches(&id.group, &id.kind) && is_meant(id)).collect();
        let mut times: HashMap<&str, usize> = HashMap::new();
        meant.iter().for_each(|id| *times.entry(&id.name).or_default() += 1);
        let name = |id: &ObjectRef| {
            let is_alone = times.get(id.name.as_str()) == Some(&1);
            if id.namespace.is_empty() || is_alone && !start.contains('/') {
                id.name.to_string()
            } else {
                format!("{}/{}", id.namespace, id.name)
            }
        };
        meant.iter().map(|id| name(id)).collect()
    }
}

fn sections(objects: &Objects, kind: &str, name: &str) -> BTreeSet<String> {
    let whole = format!("{kind}/{}", name.split('#').next().unwrap_or_default());
    let topology = Topology::build(objects, &[]);
    let words = [whole.clone()];
    let found = ObjectQuery::parse_words(&words).and_then(|(query, _)| query.find(objects, &topology, None));
    let node = found.ok().and_then(|target| topology.find(objects, &target.object));
    let sections = node.into_iter().flat_map(|node| topology.sections(node));
    let names = sections.filter_map(|section| topology[section].section.as_ref());
    names.map(|section| format!("{whole}#{section}")).collect()
}

/// A file as a shell would find it. Standard input cannot be read here.
fn file(word: &str) -> Option<PathBuf> {
    match (word, word.strip_prefix("~/")) {
        ("-" | "", _) => None,
        (_, Some(rest)) => std::env::var_os("HOME").map(|home| PathBuf::from(home).join(rest)),
        (word, None) => Some(PathBuf::from(word)),
    }
}
