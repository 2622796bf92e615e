use std::io::{self, Write};

use attache_answers::get::{GetQuery, Scopes, kind_documents, kinds, policies};
use clap::{Args, ValueEnum};

use super::Format;
use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::Screen;
use crate::render::get::{write_kinds, write_policies, write_scopes};
use crate::render::style::{DIM, paint};
use crate::verdict::Verdict;

/// List policies, policy kinds or scopes, one line each
///
/// `policies`: every policy, what it targets and whether it is in force. `kinds`: the policy kinds that are known, and how
/// they work. `scopes`: every path from a Gateway to a route rule or backend, and the policies in force along it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache get policies -f manifests/
  attache get policies -n baker -o wide -f manifests/
  attache get kinds
  attache get kinds backendtrafficpolicy -o yaml
  attache get kinds -f crds/
  attache get scopes --kind retrypolicy -f manifests/")]
pub struct GetCommand {
    #[arg(value_name = "policies|kinds|scopes", hide_possible_values = true)]
    what: ListSubject,
    /// Only this kind of policy, by its kind, plural or short name
    #[arg(value_name = "KIND")]
    name: Option<String>,
    /// Only this kind of policy
    #[arg(long, value_name = "KIND", conflicts_with = "name")]
    kind: Option<String>,
    /// Output format; `wide` shows more columns
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ListSubject {
    #[value(alias = "policy")]
    Policies,
    #[value(alias = "kind")]
    Kinds,
    #[value(alias = "scope")]
    Scopes,
}

/// The number of scopes that are shown before the rest is only counted.
const MOST: usize = 50;

impl GetCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let input = match self.what {
            ListSubject::Kinds => Input::read_or_empty(global, screen)?,
            ListSubject::Policies | ListSubject::Scopes => Input::read(global, screen)?,
        };
        if self.output == Some(Format::Wide) {
            screen.widen();
        }
        let kind = self.name.clone().or_else(|| self.kind.clone());
        let query = GetQuery { kind, namespace: global.namespace.clone() };
        match self.what {
            ListSubject::Policies => self.policies(&input, &query, screen)?,
            ListSubject::Kinds => {
                screen.unknown.clear();
                self.kinds(&input, &query, screen)?;
            }
            ListSubject::Scopes => self.scopes(&Scopes::find(&input.snapshot, &query)?, screen)?,
        }
        Ok(input.verdict())
    }

    fn policies(&self, input: &Input, query: &GetQuery, screen: &mut Screen) -> Result<(), Failure> {
        let list = policies(&input.snapshot, query)?;
        match self.output {
            Some(Format::Json) => screen.json(&list)?,
            Some(Format::Yaml) => screen.yaml(&list)?,
            Some(Format::Name) => list.items.iter().try_for_each(|item| writeln!(screen, "{}", item.policy))?,
            None => write_policies(&list.items, query.namespace.as_deref(), false, screen)?,
            Some(Format::Wide) => write_policies(&list.items, query.namespace.as_deref(), true, screen)?,
        }
        Ok(())
    }

    fn kinds(&self, input: &Input, query: &GetQuery, screen: &mut Screen) -> Result<(), Failure> {
        if self.output == Some(Format::Yaml) {
            write!(screen, "{}", kind_documents(&input.snapshot, query)?.join("---\n"))?;
            return Ok(());
        }
        let list = kinds(&input.snapshot, query)?;
        match self.output {
            Some(Format::Json) => screen.json(&list)?,
            Some(Format::Name) => {
                list.items.iter().try_for_each(|item| writeln!(screen, "PolicyKind/{}", item.name))?;
            }
            format => write_kinds(&list.items, format == Some(Format::Wide), screen)?,
        }
        Ok(())
    }

    fn scopes(&self, scopes: &Scopes, screen: &mut Screen) -> io::Result<()> {
        match self.output {
            Some(Format::Json) => screen.json(&scopes.list()),
            Some(Format::Yaml) => screen.yaml(&scopes.list()),
            Some(Format::Name) => {
                let mut result = Ok(());
                scopes.for_each(&mut |item| {
                    if result.is_ok() {
                        let names: Vec<String> = item.scope.scope.iter().map(ToString::to_string).collect();
                        result = writeln!(screen, "{}", names.join(" > "));
                    }
                });
                result
            }
            None => {
                let (items, more) = scopes.first(MOST);
                write_scopes(&items, scopes.has_no_policies(), false, screen)?;
                if more > 0 {
                    let text = format!("and {more} more: {}", screen.invocation.in_full());
                    writeln!(screen, "{}", paint(DIM, text))?;
                }
                Ok(())
            }
            Some(Format::Wide) => {
                let mut items = Vec::new();
                scopes.for_each(&mut |item| items.push(item));
                write_scopes(&items, scopes.has_no_policies(), true, screen)
            }
        }
    }
}
