//! What a command looks at: the objects it was given, and what the engine makes of them.

use attache_core::object::Objects;
use attache_core::problem::Problem;
use attache_core::topology::{NodeId, Topology};

use crate::cli::{Global, program};
use crate::failure::Failure;
use crate::target::{Query, Target};
use crate::{render, source};

#[derive(Debug)]
pub struct Input {
    pub objects: Objects,
    pub topology: Topology,
}

impl Input {
    /// Reads what `-f` names. What is wrong with part of it is shown, and the rest is used.
    pub fn read(global: &Global) -> Result<Input, Failure> {
        if global.files.is_empty() {
            let help = format!("give manifests with `-f`: {} topology -f FILE|DIR|-", program());
            return Err(Problem::error("there is nothing to look at").help(help).into());
        }
        let reading = source::load(&global.files, global.quiet, |_, _| false);
        let shown = reading.problems.iter().filter(|problem| problem.is_error() || !global.quiet);
        render::problem::show_all(shown);
        let objects = Objects::new(reading.objects);
        let topology = Topology::build(&objects, &[]);
        Ok(Input { objects, topology })
    }

    /// The nodes of the topology that `target` names.
    pub fn nodes(&self, target: &Target) -> Vec<NodeId> {
        let Some(whole) = self.topology.find(&self.objects, &target.id) else { return Vec::new() };
        match &target.section {
            None => [whole].into_iter().chain(self.topology.frontend(whole)).collect(),
            Some(section) => self.topology.section(whole, section).into_iter().collect(),
        }
    }

    /// The object that `words` name, and the words that follow.
    pub fn target<'w>(&self, words: &'w [String], global: &Global) -> Result<(Target, &'w [String]), Failure> {
        let (query, rest) = Query::parse(words)?;
        Ok((query.find(&self.objects, &self.topology, global.namespace.as_deref())?, rest))
    }
}
