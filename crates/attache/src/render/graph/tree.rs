//! The topology as a tree, for a person: what stands in several places is shown in full only once.

use std::io::{self, Write};

use attache_core::names::plural;
use attache_core::topology::Refused;

use super::{Graph, Vertex};
use crate::cli::program;
use crate::render::Screen;
use crate::render::style::{BAD, DIM, LOST_MARK, OBJECT, POLICY, paint};
use crate::render::table::fold;

/// How many children of one kind are shown before the rest is only counted.
const MOST: usize = 12;

#[derive(Clone, Copy, Debug)]
pub struct Tree {
    /// Show every child and every port.
    pub everything: bool,
}

pub fn tree(graph: &Graph, options: Tree, screen: &mut Screen) -> io::Result<()> {
    let shown = graph.only(|i| options.everything || !graph.nodes[i].minor);
    let children = shown.children();
    let mut drawn = vec![false; shown.nodes.len()];
    let parents = shown.parents();
    let mut stack: Vec<Line> =
        (0..shown.nodes.len()).filter(|node| parents[*node].is_empty()).rev().map(Line::root).collect();
    while let Some(Line { what, indent, branch }) = stack.pop() {
        write!(screen, "{}", paint(DIM, format!("{indent}{branch}")))?;
        let below = match branch {
            "" => String::new(),
            "└─ " => format!("{indent}   "),
            _ => format!("{indent}│  "),
        };
        match what {
            What::More { count, kind, parent } => {
                let name = if count == 1 { kind.to_owned() } else { plural(kind) };
                writeln!(
                    screen,
                    "{}",
                    paint(DIM, format!("and {count} more {name}: {} topology {parent}", program()))
                )?;
            }
            What::Refused(refused) => write_refused(refused, &below, screen)?,
            What::Node(node) => {
                let vertex = &shown.nodes[node];
                let again = std::mem::replace(&mut drawn[node], true) && !children[node].is_empty();
                write_vertex(vertex, again, screen)?;
                if !again {
                    let lines = below_node(&shown, node, &children[node], options);
                    let last = lines.len().saturating_sub(1);
                    stack.extend(lines.into_iter().enumerate().rev().map(|(i, what)| {
                        let branch = if i == last { "└─ " } else { "├─ " };
                        Line { what, indent: below.clone(), branch }
                    }));
                }
            }
        }
    }
    write_strays(&shown, screen)
}

struct Line<'g> {
    what: What<'g>,
    indent: String,
    branch: &'static str,
}

impl Line<'_> {
    fn root(node: usize) -> Line<'static> {
        Line { what: What::Node(node), indent: String::new(), branch: "" }
    }
}

enum What<'g> {
    Node(usize),
    Refused(&'g Refused),
    /// Children that are only counted.
    More {
        count: usize,
        kind: &'g str,
        parent: &'g str,
    },
}

fn below_node<'g>(graph: &'g Graph, node: usize, children: &[usize], options: Tree) -> Vec<What<'g>> {
    let parent = graph.nodes[node].id.as_str();
    let mut lines = Vec::new();
    for same in children.chunk_by(|a, b| graph.nodes[*a].kind() == graph.nodes[*b].kind()) {
        // One more line shows the last one itself as well as it shows that there is one.
        let most = if options.everything || same.len() == MOST + 1 { same.len() } else { same.len().min(MOST) };
        lines.extend(same[..most].iter().map(|child| What::Node(*child)));
        if let Some(next) = same.get(most) {
            lines.push(What::More { count: same.len() - most, kind: graph.nodes[*next].kind(), parent });
        }
    }
    lines.extend(graph.refused.iter().filter(|refused| refused.parent == parent).map(What::Refused));
    lines
}

fn write_vertex(vertex: &Vertex, again: bool, screen: &mut Screen) -> io::Result<()> {
    match vertex.parts() {
        (id, "") => write!(screen, "{}", paint(OBJECT, id))?,
        (id, section) => write!(screen, "{}{}", paint(DIM, id), paint(OBJECT, section))?,
    }
    if !vertex.policies.is_empty() {
        write!(screen, "  {} {}", paint(DIM, "←"), paint(POLICY, vertex.policies.join(", ")))?;
    }
    if again {
        write!(screen, "  {}", paint(DIM, "(shown above)"))?;
    }
    writeln!(screen)
}

fn write_refused(refused: &Refused, indent: &str, screen: &mut Screen) -> io::Result<()> {
    let Refused { child, reason, message, .. } = refused;
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
    let mut strays = graph.refused.iter().filter(|refused| graph.find(&refused.parent).is_none()).peekable();
    if strays.peek().is_some() {
        writeln!(screen, "\nNot attached")?;
    }
    for Refused { parent, child, reason, message } in strays {
        let mark = paint(BAD, LOST_MARK);
        writeln!(screen, "{mark} {} to {}  {}", paint(OBJECT, child), paint(OBJECT, parent), paint(BAD, reason))?;
        write_message(message, "", screen)?;
    }
    Ok(())
}
