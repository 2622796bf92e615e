//! The options that every command takes.

use std::path::PathBuf;

use attache_engine::kinds::Settings;
use clap::{Args, ColorChoice};

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options for every command")]
pub struct Global {
    /// A file or folder of manifests, `-` for standard input; can be given many times
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR|-", global = true)]
    pub files: Vec<PathBuf>,
    /// Only objects in this namespace
    #[arg(short, long, value_name = "NS", global = true)]
    pub namespace: Option<String>,
    /// Objects in all namespaces
    #[arg(short = 'A', long, global = true, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// Treat CRDs that have a `targetRef` but no policy label as policies
    #[arg(long, global = true)]
    pub infer_unlabelled: bool,
    /// When to use colour; NO_COLOR is honoured
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub color: ColorChoice,
    /// No warnings and no progress
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

impl Global {
    pub fn settings(&self) -> Settings {
        Settings { infer_unlabelled: self.infer_unlabelled, ..Settings::default() }
    }

    /// The arguments that say where the input comes from, and what counts as a policy.
    pub fn source(&self) -> Vec<String> {
        let files = self.files.iter().flat_map(|file| ["-f".to_owned(), file.to_string_lossy().into_owned()]);
        files.chain(self.infer_unlabelled.then(|| "--infer-unlabelled".to_owned())).collect()
    }
}
