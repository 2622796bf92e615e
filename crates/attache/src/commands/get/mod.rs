mod kinds;
mod policies;
mod scopes;

use clap::{Args, ValueEnum};

use super::Format;
use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::Screen;
use crate::verdict::Verdict;
use attache_answers::scopes::Focus;

/// List what is there, one line each
///
/// `policies`: every policy, what it targets and whether it is in force. `kinds`: the policy kinds that are known, and how
/// they work. `scopes`: every path from a root to an effective target, and the policies in force at its end.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache get policies -f manifests/
  attache get policies -n baker -o wide -f manifests/
  attache get kinds
  attache get kinds backendtrafficpolicy -o yaml
  attache get kinds -f crds/
  attache get scopes --kind retrypolicy -f manifests/")]
pub struct Get {
    #[arg(value_name = "policies|kinds|scopes", hide_possible_values = true)]
    what: What,
    /// Only this kind of policy, by its kind, plural or short name
    #[arg(value_name = "KIND")]
    name: Option<String>,
    /// Only this kind of policy
    #[arg(long, value_name = "KIND", conflicts_with = "name")]
    kind: Option<String>,
    /// How to show it; `wide` shows more columns
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    #[value(alias = "policy")]
    Policies,
    #[value(alias = "kind")]
    Kinds,
    #[value(alias = "scope")]
    Scopes,
}

impl Get {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let Input { snapshot: input, verdict } = match self.what {
            What::Kinds => Input::read_or_empty(global, screen)?,
            What::Policies | What::Scopes => Input::read(global, screen)?,
        };
        if self.output == Some(Format::Wide) {
            screen.widen();
        }
        let kind = self.name.as_deref().or(self.kind.as_deref());
        let namespace = global.namespace.as_deref();
        let everything = Focus::Everything { namespace: global.namespace.clone() };
        match self.what {
            What::Policies => policies::get(&input, &input.kinds(kind)?, namespace, self.output, screen)?,
            What::Kinds => kinds::get(&input, &input.kinds(kind)?, self.output, screen)?,
            What::Scopes => scopes::get(&input, &input.models(kind, &everything)?, namespace, self.output, screen)?,
        }
        Ok(verdict)
    }
}
