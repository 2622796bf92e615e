use std::io::Write;

use attache_core::topology::{Level, NodeId};
use clap::{Args, ValueEnum};

use super::Verdict;
use crate::cli::Global;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::Screen;
use crate::render::graph::{self, Graph, Tree, Vertex};

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
    #[arg(short, long, value_name = "FORMAT", default_value = "tree")]
    output: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Tree,
    Wide,
    Dot,
    Mermaid,
    Svg,
    Json,
}

impl Topology {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let input = Input::read(global)?;
        let graph = self.graph(&input, global)?;
        match self.output {
            Format::Tree => graph::tree(&graph, Tree { everything: !self.object.is_empty() }, screen)?,
            Format::Wide => graph::tree(&graph, Tree { everything: true }, screen)?,
            Format::Dot => screen.write_all(graph::dot(&graph).as_bytes())?,
            Format::Mermaid => screen.write_all(graph::mermaid(&graph).as_bytes())?,
            Format::Svg => screen.write_all(graph::svg(&graph).as_bytes())?,
            Format::Json => screen.json(&graph::document(&graph))?,
        }
        Ok(Verdict::Fine)
    }

    fn graph(&self, input: &Input, global: &Global) -> Result<Graph, Failure> {
        let nodes = match (self.object.is_empty(), &global.namespace) {
            (false, _) => around(input, &input.nodes(&input.target(&self.object, global)?.0)),
            (true, Some(namespace)) => {
                let here = |(node, _): &(NodeId, _)| input.topology.id(&input.objects, *node).namespace == *namespace;
                let inside: Vec<NodeId> = input.topology.nodes().filter(here).map(|(node, _)| node).collect();
                around(input, &inside)
            }
            (true, None) => input.topology.order().to_vec(),
        };
        Ok(cut_out(input, &nodes))
    }
}

/// `nodes` with everything above and below them, parents first.
fn around(input: &Input, nodes: &[NodeId]) -> Vec<NodeId> {
    let count = input.topology.nodes().len();
    let spread = |next: &dyn Fn(NodeId) -> Vec<NodeId>| {
        let mut seen = vec![false; count];
        let mut todo = nodes.to_vec();
        while let Some(node) = todo.pop() {
            if !std::mem::replace(&mut seen[node.0 as usize], true) {
                todo.extend(next(node));
            }
        }
        seen
    };
    let above = spread(&|node| input.topology.parents(node).to_vec());
    let below = spread(&|node| input.topology.children(node).to_vec());
    let order = input.topology.order().iter().copied();
    order.filter(|node| above[node.0 as usize] || below[node.0 as usize]).collect()
}

fn cut_out(input: &Input, nodes: &[NodeId]) -> Graph {
    let mut at = vec![None; input.topology.nodes().len()];
    let mut graph = Graph::default();
    for (i, node) in nodes.iter().enumerate() {
        at[node.0 as usize] = Some(i);
        graph.nodes.push(Vertex {
            id: input.topology.name(&input.objects, *node),
            count: 1,
            minor: input.topology.node(*node).level == Level::BackendPort,
            ..Vertex::default()
        });
    }
    for (i, node) in nodes.iter().enumerate() {
        graph.edges.extend(
            input.topology.children(*node).iter().filter_map(|child| at[child.0 as usize]).map(|child| (i, child)),
        );
    }
    let whole = nodes.len() == at.len();
    let known = |id: &str| graph.nodes.iter().any(|node| node.id == id);
    let refused = input.topology.refused().iter();
    graph.refused =
        refused.filter(|refused| whole || known(&refused.parent) || known(&refused.child)).cloned().collect();
    graph
}
