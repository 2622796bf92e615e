use attache_answers::Snapshot;
use std::io::Write;

use attache_engine::topology::NodeId;
use clap::{Args, ValueEnum};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::{Input, target};
use crate::render::Screen;
use crate::render::graph;
use crate::verdict::Verdict;
use attache_answers::topology::{Graph, around, cut_out, document};

/// Show what is connected to what, and what could not be
///
/// From gateway classes down to the ports of backends, with the policies attached to each node, and what was refused
/// with the reason. With an object, only what is above and below it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache topology -f manifests/
  attache topology gateway/main -f manifests/
  attache topology -f manifests/ -o svg > topology.svg
  attache topology -f manifests/ -o dot | dot -Tpdf > topology.pdf")]
pub struct Topology {
    /// Only what is above and below this object
    #[arg(value_name = "OBJECT", num_args = 0..=2)]
    object: Vec<String>,
    /// How to show it; `wide` is a tree with every child and every port
    #[arg(short, long, value_name = "FORMAT", default_value = "tree", overrides_with = "output")]
    output: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Tree,
    Wide,
    Dot,
    Mermaid,
    Svg,
    Name,
    Yaml,
    Json,
}

impl Topology {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let Input { snapshot: input, verdict } = Input::read(global, screen)?;
        let graph = self.graph(&input, global)?;
        match self.output {
            Format::Tree | Format::Wide if graph.is_bare() => {
                let place = global.namespace.as_ref().map(|namespace| format!(" in namespace `{namespace}`"));
                let place = place.unwrap_or_default();
                writeln!(screen, "there are no gateways, routes, services or other targets of policies{place}")?;
            }
            Format::Tree => graph::tree(graph, !self.object.is_empty(), screen)?,
            Format::Wide => graph::tree(graph, true, screen)?,
            Format::Dot => screen.write_all(graph::dot(graph).as_bytes())?,
            Format::Mermaid => screen.write_all(graph::mermaid(graph).as_bytes())?,
            Format::Svg => screen.write_all(graph::svg(graph).as_bytes())?,
            Format::Name => graph.nodes.iter().try_for_each(|node| writeln!(screen, "{}", node.id))?,
            Format::Yaml => screen.yaml(&document(&graph))?,
            Format::Json => screen.json(&document(&graph))?,
        }
        Ok(verdict)
    }

    fn graph(&self, input: &Snapshot, global: &Global) -> Result<Graph, Failure> {
        let nodes = match (self.object.is_empty(), &global.namespace) {
            (false, _) => around(input, &input.nodes(&target(input, &self.object, global)?.0)),
            (true, Some(namespace)) => {
                let here = |(node, _): &(NodeId, _)| input.is_in(*node, Some(namespace));
                let inside: Vec<NodeId> = input.engine.topology().nodes().filter(here).map(|(node, _)| node).collect();
                around(input, &inside)
            }
            (true, None) => input.engine.topology().order().to_vec(),
        };
        Ok(cut_out(input, &nodes))
    }
}
