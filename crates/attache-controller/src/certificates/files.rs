//! Certificates in mounted files.

use std::fs;
use std::path::Path;

use super::Current;

/// Reads `tls.crt`, `tls.key` and `ca.crt`.
pub(super) fn read(folder: &Path) -> Result<Option<Current>, String> {
    let text = |name: &str| {
        let file = folder.join(name);
        fs::read_to_string(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))
    };
    Ok(Some(Current { certificate: text("tls.crt")?, key: text("tls.key")?, bundle: text("ca.crt")? }))
}
