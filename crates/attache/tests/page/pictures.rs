//! The pictures in the documentation: `PICTURES=1 cargo test -p attache --test page pictures` updates them.

use std::env;

use crate::browser::tab;
use crate::server::{Server, root};

/// Name, example, path, size, dark.
type DocumentationPicture = (&'static str, &'static str, &'static str, (u32, u32), bool);

const PICTURES: [DocumentationPicture; 7] = [
    ("overview", "bakery", "/", (1100, 640), false),
    ("object", "bakery", "/object/HTTPRoute.gateway.networking.k8s.io/baker/payments", (1100, 700), false),
    ("styles", "bakery", "/object/HTTPRoute.gateway.networking.k8s.io/baker/payments?show=styles", (1100, 860), true),
    ("policy", "rfc-0009", "/policy/RateLimitPolicy.kuadrant.io/infra/fair-use", (1100, 760), false),
    ("request", "rfc-0009", "/request?url=http://store.toys.example/admin", (1100, 860), false),
    ("plan", "bakery", "/plan?delete=RetryPolicy/baker/be-patient", (1100, 860), false),
    ("topology", "rfc-0009", "/topology", (1100, 480), true),
];

#[test]
fn pictures_of_the_documentation() {
    let wanted = env::var("PICTURES").is_ok();
    let Some(tab) = wanted.then(tab).flatten() else {
        for (name, ..) in PICTURES {
            assert!(root().join(format!("docs/page/{name}.webp")).is_file(), "PICTURES=1 makes docs/page/{name}.webp");
        }
        return;
    };
    for (name, example, path, (width, height), is_dark) in PICTURES {
        let server = Server::example(example);
        tab.resize(width, height);
        tab.dark(is_dark);
        tab.goto(&server.at(path));
        tab.wait("document.querySelector('.connection.live')");
        tab.eval("document.activeElement.blur()");
        tab.picture(&root().join(format!("docs/page/{name}.webp")));
    }
}
