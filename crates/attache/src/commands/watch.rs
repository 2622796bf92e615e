use attache_answers::Snapshot;
use attache_cluster::ClusterFollower;
use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use attache_engine::engine::Engine;
use attache_engine::incremental::{Edit, IncrementalEngine, Report};
use attache_engine::kinds::built_in;
use attache_engine::object::Objects;
use attache_engine::problem::Problem;
use clap::{Args, ValueEnum};
use jiff::Timestamp;

use crate::arguments::Global;
use crate::failure::Failure;
use crate::input::target;
use crate::render;
use crate::render::Screen;
use crate::render::problem::{new_problems, show_some};
use crate::render::watch::{WatchView, write_contact, write_mended, write_watching, write_watching_cluster};
use crate::source::{Followed, LiveCluster, News, end_on_interrupt, read_cluster};
use crate::verdict::Verdict;
use attache_answers::is_cluster_scoped;
use attache_answers::watch::Concern;
use attache_answers::watch::change_documents;

/// Follow the cluster or files, and tell what changes as it happens
///
/// Each effective policy that is another than before, each policy whose status is, and each target that other policies
/// affect: a line each, when an object changes in the cluster, or a file is written, moved or deleted. A file that is
/// broken is reported, and counts as it was until it is mended. When the API server cannot be reached, that is said, and
/// what happened meanwhile is shown when it is back. Ctrl-C ends it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache watch -n baker
  attache watch -f manifests/
  attache watch httproute/cakes --diff -f manifests/
  attache watch -n baker -o json -f manifests/ | jq 'select(.type == \"policyStatus\")'")]
pub struct Watch {
    /// Only what concerns this: what passes through it, what it sets, its status
    #[arg(value_name = "OBJECT", num_args = 0..=2)]
    object: Vec<String>,
    /// Show each field that changes below the line, and who set it
    #[arg(long)]
    diff: bool,
    /// Say when it happened
    #[arg(long)]
    timestamps: bool,
    /// Look at the files every so many seconds, for file systems that do not notify
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    poll: Option<u64>,
    /// How to show it; `wide` cuts nothing, `json` is one document per line
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<WatchFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WatchFormat {
    Wide,
    Json,
}

/// How many names and leaves are shown before the rest is only counted.
const MOST: usize = 2;

impl Watch {
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
        let mut files = Followed::new(&global.files, self.poll.map(Duration::from_secs));
        let News { edits, problems, .. } =
            files.look(&HashSet::new(), &Objects::default(), global.quiet, cluster_scoped);
        let objects = edits.into_iter().filter_map(|edit| match edit {
            Edit::Put(object) => Some(object),
            Edit::Delete(_) => None,
        });
        let mut incremental = IncrementalEngine::new(Objects::new(objects.collect()), &kinds, global.settings());
        let shown = |problem: &&Problem| problem.is_error() || !global.quiet;
        show_some(problems.iter().chain(incremental.now().problems()).filter(shown));
        let concern = self.concern(incremental.now(), global)?;
        files.end_on_interrupt()?;
        if !global.quiet {
            write_watching(incremental.now(), files.len());
        }
        while let Some(touched) = files.wait() {
            let news = files.look(&touched, incremental.now().objects(), true, cluster_scoped);
            show_some(news.problems.iter().filter(shown));
            write_mended(&news.mended);
            if !news.edits.is_empty() {
                let report = incremental.apply(news.edits);
                show_some(new_problems(&report).into_iter().filter(shown));
                self.write(&concern, &report, screen)?;
            }
        }
        Ok(Verdict::Fine)
    }

    fn follow_cluster(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let (kinds, _) = built_in();
        let LiveCluster { cluster, interest, mut reading } = read_cluster(global, &kinds)?;
        let objects = Objects::new(std::mem::take(&mut reading.objects));
        let mut incremental = IncrementalEngine::new(objects, &kinds, global.settings());
        let shown = |problem: &&Problem| problem.is_error() || !global.quiet;
        show_some(reading.problems.iter().chain(incremental.now().problems()).filter(shown));
        render::unseen::show(&reading.unseen);
        let concern = self.concern(incremental.now(), global)?;
        let mut follower = ClusterFollower::new(cluster, interest, &mut reading);
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
                self.write(&concern, &report, screen)?;
            }
        }
        Ok(Verdict::Fine)
    }

    fn concern(&self, engine: &Arc<Engine>, global: &Global) -> Result<Concern, Failure> {
        if self.object.is_empty() {
            return Ok(Concern::Everything { namespace: global.namespace.clone() });
        }
        Ok(Concern::about(&target(&Snapshot::new(Arc::clone(engine), Vec::new()), &self.object, global)?.0))
    }

    fn write(&self, concern: &Concern, report: &Report, screen: &mut Screen) -> Result<(), Failure> {
        let changed = concern.of(report);
        let time = if self.timestamps { now() } else { None };
        if self.output == Some(WatchFormat::Json) {
            for document in change_documents(&changed, report, time) {
                screen.json_line(&document)?;
            }
        } else {
            let most = if self.output == Some(WatchFormat::Wide) { usize::MAX } else { MOST };
            WatchView { most, diff: self.diff, time }.write(&changed, report, screen)?;
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

/// To the second.
fn now() -> Option<Timestamp> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Timestamp::from_second(i64::try_from(since.as_secs()).ok()?).ok()
}
