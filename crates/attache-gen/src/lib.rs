//! Generates manifests of any size and shape: gateways with listeners, routes with rules, services, and policies at every level.
//! The same shape always gives the same manifests.

mod edit;
mod gateway_api;
mod manifest;
mod policies;
mod random;
mod shape;
mod write;

pub use edit::{edited, object_from};
pub use shape::{ALL, Block, Level, Policies, Shape, Strategy};
pub use write::{Format, write};

use attache_engine::Object;

/// The manifests of a shape. Objects come before those that refer to them, and within a kind in the order of `kubectl get`.
pub fn generate(shape: &Shape) -> Vec<Object> {
    let mut objects = gateway_api::generate(shape);
    objects.extend(policies::generate(shape));
    objects
}

#[cfg(test)]
mod tests {
    use attache_engine::Objects;
    use attache_engine::Topology;
    use attache_engine::text;

    use super::*;

    fn small() -> Shape {
        let policies = [Level::Gateway, Level::Listener, Level::Route, Level::Rule, Level::Service, Level::Namespace];
        Shape {
            gateways: 3,
            listeners: 2,
            routes: 20,
            parents: 2,
            pinned: 50,
            services: 10,
            namespaces: 2,
            hostnames: 3,
            policies: policies.map(|level| Policies { level, count: ALL }).to_vec(),
            duplicates: 1,
            kinds: 2,
            ..Shape::default()
        }
    }

    fn written(shape: &Shape, format: Format) -> String {
        let mut text = Vec::new();
        write(&generate(shape), format, &mut text).expect("writing to a vector never fails");
        String::from_utf8(text).expect("manifests are text")
    }

    #[test]
    fn the_same_shape_gives_the_same_manifests() {
        assert_eq!(written(&small(), Format::Yaml), written(&small(), Format::Yaml));
        assert_ne!(written(&small(), Format::Yaml), written(&Shape { seed: 1, ..small() }, Format::Yaml));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let objects = Objects::new(generate(&small()));
        for format in [Format::Yaml, Format::Json] {
            let reading = text::read(&"generated".into(), &written(&small(), format));
            assert!(reading.problems.is_empty(), "{:?}", reading.problems);
            let read = Objects::new(reading.objects);
            assert_eq!(read.len(), objects.len());
            for ((_, read), (_, generated)) in read.iter().zip(objects.iter()) {
                assert_eq!((&read.id, &read.body, read.created), (&generated.id, &generated.body, generated.created));
            }
        }
    }

    #[test]
    fn an_edit_without_changes_gives_the_same_object() {
        for object in generate(&small()) {
            let same = edited(&object, |_| ());
            assert_eq!((&same.id, &same.body, same.created), (&object.id, &object.body, object.created));
        }
    }

    #[test]
    fn every_reference_is_accepted() {
        let objects = Objects::new(generate(&small()));
        let topology = Topology::build(&objects, &[]);
        assert_eq!(topology.refused(&objects), []);
    }

    #[test]
    fn policies_are_counted_by_level_kind_and_duplicate() {
        let objects = generate(&small());
        let policies = objects.iter().filter(|object| object.id.group == "bench.attache.dev").count();
        // 3 gateways, 6 listeners, 20 routes, 40 rules, 10 services, 2 namespaces; two of each of two kinds.
        assert_eq!(policies, (3 + 6 + 20 + 40 + 10 + 2) * 2 * 2);
    }
}
