//! The objects of each file, and the edits that follow when some files change.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use attache_engine::text::{declares_resource_scope, settle_namespaces};
use attache_engine::{Edit, Object, ObjectRef, Objects, Problem};

use super::duplicates;

/// The rank of a file: the index of the input that named it or its folder, and its path. If two files define the same
/// object, the one with the higher rank counts.
pub type Rank = (usize, PathBuf);

#[derive(Debug, Default)]
pub struct Contents {
    files: BTreeMap<Rank, Vec<Object>>,
    /// Objects that are defined more than once.
    twice: HashSet<ObjectRef>,
}

#[derive(Debug, Default)]
pub struct Difference {
    pub edits: Vec<Edit>,
    pub warnings: Vec<Problem>,
}

impl Contents {
    /// Replaces the objects of some files, with namespaces as written; a removed file has none. The edits turn `now`
    /// into what the files define.
    pub fn replace(
        &mut self,
        fresh: BTreeMap<Rank, Vec<Object>>,
        now: &Objects,
        cluster_scoped: impl Fn(&str, &str) -> bool,
    ) -> Difference {
        if fresh.is_empty() {
            return Difference::default();
        }
        let mut ranks: BTreeSet<Rank> = fresh.keys().cloned().collect();
        let mut touched: HashSet<ObjectRef> = HashSet::new();
        let mut touch = |objects: &[Object]| touched.extend(objects.iter().map(|object| object.id.clone()));
        let mut declares = fresh.values().flatten().any(declares_resource_scope);
        for (rank, objects) in fresh {
            let before = self.files.insert(rank, objects).unwrap_or_default();
            declares |= before.iter().any(declares_resource_scope);
            touch(&before);
        }
        if declares {
            // Any object may change its namespace.
            ranks.extend(self.files.keys().cloned());
            self.files.values().for_each(|objects| touch(objects));
        }
        self.resolve_namespaces(&ranks, cluster_scoped);
        ranks.iter().filter_map(|rank| self.files.get(rank)).for_each(|objects| touch(objects));
        self.files.retain(|_, objects| !objects.is_empty());
        self.difference(&touched, now)
    }

    /// Resolves the namespaces of the objects of some files: of all files if one of them declares the scope of a kind.
    fn resolve_namespaces(&mut self, ranks: &BTreeSet<Rank>, cluster_scoped: impl Fn(&str, &str) -> bool) {
        let others = self.files.iter().filter(|(rank, _)| !ranks.contains(rank)).flat_map(|(_, objects)| objects);
        let mut objects: Vec<Object> = others.filter(|object| declares_resource_scope(object)).cloned().collect();
        let declarations = objects.len();
        let mut lengths = Vec::with_capacity(ranks.len());
        for (_, file) in self.files.iter_mut().filter(|(rank, _)| ranks.contains(rank)) {
            lengths.push(file.len());
            objects.append(file);
        }
        for object in &mut objects[declarations..] {
            let written = object.body.at(&["metadata", "namespace"]).and_then(|namespace| namespace.as_str());
            object.id.namespace = written.unwrap_or_default().into();
        }
        settle_namespaces(&mut objects, &mut [], cluster_scoped);
        let mut resolved = objects.into_iter().skip(declarations);
        for ((_, file), length) in self.files.iter_mut().filter(|(rank, _)| ranks.contains(rank)).zip(lengths) {
            file.extend(resolved.by_ref().take(length));
        }
    }

    fn difference(&mut self, touched: &HashSet<ObjectRef>, now: &Objects) -> Difference {
        let mut last: HashMap<&ObjectRef, &Object> = HashMap::with_capacity(touched.len());
        let mut twice: BTreeMap<&ObjectRef, [&Object; 2]> = BTreeMap::new();
        for object in self.files.values().flatten() {
            if let Some(id) = touched.get(&object.id)
                && let Some(before) = last.insert(id, object)
            {
                twice.insert(id, [before, object]);
            }
        }
        self.twice.retain(|id| !touched.contains(id) || twice.contains_key(id));
        let mut difference = Difference::default();
        for (id, [before, object]) in twice {
            if self.twice.insert(id.clone()) {
                difference.warnings.push(duplicates::twice(before, object));
            }
        }
        for id in touched {
            let is = now.find(id).map(|found| &now[found]);
            match last.get(id) {
                Some(object) if is == Some(object) => {}
                Some(object) => difference.edits.push(Edit::Put((*object).clone())),
                None if is.is_some() => difference.edits.push(Edit::Delete(id.clone())),
                None => {}
            }
        }
        difference.edits.sort_by(|a, b| a.id().cmp(b.id()));
        difference
    }

    /// The number of files that define objects.
    pub fn len(&self) -> usize {
        self.files.len()
    }
}

