use attache_answers::Snapshot;
use std::collections::BTreeSet;
use std::io::Write;

use attache_engine::model::Model;
use attache_engine::problem::Problem;
use attache_engine::value::Path;
use clap::Args;

use super::Format;
use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::{Input, target};
use crate::render::effective::{EffectiveView, write_nothing};
use crate::render::explain::{ExplainView, nobody_sets};
use crate::render::style::{DIM, paint};
use crate::render::{Screen, cut};
use crate::verdict::Verdict;
use attache_answers::Target;
use attache_answers::effective::merged;
use attache_answers::explain::explanation;
use attache_answers::explain::{Answer, near};
use attache_answers::scopes::Focus;

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
pub struct Explain {
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

impl Explain {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let Input { snapshot: input, verdict } = Input::read(global, screen)?;
        let (target, field) = self.target(&input, global, screen)?;
        let focus = Focus::on(&input, &target);
        let models = input.models(self.kind.as_deref(), &focus)?;
        let wide = self.output == Some(Format::Wide);
        if wide {
            screen.widen();
        }
        let view = ExplainView {
            input: &input,
            object: target.to_string(),
            most: if wide { usize::MAX } else { MOST },
            most_lines: if wide { usize::MAX } else { MOST_LINES },
        };
        let answers = answers(&input, &focus, &models);
        let fields: Vec<(Answer, Vec<Path>)> = answers
            .into_iter()
            .map(|answer| match &field {
                Some(field) => (answer.fields(&input, field), answer),
                None => (vec![Path::default()], answer),
            })
            .map(|(fields, answer)| (answer, fields))
            .collect();
        let found = fields.iter().any(|(_, fields)| !fields.is_empty());
        match self.output {
            Some(Format::Json) => {
                screen.json(&explanation(&input, view.object, field.as_ref(), &fields, self.steps))?
            }
            Some(Format::Yaml) => {
                screen.yaml(&explanation(&input, view.object, field.as_ref(), &fields, self.steps))?
            }
            Some(Format::Name) => {
                let all = fields.iter().flat_map(|(answer, fields)| fields.iter().map(move |field| (answer, field)));
                let origins = all.flat_map(|(answer, field)| answer.in_force(field));
                for policy in origins.collect::<BTreeSet<_>>() {
                    writeln!(screen, "{}", input.policy(policy))?;
                }
            }
            None | Some(Format::Wide) if fields.is_empty() => {
                write_nothing(&input, &models, &format!("on {}", view.object), screen)?;
            }
            None | Some(Format::Wide) if !found => {
                let all = fields.iter().flat_map(|(answer, _)| answer.paths(&input)).collect();
                let field = field.clone().unwrap_or_default();
                nobody_sets(&view.object, &field, &near(&field, &all), screen)?;
            }
            None | Some(Format::Wide) => self.write(&view, &fields, screen)?,
        }
        // Whether somebody sets a field is a question, too.
        Ok(if field.is_some() && !found { Verdict::No } else { verdict })
    }

    fn target(&self, input: &Snapshot, global: &Global, screen: &Screen) -> Result<(Target, Option<Path>), Failure> {
        let (target, rest) = target(input, &self.words, global)?;
        if input.engine.find_policy(&target.id).is_some() {
            let help =
                format!("what it does is shown by {}", screen.invocation.question(&["describe", &target.to_string()]));
            return Err(Problem::error(format!("{target} is a policy, and policies have no policies"))
                .help(help)
                .into());
        }
        match rest {
            [] => Ok((target, None)),
            [field] => Ok((target, Some(Path::parse(field)))),
            [_, more, ..] => {
                Err(Problem::error(format!("`{more}` is too much")).help("give one object and one field").into())
            }
        }
    }

    fn write(&self, view: &ExplainView, answers: &[(Answer, Vec<Path>)], screen: &mut Screen) -> Result<(), Failure> {
        let said: Vec<&(Answer, Vec<Path>)> = answers.iter().filter(|(_, fields)| !fields.is_empty()).collect();
        let shown = cut(said.len(), view.most);
        let heading = EffectiveView { input: view.input, most: view.most };
        for (i, (answer, fields)) in said[..shown].iter().enumerate() {
            if i > 0 {
                writeln!(screen)?;
            }
            heading.heading(answer.model, &answer.group, screen)?;
            for field in fields {
                match self.steps {
                    true => view.steps(answer, field, screen)?,
                    false => view.candidates(answer, field, screen)?,
                }
                view.computed(answer, field, screen)?;
            }
        }
        if shown < said.len() {
            let more = format!("and {} more answers: {}", said.len() - shown, screen.invocation.in_full());
            writeln!(screen, "\n{}", paint(DIM, more))?;
        }
        Ok(())
    }
}

fn answers<'m>(input: &Snapshot, focus: &Focus, models: &'m [Model]) -> Vec<Answer<'m>> {
    let mut answers = Vec::new();
    for model in models {
        for group in focus.groups(input, model) {
            let merged = merged(input, usize::MAX, model, &group);
            if merged.is_empty() {
                answers.push(Answer::new(input, model, group, None));
                continue;
            }
            for (object, merged) in merged {
                let object = input.engine.objects()[object].id.to_string();
                answers.push(Answer::new(input, model, group.clone(), Some((object, merged))));
            }
        }
    }
    answers
}
