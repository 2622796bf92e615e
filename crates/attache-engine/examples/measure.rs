//! Reads the manifests in a folder, or generates a number of routes, and computes all effective policies. Prints the time of each
//! step and the peak memory.
//!
//! cargo run --release -p attache-gen -- --gateways 10 --routes 100000 --policies gateway=all,route=10000 --out /tmp/manifests
//! cargo run --release -p attache-engine --example measure -- /tmp/manifests
//! cargo run --release -p attache-engine --example measure -- 1000000
//! cargo run --release -p attache-engine --example measure -- 1000000 incremental     # an incremental engine

use std::fs;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use attache_engine::kinds::{Settings, built_in};
use attache_engine::text;
use attache_engine::{Engine, IncrementalEngine};
use attache_engine::{Object, Objects};
use attache_gen::ManifestShape;

fn main() -> io::Result<()> {
    let from = std::env::args().nth(1).expect("usage: measure FOLDER|ROUTES [incremental]");
    let objects = match from.parse() {
        Ok(routes) => generate(routes),
        Err(_) => read(&from)?,
    };

    let step = StepTimer::start();
    let objects = Objects::new(objects);
    step.done(&format!("sort {} objects", objects.len()));

    if std::env::args().nth(2).is_some_and(|arg| arg == "incremental") {
        let step = StepTimer::start();
        let incremental = IncrementalEngine::new(objects, &built_in().0, Settings::default());
        step.done(&format!("an incremental engine of {} nodes", incremental.now().topology().count()));
        return peak();
    }

    let step = StepTimer::start();
    let engine = Engine::new(objects, &built_in().0, Settings::default());
    step.done(&format!("topology of {} nodes", engine.topology().count()));

    let step = StepTimer::start();
    engine.fold_all();
    step.done(&format!("chains and effective policies, of {} policies", engine.policies().len()));
    peak()
}

fn peak() -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown");
    println!("at most {} resident", peak.trim());
    // Exit without dropping: that would only take time.
    std::process::exit(0)
}

fn read(folder: &str) -> io::Result<Vec<Object>> {
    let mut files: Vec<_> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.sort();
    let step = StepTimer::start();
    let (mut objects, mut bytes) = (Vec::new(), 0);
    for file in &files {
        let content = fs::read_to_string(file)?;
        bytes += content.len();
        let mut reading = text::read(&Arc::from(file.to_string_lossy()), &content);
        assert!(reading.problems.is_empty(), "{:?}", reading.problems);
        objects.append(&mut reading.objects);
    }
    step.done(&format!("read {} MB", bytes >> 20));
    Ok(objects)
}

/// Ten gateways, and a policy on one in ten routes.
fn generate(routes: usize) -> Vec<Object> {
    attache_gen::generate(&ManifestShape { namespaces: 500, ..ManifestShape::one_in_ten(routes) })
}

struct StepTimer {
    start: Instant,
    cpu: u64,
}

impl StepTimer {
    fn start() -> StepTimer {
        StepTimer { start: Instant::now(), cpu: cpu_ms() }
    }

    fn done(self, what: &str) {
        println!("{:>6} ms, {:>6} ms of CPU: {what}", self.start.elapsed().as_millis(), cpu_ms() - self.cpu);
    }
}

/// The CPU time of all threads so far. On a busy machine it is more reliable than the elapsed time.
fn cpu_ms() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The process name may contain anything, so skip it. After it, fields 12 and 13 are user and system time in 1/100 s.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * 10
}
