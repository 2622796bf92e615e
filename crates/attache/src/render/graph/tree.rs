//! The topology as a tree. A node with several parents is shown in full below the first of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use attache_answers::picture::is_minor;
use attache_answers::scopes::cut;
use attache_answers::topology::{GraphNode, RefusedEdge, TopologyGraph};
use attache_engine::plural;
use attache_engine::{Level, NodeRef};

use crate::render::style::{BAD, DIM, HEAD, LOST_MARK, OBJECT, POLICY, paint};
use crate::render::table::fold;
use crate::render::{Screen, counted, some};

/// The number of children of one kind that are shown before the rest is only counted.
const MOST: usize = 12;
/// The same for the policies on one node.
const MOST_POLICIES: usize = 3;

/// Writes the tree. Unless `everything` is true, long lists are shortened, and ports and unconnected objects are left
/// out.
pub fn tree(graph: TopologyGraph, everything: bool, screen: &mut Screen) -> io::Result<()> {
    let graph = &graph.filtered(|node| everything || !is_minor(node));
    let (parents, children) = (graph.parents(), graph.children());
    let forest = Forest { graph, parents, children, refused: by_parent(graph), everything };
    let (roots, unconnected) = forest.roots();
    let most = if everything { usize::MAX } else { MOST_POLICIES };
    let mut is_drawn = vec![false; graph.nodes.len()];
    let in_full = screen.invocation.in_full();
    let roots_below: Vec<Branch> = forest.grouped(&roots, &[], &|| in_full.clone());
    let mut stack: Vec<TreeLine> = roots_below.into_iter().rev().map(TreeLine::root).collect();
    while let Some(line) = stack.pop() {
        write!(screen, "{}", paint(DIM, format!("{}{}", line.indent, line.mark)))?;
        match &line.branch {
            Branch::More { count, kind, see } => {
                let kind = if *count == 1 { kind.clone() } else { plural(kind) };
                writeln!(screen, "{}", paint(DIM, format!("and {count} more {kind}: {see}")))?;
            }
            Branch::Refused(refused) => write_refused(refused, &line.below(), screen)?,
            Branch::Namespace { namespace, members } => {
                let node = &graph.nodes[*namespace];
                write_node(node, "", most, &line, screen)?;
                let see = || screen.invocation.question(&["topology", "-n", &node.id.object.name, "-o", "wide"]);
                stack.extend(line.children(forest.listed(members, &see)));
            }
            Branch::Node(at) => {
                let (node, children) = (&graph.nodes[*at], &forest.children[*at]);
                let is_repeated = std::mem::replace(&mut is_drawn[*at], true) && !children.is_empty();
                let is_unattached = forest.parents[*at].is_empty() && node.level == Some(Level::Route);
                let note = match (is_repeated, is_unattached) {
                    (true, _) => "(shown above)",
                    (false, true) => "(attached nowhere)",
                    (false, false) => "",
                };
                write_node(node, note, most, &line, screen)?;
                if !is_repeated {
                    let see = || screen.invocation.question(&["topology", &node.id.to_string()]);
                    let mut below = forest.grouped(children, &line.inside, &see);
                    let refused = forest.refused.get(&node.id).into_iter().flatten();
                    below.extend(refused.map(|refused| Branch::Refused(refused)));
                    stack.extend(line.children(below));
                }
            }
        }
    }
    write_without_parent(graph, screen)?;
    if !unconnected.is_empty() && !roots.is_empty() {
        writeln!(screen)?;
    }
    write_unconnected(graph, &unconnected, screen)
}

struct Forest<'g> {
    graph: &'g TopologyGraph,
    parents: Vec<Vec<usize>>,
    children: Vec<Vec<usize>>,
    refused: BTreeMap<&'g NodeRef, Vec<&'g RefusedEdge>>,
    everything: bool,
}

struct TreeLine<'g> {
    branch: Branch<'g>,
    indent: String,
    /// The text between the indentation and the content.
    mark: &'static str,
    /// The Namespaces above.
    inside: Vec<usize>,
}

enum Branch<'g> {
    Node(usize),
    Namespace {
        namespace: usize,
        members: Vec<usize>,
    },
    Refused(&'g RefusedEdge),
    /// Nodes that are only counted, and the command that shows them.
    More {
        count: usize,
        kind: String,
        see: String,
    },
}

