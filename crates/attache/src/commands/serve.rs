use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use attache_answers::is_cluster_scoped;
use attache_cluster::{ClusterFollower, Unseen};
use attache_engine::kinds::{PolicyKind, built_in};
use attache_engine::{IncrementalEngine, Objects, Problem};
use attache_page::{Page, PageOptions};
use clap::Args;

use crate::arguments::Global;
use crate::failure::Failure;
use crate::invocation::UNBROKEN_SPACE;
use crate::render::problem::{show, show_some};
use crate::render::serve::{write_left_open, write_serving};
use crate::render::watch::write_contact;
use crate::render::{self, Screen};
use crate::source::{Excerpts, FollowedFiles, LiveCluster, end_on_interrupt, read_cluster};
use crate::verdict::Verdict;

/// Show everything in the browser, and follow changes of the cluster or the files
///
/// Prints the address of the page and serves it until Ctrl-C. The page has the answers of the other commands; each view
/// names the command with the same answer. It reads the cluster with your permissions, or the files of `-f`, and shows
/// changes as they happen. No request changes anything.
///
/// It listens on this machine only, unless `--listen` says otherwise. Anyone who can reach the address sees everything
/// that you may read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache serve
  attache serve -f manifests/ --open
  attache serve -f manifests/ --listen 127.0.0.1:8080")]
pub struct ServeCommand {
    /// The address to listen on; port 0 is any free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7713")]
    listen: SocketAddr,
    /// Open the page in a browser
    #[arg(long)]
    open: bool,
}

impl ServeCommand {
    pub fn run(&self, global: &Global, screen: &mut Screen) -> Result<Verdict, Failure> {
        let listener = self.bind()?;
        let (kinds, _) = built_in();
        if global.reads_cluster() {
            self.cluster(global, &kinds, listener, screen)
        } else {
            self.files(global, &kinds, listener, screen)
        }
    }

    fn bind(&self) -> Result<TcpListener, Failure> {
        TcpListener::bind(self.listen).map_err(|error| {
            let problem = Problem::error(format!("cannot listen on {}: {}", self.listen, error.kind()));
            problem
                .help("choose another address with `--listen`, such as `--listen 127.0.0.1:0` for any free port")
                .into()
        })
    }

    fn files(
        &self,
        global: &Global,
        kinds: &[PolicyKind],
        listener: TcpListener,
        screen: &Screen,
    ) -> Result<Verdict, Failure> {
        let cluster_scoped = |group: &str, kind: &str| is_cluster_scoped(kinds, group, kind);
        let mut files = FollowedFiles::new(&global.files, None);
        let (objects, problems) = files.read(global.quiet, cluster_scoped);
        let engine = IncrementalEngine::new(objects, kinds, global.settings());
        show_some(problems.iter().filter(|problem| problem.is_error() || !global.quiet));
        let names: Vec<String> = global.files.iter().map(|file| file.display().to_string()).collect();
        let page = Arc::new(Page::new(engine, files.problems(), options(names.join(", "), screen)));
        files.end_on_interrupt()?;
        self.serve(&page, listener)?;
        while let Some(touched) = files.wait() {
            let news = files.look(&touched, page.engine().objects(), true, cluster_scoped);
            page.apply(news.edits, files.problems(), &news.problems);
        }
        Ok(Verdict::Fine)
    }

    fn cluster(
        &self,
        global: &Global,
        kinds: &[PolicyKind],
        listener: TcpListener,
        screen: &Screen,
    ) -> Result<Verdict, Failure> {
        let LiveCluster { cluster, interest, mut reading } = read_cluster(global, None)?;
        let objects = Objects::new(std::mem::take(&mut reading.objects));
        let engine = IncrementalEngine::new(objects, kinds, global.settings_without(&reading.unseen));
        render::unseen::show(&reading.unseen);
        let server = format!("the cluster at {}", cluster.server());
        let mut problems = reading.problems.clone();
        let page = Arc::new(Page::new(engine, problems.clone(), options(server, screen)));
        let mut unseen: Vec<Unseen> = reading.unseen.clone();
        let mut follower = ClusterFollower::new(cluster, interest, &mut reading, page.engine().objects());
        end_on_interrupt(follower.stopper())?;
        page.set_unseen(texts(&unseen));
        self.serve(&page, listener)?;
        while let Some(news) = follower.wait(page.engine().objects()) {
            write_contact(&news);
            if news.disconnected.is_some() || news.reconnected.is_some() {
                page.set_disconnected(news.disconnected.clone());
            }
            if !news.unseen.is_empty() {
                unseen.extend(news.unseen.iter().cloned());
                page.set_unseen(texts(&unseen));
            }
            problems.extend(news.problems.iter().cloned());
            page.apply(news.edits, problems.clone(), &news.problems);
        }
        Ok(Verdict::Fine)
    }

    /// Serves the page on its own threads, and prints its address.
    fn serve(&self, page: &Arc<Page>, listener: TcpListener) -> Result<(), Failure> {
        let address = listener.local_addr()?;
        let url = format!("http://{address}/");
        let served = Arc::clone(page);
        thread::spawn(move || {
            if let Err(error) = attache_page::serve(served, listener) {
                show(&Problem::error(format!("serving the page failed: {error}")));
            }
        });
        write_serving(&url)?;
        if !address.ip().is_loopback() {
            write_left_open();
        }
        if self.open && !opened(&url) {
            show(&Problem::warning("no browser could be opened").help(format!("open {url} yourself")));
        }
        Ok(())
    }
}

fn texts(unseen: &[Unseen]) -> Vec<String> {
    unseen.iter().map(ToString::to_string).collect()
}

fn options(source: String, screen: &Screen) -> PageOptions {
    let invocation = screen.invocation.clone();
    PageOptions {
        source,
        command: Box::new(move |words| invocation.question(words).replace(UNBROKEN_SPACE, " ")),
        excerpt: Box::new(|problem| Excerpts::default().line(problem).map(str::to_owned)),
    }
}

/// Opens an address in a browser. Returns whether there is one.
fn opened(url: &str) -> bool {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
}