#[cfg(test)]
mod tests {
    use attache_engine::text;

    use super::*;

    /// Files, and the objects after their edits.
    #[derive(Default)]
    struct FollowedFolder {
        contents: Contents,
        now: Vec<Object>,
    }

    impl FollowedFolder {
        /// Writes files. Returns the edits and warnings as text.
        fn write(&mut self, files: &[(&str, &str)]) -> Vec<String> {
            let read = |(name, text): &(&str, &str)| {
                let reading = text::read(&(*name).into(), text);
                assert!(reading.problems.is_empty(), "{:?}", reading.problems);
                ((0, PathBuf::from(name)), reading.objects)
            };
            let fresh = files.iter().map(read).collect();
            let Difference { edits, warnings } =
                self.contents.replace(fresh, &Objects::new(self.now.clone()), |_, _| false);
            self.now.retain(|object| !edits.iter().any(|edit| *edit.id() == object.id));
            let mut said: Vec<String> = Vec::new();
            for edit in edits {
                said.push(match &edit {
                    Edit::Put(object) => format!("put {} of {}", object.id, object.source.file),
                    Edit::Delete(id) => format!("delete {id}"),
                });
                if let Edit::Put(object) = edit {
                    self.now.push(object);
                }
            }
            said.extend(warnings.iter().map(|problem| problem.message.clone()));
            said
        }
    }

    fn cake(name: &str, layers: u32) -> String {
        format!("apiVersion: v1\nkind: Cake\nmetadata: {{name: {name}}}\nspec: {{layers: {layers}}}\n---\n")
    }

    const NOTHING: [&str; 0] = [];

    #[test]
    fn only_what_is_different_is_an_edit() {
        let mut world = FollowedFolder::default();
        let [a, b] = ["a", "b"].map(|name| cake(name, 1));
        assert_eq!(world.write(&[("1", &(a.clone() + &b))]), ["put Cake/default/a of 1", "put Cake/default/b of 1"]);
        assert_eq!(world.write(&[("1", &(a.clone() + &b))]), NOTHING);
        assert_eq!(world.write(&[("1", &(a.clone() + &cake("b", 2)))]), ["put Cake/default/b of 1"]);
        assert_eq!(world.write(&[("1", &a)]), ["delete Cake/default/b"]);
        // The location of the object changes.
        assert_eq!(world.write(&[("1", &format!("# a\n{a}"))]), ["put Cake/default/a of 1"]);
        assert_eq!(world.write(&[("1", ""), ("2", &a)]), ["put Cake/default/a of 2"]);
        assert_eq!(world.write(&[("2", "")]), ["delete Cake/default/a"]);
        assert_eq!(world.contents.len(), 0);
    }

    #[test]
    fn of_two_files_the_later_counts_and_the_earlier_when_it_is_gone() {
        let mut world = FollowedFolder::default();
        world.write(&[("2", &cake("a", 2))]);
        let twice = "`Cake/default/a` is defined twice; this definition replaces the one in 1:1:1";
        assert_eq!(world.write(&[("1", &cake("a", 1))]), [twice]);
        // The warning was given before.
        assert_eq!(world.write(&[("1", &cake("a", 3))]), NOTHING);
        assert_eq!(world.write(&[("2", "")]), ["put Cake/default/a of 1"]);
        assert_eq!(world.write(&[("2", &cake("a", 2))]), ["put Cake/default/a of 2", twice]);
    }

    #[test]
    fn another_file_may_define_the_scope_of_a_kind() {
        let definition = |scope: &str| {
            format!(
                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: cakes}}\n\
                 spec: {{group: '', names: {{kind: Cake}}, scope: {scope}}}\n"
            )
        };
        let mut world = FollowedFolder::default();
        let far = "apiVersion: v1\nkind: Cake\nmetadata: {name: a, namespace: far}\n";
        world.write(&[("1", &cake("a", 1)), ("2", far)]);
        let crd = "put CustomResourceDefinition/cakes of crd";
        let twice = "`Cake/a` is defined twice; this definition replaces the one in 1:1:1";
        assert_eq!(
            world.write(&[("crd", &definition("Cluster"))]),
            ["put Cake/a of 2", "delete Cake/default/a", "delete Cake/far/a", crd, twice]
        );
        assert_eq!(world.write(&[("3", &cake("b", 1))]), ["put Cake/b of 3"]);
        assert_eq!(
            world.write(&[("crd", &definition("Namespaced"))]),
            [
                "delete Cake/a",
                "delete Cake/b",
                "put Cake/default/a of 1",
                "put Cake/default/b of 3",
                "put Cake/far/a of 2",
                crd
            ]
        );
    }
}
