use std::io::Write;

use attache_answers::picture::{SvgOptions, svg};
use attache_answers::topology::{TopologyQuery, topology};
use clap::{Args, ValueEnum};

use crate::arguments::{Global, optional_object};
use crate::failure::Failure;
use crate::input::{Input, answered};
use crate::render::{Screen, graph};
use crate::verdict::Verdict;

/// Show how objects connect, and which links are refused
///
/// From GatewayClasses down to the ports of backends, with the policies attached to each node, and refused links with the
/// reason. With an object, only what is above and below it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache topology -f manifests/
  attache topology gateway/main -f manifests/
  attache topology -f manifests/ -o svg > topology.svg
  attache topology -f manifests/ -o dot | dot -Tpdf > topology.pdf")]
pub struct TopologyCommand {
    /// Only the ancestors and descendants of this object
    #[arg(value_name = "OBJECT", num_args = 0..=2)]
    object: Vec<String>,
    /// Output format; `wide` is a tree with every child and every port
    #[arg(short, long, value_name = "FORMAT", default_value = "tree", overrides_with = "output")]
    output: TopologyFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TopologyFormat {
    Tree,
    Wide,
    Dot,
    Mermaid,
    Svg,
    Name,
    Yaml,
    Json,
}

impl TopologyCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let input = Input::read(global, screen)?;
        // Links to objects that do not exist are part of the answer.
        screen.unknown.clear();
        let query = TopologyQuery { object: optional_object(&self.object)?, namespace: global.namespace.clone() };
        let graph = answered(topology(&input.snapshot, &query), screen)?;
        match self.output {
            TopologyFormat::Tree | TopologyFormat::Wide if graph.is_empty() => {
                let place = global.namespace.as_ref().map(|namespace| format!(" in namespace `{namespace}`"));
                let place = place.unwrap_or_default();
                match self.object.as_slice() {
                    [] => {
                        writeln!(screen, "there are no gateways, routes, services or other targets of policies{place}")?
                    }
                    object => writeln!(screen, "nothing is above or below {}{place}", object.join("/"))?,
                }
            }
            TopologyFormat::Tree => graph::tree(graph, query.object.is_some(), screen)?,
            TopologyFormat::Wide => graph::tree(graph, true, screen)?,
            TopologyFormat::Dot => screen.write_all(graph::dot(graph).as_bytes())?,
            TopologyFormat::Mermaid => screen.write_all(graph::mermaid(graph).as_bytes())?,
            TopologyFormat::Svg => screen.write_all(svg(graph, &SvgOptions::default()).as_bytes())?,
            TopologyFormat::Name => graph.nodes.iter().try_for_each(|node| writeln!(screen, "{}", node.id))?,
            TopologyFormat::Yaml => screen.yaml(&graph.document())?,
            TopologyFormat::Json => screen.json(&graph.document())?,
        }
        Ok(input.verdict())
    }
}
