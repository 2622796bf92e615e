//! The topology as a picture that needs nothing else: parents left, children right, policies on their targets.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use attache_engine::plural;
use unicode_width::UnicodeWidthStr;

use super::collapse::collapse;
use super::layout::{Layout, layout};
use super::picture::{Picture, PictureLink, PictureNode};
use crate::render::style::LOST_MARK;
use attache_answers::topology::TopologyGraph;

/// Above this many nodes, those that differ only in name are drawn as one.
const MOST: usize = 100;
/// How many policies are named on one node.
const MOST_POLICIES: usize = 4;

const MARGIN: f64 = 24.0;
const COLUMN_GAP: f64 = 56.0;
const PADDING: f64 = 10.0;
const LINE: f64 = 16.0;
/// The advance of one character of a 12 pixel monospace font, with some reserve.
const CHARACTER: f64 = 7.4;
/// What fits beside a caption is drawn in a smaller font.
const SMALL_CHARACTER: f64 = 6.2;

const STYLE: &str = "\
svg{--back:#fff;--box:#f6f8fa;--line:#8c959f;--text:#1f2328;--dim:#59636e;--policy:#8250df;--bad:#cf222e}\
@media(prefers-color-scheme:dark){svg{--back:#0d1117;--box:#161b22;--line:#6e7681;--text:#e6edf3;--dim:#9198a1;--policy:#d2a8ff;--bad:#ff7b72}}\
text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:var(--text)}\
.back{fill:var(--back)}\
.box{fill:var(--box);stroke:var(--line)}.attached .box{stroke:var(--policy);stroke-width:1.5}.ghost .box{stroke:var(--bad);stroke-dasharray:4 3}\
.what{font-size:10px;fill:var(--dim)}.policy{font-size:11px;fill:var(--policy)}\
.edge{fill:none;stroke:var(--line)}.refused{fill:none;stroke:var(--bad);stroke-dasharray:5 4}\
.reason{font-size:11px;fill:var(--bad)}";

pub fn svg(graph: TopologyGraph) -> String {
    let mut picture = Picture::new(graph);
    if picture.nodes.len() > MOST {
        picture = collapse(&picture);
    }
    Drawing::new(&picture).draw()
}

struct Drawing<'p> {
    picture: &'p Picture,
    /// What is drawn as a line: not what an object wants of itself.
    links: Vec<&'p PictureLink>,
    boxes: Vec<Label>,
    layout: Layout,
    /// The left side of each column, and its width.
    columns: Vec<(f64, f64)>,
}

/// The lines of text on a node.
struct Label {
    what: String,
    name: String,
    policies: Vec<String>,
    /// Why others refused it.
    reasons: Vec<String>,
}

impl Label {
    fn new(it: &PictureNode, above: &[&PictureLink]) -> Label {
        let reasons: BTreeSet<&str> = above.iter().filter_map(|link| Some(link.refused.as_ref()?.reason)).collect();
        let reasons = reasons.into_iter().map(|reason| format!("{LOST_MARK} {reason}")).collect();
        let PictureNode { node, count } = it;
        let id = &node.id.object;
        let namespace = if id.namespace.is_empty() { String::new() } else { format!("{}/", id.namespace) };
        let section = node.id.section.as_ref().map(|section| format!("#{section}")).unwrap_or_default();
        let name = format!("{namespace}{}{section}", id.name);
        let mut policies: Vec<String> =
            node.policies.iter().take(MOST_POLICIES).map(|policy| format!("◆ {policy}")).collect();
        if node.policies.len() > MOST_POLICIES {
            policies.push(format!("◆ and {} more", node.policies.len() - MOST_POLICIES));
        }
        let (what, name) = match count {
            2.. => (format!("such as {name}"), format!("{count} {}", plural(&node.kind()))),
            _ => (node.kind(), name),
        };
        Label { what, name, policies, reasons }
    }

    /// The lines below the first, with their classes.
    fn lines(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let policies = self.policies.iter().map(|policy| ("policy", policy.as_str()));
        let reasons = self.reasons.iter().map(|reason| ("reason", reason.as_str()));
        [("name", self.name.as_str())].into_iter().chain(policies).chain(reasons)
    }

    fn width(&self) -> f64 {
        let wide = self.lines().map(|(_, line)| line.width()).max().unwrap_or(0) as f64 * CHARACTER;
        wide.max(self.what.width() as f64 * SMALL_CHARACTER) + 2.0 * PADDING
    }

    fn height(&self) -> f64 {
        (1 + self.lines().count()) as f64 * LINE + PADDING
    }
}

