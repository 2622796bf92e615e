//! Imports go in one direction: between crates, and between the modules of each crate.
//!
//! The map in CONTRIBUTING.md declares the order. A crate depends only on crates above it there, and a module imports only
//! modules on lines above it, or on its own line.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates, each with its layers of modules, in the order of the map. Modules of one layer may import each other.
struct Map {
    crates: Vec<(String, Vec<Vec<String>>)>,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Map {
    fn read() -> Map {
        let text = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
        let map = text.split("## Map").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
        let mut crates: Vec<(String, Vec<Vec<String>>)> = Vec::new();
        for line in map.split("```").nth(1).unwrap().lines() {
            let names = line.trim_start().split("  ").next().unwrap_or_default();
            if let Some(name) = line.strip_prefix("crates/").and(names.strip_prefix("crates/")) {
                crates.push((name.to_owned(), Vec::new()));
            } else if line.starts_with("  ") && !line.starts_with("   ") {
                crates.last_mut().unwrap().1.push(names.split(", ").map(str::to_owned).collect());
            }
        }
        Map { crates, text: map.to_owned() }
    }
}

#[test]
fn the_map_has_every_crate_and_every_module() {
    let map = Map::read();
    let listed: BTreeSet<&str> = map.crates.iter().map(|(name, _)| name.as_str()).collect();
    let crates = folders(&root().join("crates"));
    assert_eq!(listed, crates.iter().map(String::as_str).collect(), "the crates of the map and those in crates/");
    for (name, layers) in &map.crates {
        let listed: BTreeSet<&String> = layers.iter().flatten().collect();
        let declared = Sources::read(name).modules;
        assert_eq!(listed, declared.iter().collect(), "the modules of the map and those of {name}");
    }
}

#[test]
fn the_map_has_every_folder() {
    let map = Map::read();
    for folder in folders(&root()).iter().filter(|name| *name != "target" && !name.starts_with('.')) {
        assert!(map.text.contains(&format!("\n{folder}/")), "{folder}/ is missing in the map of CONTRIBUTING.md");
    }
}

#[test]
fn crates_depend_only_on_crates_above_them() {
    let map = Map::read();
    let names: Vec<&str> = map.crates.iter().map(|(name, _)| name.as_str()).collect();
    for (at, name) in names.iter().enumerate() {
        let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or_default();
        let dependencies = dependencies.split("\n[").next().unwrap_or_default();
        let used = dependencies.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
        for used in used.filter(|used| names.contains(used)) {
            assert!(names[..at].contains(&used), "{name} depends on {used}, which is not above it in the map");
        }
    }
}

#[test]
fn modules_import_only_modules_above_them() {
    let mut wrong = Vec::new();
    for (name, layers) in Map::read().crates {
        let layer = |module: &String| layers.iter().position(|modules| modules.contains(module));
        let sources = Sources::read(&name);
        for (file, module, imported) in sources.imports() {
            if layer(&imported) > layer(&module) {
                wrong.push(format!("{name}: {module} ({file}) imports {imported}"));
            }
        }
    }
    assert!(wrong.is_empty(), "not above it in the map:\n{}", wrong.join("\n"));
}

fn folders(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    folders.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

/// The source files of a crate.
struct Sources {
    /// The top-level modules, apart from those of tests.
    modules: BTreeSet<String>,
    /// The module of each name that the root of the crate exports again.
    exported: BTreeMap<String, String>,
    /// Path within `src`, without extension, and code.
    files: Vec<(Vec<String>, String)>,
}

impl Sources {
    fn read(name: &str) -> Sources {
        let folder = root().join("crates").join(name).join("src");
        let mut files = Vec::new();
        collect(&folder, &mut Vec::new(), &mut files);
        let roots = files.iter().filter(|(path, _)| is_root(path)).map(|(_, code)| code.as_str());
        let code = roots.collect::<Vec<_>>().join("\n");
        let mut modules = BTreeSet::new();
        let mut is_test = false;
        for line in code.lines().map(str::trim) {
            let declared = line.trim_start_matches("pub ").strip_prefix("mod ").and_then(|it| it.strip_suffix(';'));
            modules.extend(declared.filter(|_| !is_test).map(str::to_owned));
            is_test = line == "#[cfg(test)]";
        }
        let mut exported = BTreeMap::new();
        for import in code.split("use ").skip(1).filter_map(|rest| rest.split(';').next()) {
            if let Some((module, names)) = import.split_once("::").filter(|(module, _)| modules.contains(*module)) {
                let names = names.split(|it: char| !it.is_alphanumeric() && it != '_').filter(|it| !it.is_empty());
                exported.extend(names.map(|name| (name.to_owned(), module.to_owned())));
            }
        }
        Sources { modules, exported, files }
    }

    /// Every import of a top-level module by another: the file, and both modules.
    fn imports(&self) -> Vec<(String, String, String)> {
        let mut found = Vec::new();
        // What is not a module is one of tests, which may import what it likes.
        for (path, code) in self.files.iter().filter(|(path, _)| self.modules.contains(&path[0])) {
            let supers = "super::".repeat(path.len());
            let names = names_after(code, "crate::").into_iter().chain(names_after(code, &supers));
            for name in names {
                let imported = self.exported.get(&name).unwrap_or(&name);
                if self.modules.contains(imported) && *imported != path[0] {
                    found.push((path.join("/"), path[0].clone(), imported.clone()));
                }
            }
        }
        found
    }
}

fn is_root(path: &[String]) -> bool {
    matches!(path, [file] if file == "lib" || file == "main")
}

fn collect(folder: &Path, path: &mut Vec<String>, files: &mut Vec<(Vec<String>, String)>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        let name = entry.file_stem().unwrap().to_str().unwrap().to_owned();
        // Tests may import what they like.
        if name == "tests" {
            continue;
        }
        if entry.is_dir() {
            path.push(name);
            collect(&entry, path, files);
            path.pop();
        } else if entry.extension().is_some_and(|it| it == "rs") {
            let own = if name == "mod" { path.clone() } else { [path.as_slice(), &[name]].concat() };
            files.push((own, code(&fs::read_to_string(&entry).unwrap())));
        }
    }
}

/// Source text without comments, and without the tests at its end.
fn code(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_tests = |at: &usize| {
        lines[*at] == "#[cfg(test)]" && lines[*at..].iter().take(3).any(|line| line.starts_with("mod tests {"))
    };
    let end = (0..lines.len()).find(is_tests).unwrap_or(lines.len());
    let code = lines[..end].iter().map(|line| line.split("//").next().unwrap_or_default());
    code.collect::<Vec<_>>().join("\n")
}

/// The names that follow a prefix, as in `crate::a` or `crate::{a, b::c}`.
fn names_after(code: &str, prefix: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        // Not `super::super::` where `super::` is meant.
        if code[..at].ends_with("super::") || code[at + prefix.len()..].starts_with("super::") {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            None => found.extend(first_name(rest)),
            Some(group) => {
                let mut depth = 0;
                let mut item = String::new();
                for char in group.chars() {
                    match char {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => {
                            found.extend(first_name(&item));
                            item.clear();
                            continue;
                        }
                        _ => {}
                    }
                    item.push(char);
                }
                found.extend(first_name(&item));
            }
        }
    }
    found
}

fn first_name(text: &str) -> Option<String> {
    let name: String = text.trim_start().chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect();
    (!name.is_empty()).then_some(name)
}
