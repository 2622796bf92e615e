//! The command line: what can be asked, and how.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};
use attache_engine::kinds::Settings;
use clap::builder::Styles;
use clap::{Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands;
use crate::render::style::JOINT;

/// Which policies are really in force on your Kubernetes objects, why, and what would change
///
/// Attaché reads Gateway API manifests and the policies attached to them, and says for every object which
/// policies are in force on it, what they say together, who set each value, and what lost and why.
#[derive(Debug, Parser)]
#[command(
    name = "attache",
    version,
    styles = STYLES,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    max_term_width = 100,
    after_help = EXAMPLES,
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Objects are written KIND/NAME or KIND/NAMESPACE/NAME, with #SECTION for a listener, rule or port. \
Kinds may be plural or short: httproute, httproutes, gw, svc.

Exit codes: 0 fine, 1 the answer is no, 2 it could not be answered.

Examples:
  attache topology -f manifests/
  attache effective httproute/cakes -f manifests/
  kubectl get gateways,httproutes,services -A -o json | attache get policies -f policies.yaml -f -";

/// What every command takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options for every command")]
pub struct Global {
    /// A file or folder of manifests, `-` for standard input; can be given many times
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR|-", global = true)]
    pub files: Vec<PathBuf>,
    /// Only objects in this namespace
    #[arg(short, long, value_name = "NS", global = true)]
    pub namespace: Option<String>,
    /// Objects in all namespaces
    #[arg(short = 'A', long, global = true, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// Treat CRDs that have a `targetRef` but no policy label as policies
    #[arg(long, global = true)]
    pub infer_unlabelled: bool,
    /// When to use colour; NO_COLOR is honoured
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub color: ColorChoice,
    /// No warnings and no progress
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

impl Global {
    pub fn settings(&self) -> Settings {
        Settings { infer_unlabelled: self.infer_unlabelled }
    }

    /// The arguments that say where the input comes from, and what counts as a policy.
    fn source(&self) -> Vec<String> {
        let files = self.files.iter().flat_map(|file| ["-f".to_owned(), file.to_string_lossy().into_owned()]);
        files.chain(self.infer_unlabelled.then(|| "--infer-unlabelled".to_owned())).collect()
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Get(commands::get::Get),
    Describe(commands::describe::Describe),
    Effective(commands::effective::Effective),
    Explain(commands::explain::Explain),
    Reach(commands::reach::Reach),
    Plan(commands::plan::Plan),
    Watch(commands::watch::Watch),
    Audit(commands::audit::Audit),
    Lint(commands::lint::Lint),
    Request(commands::request::Request),
    Status(commands::status::Status),
    Topology(commands::topology::Topology),
    Test(commands::test::Test),
    Completions(commands::completions::Completions),
    Version(commands::version::Version),
    #[command(hide = true)]
    Man(commands::man::Man),
}

const STYLES: Styles = Styles::styled()
    .header(Style::new().bold())
    .usage(Style::new().bold())
    .literal(AnsiColor::Cyan.on_default())
    .error(AnsiColor::Red.on_default().bold())
    .valid(AnsiColor::Green.on_default())
    .invalid(AnsiColor::Yellow.on_default());

/// Whether this is the name of the program, or of the link through which it runs.
pub fn is_called(name: &str) -> bool {
    static NAME: OnceLock<String> = OnceLock::new();
    let own = NAME.get_or_init(|| {
        let first = std::env::args_os().next().unwrap_or_default();
        Path::new(&first).file_stem().and_then(OsStr::to_str).unwrap_or_default().to_owned()
    });
    own == name
}

/// What the user types to run this program: `attache`, or `kubectl attache` as a plugin of kubectl.
pub fn program() -> &'static str {
    if is_called("kubectl-attache") { "kubectl attache" } else { "attache" }
}

/// Where the input comes from, as it was given.
static SOURCE: OnceLock<Vec<String>> = OnceLock::new();

/// The line for another question about the same input, to be painted: it is not broken.
pub fn again(question: &[&str]) -> String {
    let words = question.iter().copied().chain(SOURCE.get().into_iter().flatten().map(String::as_str));
    line(words.map(quoted))
}

/// The line for the same question, with more words.
pub fn again_with(more: &str) -> String {
    let words = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
    line(words.chain([more.to_owned()]))
}

fn line(words: impl Iterator<Item = String>) -> String {
    let line = words.fold(program().to_owned(), |line, word| line + " " + &word);
    line.replace(' ', JOINT.encode_utf8(&mut [0; 4]))
}

/// The line that shows all of what is shown in part.
pub fn in_full() -> String {
    again_with("-o wide")
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || "-_./:=@%+,#".contains(it);
    let is_word = !word.is_empty() && !word.starts_with('#') && word.chars().all(is_plain);
    if is_word { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// The definition of the command line, in the words of how it was called.
pub fn definition() -> clap::Command {
    let command = Cli::command().bin_name(program());
    if program() == "attache" { command } else { renamed(command) }
}

fn renamed(command: clap::Command) -> clap::Command {
    let help = command.get_after_help().map(|help| help.to_string().replace("attache ", &format!("{} ", program())));
    let command = command.mut_subcommands(renamed);
    match help {
        Some(help) => command.after_help(help),
        None => command,
    }
}

/// Reads the command line. Help, and errors of usage, end the program here.
pub fn parse() -> Cli {
    let mut command = definition();
    match command.try_get_matches_from_mut(std::env::args_os()).and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => {
            SOURCE.get_or_init(|| cli.global.source());
            cli
        }
        Err(error) => error.format(&mut command).exit(),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_where_a_shell_would_read_more_into_them() {
        for plain in ["-f", "examples/bakery", "HTTPRoute/baker/cakes#rule-1", "a=b", "küche.yaml"] {
            assert_eq!(quoted(plain), plain);
        }
        for (word, expected) in
            [("", "''"), ("my files", "'my files'"), ("#x", "'#x'"), ("it's", r"'it'\''s'"), ("$(rm)", "'$(rm)'")]
        {
            assert_eq!(quoted(word), expected);
        }
    }
}
