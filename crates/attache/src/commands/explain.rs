use std::io::{self, Write};

use attache_answers::ObjectQuery;
use attache_answers::explain::{ExplainQuery, Explanation, NothingToExplain, explain};
use attache_engine::{Path, Problem};
use clap::Args;

use super::Format;
use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::{Input, answered};
use crate::render::Screen;
use crate::render::effective::write_nothing;
use crate::render::explain::{ExplainView, write_not_set};
use crate::verdict::Verdict;

/// Explain why: all that policies say of an object, who won, and what lost to whom
///
/// For each kind of policy, every block that reaches the object, the strongest first, with what lost struck out; then
/// what they come to together, with who set it on every line. Places with the same answer are shown together.
///
/// With a field, only what is said of that. It is a dotted path, or the end of one: `retry.attempts`, `attempts`, the
/// name of a rule.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache explain httproute/cakes -f manifests/
  attache explain httproute/cakes retry.attempts -f manifests/
  attache explain svc/payments timeout --steps -f manifests/
  attache explain gateway/main#https --kind authpolicy -o json -f manifests/")]
pub struct ExplainCommand {
    /// The object, and the field of the policies
    #[arg(value_name = "OBJECT [FIELD]", num_args = 1..=3, required = true)]
    words: Vec<String>,
    /// Only policies of this kind
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Show how the policies are folded, one block after the other, the lowest first
    #[arg(long)]
    steps: bool,
    /// How to show it; `wide` cuts nothing, `name` lists the policies that are in force
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

/// How many answers or names are shown before the rest is only counted, and how many lines of one block.
const MOST: usize = 6;
const MOST_LINES: usize = 16;

impl ExplainCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let input = Input::read(global, screen)?;
        let explanation = answered(explain(&input.snapshot, &self.query(global)?), screen)?;
        match self.output {
            Some(Format::Json) => screen.json(&explanation)?,
            Some(Format::Yaml) => screen.yaml(&explanation)?,
            Some(Format::Name) => {
                explanation.policies().iter().try_for_each(|policy| writeln!(screen, "{policy}"))?;
            }
            None | Some(Format::Wide) => self.write(&explanation, screen)?,
        }
        // Whether a policy sets the field is a question, too.
        let is_missing = explanation.field.is_some() && explanation.items.is_empty();
        Ok(if is_missing { Verdict::No } else { input.verdict() })
    }

    fn query(&self, global: &Global) -> Result<ExplainQuery, Failure> {
        let (object, rest) = ObjectQuery::parse_words(&self.words)?;
        let field = match rest {
            [] => None,
            [field] => Some(Path::parse(field)),
            [_, more, ..] => {
                let problem = Problem::error(format!("`{more}` is too much"));
                return Err(problem.help("give one object and one field").into());
            }
        };
        Ok(ExplainQuery {
            object,
            field,
            kind: self.kind.clone(),
            namespace: global.namespace.clone(),
            steps: self.steps,
            names: if self.output == Some(Format::Wide) { usize::MAX } else { MOST },
        })
    }

    fn write(&self, explanation: &Explanation, screen: &mut Screen) -> io::Result<()> {
        let view = match self.output {
            Some(Format::Wide) => {
                screen.widen();
                ExplainView { most: usize::MAX, most_lines: usize::MAX }
            }
            _ => ExplainView { most: MOST, most_lines: MOST_LINES },
        };
        match (&explanation.nothing, &explanation.field) {
            (None, _) => view.write(explanation, screen),
            (Some(NothingToExplain::NothingInForce(nothing)), _) => {
                write_nothing(*nothing, &format!("on {}", explanation.object), screen)
            }
            (Some(NothingToExplain::FieldNotSet { near, known }), field) => {
                write_not_set(&explanation.object, &field.clone().unwrap_or_default(), near, known, screen)
            }
        }
    }
}
