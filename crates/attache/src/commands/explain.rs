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
use crate::render::effective::{Place, write_nothing};
use crate::render::explain::{ExplainView, write_not_set};
use crate::verdict::Verdict;

/// Explain why: every policy that applies to an object, which value won, and which were overridden
///
/// For each policy kind, every block that reaches the object, the strongest first, with overridden values struck out; then
/// the effective policy, with the origin of each line. Scopes with the same result are shown together.
///
/// With a field, only that field. It is a dotted path, or the end of one: `retry.attempts`, `attempts`, the name of a
/// rule.
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
    /// Show how the policies are merged, one block after the other, the lowest first
    #[arg(long)]
    steps: bool,
    /// Output format; `wide` shortens nothing, `name` lists the policies that are in force
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
}

/// The number of answers or names, and of lines of one block, that are shown before the rest is only counted.
const MOST: usize = 6;
const MOST_LINES: usize = 16;

impl ExplainCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let input = Input::read_about_kind(&self.words, self.kind.as_deref(), global, screen)?;
        let query = self.query(global, &input)?;
        input.limit_unknown(&query.object, global, screen);
        let explanation = answered(explain(&input.snapshot, &query), screen)?;
        match self.output {
            Some(Format::Json) => screen.json(&explanation)?,
            Some(Format::Yaml) => screen.yaml(&explanation)?,
            Some(Format::Name) => {
                explanation.policies().iter().try_for_each(|policy| writeln!(screen, "{policy}"))?;
            }
            None | Some(Format::Wide) => self.write(&explanation, screen)?,
        }
        // The user may ask whether a policy sets the field at all.
        let is_missing = explanation.field.is_some() && explanation.items.is_empty();
        Ok(if is_missing { input.verdict().max(Verdict::No) } else { input.verdict() })
    }

    fn query(&self, global: &Global, input: &Input) -> Result<ExplainQuery, Failure> {
        let (object, rest) = ObjectQuery::parse_words(&self.words)?;
        let field = match rest {
            [] => None,
            [more] | [_, more, ..] if is_object(more, global, input) => {
                return Err(Problem::error(format!("unexpected argument `{more}`")).help("give one object").into());
            }
            [field] => Some(Path::parse(field)),
            [_, more, ..] => {
                let problem = Problem::error(format!("unexpected argument `{more}`"));
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
                write_nothing(nothing, Place::Object(format!("on {}", explanation.object)), screen)
            }
            (Some(NothingToExplain::FieldNotSet { near, known }), field) => {
                write_not_set(&explanation.object, &field.clone().unwrap_or_default(), near, known, screen)
            }
        }
    }
}

/// Whether a word that may be a field names an object of the input.
fn is_object(word: &str, global: &Global, input: &Input) -> bool {
    let object = word.parse::<ObjectQuery>();
    object.is_ok_and(|object| input.snapshot.find(&object, global.namespace.as_deref()).is_ok())
}
