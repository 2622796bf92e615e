//! The topology as a tree, for a person: what stands in several places is shown in full only once.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use attache_engine::names::plural;
use attache_engine::topology::Level;

use crate::render::style::{BAD, DIM, HEAD, LOST_MARK, OBJECT, POLICY, paint};
use crate::render::table::fold;
use crate::render::{Screen, cut, some};
use attache_answers::topology::{Graph, RefusedEdge, Vertex};

/// How many children of one kind are shown before the rest is only counted.
const MOST: usize = 12;
/// The same for the policies on one of them.
const MOST_POLICIES: usize = 3;

/// Writes the tree. Unless `everything` is asked for, long lists are cut, and ports and objects that nothing leads to
/// are left out.
pub fn tree(graph: Graph, everything: bool, screen: &mut Screen) -> io::Result<()> {
    let graph = &graph.only(|node| everything || !node.is_minor());
    let (parents, children) = (graph.parents(), graph.children());
    let forest = Forest { graph, parents, children, refused: by_parent(graph), everything };
    let (roots, alone) = forest.roots();
    let most = if everything { usize::MAX } else { MOST_POLICIES };
    let mut drawn = vec![false; graph.nodes.len()];
    let mut stack: Vec<Line> =
        forest.grouped(&roots, &[], &|| screen.invocation.in_full()).into_iter().rev().map(Line::root).collect();
    while let Some(line) = stack.pop() {
        write!(screen, "{}", paint(DIM, format!("{}{}", line.indent, line.branch)))?;
        match &line.what {
            What::More { count, what, see } => {
                let what = if *count == 1 { what.clone() } else { plural(what) };
                writeln!(screen, "{}", paint(DIM, format!("and {count} more {what}: {see}")))?;
            }
            What::Refused(refused) => write_refused(refused, &line.below(), screen)?,
            What::Namespace { namespace, members } => {
                let vertex = &graph.nodes[*namespace];
                write_vertex(vertex, "", most, &line, screen)?;
                let see = || {
                    screen.invocation.question(&[
                        "topology",
                        "-n",
                        vertex.id.trim_start_matches("Namespace/"),
                        "-o",
                        "wide",
                    ])
                };
                stack.extend(line.hang(forest.listed(members, &see)));
            }
            What::Node(node) => {
                let children = &forest.children[*node];
                let is_drawn = std::mem::replace(&mut drawn[*node], true) && !children.is_empty();
                let vertex = &graph.nodes[*node];
                let note = match is_drawn {
                    true => "(shown above)",
                    false if forest.parents[*node].is_empty() && vertex.level == Some(Level::Route) => {
                        "(attached nowhere)"
                    }
                    false => "",
                };
                write_vertex(vertex, note, most, &line, screen)?;
                if !is_drawn {
                    let mut below = forest
                        .grouped(children, &line.inside, &|| screen.invocation.question(&["topology", &vertex.id]));
                    let refused = forest.refused.get(vertex.id.as_str()).into_iter().flatten();
                    below.extend(refused.map(|refused| What::Refused(refused)));
                    stack.extend(line.hang(below));
                }
            }
        }
    }
    write_strays(graph, screen)?;
    if !alone.is_empty() && !roots.is_empty() {
        writeln!(screen)?;
    }
    write_alone(graph, &alone, screen)
}

struct Forest<'g> {
    graph: &'g Graph,
    parents: Vec<Vec<usize>>,
    children: Vec<Vec<usize>>,
    refused: BTreeMap<&'g str, Vec<&'g RefusedEdge>>,
    everything: bool,
}

struct Line<'g> {
    what: What<'g>,
    indent: String,
    branch: &'static str,
    /// The Namespaces that were passed on the way.
    inside: Vec<usize>,
}

enum What<'g> {
    Node(usize),
    Namespace {
        namespace: usize,
        members: Vec<usize>,
    },
    Refused(&'g RefusedEdge),
    /// Nodes that are only counted, and the command that shows them.
    More {
        count: usize,
        what: String,
        see: String,
    },
}

