//! The objects of all PolicyTests, because they show all features of the engine; and some denser inputs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use attache_engine::kinds::{PolicyKind, built_in};
use attache_engine::policytest;
use attache_engine::text;
use attache_engine::{Object, Objects};
use serde_json::{Value, json};

pub static BUILT_IN: LazyLock<Vec<PolicyKind>> = LazyLock::new(|| built_in().0);

pub static CORPUS: LazyLock<Corpus> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut corpus = Corpus::default();
    add_folder(&mut corpus, &root.join("conformance"));
    for file in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/incremental/worlds")) {
        corpus.dense.push(read(&file).iter().map(document).collect());
    }
    for file in files(&root.join("kinds")) {
        corpus.kinds.extend(read(&file).iter().map(document));
    }
    corpus
});

#[derive(Debug, Default)]
pub struct Corpus {
    /// For each file, the objects of each of its tests.
    pub worlds: Vec<Vec<Vec<Value>>>,
    /// Inputs with many dependencies.
    pub dense: Vec<Vec<Value>>,
    /// The built-in PolicyKinds.
    pub kinds: Vec<Value>,
}

fn add_folder(corpus: &mut Corpus, folder: &Path) {
    for path in files(folder) {
        if path.is_dir() {
            add_folder(corpus, &path);
        } else if path.extension().is_some_and(|it| it == "yaml") {
            let tests: Vec<Object> = read(&path).into_iter().filter(policytest::is_test).collect();
            let worlds: Vec<Vec<Value>> = tests.iter().map(|test| world(test, folder)).collect();
            corpus.worlds.extend((!worlds.is_empty()).then_some(worlds));
        }
    }
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn read(file: &Path) -> Vec<Object> {
    text::read(&Arc::from("corpus"), &fs::read_to_string(file).unwrap()).objects
}

fn world(test: &Object, folder: &Path) -> Vec<Value> {
    let test = policytest::read(test).unwrap();
    let files = test.files.iter().flat_map(|(file, _)| read(&folder.join(file.as_str()))).collect();
    let objects = Objects::new(test.objects(files, &BUILT_IN));
    objects.iter().map(|(_, object)| document(object)).collect()
}

/// The object as written, with its namespace.
fn document(object: &Object) -> Value {
    let mut document = serde_json::to_value(&object.body).unwrap();
    if !object.id.namespace.is_empty() {
        document["metadata"]["namespace"] = json!(object.id.namespace);
    }
    document
}

/// All values of each field name; items of lists are under the name with brackets.
pub fn vocabulary<'d>(documents: impl IntoIterator<Item = &'d Value>) -> BTreeMap<String, Vec<Value>> {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut open: Vec<(String, &Value)> = documents.into_iter().map(|it| (String::new(), it)).collect();
    while let Some((key, value)) = open.pop() {
        match value {
            Value::Object(map) => open.extend(map.iter().map(|(key, value)| (key.clone(), value))),
            Value::Array(items) => open.extend(items.iter().map(|item| (format!("{key}[]"), item))),
            _ => {}
        }
        let known = found.entry(key).or_default();
        if !known.contains(value) {
            known.push(value.clone());
        }
    }
    found
}
