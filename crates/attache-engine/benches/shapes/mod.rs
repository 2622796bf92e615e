//! The shapes of clusters that docs/performance.md gives times for.

use attache_gen::{ALL, Level, Policies, Shape};

/// One gateway and 1,000 routes, each with its own service and policy.
pub fn routes_1k() -> Shape {
    Shape { routes: 1_000, rules: 1, services: 1_000, ..Shape::default() }
}

/// 64 routes, each attached to all of 64 listeners.
pub fn unpinned_64x64() -> Shape {
    Shape { listeners: 64, routes: 64, rules: 1, services: 64, ..Shape::default() }
}

/// Ten gateways, and a policy on one in ten routes.
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

#[allow(dead_code, reason = "not every benchmark uses all shapes")]
pub fn all() -> [(&'static str, Shape); 4] {
    [
        ("1k routes", routes_1k()),
        ("64 listeners x 64 routes", unpinned_64x64()),
        ("10k routes", one_in_ten(10_000)),
        ("100k routes", one_in_ten(100_000)),
    ]
}
