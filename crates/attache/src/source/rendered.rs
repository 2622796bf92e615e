//! Files that other programs render into objects: kustomizations and Helm charts.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use attache_engine::text;
use attache_engine::{Problem, Value};

/// The names that kustomize looks for.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Fields of a kustomization that name objects without changing them.
const PLAIN_FIELDS: [&str; 5] = ["apiVersion", "kind", "metadata", "resources", "bases"];

/// What a kustomization declares about the files beside it.
#[derive(Debug, Default)]
pub struct Kustomization {
    /// Files that contain patches, not objects.
    pub patches: Vec<PathBuf>,
    /// A warning that objects change when the kustomization is built, or that some are elsewhere.
    pub problem: Option<Problem>,
}

/// Whether a file is a kustomization.
pub fn is_kustomization(path: &Path) -> bool {
    path.file_name().and_then(OsStr::to_str).is_some_and(|name| NAMES.contains(&name))
}

impl Kustomization {
    /// Reads a kustomization. One that cannot be read is ignored.
    pub fn read(path: &Path) -> Kustomization {
        let text = fs::read_to_string(path).unwrap_or_default();
        let Ok(document) = text::read_value(&text) else { return Kustomization::default() };
        let folder = path.parent().unwrap_or(Path::new("."));
        let patches = patch_files(&document).map(|file| folder.join(file)).collect();
        Kustomization { patches, problem: not_built(&document).then(|| problem(path, folder)) }
    }
}

fn patch_files(document: &Value) -> impl Iterator<Item = &str> {
    let with_path = ["patches", "patchesJson6902"].into_iter().flat_map(|field| document.list_at(field));
    let paths = with_path.filter_map(|patch| patch.get_str("path"));
    let merged = document.list_at("patchesStrategicMerge").iter().filter_map(Value::as_str);
    paths.chain(merged.filter(|patch| !patch.contains('\n')))
}

/// Whether building the kustomization results in other objects than those in its folder.
fn not_built(document: &Value) -> bool {
    let changes = document.entries().iter().any(|(field, _)| !PLAIN_FIELDS.contains(&field.as_str()));
    let resources = ["resources", "bases"].into_iter().flat_map(|field| document.list_at(field));
    let is_elsewhere = |resource: &str| resource.starts_with("..") || resource.contains("://");
    changes || resources.filter_map(Value::as_str).any(is_elsewhere)
}

fn problem(path: &Path, folder: &Path) -> Problem {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    Problem::warning("this kustomization is not built: objects are read as they are in the files")
        .help(format!("to read what it builds, pipe it in: `kubectl kustomize {} | attache … -f -`", folder.display()))
        .in_file(&path.to_string_lossy().into())
}

/// A folder with a Helm chart.
#[derive(Debug)]
pub struct Chart {
    folder: PathBuf,
    /// Templates that were skipped.
    skipped: HashSet<PathBuf>,
}

impl Chart {
    /// The chart in a folder, if there is one.
    pub fn find(folder: &Path) -> Option<Chart> {
        let is_chart = folder.join("Chart.yaml").is_file();
        is_chart.then(|| Chart { folder: folder.to_path_buf(), skipped: HashSet::new() })
    }

    /// Whether a file of the chart is not a manifest: its description, its values, or a template.
    pub fn leaves_out(&mut self, path: &Path) -> bool {
        let Ok(within) = path.strip_prefix(&self.folder) else { return false };
        let name = within.to_str().unwrap_or_default();
        if name == "Chart.yaml" || name.starts_with("values") {
            return true;
        }
        let is_template = within.starts_with("templates")
            && fs::read(path).is_ok_and(|bytes| bytes.windows(2).any(|pair| pair == b"{{"));
        if is_template {
            self.skipped.insert(path.to_path_buf());
        }
        is_template
    }

    /// A warning that templates were skipped.
    pub fn problem(&self) -> Option<Problem> {
        let folder = self.folder.display();
        (!self.skipped.is_empty()).then(|| {
            Problem::warning("the templates of this Helm chart are not rendered, so they are not read")
                .help(format!("to read them, pipe them in: `helm template {folder} | attache … -f -`"))
                .in_file(&self.folder.join("Chart.yaml").to_string_lossy().into())
        })
    }

    /// The file that describes the chart.
    pub fn path(&self) -> PathBuf {
        self.folder.join("Chart.yaml")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> (bool, Vec<String>) {
        let document = text::read_value(text).unwrap();
        (not_built(&document), patch_files(&document).map(str::to_owned).collect())
    }

    #[test]
    fn a_kustomization_names_its_patches_and_whether_it_changes_objects() {
        assert_eq!(read("resources: [a.yaml, b/]"), (false, vec![]));
        assert_eq!(read("resources: [../base]"), (true, vec![]));
        assert_eq!(read("namePrefix: x-"), (true, vec![]));
        let all = "patches: [{path: a.yaml}, {patch: '- op: add'}]\npatchesStrategicMerge: [b.yaml, \"a:\\n  b: c\"]\n\
                   patchesJson6902: [{path: c.yaml}]";
        assert_eq!(read(all).1, ["a.yaml", "c.yaml", "b.yaml"]);
    }
}
