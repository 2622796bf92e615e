use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write;

use attache_engine::topology::{Level, NodeId, Refused};
use clap::{Args, ValueEnum};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::Verdict;
use crate::cli::Global;
use crate::failure::Failure;
use crate::input::Input;
use crate::render::Screen;
use crate::render::graph::{self, Graph, Vertex};

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
        let input = Input::read(global)?;
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
            Format::Yaml => screen.yaml(&graph::document(&graph))?,
            Format::Json => screen.json(&graph::document(&graph))?,
        }
        Ok(input.verdict)
    }

    fn graph(&self, input: &Input, global: &Global) -> Result<Graph, Failure> {
        let nodes = match (self.object.is_empty(), &global.namespace) {
            (false, _) => around(input, &input.nodes(&input.target(&self.object, global)?.0)),
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

/// `nodes` with everything above and below them, parents first.
fn around(input: &Input, nodes: &[NodeId]) -> Vec<NodeId> {
    let topology = input.engine.topology();
    let (above, below) = (topology.above(nodes.iter().copied()), topology.below(nodes.iter().copied()));
    topology.order().iter().copied().filter(|node| above.contains(node) || below.contains(node)).collect()
}

fn cut_out(input: &Input, nodes: &[NodeId]) -> Graph {
    let topology = input.engine.topology();
    let mut attached: BTreeMap<NodeId, Vec<String>> = BTreeMap::new();
    for attachment in input.engine.attachments().attached() {
        attached.entry(attachment.node).or_default().push(input.policy(attachment.policy));
    }
    let lives_in = nodes.iter().filter_map(|node| topology.namespace(*node));
    let namespaces: BTreeSet<NodeId> = lives_in.collect();
    // What stands at no level, links to nothing and carries nothing is there, but has no part in this.
    let matters = |node: &NodeId| match topology.node(*node).level {
        Level::Namespace => false,
        Level::Other if attached.contains_key(node) => true,
        Level::Other => !topology.parents(*node).is_empty() || !topology.children(*node).is_empty(),
        _ => true,
    };
    let shown: Vec<NodeId> = namespaces.into_iter().chain(nodes.iter().copied().filter(matters)).collect();
    let at: HashMap<NodeId, usize> = shown.iter().enumerate().map(|(i, node)| (*node, i)).collect();
    let mut graph = Graph::default();
    let names: Vec<String> = shown.par_iter().map(|node| input.name(*node)).collect();
    for ((i, node), id) in shown.iter().enumerate().zip(names) {
        graph.nodes.push(Vertex {
            id,
            policies: attached.remove(node).unwrap_or_default(),
            level: Some(topology.node(*node).level),
            namespace: topology.namespace(*node).and_then(|namespace| at.get(&namespace).copied()),
            count: 1,
        });
        graph.edges.extend(topology.children(*node).iter().filter_map(|child| Some((i, *at.get(child)?))));
    }
    let refused = topology.refused(input.engine.objects());
    graph.refused = if nodes.len() == topology.count() {
        refused.to_vec()
    } else {
        let known: BTreeSet<&str> = graph.nodes.iter().map(|node| node.id.as_str()).collect();
        let concerns = |refused: &&Refused| known.contains(&*refused.parent) || known.contains(&*refused.child);
        refused.iter().filter(concerns).cloned().collect()
    };
    graph
}
