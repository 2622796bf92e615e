//! The shapes of clusters for which docs/performance.md lists times.

use attache_gen::ManifestShape;

/// One gateway and 1,000 routes, each with its own service and policy.
pub fn routes_1k() -> ManifestShape {
    ManifestShape { routes: 1_000, rules: 1, services: 1_000, ..ManifestShape::default() }
}

/// 64 routes, each attached to all of 64 listeners.
pub fn unpinned_64x64() -> ManifestShape {
    ManifestShape { listeners: 64, routes: 64, rules: 1, services: 64, ..ManifestShape::default() }
}

/// Ten gateways, and a policy on one in ten routes.
pub fn one_in_ten(routes: usize) -> ManifestShape {
    ManifestShape { namespaces: 20, ..ManifestShape::one_in_ten(routes) }
}

#[allow(dead_code, reason = "not every benchmark uses all shapes")]
pub fn all() -> [(&'static str, ManifestShape); 4] {
    [
        ("1k routes", routes_1k()),
        ("64 listeners x 64 routes", unpinned_64x64()),
        ("10k routes", one_in_ten(10_000)),
        ("100k routes", one_in_ten(100_000)),
    ]
}
