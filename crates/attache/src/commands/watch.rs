use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use attache_answers::change::new_problems;
use attache_answers::watch::{ChangeFilter, WatchedChanges};
use attache_answers::{Snapshot, is_cluster_scoped};
use attache_cluster::ClusterFollower;
use attache_engine::kinds::built_in;
use attache_engine::{Engine, IncrementalEngine, Report};
use attache_engine::{Objects, Problem};
use clap::{Args, ValueEnum};
use jiff::Timestamp;

use crate::arguments::{Global, optional_object};
use crate::failure::Failure;
use crate::input::{check_readable, warn_of_empty_namespace};
use crate::render::problem::show_some;
use crate::render::watch::{WatchView, write_contact, write_fixed, write_watching, write_watching_cluster};
use crate::render::{self, Screen};
use crate::source::{FollowedFiles, LiveCluster, end_on_interrupt, read_cluster};
use crate::verdict::Verdict;

/// Follow the cluster or files, and print what changes
///
/// When an object in the cluster or a file changes, prints one line for each effective policy that changes, for each policy
/// whose status changes, and for each target that is now affected by other policies. A broken file is reported, and its
/// previous content counts until it is fixed. A lost connection to the API server is reported, and changes in the
/// meantime are shown when the connection is restored. Ctrl-C ends it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache watch -n baker
  attache watch -f manifests/
  attache watch httproute/cakes --diff -f manifests/
  attache watch -n baker -o json -f manifests/ | jq 'select(.type == \"policyStatus\")'")]
pub struct WatchCommand {
    /// Only changes that affect requests through this object, or the values and status of this policy
    #[arg(value_name = "OBJECT", num_args = 0..=2)]
    object: Vec<String>,
    /// Show each changed value below the line, and the policy that sets it
    #[arg(long)]
    diff: bool,
    /// Print the time of each change
    #[arg(long)]
    timestamps: bool,
    /// Poll the files at this interval, in seconds, for file systems without notifications
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    poll: Option<u64>,
    /// Output format; `wide` shortens nothing, `json` is one document per line
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<WatchFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WatchFormat {
    Wide,
    Json,
}

/// The number of names and leaves that are shown before the rest is only counted.
const MOST: usize = 2;

impl WatchCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        if global.reads_cluster() {
            return self.follow_cluster(global, screen);
        }
        if let Some(stream) = global.files.iter().find(|file| is_stream(file)) {
            let name = if is_stdin(stream) { "standard input".to_owned() } else { format!("`{}`", stream.display()) };
            let help = "it can be read only once: give files or folders with `-f`";
            return Err(Problem::error(format!("{name} cannot be followed")).help(help).into());
        }
        let (kinds, _) = built_in();
        let cluster_scoped = |group: &str, kind: &str| is_cluster_scoped(&kinds, group, kind);
        let mut files = FollowedFiles::new(&global.files, self.poll.map(Duration::from_secs));
        let (objects, problems) = files.read(global.quiet, cluster_scoped);
        let mut incremental = IncrementalEngine::new(objects, &kinds, global.settings());
        let shown = |problem: &&Problem| problem.is_error() || !global.quiet;
        show_some(problems.iter().chain(incremental.now().problems()).filter(shown));
        let filter = self.filter(incremental.now(), global)?;
        files.end_on_interrupt()?;
        if !global.quiet {
            write_watching(incremental.now(), files.len());
        }
        while let Some(touched) = files.wait() {
            let news = files.look(&touched, incremental.now().objects(), true, cluster_scoped);
            show_some(news.problems.iter().filter(shown));
            write_fixed(&news.fixed);
            if !news.edits.is_empty() {
                let report = incremental.apply(news.edits);
                show_some(new_problems(&report).into_iter().filter(shown));
                self.write(&filter, &report, screen)?;
            }
        }
        Ok(Verdict::Fine)
    }

    fn follow_cluster(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let LiveCluster { cluster, interest, mut reading } = read_cluster(global, None)?;
        check_readable(&reading, cluster.server())?;
        let objects = Objects::new(std::mem::take(&mut reading.objects));
        let mut incremental =
            IncrementalEngine::new(objects, &interest.kinds, global.settings_without(&reading.unseen));
        let shown = |problem: &&Problem| problem.is_error() || !global.quiet;
        show_some(reading.problems.iter().chain(incremental.now().problems()).filter(shown));
        render::unseen::show(&reading.unseen);
        warn_of_empty_namespace(&Snapshot::new(Arc::clone(incremental.now()), Vec::new()), global);
        let filter = self.filter(incremental.now(), global)?;
        let mut follower = ClusterFollower::new(cluster, interest, &mut reading, incremental.now().objects());
        end_on_interrupt(follower.stopper())?;
        if !global.quiet {
            write_watching_cluster(incremental.now(), follower.server());
        }
        while let Some(news) = follower.wait(incremental.now().objects()) {
            show_some(news.problems.iter().filter(shown));
            render::unseen::show(&news.unseen);
            write_contact(&news);
            if !news.edits.is_empty() {
                let report = incremental.apply(news.edits);
                show_some(new_problems(&report).into_iter().filter(shown));
                self.write(&filter, &report, screen)?;
            }
        }
        Ok(Verdict::Fine)
    }

    fn filter(&self, engine: &Arc<Engine>, global: &Global) -> Result<ChangeFilter, Failure> {
        let namespace = &global.namespace;
        Ok(match optional_object(&self.object)? {
            None => ChangeFilter::Everything { namespace: namespace.clone() },
            Some(object) => {
                let snapshot = Snapshot::new(Arc::clone(engine), Vec::new());
                ChangeFilter::Object(snapshot.find(&object, namespace.as_deref())?)
            }
        })
    }

    fn write(&self, filter: &ChangeFilter, report: &Report, screen: &mut Screen) -> Result<(), Failure> {
        let changes = WatchedChanges::new(report, filter);
        let time = if self.timestamps { now() } else { None };
        if self.output == Some(WatchFormat::Json) {
            changes.documents(time).iter().try_for_each(|document| screen.json_line(document))?;
        } else {
            let most = if self.output == Some(WatchFormat::Wide) { usize::MAX } else { MOST };
            WatchView { most, diff: self.diff, time }.write(&changes, screen)?;
        }
        Ok(screen.flush()?)
    }
}

fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

/// Whether this is standard input, or a pipe.
fn is_stream(file: &Path) -> bool {
    is_stdin(file) || fs::metadata(file).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// The current time, without fractions of a second.
fn now() -> Option<Timestamp> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Timestamp::from_second(i64::try_from(since.as_secs()).ok()?).ok()
}
