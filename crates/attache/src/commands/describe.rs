use std::io;

use attache_answers::describe::{DescribeQuery, Description, describe};
use clap::{Args, ValueEnum};

use crate::arguments::{Global, object};
use crate::failure::Failure;
use crate::input::Input;
use crate::render::Screen;
use crate::render::describe::DescribeView;
use crate::verdict::Verdict;

/// Show everything about one object on one screen
///
/// Of an object: where it stands in the topology, the policies attached to it and those it inherits, what they come to,
/// its status, and what is wrong. Of a policy: how its kind works, its targets, what it says, where it is in force and
/// who beats it where. In the end, the commands that tell more.
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
    /// How to show it; `wide` cuts nothing
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<DescribeFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DescribeFormat {
    Wide,
    Yaml,
    Json,
}

/// How many names are shown before the rest is only counted, and how many lines of what is in force.
const MOST: usize = 6;
const MOST_LINES: usize = 10;

impl DescribeCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let input = Input::read(global, screen)?;
        let query = DescribeQuery { object: object(&self.object)?, namespace: global.namespace.clone() };
        let description = describe(&input.snapshot, &query)?;
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
            Description::Object(object) => view.object(object, screen),
            Description::Policy(policy) => view.policy(policy, screen),
        }
    }
}