impl<'g> TreeLine<'g> {
    fn root(branch: Branch<'g>) -> TreeLine<'g> {
        TreeLine { branch, indent: String::new(), mark: "", inside: Vec::new() }
    }

    /// The lines below this one, the last first.
    fn children(&self, branches: Vec<Branch<'g>>) -> Vec<TreeLine<'g>> {
        let mut inside = self.inside.clone();
        if let Branch::Namespace { namespace, .. } = &self.branch {
            inside.push(*namespace);
        }
        let marks = ["└─ "].into_iter().chain(std::iter::repeat("├─ "));
        let lines = branches.into_iter().rev().zip(marks);
        lines.map(|(branch, mark)| TreeLine { branch, indent: self.below(), mark, inside: inside.clone() }).collect()
    }

    /// The indentation of the lines below this one.
    fn below(&self) -> String {
        match self.mark {
            "" => String::new(),
            "└─ " => format!("{}   ", self.indent),
            _ => format!("{}│  ", self.indent),
        }
    }
}

impl<'g> Forest<'g> {
    /// The nodes without parents, and then those without any links.
    fn roots(&self) -> (Vec<usize>, Vec<usize>) {
        let nodes = self.graph.nodes.iter().enumerate();
        let roots = nodes.filter(|(i, node)| self.parents[*i].is_empty() && node.level != Some(Level::Namespace));
        roots.map(|(i, _)| i).partition(|i| {
            let node = &self.graph.nodes[*i];
            let is_root_level = matches!(
                node.level,
                Some(Level::GatewayClass | Level::Gateway | Level::Frontend | Level::ListenerSet | Level::Route)
            );
            self.everything || is_root_level || !node.policies.is_empty() || !self.children[*i].is_empty()
        })
    }

    /// `nodes` below the Namespaces that they are in, unless those are among the Namespaces above (`inside`).
    fn grouped(&self, nodes: &[usize], inside: &[usize], see: &dyn Fn() -> String) -> Vec<Branch<'g>> {
        let mut by_namespace: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut others = Vec::new();
        for node in nodes {
            match self.graph.nodes[*node].namespace.filter(|namespace| !inside.contains(namespace)) {
                Some(namespace) => by_namespace.entry(namespace).or_default().push(*node),
                None => others.push(*node),
            }
        }
        let mut branches = self.listed(&others, see);
        let namespaces = by_namespace.into_iter();
        branches.extend(namespaces.map(|(namespace, members)| Branch::Namespace { namespace, members }));
        branches
    }

    fn listed(&self, nodes: &[usize], see: &dyn Fn() -> String) -> Vec<Branch<'g>> {
        let like = |node: usize| {
            let id = &self.graph.nodes[node].id;
            (&id.object.kind, id.section.is_none())
        };
        let mut branches = Vec::new();
        for same in nodes.chunk_by(|a, b| like(*a) == like(*b)) {
            let shown = if self.everything { same.len() } else { cut(same.len(), MOST) };
            branches.extend(same[..shown].iter().map(|node| Branch::Node(*node)));
            if let Some(next) = same.get(shown) {
                let kind = self.graph.nodes[*next].kind();
                branches.push(Branch::More { count: same.len() - shown, kind, see: see() });
            }
        }
        branches
    }
}

fn by_parent(graph: &TopologyGraph) -> BTreeMap<&NodeRef, Vec<&RefusedEdge>> {
    let mut refused: BTreeMap<&NodeRef, Vec<&RefusedEdge>> = BTreeMap::new();
    for edge in &graph.refused {
        refused.entry(&edge.parent).or_default().push(edge);
    }
    refused
}

/// A node, with its policies beside it or, where there is no room, below it.
fn write_node(node: &GraphNode, note: &str, most: usize, line: &TreeLine<'_>, screen: &mut Screen) -> io::Result<()> {
    match &node.id.section {
        None => write!(screen, "{}", paint(OBJECT, &node.id))?,
        Some(section) => {
            write!(screen, "{}{}", paint(DIM, &node.id.object), paint(OBJECT, format!("#{section}")))?;
        }
    }
    let note = if note.is_empty() { String::new() } else { format!("  {note}") };
    let policies = some(&node.policies, most);
    let id = node.id.to_string();
    let taken = [&line.indent, line.mark, &id, &note].map(|text| text.chars().count()).iter().sum::<usize>();
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

/// Links that are refused by a parent outside of the tree, most often because it does not exist.
fn write_without_parent(graph: &TopologyGraph, screen: &mut Screen) -> io::Result<()> {
    if graph.refused.is_empty() {
        return Ok(());
    }
    let known: BTreeSet<&NodeRef> = graph.nodes.iter().map(|node| &node.id).collect();
    let mut refused = graph.refused.iter().filter(|refused| !known.contains(&refused.parent)).peekable();
    if refused.peek().is_some() {
        writeln!(screen, "\n{}", paint(HEAD, "Not attached"))?;
    }
    for RefusedEdge { parent, child, reason, message } in refused {
        let mark = paint(BAD, LOST_MARK);
        writeln!(screen, "{mark} {} to {}  {}", paint(OBJECT, child), paint(OBJECT, parent), paint(BAD, reason))?;
        write_message(message, "", screen)?;
    }
    Ok(())
}

fn write_unconnected(graph: &TopologyGraph, nodes: &[usize], screen: &mut Screen) -> io::Result<()> {
    if nodes.is_empty() {
        return Ok(());
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for node in nodes {
        *counts.entry(&graph.nodes[*node].id.object.kind).or_default() += 1;
    }
    let counts: Vec<String> = counts.into_iter().map(|(kind, count)| counted(count, kind)).collect();
    let see = screen.invocation.in_full();
    writeln!(screen, "{}", paint(DIM, format!("not connected to anything: {} ({see})", counts.join(", "))))
}
