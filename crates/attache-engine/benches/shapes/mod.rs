//! The shapes whose times docs/performance.md promises.

use attache_gen::{ALL, Level, Policies, Shape};

/// One gateway, 1,000 routes with a service each, a policy on every one of them.
pub fn routes_1k() -> Shape {
    Shape { routes: 1_000, rules: 1, services: 1_000, ..Shape::default() }
}

/// Every one of 64 routes at every one of 64 listeners.
pub fn unpinned_64x64() -> Shape {
    Shape { listeners: 64, routes: 64, rules: 1, services: 64, ..Shape::default() }
}

/// Ten gateways, and routes of which one in ten has a policy of its own.
pub fn one_in_ten(routes: usize) -> Shape {
    let policies = [(Level::Gateway, ALL), (Level::Route, routes / 10)];
    Shape {
        gateways: 10,
        routes,
        rules: 2,
        services: routes / 10,
        namespaces: 20,
        policies: policies.map(|(level, count)| Policies { level, count }).to_vec(),
        ..Shape::default()
    }
}

#[allow(dead_code, reason = "not every benchmark goes through all of them")]
pub fn all() -> [(&'static str, Shape); 4] {
    [
        ("1k routes", routes_1k()),
        ("64 listeners x 64 routes", unpinned_64x64()),
        ("10k routes", one_in_ten(10_000)),
        ("100k routes", one_in_ten(100_000)),
    ]
}
