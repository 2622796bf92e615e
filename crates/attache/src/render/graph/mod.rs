//! The topology as a tree, and as pictures.

mod dot;
mod mermaid;
mod tree;

pub use dot::dot;
pub use mermaid::mermaid;
pub use tree::tree;
