//! The command line: every command with its arguments.

use std::ffi::OsString;
use std::io::Write;

use anstyle::{AnsiColor, Style};
use clap::builder::Styles;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::arguments::Global;
use crate::commands;
use crate::failure::Failure;
use crate::invocation::Program;
use crate::render::{self, Screen};
use crate::verdict::Verdict;

/// Which policies are in force on your Kubernetes objects, why, and what a change would affect
///
/// Attaché reads the cluster that kubectl talks to, or with `-f` manifests: the Gateway API and the policies attached
/// to it. It shows for every object which policies are in force on it, their merged result, the origin of each value,
/// and which values lost and why.
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

Exit codes: 0 fine, 1 the answer is no, 2 it could not be answered, or part of the input could not be read.

Examples:
  attache describe httproute/cakes -n baker
  attache plan --delete retrypolicy/be-patient -n baker
  attache topology -f manifests/
  kubectl get gateways,httproutes,services -A -o json | attache get policies -f policies.yaml -f -";

#[derive(Debug, Subcommand)]
pub enum Command {
    Get(commands::get::GetCommand),
    Describe(commands::describe::DescribeCommand),
    Effective(commands::effective::EffectiveCommand),
    Explain(commands::explain::ExplainCommand),
    Reach(commands::reach::ReachCommand),
    Plan(commands::plan::PlanCommand),
    Watch(commands::watch::WatchCommand),
    Audit(commands::audit::AuditCommand),
    Lint(commands::lint::LintCommand),
    Request(commands::request::RequestCommand),
    Serve(commands::serve::ServeCommand),
    Controller(commands::controller::ControllerCommand),
    Status(commands::status::StatusCommand),
    Topology(commands::topology::TopologyCommand),
    Test(commands::test::TestCommand),
    Completions(commands::completions::CompletionsCommand),
    Version(commands::version::VersionCommand),
    #[command(hide = true)]
    Man(commands::man::ManCommand),
}

const STYLES: Styles = Styles::styled()
    .header(Style::new().bold())
    .usage(Style::new().bold())
    .literal(AnsiColor::Cyan.on_default())
    .error(AnsiColor::Red.on_default().bold())
    .valid(AnsiColor::Green.on_default())
    .invalid(AnsiColor::Yellow.on_default());

impl Cli {
    /// Parses the command line. Help and usage errors end the program here.
    pub fn parse(arguments: &[OsString]) -> Cli {
        let mut command = definition(Program::from_arguments(arguments));
        let matches = command.try_get_matches_from_mut(without_help_command(arguments));
        match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
            Ok(cli) => cli,
            Err(error) => error.format(&mut command).exit(),
        }
    }

    /// Runs the command, and then lists what could not be read.
    pub fn run(&self, screen: &mut Screen) -> Result<Verdict, Failure> {
        // Without a context, commands that read the cluster report the error themselves.
        let global = self.global.with_namespace_of_context().unwrap_or_else(|_| self.global.clone());
        let verdict = self.answer(&global, screen)?;
        screen.flush()?;
        render::unseen::show(&screen.unseen);
        if !global.quiet {
            render::unknown::show(&screen.unknown);
        }
        let is_strict = global.cluster.strict && !screen.unseen.is_empty();
        Ok(if is_strict { Verdict::Incomplete } else { verdict })
    }

    fn answer(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        match &self.command {
            Command::Get(command) => command.run(global, screen),
            Command::Describe(command) => command.run(global, screen),
            Command::Effective(command) => command.run(global, screen),
            Command::Explain(command) => command.run(global, screen),
            Command::Reach(command) => command.run(global, screen),
            Command::Plan(command) => command.run(global, screen),
            Command::Watch(command) => command.run(global, screen),
            Command::Audit(command) => command.run(global, screen),
            Command::Lint(command) => command.run(global, screen),
            Command::Request(command) => command.run(global, screen),
            Command::Serve(command) => command.run(global, screen),
            Command::Controller(command) => command.run(&self.global),
            Command::Status(command) => command.run(global, screen),
            Command::Topology(command) => command.run(global, screen),
            Command::Test(command) => command.run(global, screen),
            Command::Completions(command) => command.run(screen),
            Command::Version(command) => command.run(screen),
            Command::Man(command) => command.run(definition(screen.invocation.program)),
        }
    }
}

/// `help COMMAND` as `COMMAND --help`.
fn without_help_command(arguments: &[OsString]) -> Vec<OsString> {
    match arguments {
        [program, help, rest @ ..] if help == "help" => {
            [program].into_iter().chain(rest).cloned().chain([OsString::from("--help")]).collect()
        }
        _ => arguments.to_vec(),
    }
}

/// The definition of the command line. Examples name the program as it was called.
pub fn definition(program: Program) -> clap::Command {
    let command = Cli::command().bin_name(program.name());
    match program {
        Program::Attache | Program::KubectlCompletion => command,
        Program::KubectlPlugin => renamed(command, program),
    }
}

fn renamed(command: clap::Command, program: Program) -> clap::Command {
    let help = command.get_after_help().map(ToString::to_string);
    let command = command.mut_subcommands(|command| renamed(command, program));
    match help {
        Some(help) => command.after_help(help.replace("attache ", &format!("{} ", program.name()))),
        None => command,
    }
}
