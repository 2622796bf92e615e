//! Runs every command in the documentation, and compares its output with the documented one.

use std::fs;
use std::path::{Path, PathBuf};

use super::run;

#[test]
fn the_documentation_tells_the_truth() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut lies = Vec::new();
    for file in documents(&root) {
        let text = fs::read_to_string(&file).expect("readable");
        let truth = rewritten(&text);
        if truth != text {
            if std::env::var_os("UPDATE_DOCS").is_some() {
                fs::write(&file, &truth).expect("writable");
            } else {
                lies.push(format!(
                    "{}:\n{}",
                    file.display(),
                    similar::TextDiff::from_lines(&text, &truth).unified_diff()
                ));
            }
        }
    }
    assert!(lies.is_empty(), "run with UPDATE_DOCS=1 if this is meant:\n{}", lies.join("\n"));
}

fn documents(root: &Path) -> Vec<PathBuf> {
    let folders = [root.to_path_buf(), root.join("docs")].into_iter().chain(folders(&root.join("examples")));
    let mut found: Vec<PathBuf> = folders.flat_map(|folder| entries(&folder)).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    found.sort();
    found
}

fn folders(of: &Path) -> Vec<PathBuf> {
    entries(of).into_iter().filter(|path| path.is_dir()).collect()
}

fn entries(of: &Path) -> Vec<PathBuf> {
    fs::read_dir(of).expect("a folder").map(|entry| entry.expect("readable").path()).collect()
}

/// The text with the real output of the commands in its `console` blocks.
fn rewritten(text: &str) -> String {
    let mut truth = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        truth += line;
        truth.push('\n');
        if line == "```console" {
            let shown = lines.by_ref().take_while(|line| *line != "```");
            let commands = shown.filter_map(|line| line.strip_prefix("$ "));
            let printed: Vec<String> = commands.map(run).collect();
            truth += printed.join("\n").trim_end();
            truth += "\n```\n";
        }
    }
    truth
}
