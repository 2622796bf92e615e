//! The topology as a tree, and as pictures.

mod collapse;
mod dot;
mod layout;
mod mermaid;
mod picture;
mod svg;
mod tree;

use attache_answers::topology::GraphNode;
use attache_engine::Level;

pub use dot::dot;
pub use mermaid::mermaid;
pub use svg::svg;
pub use tree::tree;

/// Whether a node is a port without policies: all of them would double the size of every picture.
fn is_minor(node: &GraphNode) -> bool {
    node.level == Some(Level::BackendPort) && node.policies.is_empty()
}
