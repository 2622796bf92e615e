use std::io;

use attache_answers::describe::{DescribeQuery, Description, describe};
use clap::{Args, ValueEnum};

use crate::arguments::{Global, object};
use crate::failure::Failure;
use crate::input::{Input, answered};
use crate::render::Screen;
use crate::render::describe::DescribeView;
use crate::render::reported;
use crate::verdict::Verdict;

/// Show everything about one object on one screen
///
/// For an object: its parents and children, the policies attached to it and those it inherits, their effective policy,
/// its status, and its problems. For a policy: a summary of its kind, its targets, its spec, where it is in force and
/// which policies override it. At the end, commands with more detail.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache describe httproute/cakes -f manifests/
  attache describe gateway/main#https -f manifests/
  attache describe ns/baker -f manifests/
  attache describe retrypolicy/be-patient -f manifests/")]
pub struct DescribeCommand {
    /// The object, or the policy
    #[arg(value_name = "OBJECT", num_args = 1..=2, required = true)]
    object: Vec<String>,
    /// Output format; `wide` shortens nothing
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<DescribeFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DescribeFormat {
    Wide,
    Yaml,
    Json,
}

/// The number of names, and of lines of an effective policy, that are shown before the rest is only counted.
const MOST: usize = 6;
const MOST_LINES: usize = 10;

impl DescribeCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let input = Input::read_about(&self.object, global, screen)?;
        let query = DescribeQuery { object: object(&self.object)?, namespace: global.namespace.clone() };
        input.limit_unknown(&query.object, global, screen);
        input.add_reported(Some(&query.object), global, screen);
        let description = answered(describe(&input.snapshot, &query), screen)?;
        self.write(&description, screen)?;
        Ok(input.verdict())
    }

    fn write(&self, description: &Description, screen: &mut Screen) -> io::Result<()> {
        let view = match self.output {
            Some(DescribeFormat::Json) => return screen.json(description),
            Some(DescribeFormat::Yaml) => return screen.yaml(description),
            None => DescribeView { most: MOST, most_lines: MOST_LINES },
            Some(DescribeFormat::Wide) => {
                screen.widen();
                DescribeView { most: usize::MAX, most_lines: usize::MAX }
            }
        };
        match description {
            Description::Object(object) => view.object(object, screen)?,
            Description::Policy(policy) => view.policy(policy, screen)?,
        }
        let reported = std::mem::take(&mut screen.reported);
        reported::write(&reported, screen)
    }
}
