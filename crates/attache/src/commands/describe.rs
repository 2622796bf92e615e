use std::io;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::{Input, target};
use crate::render::Screen;
use crate::render::describe::DescribeView;
use crate::verdict::Verdict;
use attache_answers::describe::{Description, problems};
use attache_answers::describe::{describe_object, describe_policy};

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
pub struct Describe {
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

impl DescribeFormat {
    fn write(self, document: &impl Serialize, screen: &mut Screen) -> io::Result<()> {
        match self {
            DescribeFormat::Yaml => screen.yaml(document),
            DescribeFormat::Json | DescribeFormat::Wide => screen.json(document),
        }
    }
}

/// How many names are shown before the rest is only counted, and how many lines of what is in force.
const MOST: usize = 6;
const MOST_LINES: usize = 10;

impl Describe {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let Input { snapshot: input, verdict } = Input::read(global, screen)?;
        let target = target(&input, &self.object, global)?.0;
        let wide = self.output == Some(DescribeFormat::Wide);
        if wide {
            screen.widen();
        }
        let view = DescribeView {
            input: &input,
            most: if wide { usize::MAX } else { MOST },
            most_lines: if wide { usize::MAX } else { MOST_LINES },
        };
        if let Some(policy) = input.engine.find_policy(&target.id) {
            let problems = problems(&input, &target);
            match self.output {
                None | Some(DescribeFormat::Wide) => view.policy(policy, &problems, screen)?,
                Some(format) => format.write(&describe_policy(&input, policy, &problems), screen)?,
            }
            return Ok(verdict);
        }
        let object = Description::new(&input, target);
        match self.output {
            None | Some(DescribeFormat::Wide) => view.object(&object, screen)?,
            Some(format) => format.write(&describe_object(&input, &object), screen)?,
        }
        Ok(verdict)
    }
}
