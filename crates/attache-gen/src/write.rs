//! Writes manifests as YAML or JSON.

use std::io::{self, Write};

use attache_engine::Object;
use attache_engine::Value;
use attache_engine::text::to_yaml;
use clap::ValueEnum;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::PrettyFormatter;

/// The format of written manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ManifestFormat {
    /// YAML documents.
    Yaml,
    /// A JSON list.
    Json,
}

/// Writes YAML documents, or a JSON list, indented as by `kubectl get -o json`.
pub fn write<'o>(
    objects: impl IntoIterator<Item = &'o Object>,
    format: ManifestFormat,
    mut out: impl Write,
) -> io::Result<()> {
    match format {
        ManifestFormat::Yaml => {
            for object in objects {
                write!(out, "---\n{}", to_yaml(&object.body))?;
            }
        }
        ManifestFormat::Json => {
            let items = objects.into_iter().map(|object| &object.body).collect();
            let list = ObjectList { api_version: "v1", kind: "List", items };
            list.serialize(&mut Serializer::with_formatter(&mut out, PrettyFormatter::with_indent(b"    ")))?;
            out.write_all(b"\n")?;
        }
    }
    out.flush()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectList<'o> {
    api_version: &'static str,
    kind: &'static str,
    items: Vec<&'o Value>,
}
