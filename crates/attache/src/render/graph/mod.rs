//! The topology as people and programs look at it.

mod collapse;
mod dot;
mod layout;
mod mermaid;
mod picture;
mod svg;
mod tree;

pub use dot::dot;
pub use mermaid::mermaid;
pub use svg::svg;
pub use tree::tree;
