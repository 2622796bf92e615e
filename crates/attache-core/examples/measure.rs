//! Reads the manifests in a folder and works out everything, saying how long each step took and how much
//! memory the process had at most.
//!
//! cargo run --release -p attache-gen -- --gateways 10 --routes 100000 --policies gateway=all,route=10000 --out /tmp/manifests
//! cargo run --release -p attache-core --example measure -- /tmp/manifests

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use attache_core::engine::Engine;
use attache_core::kinds::{Settings, built_in};
use attache_core::object::Objects;
use attache_core::text::{self, Reading};

fn main() -> io::Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).expect("usage: measure FOLDER"));
    let mut files: Vec<_> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.sort();

    let start = Instant::now();
    let mut reading = Reading::default();
    let mut bytes = 0;
    for file in &files {
        let content = fs::read_to_string(file)?;
        bytes += content.len();
        reading.append(text::read(&Arc::from(file.to_string_lossy()), &content));
    }
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    done(&format!("read {} MB", bytes >> 20), start);

    let start = Instant::now();
    let objects = Objects::new(reading.objects);
    done(&format!("sort {} objects", objects.len()), start);

    let start = Instant::now();
    let engine = Engine::new(objects, &built_in().0, Settings::default());
    done(&format!("topology of {} nodes, and chains", engine.topology().nodes().len()), start);

    let start = Instant::now();
    engine.fold_all();
    done(&format!("effective policies of {} policies", engine.policies().len()), start);

    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown");
    println!("at most {} resident", peak.trim());
    Ok(())
}

fn done(what: &str, start: Instant) {
    println!("{:>8.1} ms  {what}", start.elapsed().as_secs_f64() * 1000.0);
}
