//! Typed documents: one Rust definition of a document's fields yields its reader, its JSON schema and its reference
//! documentation.
//!
//! ```text
//! document! { struct … } ─┬→ read    the typed value, or every mistake with its location and a hint
//! words! { enum … }       └→ schema ─┬→ crd        a CustomResourceDefinition
//!                                    └→ reference  Markdown tables
//! ```
//!
//! A field is added in one place: in the struct, with a doc comment that describes it to its users and a `#[field]`
//! attribute with its name in YAML and its default. See [`document!`].

mod crd;
mod define;
mod location;
mod reader;
mod reference;
mod schema;
mod value;

pub(crate) use crd::CustomResource;
pub(crate) use define::{document, from_document, words};
pub(crate) use location::Location;
pub(crate) use reader::{Diagnostics, DocumentReader};
pub(crate) use reference::reference;
pub(crate) use schema::{FieldSchema, ObjectSchema, Schema, WordSchema, description};
pub(crate) use value::{FieldValue, ValueType, written_as_string};
pub use value::{OneOrMany, OrderedMap};