impl<'g> Line<'g> {
    fn root(what: What<'g>) -> Line<'g> {
        Line { what, indent: String::new(), branch: "", inside: Vec::new() }
    }

    /// What hangs below this line, last first.
    fn hang(&self, below: Vec<What<'g>>) -> Vec<Line<'g>> {
        let mut inside = self.inside.clone();
        if let What::Namespace { namespace, .. } = &self.what {
            inside.push(*namespace);
        }
        let branches = ["└─ "].into_iter().chain(std::iter::repeat("├─ "));
        let lines = below.into_iter().rev().zip(branches);
        lines.map(|(what, branch)| Line { what, indent: self.below(), branch, inside: inside.clone() }).collect()
    }

    /// The indentation of what hangs below this line.
    fn below(&self) -> String {
        match self.branch {
            "" => String::new(),
            "└─ " => format!("{}   ", self.indent),
            _ => format!("{}│  ", self.indent),
        }
    }
}

impl<'g> Forest<'g> {
    /// What has no parents, and apart from it what has nothing to do with any other.
    fn roots(&self) -> (Vec<usize>, Vec<usize>) {
        let nodes = self.graph.nodes.iter().enumerate();
        let tops = nodes.filter(|(i, node)| self.parents[*i].is_empty() && node.level != Some(Level::Namespace));
        tops.map(|(i, _)| i).partition(|i| {
            let node = &self.graph.nodes[*i];
            let matters = matches!(
                node.level,
                Some(Level::GatewayClass | Level::Gateway | Level::Frontend | Level::ListenerSet | Level::Route)
            );
            self.everything || matters || !node.policies.is_empty() || !self.children[*i].is_empty()
        })
    }

    /// `nodes` under the Namespaces that they live in, where those were not passed yet.
    fn grouped(&self, nodes: &[usize], inside: &[usize], see: &dyn Fn() -> String) -> Vec<What<'g>> {
        let mut entered: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut others = Vec::new();
        for node in nodes {
            match self.graph.nodes[*node].namespace.filter(|namespace| !inside.contains(namespace)) {
                Some(namespace) => entered.entry(namespace).or_default().push(*node),
                None => others.push(*node),
            }
        }
        let mut lines = self.listed(&others, see);
        lines.extend(entered.into_iter().map(|(namespace, members)| What::Namespace { namespace, members }));
        lines
    }

    fn listed(&self, nodes: &[usize], see: &dyn Fn() -> String) -> Vec<What<'g>> {
        let like = |node: usize| (self.graph.nodes[node].kind(), self.graph.nodes[node].parts().1.is_empty());
        let mut lines = Vec::new();
        for same in nodes.chunk_by(|a, b| like(*a) == like(*b)) {
            let shown = if self.everything { same.len() } else { cut(same.len(), MOST) };
            lines.extend(same[..shown].iter().map(|node| What::Node(*node)));
            if let Some(next) = same.get(shown) {
                lines.push(What::More { count: same.len() - shown, what: self.graph.nodes[*next].what(), see: see() });
            }
        }
        lines
    }
}

fn by_parent(graph: &Graph) -> BTreeMap<&str, Vec<&RefusedEdge>> {
    let mut refused: BTreeMap<&str, Vec<&RefusedEdge>> = BTreeMap::new();
    for one in &graph.refused {
        refused.entry(&one.parent).or_default().push(one);
    }
    refused
}

fn write_vertex(vertex: &Vertex, note: &str, most: usize, line: &Line<'_>, screen: &mut Screen) -> io::Result<()> {
    match vertex.parts() {
        (id, "") => write!(screen, "{}", paint(OBJECT, id))?,
        (id, section) => write!(screen, "{}{}", paint(DIM, id), paint(OBJECT, section))?,
    }
    let note = if note.is_empty() { String::new() } else { format!("  {note}") };
    let policies = some(&vertex.policies, most);
    let taken = [&line.indent, line.branch, &vertex.id, &note].map(|text| text.chars().count()).iter().sum::<usize>();
    let fits = screen.width().is_none_or(|width| taken + 4 + policies.len() <= width);
    if fits && !policies.is_empty() {
        write!(screen, "  {} {}", paint(DIM, "←"), paint(POLICY, &policies))?;
    }
    writeln!(screen, "{}", paint(DIM, note))?;
    if !fits {
        let below = line.below();
        let room = screen.width().map(|width| width.saturating_sub(below.chars().count() + 2).max(24));
        for (i, policies) in fold(&policies, room).iter().enumerate() {
            let arrow = if i == 0 { "← " } else { "  " };
            writeln!(screen, "{}{}", paint(DIM, format!("{below}{arrow}")), paint(POLICY, policies))?;
        }
    }
    Ok(())
}

fn write_refused(refused: &RefusedEdge, indent: &str, screen: &mut Screen) -> io::Result<()> {
    let RefusedEdge { child, reason, message, .. } = refused;
    writeln!(screen, "{} {}  {}", paint(BAD, LOST_MARK), paint(OBJECT, child), paint(BAD, reason))?;
    write_message(message, indent, screen)
}

fn write_message(message: &str, indent: &str, screen: &mut Screen) -> io::Result<()> {
    let width = screen.width().map(|width| width.saturating_sub(indent.chars().count() + 2).max(24));
    for line in fold(message, width) {
        writeln!(screen, "{}  {line}", paint(DIM, indent))?;
    }
    Ok(())
}

/// What was refused by something that is not in the tree, most often because it does not exist.
fn write_strays(graph: &Graph, screen: &mut Screen) -> io::Result<()> {
    if graph.refused.is_empty() {
        return Ok(());
    }
    let known: BTreeSet<&str> = graph.nodes.iter().map(|node| node.id.as_str()).collect();
    let mut strays = graph.refused.iter().filter(|refused| !known.contains(refused.parent.as_str())).peekable();
    if strays.peek().is_some() {
        writeln!(screen, "\n{}", paint(HEAD, "Not attached"))?;
    }
    for RefusedEdge { parent, child, reason, message } in strays {
        let mark = paint(BAD, LOST_MARK);
        writeln!(screen, "{mark} {} to {}  {}", paint(OBJECT, child), paint(OBJECT, parent), paint(BAD, reason))?;
        write_message(message, "", screen)?;
    }
    Ok(())
}

fn write_alone(graph: &Graph, alone: &[usize], screen: &mut Screen) -> io::Result<()> {
    if alone.is_empty() {
        return Ok(());
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for node in alone {
        *counts.entry(graph.nodes[*node].kind()).or_default() += 1;
    }
    let counted = |(kind, count): (&str, usize)| match count {
        1 => format!("1 {kind}"),
        count => format!("{count} {}", plural(kind)),
    };
    let counts: Vec<String> = counts.into_iter().map(counted).collect();
    let see = screen.invocation.in_full();
    writeln!(screen, "{}", paint(DIM, format!("not connected to anything: {} ({see})", counts.join(", "))))
}
