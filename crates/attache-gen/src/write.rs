//! Manifests as text.

use std::io::{self, Write};

use attache_core::object::Object;
use attache_core::text::to_yaml;
use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Yaml,
    Json,
}

/// Writes documents of YAML, or a list in JSON.
pub fn write<'o>(objects: impl IntoIterator<Item = &'o Object>, format: Format, mut out: impl Write) -> io::Result<()> {
    match format {
        Format::Yaml => {
            for object in objects {
                write!(out, "---\n{}", to_yaml(&object.body))?;
            }
        }
        Format::Json => {
            write!(out, r#"{{"apiVersion":"v1","kind":"List","items":["#)?;
            for (index, object) in objects.into_iter().enumerate() {
                out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
                serde_json::to_writer(&mut out, &object.body)?;
            }
            out.write_all(b"\n]}\n")?;
        }
    }
    out.flush()
}
