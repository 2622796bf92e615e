//! A live cluster, read into objects.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use attache_cluster::{Cluster, ClusterReading, Interest, ReadProgress, Subject};
use attache_engine::kinds::built_in;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

use crate::arguments::Global;
use crate::failure::Failure;

/// The objects of a cluster, and how to follow it.
pub struct LiveCluster {
    pub cluster: Cluster,
    pub interest: Interest,
    pub reading: ClusterReading,
}

/// Reads the cluster that the arguments select, as far as it can matter to the object that a question is `about`.
pub fn read_cluster(global: &Global, about: Option<Subject>) -> Result<LiveCluster, Failure> {
    let cluster = Cluster::connect(&global.cluster.options())?;
    let mut interest = Interest {
        kinds: Vec::new(),
        settings: global.settings(),
        namespace: global.namespace.clone(),
        about,
        statuses: false,
    };
    // The first requests are under way while the kinds are read.
    cluster.start_reading(&interest);
    interest.kinds = built_in().0;
    let shown = !global.quiet && stderr().is_terminal();
    let bar = shown.then(|| ProgressBar::new_spinner().with_style(style()).with_message("reading the cluster"));
    bar.iter().for_each(|bar| bar.enable_steady_tick(Duration::from_millis(200)));
    let progress = |progress: ReadProgress| {
        if let Some(bar) = &bar {
            let ReadProgress { kinds, of, bytes } = progress;
            bar.set_message(format!("reading the cluster: {kinds} of {of} kinds, {}", HumanBytes(bytes as u64)));
        }
    };
    let reading = cluster.read(&interest, progress);
    bar.iter().for_each(ProgressBar::finish_and_clear);
    Ok(LiveCluster { cluster, interest, reading: reading? })
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner())
}
