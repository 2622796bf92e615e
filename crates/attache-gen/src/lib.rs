//! Generates manifests of any size and shape for benchmarks: gateways with listeners, routes with rules, services, and policies at
//! every level. The same shape always gives the same manifests.
//!
//! ```text
//! ManifestShape ─→ gateway_api: Namespaces, Gateways, routes, Services ─┬→ objects ─→ write: YAML or JSON
//!               └→ policies: PolicyKinds and policies ──────────────────┘         └→ edit: edited objects
//! ```
//!
//! ```
//! use attache_gen::{ManifestShape, generate};
//!
//! let objects = generate(&ManifestShape { routes: 3, ..ManifestShape::default() });
//! assert_eq!(objects.iter().filter(|object| object.id.kind == "HTTPRoute").count(), 3);
//! ```

#![deny(missing_docs)]

mod edit;
mod gateway_api;
mod manifest;
mod policies;
mod random;
mod shape;
mod write;

pub use edit::{edited, object_from};
pub use shape::{ALL, BlockStrategy, ManifestShape, PolicyBlock, PolicyCount, PolicyLevel};
pub use write::{ManifestFormat, write};

use attache_engine::Object;

/// The manifests of a shape. Objects come before those that refer to them, and within a kind in the order of `kubectl
/// get`.
pub fn generate(shape: &ManifestShape) -> Vec<Object> {
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

    fn small() -> ManifestShape {
        let policies = [
            PolicyLevel::Gateway,
            PolicyLevel::Listener,
            PolicyLevel::Route,
            PolicyLevel::Rule,
            PolicyLevel::Service,
            PolicyLevel::Namespace,
        ];
        ManifestShape {
            gateways: 3,
            listeners: 2,
            routes: 20,
            parents: 2,
            pinned: 50,
            services: 10,
            namespaces: 2,
            hostnames: 3,
            policies: policies.map(|level| PolicyCount { level, count: ALL }).to_vec(),
            duplicates: 1,
            kinds: 2,
            ..ManifestShape::default()
        }
    }

    fn written(shape: &ManifestShape, format: ManifestFormat) -> String {
        let mut text = Vec::new();
        write(&generate(shape), format, &mut text).expect("writing to a vector never fails");
        String::from_utf8(text).expect("manifests are text")
    }

    #[test]
    fn the_same_shape_gives_the_same_manifests() {
        assert_eq!(written(&small(), ManifestFormat::Yaml), written(&small(), ManifestFormat::Yaml));
        assert_ne!(
            written(&small(), ManifestFormat::Yaml),
            written(&ManifestShape { seed: 1, ..small() }, ManifestFormat::Yaml)
        );
    }

    #[test]
    fn what_is_written_is_read_back() {
        let objects = Objects::new(generate(&small()));
        for format in [ManifestFormat::Yaml, ManifestFormat::Json] {
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
