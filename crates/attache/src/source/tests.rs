#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::time::Duration;

use attache_engine::{Edit, Object, ObjectRef, Objects};
use tempfile::TempDir;

use super::*;

fn service(name: &str) -> String {
    format!("apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\n")
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn load_all(inputs: &[&Path]) -> Reading {
    let inputs: Vec<PathBuf> = inputs.iter().map(|path| path.to_path_buf()).collect();
    load(&inputs, true, |_, _| false)
}

/// The locations of all objects, below `folder`.
fn found(reading: &Reading, folder: &TempDir) -> Vec<String> {
    let below = |file: &str| Path::new(file).strip_prefix(folder.path()).unwrap().display().to_string();
    reading.objects.iter().map(|object| format!("{} {}", below(&object.source.file), object.id.name)).collect()
}

fn problems(reading: &Reading, folder: &TempDir) -> String {
    let text: Vec<String> = reading.problems.iter().map(Problem::to_string).collect();
    text.join("\n").replace(&*folder.path().to_string_lossy(), "DIR")
}

#[test]
fn folders_are_read_in_order_and_hidden_files_are_not() {
    let [a, b, c, d] = ["a", "b", "c", "d"].map(service);
    let folder = folder(&[
        ("z.yaml", &d),
        ("b/one.yml", &b),
        ("b/two.json", r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"}}"#),
        ("a.yaml", &a),
        ("c.yaml.bak", &c),
        (".hidden/h.yaml", &c),
        (".h.yaml", &c),
        ("README.md", "# hello"),
    ]);
    let reading = load_all(&[folder.path()]);
    assert_eq!(found(&reading, &folder), ["a.yaml a", "b/one.yml b", "b/two.json x", "z.yaml d"]);
    assert_eq!(problems(&reading, &folder), "");
    // A file that is named is read whatever its name is.
    let reading = load_all(&[&folder.path().join("c.yaml.bak")]);
    assert_eq!(found(&reading, &folder), ["c.yaml.bak c"]);
}

#[test]
fn links_may_lead_in_circles() {
    let folder = folder(&[("in/a.yaml", &service("a"))]);
    std::os::unix::fs::symlink(folder.path(), folder.path().join("in/again")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path().join("gone.yaml")).unwrap();
    let reading = load_all(&[folder.path()]);
    assert_eq!(found(&reading, &folder), ["in/a.yaml a"]);
    assert_eq!(problems(&reading, &folder), "error: there is no file or folder `DIR/gone.yaml`");
}

#[test]
fn of_two_objects_with_one_name_the_later_wins_with_a_warning() {
    let text = service("a") + "---\n" + &service("b");
    let folder = folder(&[("one.yaml", &text), ("two.yaml", &service("a"))]);
    let (one, two) = (folder.path().join("one.yaml"), folder.path().join("two.yaml"));
    let reading = load_all(&[&one, &two]);
    assert_eq!(found(&reading, &folder), ["one.yaml b", "two.yaml a"]);
    assert_eq!(
        problems(&reading, &folder),
        "warning: `Service/default/a` is defined twice; this definition replaces the one in DIR/one.yaml:1:1\n  --> DIR/two.yaml:1:1\n   in Service/default/a\n  help: remove one of the two"
    );
    // A file that is named several times is read once.
    let reading = load_all(&[&two, &one, &two]);
    assert_eq!(found(&reading, &folder), ["one.yaml b", "two.yaml a"]);
    assert_eq!(reading.problems.len(), 1);
    assert_eq!(load_all(&[folder.path(), &one, &folder.path().join("./two.yaml")]).problems.len(), 1);
}

#[test]
fn broken_files_are_reported_and_the_rest_is_loaded() {
    let folder = folder(&[("good.yaml", &service("a")), ("broken.yaml", "a: [\n"), ("empty.yaml", "# nothing\n")]);
    fs::write(folder.path().join("latin.yaml"), b"a: 1\nb: \xe9\n").unwrap();
    fs::write(folder.path().join("wide.yaml"), b"\xff\xfea\0").unwrap();
    fs::create_dir(folder.path().join("nothing")).unwrap();
    let reading = load_all(&[
        folder.path(),
        &folder.path().join("nothing"),
        &folder.path().join("missing.yaml"),
        &folder.path().join("empty.yaml"),
    ]);
    assert_eq!(found(&reading, &folder), ["good.yaml a"]);
    insta::assert_snapshot!(problems(&reading, &folder), @r"
    error: there are no manifests in `DIR/nothing`
      help: looked for files that end in .yaml, .yml or .json, in it and in the folders below it; names that start with a dot are skipped
    error: there is no file or folder `DIR/missing.yaml`
    error: not valid YAML: unclosed bracket '['
      --> DIR/broken.yaml:1:4
    error: this is not text in UTF-8
      --> DIR/latin.yaml:2:4
    error: this is not text in UTF-8
      --> DIR/wide.yaml
      help: it looks like UTF-16: save it as UTF-8
    warning: there are no objects in this file
      --> DIR/empty.yaml
    ");
}

#[test]
fn the_line_of_a_problem_is_found_again() {
    let folder = folder(&[("a.yaml", "kind: K\nmetadata: {name: x}\n")]);
    let reading = load_all(&[folder.path()]);
    let mut excerpts = Excerpts::default();
    assert_eq!(excerpts.line(&reading.problems[0]), Some("kind: K"));
    assert_eq!(excerpts.line(&Problem::error("x").in_file(&"<stdin>".into())), None);
}

/// Pseudorandom numbers, the same each time.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides
    }
}

#[test]
fn followed_files_equal_files_read_again_after_any_change() {
    let folder = folder(&[("one/a.yaml", &service("a")), ("two/b.yaml", &service("b"))]);
    let inputs = ["one", "two", "one/a.yaml"].map(|name| folder.path().join(name));
    let mut followed = FollowedFiles::new(&inputs, Some(Duration::from_secs(1)));
    let mut now: BTreeMap<ObjectRef, Object> = BTreeMap::new();
    let mut dice = Dice(1);
    for step in 0..300 {
        let [path, other] = [(); 2].map(|()| {
            let folders = ["one", "two", "one/in", "two/in/deep"];
            let name = ["a.yaml", "b.yaml", "c.yml", "d.txt"][dice.throw(4)];
            folder.path().join(folders[dice.throw(4)]).join(name)
        });
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match dice.throw(5) {
            0 => _ = fs::remove_file(&path),
            1 => _ = fs::remove_dir_all(path.parent().unwrap()),
            2 => _ = fs::rename(&path, &other),
            _ => fs::write(&path, text(&mut dice)).unwrap(),
        }
        // A change at the same moment and of the same size is only noticed with a notification.
        let touched: HashSet<PathBuf> = fs::canonicalize(&path).into_iter().collect();
        let objects = Objects::new(now.values().cloned().collect());
        for edit in followed.look(&touched, &objects, true, |_, _| false).edits {
            match edit {
                Edit::Put(object) => _ = now.insert(object.id.clone(), object),
                Edit::Delete(id) => assert!(now.remove(&id).is_some(), "{id} was not there"),
            }
        }
        let mut afresh = load(&inputs, true, |_, _| false).objects;
        afresh.sort_by(|a, b| a.id.cmp(&b.id));
        assert!(now.values().eq(&afresh), "{step}: {now:#?} is not {afresh:#?}");
    }
}

/// Some Services, and sometimes a CRD that declares the scope of a kind.
fn text(dice: &mut Dice) -> String {
    let mut text = String::from("# some\n");
    for _ in 0..dice.throw(4) {
        let (name, namespace) = (["a", "b", "c"][dice.throw(3)], ["", "here", "there"][dice.throw(3)]);
        text += &format!("---\napiVersion: v1\nkind: Cake\nmetadata: {{name: {name}, namespace: '{namespace}'}}\n");
    }
    if dice.throw(6) == 0 {
        let scope = ["Cluster", "Namespaced"][dice.throw(2)];
        text += &format!(
            "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: cakes}}\n\
             spec: {{group: '', names: {{kind: Cake}}, scope: {scope}}}\n"
        );
    }
    text
}
