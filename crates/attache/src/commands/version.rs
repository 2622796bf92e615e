use std::io::Write;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::failure::Failure;
use crate::render::Screen;
use crate::verdict::Verdict;
use attache_answers::API_VERSION;

/// Print the version, and the source that it was built from
#[derive(Debug, Args)]
pub struct VersionCommand {
    /// Output format
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<VersionFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum VersionFormat {
    Yaml,
    Json,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VersionDocument {
    api_version: &'static str,
    kind: &'static str,
    version: &'static str,
    /// Absent if it was not built in the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'static str>,
    /// The target platform.
    target: &'static str,
}

impl VersionCommand {
    pub fn run(&self, screen: &mut Screen) -> Result<Verdict, Failure> {
        let (version, commit, target) =
            (env!("CARGO_PKG_VERSION"), option_env!("ATTACHE_COMMIT"), env!("ATTACHE_TARGET"));
        let document = VersionDocument { api_version: API_VERSION, kind: "Version", version, commit, target };
        match self.output {
            Some(VersionFormat::Json) => screen.json(&document)?,
            Some(VersionFormat::Yaml) => screen.yaml(&document)?,
            None => match commit {
                Some(commit) => writeln!(screen, "attache {version} ({commit}, {target})")?,
                None => writeln!(screen, "attache {version} ({target})")?,
            },
        }
        Ok(Verdict::Fine)
    }
}
