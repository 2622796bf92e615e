//! What could follow on a command line that is not finished, for shells and for kubectl.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::PathBuf;

use attache_engine::kinds::{Registry, Settings, built_in};
use attache_engine::lint::RULES;
use attache_engine::names::{KindQuery, known_kinds};
use attache_engine::object::{ObjectRef, Objects};
use attache_engine::topology::Topology;
use clap::Arg;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};
use clap_complete::env::{CompleteEnv, EnvCompleter};

use crate::{cli, source};
use attache_answers::ObjectQuery;
use attache_answers::is_cluster_scoped;

/// Set by the scripts that ask. A word of our own: whoever has `COMPLETE` set for something else is not concerned.
const VARIABLE: &str = "_ATTACHE_COMPLETE";

/// Manifests above this size take longer to read than anybody waits after a key.
const MOST_BYTES: u64 = 8 << 20;

/// Writes the script that teaches a shell to ask us.
pub fn write_script(shell: &dyn EnvCompleter, out: &mut dyn Write) -> io::Result<()> {
    shell.write_registration(VARIABLE, "attache", "attache", "attache", out)
}

/// Answers if a shell or kubectl asks what could follow, and says whether one did. Whatever goes wrong there is no answer
/// and no message: it would stand in the middle of somebody's line.
pub fn answer() -> bool {
    if cli::is_called("kubectl_complete-attache") {
        let _ = answer_kubectl();
        return true;
    }
    let folder = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(definition).var(VARIABLE);
    asked.try_complete(std::env::args_os(), folder.as_deref()).unwrap_or(true)
}

/// One candidate on each line, then what kubectl should do with them: 4 is to offer no files, 2 to add no space.
fn answer_kubectl() -> io::Result<()> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let (last, folder) = (words.len().saturating_sub(1), std::env::current_dir().ok());
    let candidates = complete(&mut definition(), words, last, folder.as_deref()).unwrap_or_default();
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

/// The command line, with what can stand for each of its words.
fn definition() -> clap::Command {
    let mut command = cli::definition();
    // Only now it has `--help`.
    command.build();
    prepared(command, Line::current().word().is_empty())
}

/// The names of values tell what they are. Where anything may follow, options are offered only if nothing else can be.
fn prepared(command: clap::Command, anything: bool) -> clap::Command {
    let prepare = |arg: Arg| {
        let hidden = arg.is_hide_set() || anything && !arg.is_positional();
        let name = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string).unwrap_or_default();
        let completer = match (name.as_str(), arg.get_id().as_str()) {
            ("OBJECT" | "OBJECT [FIELD]", _) => ArgValueCompleter::new(objects),
            ("POLICY", _) => ArgValueCompleter::new(policies),
            ("KIND" | "KIND[:RULE]", _) => ArgValueCompleter::new(policy_kinds),
            ("NS", _) => ArgValueCompleter::new(namespaces),
            ("ID", "explain") => ArgValueCompleter::new(lint_rules),
            ("NS/NAME", "gateway") => ArgValueCompleter::new(|word: &OsStr| names_of("gateway", word)),
            ("NS/NAME", "service") => ArgValueCompleter::new(|word: &OsStr| names_of("service", word)),
            _ => return arg.hide(hidden),
        };
        arg.add(completer).hide(hidden)
    };
    command.mut_args(prepare).mut_subcommands(|command| prepared(command, anything))
}

fn objects(word: &OsStr) -> Vec<CompletionCandidate> {
    Line::current().objects(&word.to_string_lossy(), |_, _| true)
}

fn policies(word: &OsStr) -> Vec<CompletionCandidate> {
    Line::current().objects(&word.to_string_lossy(), |kinds, id| kinds.find(&id.group, &id.kind).is_some())
}

/// Those of which there are policies, or all that are known.
fn policy_kinds(word: &OsStr) -> Vec<CompletionCandidate> {
    let (objects, kinds) = Line::current().input();
    let of = |used: bool| {
        let kinds = kinds.iter().filter(|(_, kind)| !used || !objects.of_kind(&kind.group, &kind.kind).is_empty());
        kinds.map(|(_, kind)| kind.kind.to_lowercase()).collect::<BTreeSet<_>>()
    };
    let used = of(true);
    offer(if used.is_empty() { of(false) } else { used }, &word.to_string_lossy())
}

fn namespaces(word: &OsStr) -> Vec<CompletionCandidate> {
    let (objects, _) = Line::current().input();
    let named = objects.iter().map(|(_, object)| match object.id.kind.as_str() {
        "Namespace" => object.id.name.to_string(),
        _ => object.id.namespace.to_string(),
    });
    offer(named.filter(|namespace| !namespace.is_empty()).collect(), &word.to_string_lossy())
}

