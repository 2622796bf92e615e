//! How long the server takes for each view at 100,000 routes, how many bytes it sends, and when a browser shows the first
//! picture: the fastest of some rounds, which depends least on what else the machine does.
//!
//! cargo bench -p attache --bench page [-- ROUNDS]

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[allow(dead_code)]
#[path = "../tests/page/browser.rs"]
mod browser;

use attache_gen::{ManifestFormat, ManifestShape, PolicyCount, PolicyLevel, generate, write};

const VIEWS: [&str; 22] = [
    "/",
    "/?from=50000",
    "/?q=route-04",
    "/?problems=first",
    "/?kind=Service&from=50000",
    "/search?q=route-0999",
    "/policies",
    "/object/HTTPRoute.gateway.networking.k8s.io/team-000/route-000000",
    "/object/HTTPRoute.gateway.networking.k8s.io/team-000/route-000000?show=styles",
    "/object/Gateway.gateway.networking.k8s.io/infra/gateway-000",
    "/object/Gateway.gateway.networking.k8s.io/infra/gateway-000?section=listener-000",
    "/object/GatewayClass.gateway.networking.k8s.io/bench",
    "/object/Namespace/team-000",
    "/object/Service/team-000/service-000000",
    "/policy/LimitPolicy.bench.attache.dev/infra/gateway-000000-0",
    "/request?url=http://host-0.example.com/route-000000/0&gateway=infra/gateway-000",
    "/plan?delete=HTTPRoute/team-000/route-000000",
    "/plan?delete=LimitPolicy/infra/gateway-000000-0",
    "/topology?object=HTTPRoute/team-000/route-000000",
    "/topology",
    "/problems",
    "/changes",
];

fn main() {
    let args: Vec<String> = std::env::args().collect();
    // `cargo test --all-targets` runs this, too.
    if !args.iter().any(|arg| arg == "--bench") {
        return;
    }
    let rounds = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(7);
    let folder = tempfile::tempdir().unwrap();
    let shape = ManifestShape {
        routes: 100_000,
        gateways: 10,
        namespaces: 100,
        services: 100_000,
        policies: vec![
            PolicyCount { level: PolicyLevel::Gateway, count: 10 },
            PolicyCount { level: PolicyLevel::Route, count: 1000 },
        ],
        ..ManifestShape::default()
    };
    let mut text = Vec::new();
    write(&generate(&shape), ManifestFormat::Json, &mut text).unwrap();
    fs::write(folder.path().join("manifests.json"), text).unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_attache"))
        .args(["serve", "--quiet", "--listen", "127.0.0.1:0", "-f"])
        .arg(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let (first, _) = get(&address, "/");
    println!("{:>9.1} ms              / for the first time after the start", first.as_secs_f64() * 1e3);
    for view in VIEWS {
        let Some((time, bytes)) = (0..rounds).map(|_| get(&address, view)).min() else { continue };
        println!("{:>9.1} ms {bytes:>9} bytes {view}", time.as_secs_f64() * 1e3);
    }
    for view in ["/", "/topology", "/object/HTTPRoute.gateway.networking.k8s.io/team-000/route-000000"] {
        let Some((time, bytes)) = (0..rounds).filter_map(|_| first_picture(&format!("http://{address}{view}"))).min()
        else {
            break;
        };
        println!("{time:>9} ms {bytes:>9} bytes {view}: the first picture in a browser with an empty cache");
    }
    server.kill().unwrap();
    server.wait().unwrap();
}

/// When a browser shows the first picture of a page, in milliseconds, and the bytes that it loads with all files.
fn first_picture(address: &str) -> Option<(u64, u64)> {
    let tab = browser::tab()?;
    tab.goto(address);
    tab.wait("performance.getEntriesByName('first-contentful-paint').length");
    let time = tab.eval("performance.getEntriesByName('first-contentful-paint')[0].startTime").as_f64()?;
    let bytes = tab.eval(
        "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]\
         .reduce((sum, it) => sum + it.transferSize, 0)",
    );
    Some((time as u64, bytes.as_u64()?))
}

/// The time of a response, and its size.
fn get(address: &str, path: &str) -> (Duration, usize) {
    let start = Instant::now();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).unwrap();
    assert!(response.starts_with(b"HTTP/1.1 200"), "{path}: {}", String::from_utf8_lossy(&response[..200]));
    (start.elapsed(), response.len())
}
