//! The topology as a self-contained picture: parents left, children right, policies on their targets.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use attache_engine::{NodeRef, ObjectRef, plural};
use unicode_width::UnicodeWidthStr;

use super::collapse::{Similarity, collapse};
use super::layout::{Layout, layout};
use super::{Picture, PictureLink, PictureNode};
use crate::topology::TopologyGraph;

/// Above this number of nodes, nodes that differ only in name are drawn as one.
const MOST: usize = 100;
/// Above this number of nodes that differ in more than their names, those of one kind and namespace are drawn as one.
const MOST_COLLAPSED: usize = 250;
/// The number of policies that are named on one node.
const MOST_POLICIES: usize = 4;

const MARGIN: f64 = 24.0;
const COLUMN_GAP: f64 = 56.0;
const PADDING: f64 = 10.0;
const LINE: f64 = 16.0;
/// The width of a character of a 12 pixel monospace font, with some reserve.
const CHARACTER: f64 = 7.4;
/// The width of a character in the smaller font beside a caption.
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

/// The mark of refused links.
const REFUSED_MARK: &str = "✗";

/// Options of a picture.
#[derive(Clone, Copy, Default)]
pub struct SvgOptions<'o> {
    /// The addresses that nodes and policies link to. Without them, the picture is a separate file, with its own style
    /// sheet.
    pub addresses: Option<&'o dyn PictureAddresses>,
    /// The node in the centre of attention.
    pub focus: Option<&'o NodeRef>,
}

/// The addresses that the parts of a picture link to.
pub trait PictureAddresses {
    /// The address of a node, which may represent several.
    fn node(&self, node: &PictureNode) -> String;
    /// The address of a policy.
    fn policy(&self, policy: &ObjectRef) -> String;
}

impl fmt::Debug for SvgOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SvgOptions").field("focus", &self.focus).finish_non_exhaustive()
    }
}

/// The topology as a picture: parents left, children right. A large one is drawn with similar nodes together.
pub fn svg(graph: TopologyGraph, options: &SvgOptions<'_>) -> String {
    let mut picture = Picture::new(graph);
    for similarity in [Similarity::Shape, Similarity::Namespace, Similarity::Kind] {
        let most = if similarity == Similarity::Shape { MOST } else { MOST_COLLAPSED };
        if picture.nodes.len() > most {
            picture = collapse(&picture, similarity);
        }
    }
    Drawing::new(&picture, *options).draw()
}

struct Drawing<'p> {
    options: SvgOptions<'p>,
    picture: &'p Picture,
    /// The links that are drawn as lines: those between different objects.
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
    policies: Vec<(Option<ObjectRef>, String)>,
    /// The reasons why links to it are refused.
    reasons: Vec<String>,
}

impl Label {
    fn new(it: &PictureNode, above: &[&PictureLink]) -> Label {
        let reasons: BTreeSet<&str> = above.iter().filter_map(|link| Some(link.refused.as_ref()?.reason)).collect();
        let reasons = reasons.into_iter().map(|reason| format!("{REFUSED_MARK} {reason}")).collect();
        let PictureNode { node, count } = it;
        let id = &node.id.object;
        let namespace = if id.namespace.is_empty() { String::new() } else { format!("{}/", id.namespace) };
        let section = node.id.section.as_ref().map(|section| format!("#{section}")).unwrap_or_default();
        let name = format!("{namespace}{}{section}", id.name);
        let shown = node.policies.iter().take(MOST_POLICIES);
        let mut policies: Vec<(Option<ObjectRef>, String)> =
            shown.map(|policy| (Some(policy.clone()), format!("◆ {policy}"))).collect();
        if node.policies.len() > MOST_POLICIES {
            policies.push((None, format!("◆ and {} more", node.policies.len() - MOST_POLICIES)));
        }
        let (what, name) = match count {
            2.. => (format!("such as {name}"), format!("{count} {}", plural(&node.kind()))),
            _ => (node.kind(), name),
        };
        Label { what, name, policies, reasons }
    }

    /// The lines below the first, with their classes, and the policies that they name.
    fn lines(&self) -> impl Iterator<Item = (&'static str, &str, Option<&ObjectRef>)> {
        let policies = self.policies.iter().map(|(policy, text)| ("policy", text.as_str(), policy.as_ref()));
        let reasons = self.reasons.iter().map(|reason| ("reason", reason.as_str(), None));
        [("name", self.name.as_str(), None)].into_iter().chain(policies).chain(reasons)
    }

    fn width(&self) -> f64 {
        let wide = self.lines().map(|(_, line, _)| line.width()).max().unwrap_or(0) as f64 * CHARACTER;
        wide.max(self.what.width() as f64 * SMALL_CHARACTER) + 2.0 * PADDING
    }

    fn height(&self) -> f64 {
        (1 + self.lines().count()) as f64 * LINE + PADDING
    }
}

impl<'p> Drawing<'p> {
    fn new(picture: &'p Picture, options: SvgOptions<'p>) -> Drawing<'p> {
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
        Drawing { options, picture, links, boxes, layout, columns }
    }

    fn draw(&self) -> String {
        let width = self.columns.last().map_or(0.0, |(left, width)| left + width) + MARGIN;
        let height = self.layout.height + 2.0 * MARGIN;
        let mut out = String::new();
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\""
        );
        // With links inside, the picture is not a single image for screen readers.
        out.push_str(match self.options.addresses {
            Some(_) => " class=\"topology\">\n",
            None => " role=\"img\">\n<title>Topology</title>\n",
        });
        if self.options.addresses.is_none() {
            let _ = writeln!(out, "<style>{STYLE}</style>\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>");
        }
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
        let focused = if self.options.focus == Some(&drawn.id) { " focused" } else { "" };
        let _ = writeln!(
            out,
            "<g class=\"{class}{focused}\" transform=\"translate({x:.1} {y:.1})\"><title>{}</title><rect class=\"box\" width=\"{:.1}\" height=\"{:.1}\" rx=\"5\"/>",
            Escaped(&drawn.id.to_string()),
            self.columns[self.layout.nodes[node].0].1,
            label.height()
        );
        let what = [("what", label.what.as_str(), None)];
        for (i, (class, text, policy)) in what.into_iter().chain(label.lines()).enumerate() {
            let baseline = (i + 1) as f64 * LINE;
            let address = self.options.addresses.and_then(|addresses| match (class, policy) {
                ("name", _) => Some(addresses.node(&self.picture.nodes[node])),
                (_, policy) => policy.map(|policy| addresses.policy(policy)),
            });
            let line = format!("<text class=\"{class}\" x=\"{PADDING}\" y=\"{baseline}\">{}</text>", Escaped(text));
            let _ = match address {
                Some(address) => writeln!(out, "<a href=\"{}\">{line}</a>", Escaped(&address)),
                None => writeln!(out, "{line}"),
            };
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

/// A link from left to right. A link that closes a cycle goes from child to parent.
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