fn lint_rules(word: &OsStr) -> Vec<CompletionCandidate> {
    offer(RULES.iter().map(|rule| rule.id.to_owned()).collect(), &word.to_string_lossy())
}

fn names_of(kind: &str, word: &OsStr) -> Vec<CompletionCandidate> {
    let (objects, _) = Line::current().input();
    let named = objects.iter().filter(|(_, object)| object.id.kind.eq_ignore_ascii_case(kind));
    let names = named.map(|(_, object)| format!("{}/{}", object.id.namespace, object.id.name));
    offer(names.collect(), &word.to_string_lossy())
}

fn offer(words: BTreeSet<String>, start: &str) -> Vec<CompletionCandidate> {
    words.into_iter().filter(|word| word.starts_with(start)).map(CompletionCandidate::new).collect()
}

/// The words that were typed, and which of them is to be completed.
struct Line {
    words: Vec<String>,
    at: usize,
}

impl Line {
    fn current() -> Line {
        let mut words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        // Shells give the line after `--`, kubectl nothing but the line.
        if !cli::is_called("kubectl_complete-attache") {
            let start = words.iter().position(|word| word == "--").map_or(words.len(), |dashes| dashes + 1);
            words.drain(..start);
        }
        let index = std::env::var("_CLAP_COMPLETE_INDEX").ok().and_then(|index| index.parse().ok());
        let at = index.unwrap_or(words.len().saturating_sub(1));
        Line { words, at }
    }

    fn word(&self) -> &str {
        self.words.get(self.at).map_or("", String::as_str)
    }

    /// What the line says for an option, in all the ways to write one.
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

    /// The objects that the line names with `-f`, and the policy kinds that hold for them.
    fn input(&self) -> (Objects, Registry) {
        let files: Vec<PathBuf> = self.values("-f", "--filename").into_iter().filter_map(file).collect();
        let (kinds, _) = built_in();
        let objects = match source::size_of(&files) {
            0 => Vec::new(),
            size if size > MOST_BYTES => Vec::new(),
            _ => source::load(&files, true, |group, kind| is_cluster_scoped(&kinds, group, kind)).objects,
        };
        let objects = Objects::new(objects);
        let (kinds, _) = Registry::new(&kinds, &objects, Settings::default());
        (objects, kinds)
    }

    /// The objects whose name starts with `word`, in the way in which it starts: a kind first, then names, then sections.
    fn objects(&self, word: &str, wanted: impl Fn(&Registry, &ObjectRef) -> bool) -> Vec<CompletionCandidate> {
        let (objects, kinds) = self.input();
        let ids: Vec<&ObjectRef> =
            objects.iter().map(|(_, object)| &object.id).filter(|id| wanted(&kinds, id)).collect();
        let previous = self.at.checked_sub(1).and_then(|at| self.words.get(at)).map_or("", String::as_str);
        let is_kind = |text: &str| ids.iter().any(|id| KindQuery::parse(text).matches(&id.group, &id.kind));
        let found = match word.split_once('/') {
            Some((kind, name)) if name.contains('#') => sections(&objects, kind, name),
            Some((kind, name)) => {
                self.names(&ids, kind, name).into_iter().map(|name| format!("{kind}/{name}")).collect()
            }
            None if is_kind(previous) => self.names(&ids, previous, word),
            None if ids.is_empty() => known_kinds().map(|(_, kind)| format!("{}/", kind.to_lowercase())).collect(),
            None => ids.iter().map(|id| format!("{}/", id.kind.to_lowercase())).collect(),
        };
        offer(found, word)
    }

    /// The names of all objects of a kind, with the namespace where it has to be said, or is said already.
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
    let found = ObjectQuery::parse(&words).and_then(|(query, _)| query.find(objects, &topology, None));
    let node = found.ok().and_then(|target| topology.find(objects, &target.id));
    let sections = node.into_iter().flat_map(|node| topology.sections(node));
    let names = sections.filter_map(|section| topology.node(section).section.as_ref());
    names.map(|section| format!("{whole}#{section}")).collect()
}

/// A file as a shell would find it. Nobody can wait for standard input here.
fn file(word: &str) -> Option<PathBuf> {
    match (word, word.strip_prefix("~/")) {
        ("-" | "", _) => None,
        (_, Some(rest)) => std::env::var_os("HOME").map(|home| PathBuf::from(home).join(rest)),
        (word, None) => Some(PathBuf::from(word)),
    }
}
