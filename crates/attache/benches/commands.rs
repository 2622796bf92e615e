//! The time of each command from a cold start, compared with only parsing the same input: with serde_json, and with the
//! reader of the commands.
//!
//! cargo bench -p attache --bench commands [-- ROUNDS]

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use attache_engine::text;
use attache_gen::{ManifestFormat, ManifestShape, PolicyCount, PolicyLevel, generate, write};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// Every command, for one route, one policy, or everything.
const COMMANDS: [&str; 22] = [
    "get kinds",
    "get policies",
    "get scopes",
    "topology",
    "topology httproute/team-000/route-000000",
    "effective",
    "effective httproute/team-000/route-000000",
    "explain httproute/team-000/route-000000",
    "explain httproute/team-000/route-000000 limits --steps",
    "describe httproute/team-000/route-000000",
    "describe gateway/infra/gateway-000",
    "describe retrypolicy/infra/gateway-000000-0",
    "reach retrypolicy/infra/gateway-000000-0",
    "request GET http://host-0.example.com/route-000000/0 --gateway infra/gateway-000",
    "request GET http://host-0.example.com/none --gateway infra/gateway-000 --why",
    "audit --require retrypolicy",
    "audit --require retrypolicy --on backend",
    "lint",
    "lint -o sarif",
    "status",
    "plan --delete retrypolicy/infra/gateway-000000-0",
    "plan --delete httproute/team-000/route-000000",
];

type Parser = fn(&[u8]);

/// Only parses the folder that follows.
const PARSE: [(&str, Parser); 2] = [("--serde-json", by_serde), ("--reading", by_reading)];

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let [.., flag, folder] = args.as_slice()
        && let Some((_, parser)) = PARSE.iter().find(|(name, _)| name == flag)
    {
        return parse(Path::new(folder), *parser);
    }
    // `cargo test --all-targets` runs this, too.
    if !args.iter().any(|arg| arg == "--bench") {
        return;
    }
    let rounds = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(20);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("commands");
    let bytes = input(&folder);

    let parsing = PARSE.map(|(flag, _)| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(flag).arg(&folder);
        command
    });
    let commands = COMMANDS.map(|line| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_attache"));
        command.args(line.split(' ')).arg("-f").arg(&folder);
        command
    });
    let mut all: Vec<(Command, Taken)> =
        parsing.into_iter().chain(commands).map(|command| (command, Taken::default())).collect();
    // In turns, so that other load of the machine affects all of them alike.
    for _ in 0..rounds {
        all.iter_mut().for_each(|(command, taken)| taken.run(command));
    }

    println!("{} MB of JSON, {rounds} rounds\n", bytes >> 20);
    println!(
        "| | wall clock | against serde_json | against reading | CPU | against serde_json |\n|---|---|---|---|---|---|"
    );
    let [serde, reading] = [&all[0].1, &all[1].1].map(|taken| (taken.least.as_secs_f64(), taken.cpu_ms as f64));
    for (name, (_, taken)) in ["(serde_json)", "(reading)"].iter().chain(&COMMANDS).zip(&all) {
        let (wall, cpu) = (taken.least.as_secs_f64(), taken.cpu_ms as f64);
        println!(
            "| `{name}` | {:.0} ms | {:.2} | {:.2} | {:.0} ms | {:.2} |",
            wall * 1000.0,
            wall / serde.0,
            wall / reading.0,
            cpu / f64::from(rounds),
            cpu / serde.1,
        );
    }
}

/// 5,000 routes, 200 gateways and 2,000 policies of ten kinds, as `docs/performance.md` has it for `attache-gen`.
fn input(folder: &Path) -> usize {
    let policies = [
        (PolicyLevel::Gateway, 60),
        (PolicyLevel::Route, 100),
        (PolicyLevel::Namespace, 20),
        (PolicyLevel::Service, 20),
    ];
    let shape = ManifestShape {
        gateways: 200,
        listeners: 4,
        routes: 5000,
        rules: 5,
        services: 5000,
        namespaces: 50,
        hostnames: 2000,
        policies: policies.map(|(level, count)| PolicyCount { level, count }).to_vec(),
        kinds: 10,
        ..ManifestShape::default()
    };
    let objects = generate(&shape);
    fs::create_dir_all(folder).unwrap();
    let mut bytes = 0;
    for objects in objects.chunk_by(|a, b| a.id.kind == b.id.kind) {
        let mut text = Vec::new();
        write(objects, ManifestFormat::Json, &mut text).unwrap();
        bytes += text.len();
        fs::write(folder.join(format!("{}.json", objects[0].id.kind.to_lowercase())), text).unwrap();
    }
    bytes
}

fn parse(folder: &Path, parser: Parser) {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()).collect();
    files.sort_by_key(|file| std::cmp::Reverse(file.metadata().unwrap().len()));
    files.into_par_iter().for_each(|file| parser(&fs::read(file.path()).unwrap()));
}

// Results are not dropped: as with the commands, the process ends, and its memory with it.

fn by_serde(text: &[u8]) {
    std::mem::forget(serde_json::from_slice::<serde_json::Value>(text).unwrap());
}

fn by_reading(text: &[u8]) {
    std::mem::forget(text::read(&Arc::from("input.json"), std::str::from_utf8(text).unwrap()));
}

#[derive(Default)]
struct Taken {
    least: Duration,
    /// For all rounds together: the system counts in steps of 10 ms.
    cpu_ms: u64,
}

impl Taken {
    fn run(&mut self, command: &mut Command) {
        let (start, cpu) = (Instant::now(), cpu_ms());
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        let took = start.elapsed();
        assert!(matches!(status.code(), Some(0 | 1)), "{command:?}: {status}");
        self.least = if self.least.is_zero() { took } else { self.least.min(took) };
        self.cpu_ms += cpu_ms() - cpu;
    }
}

/// The CPU time of all children that have ended.
fn cpu_ms() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name, which may contain anything: the 14th and 15th field, in 1/100 s.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(13).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * 10
}