impl<'p> Drawing<'p> {
    fn new(picture: &'p Picture) -> Drawing<'p> {
        let (above, _) = picture.both_ways();
        let boxes: Vec<Label> = picture.nodes.iter().zip(&above).map(|(node, above)| Label::new(node, above)).collect();
        let heights: Vec<f64> = boxes.iter().map(Label::height).collect();
        let links: Vec<&PictureLink> = picture.links.iter().filter(|link| link.parent != link.child).collect();
        let edges: Vec<(usize, usize)> = links.iter().map(|link| forward(link)).collect();
        let layout = layout(&heights, &edges);
        let mut widths = vec![0.0_f64; layout.columns];
        for (label, (column, _)) in boxes.iter().zip(&layout.nodes) {
            widths[*column] = widths[*column].max(label.width());
        }
        let mut left = MARGIN;
        let mut columns = Vec::with_capacity(widths.len());
        for width in widths {
            columns.push((left, width));
            left += width + COLUMN_GAP;
        }
        Drawing { picture, links, boxes, layout, columns }
    }

    fn draw(&self) -> String {
        let width = self.columns.last().map_or(0.0, |(left, width)| left + width) + MARGIN;
        let height = self.layout.height + 2.0 * MARGIN;
        let mut out = String::new();
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\n\
             <title>Topology</title>\n<style>{STYLE}</style>\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n"
        );
        for (link, bends) in self.links.iter().zip(&self.layout.bends) {
            self.draw_link(link, bends, &mut out);
        }
        (0..self.boxes.len()).for_each(|node| self.draw_node(node, &mut out));
        out.push_str("</svg>\n");
        out
    }

    fn draw_link(&self, link: &PictureLink, bends: &[(usize, f64)], out: &mut String) {
        let (start, end) = forward(link);
        let mut from = self.right(start);
        let mut path = format!("M{:.1} {:.1}", from.0, from.1);
        for (column, y) in bends {
            let (left, width) = self.columns[*column];
            curve(&mut path, from, (left, y + MARGIN));
            from = (left + width, y + MARGIN);
            let _ = write!(path, " L{:.1} {:.1}", from.0, from.1);
        }
        curve(&mut path, from, self.left(end));
        let Some(refused) = &link.refused else {
            let _ = writeln!(out, "<path class=\"edge\" d=\"{path}\"/>");
            return;
        };
        let title = format!("{} to {}: {}", refused.child, refused.parent, refused.message);
        let _ = writeln!(out, "<g><title>{}</title><path class=\"refused\" d=\"{path}\"/></g>", Escaped(&title));
    }

    fn draw_node(&self, node: usize, out: &mut String) {
        let (drawn, label) = (&self.picture.nodes[node].node, &self.boxes[node]);
        let (x, middle) = self.left(node);
        let y = middle - label.height() / 2.0;
        let class = match drawn.policies.is_empty() {
            _ if drawn.level.is_none() => "ghost",
            true => "node",
            false => "attached",
        };
        let _ = writeln!(
            out,
            "<g class=\"{class}\" transform=\"translate({x:.1} {y:.1})\"><title>{}</title><rect class=\"box\" width=\"{:.1}\" height=\"{:.1}\" rx=\"5\"/>",
            Escaped(&drawn.id.to_string()),
            self.columns[self.layout.nodes[node].0].1,
            label.height()
        );
        for (i, (class, text)) in [("what", label.what.as_str())].into_iter().chain(label.lines()).enumerate() {
            let baseline = (i + 1) as f64 * LINE;
            let _ = writeln!(out, "<text class=\"{class}\" x=\"{PADDING}\" y=\"{baseline}\">{}</text>", Escaped(text));
        }
        out.push_str("</g>\n");
    }

    fn left(&self, node: usize) -> (f64, f64) {
        let (column, y) = self.layout.nodes[node];
        (self.columns[column].0, y + MARGIN)
    }

    fn right(&self, node: usize) -> (f64, f64) {
        let (x, y) = self.left(node);
        (x + self.columns[self.layout.nodes[node].0].1, y)
    }
}

/// A link from left to right: one that closes a circle goes from child to parent.
fn forward(link: &PictureLink) -> (usize, usize) {
    (link.parent.min(link.child), link.parent.max(link.child))
}

fn curve(path: &mut String, from: (f64, f64), to: (f64, f64)) {
    let bow = ((to.0 - from.0) / 2.0).max(COLUMN_GAP / 2.0);
    let (leave, arrive) = (from.0 + bow, to.0 - bow);
    let _ = write!(path, " C{leave:.1} {:.1} {arrive:.1} {:.1} {:.1} {:.1}", from.1, to.1, to.0, to.1);
}

struct Escaped<'t>(&'t str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|char| match char {
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '&' => f.write_str("&amp;"),
            '"' => f.write_str("&quot;"),
            char if char.is_control() => f.write_char(' '),
            char => f.write_char(char),
        })
    }
}
