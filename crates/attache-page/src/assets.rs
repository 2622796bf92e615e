//! The files that pages load. All are part of the program.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// A file that pages load.
pub struct Asset {
    /// The name in its address.
    pub name: &'static str,
    /// The MIME type.
    pub media_type: &'static str,
    /// The content.
    pub content: &'static str,
}

/// The style sheet.
pub const STYLE: Asset =
    Asset { name: "style.css", media_type: "text/css; charset=utf-8", content: include_str!("../assets/style.css") };
/// The script.
pub const SCRIPT: Asset = Asset {
    name: "script.js",
    media_type: "text/javascript; charset=utf-8",
    content: include_str!("../assets/script.js"),
};
/// The icon.
pub const ICON: Asset =
    Asset { name: "icon.svg", media_type: "image/svg+xml", content: include_str!("../assets/icon.svg") };

impl Asset {
    /// The asset with a name.
    pub fn find(name: &str) -> Option<&'static Asset> {
        [&STYLE, &SCRIPT, &ICON].into_iter().find(|asset| asset.name == name)
    }

    /// Its address. It depends on the content, so that browsers can cache it forever.
    pub fn address(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.content.hash(&mut hasher);
        format!("/assets/{}?{:08x}", self.name, hasher.finish() as u32)
    }
}
