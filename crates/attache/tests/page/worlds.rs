//! The page shows what the conformance tests of every system are about.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use attache_engine::text::{read, to_yaml};
use attache_engine::{Object, Value};
use tempfile::TempDir;

use crate::browser::tab;
use crate::server::{Server, root};

/// All objects that the tests of a system are about, each once.
fn world(system: &Path) -> TempDir {
    let folder = TempDir::new().unwrap();
    let mut seen = BTreeSet::new();
    let mut text = String::new();
    let mut files: Vec<_> = fs::read_dir(system).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    for file in files {
        let name: Arc<str> = file.display().to_string().into();
        for object in read(&name, &fs::read_to_string(&file).unwrap()).objects {
            for body in bodies(&object) {
                let id = ["kind", "apiVersion"].map(|key| body.get_str(key).unwrap_or_default().to_owned());
                let names =
                    ["namespace", "name"].map(|key| body.at(&["metadata", key]).map(to_yaml).unwrap_or_default());
                if seen.insert((id, names)) {
                    text += &format!("---\n{}", to_yaml(body));
                }
            }
        }
    }
    fs::write(folder.path().join("world.yaml"), text).unwrap();
    folder
}

/// The objects of a PolicyTest, or an object that is not one.
fn bodies(object: &Object) -> Vec<&Value> {
    match object.id.kind.as_str() {
        "PolicyTest" => object.body.at(&["spec", "objects"]).map(|it| it.items().iter().collect()).unwrap_or_default(),
        _ => vec![&object.body],
    }
}

#[test]
fn every_view_works_with_the_conformance_tests_of_every_system() {
    let Some(tab) = tab() else { return };
    let mut systems: Vec<_> =
        fs::read_dir(root().join("conformance/systems")).unwrap().map(|it| it.unwrap().path()).collect();
    systems.sort();
    assert!(systems.len() >= 9, "{systems:?}");
    for system in systems {
        let world = world(&system);
        let server = Server::start(world.path(), 0);
        tab.goto(&server.at("/policies"));
        let first = "document.querySelector('main tbody a.policy').getAttribute('href')";
        let policy = tab.eval(first).as_str().unwrap().to_owned();
        tab.goto(&server.at(&policy));
        let affected =
            tab.eval("(document.querySelector('main a.object') || {getAttribute: () => '/'}).getAttribute('href')");
        let affected = affected.as_str().unwrap().to_owned();
        let styles = format!("{affected}{}show=styles", if affected.contains('?') { "&" } else { "?" });
        for path in ["/", "/policies", &policy, &affected, &styles, "/problems", "/topology"] {
            tab.goto(&server.at(path));
            let place = format!("{} {path}", system.display());
            assert_eq!(tab.eval("document.querySelectorAll('h1').length"), 1, "{place}");
            assert!(!tab.text().contains("Not found"), "{place}");
            assert_eq!(tab.inaccessible(), Vec::<String>::new(), "{place}");
            assert_eq!(tab.violations(), Vec::<String>::new(), "{place}");
        }
    }
}
