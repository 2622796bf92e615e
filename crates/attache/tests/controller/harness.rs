//! A run of `attache controller` against a real API server.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use attache_testenv::{TestCluster, eventually};

/// The namespace of the controller.
pub const NAMESPACE: &str = "attache-system";

/// A running `attache controller`. It is killed when this value is dropped.
pub struct Controller {
    child: Child,
    log: PathBuf,
}

impl Controller {
    /// Starts a controller as a cluster administrator, without webhook and API unless the arguments say where they listen,
    /// and waits until it is ready.
    pub fn start(cluster: &TestCluster, arguments: &[&str]) -> Controller {
        let controller = Controller::spawn(cluster, cluster.kubeconfig(), arguments);
        controller.wait_until_ready();
        controller
    }

    /// Starts a controller as the user of a kubeconfig, and does not wait for it.
    pub fn spawn(cluster: &TestCluster, kubeconfig: &Path, arguments: &[&str]) -> Controller {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let log = cluster.folder().join(format!("controller-{number}.log"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_attache"));
        command.env_clear().env("KUBECONFIG", kubeconfig).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(File::create(&log).unwrap());
        command.args(["controller", "--identity", &format!("controller-{number}")]);
        for (flag, value) in [
            ("--namespace", NAMESPACE),
            ("--listen", "127.0.0.1:0"),
            ("--webhook-listen", "off"),
            ("--api-listen", "off"),
        ] {
            if !arguments.contains(&flag) {
                command.args([flag, value]);
            }
        }
        Controller { child: command.args(arguments).spawn().unwrap(), log }
    }

    /// What it logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// The address where it serves something, such as `metrics and health`, as it logged it.
    pub fn address(&self, serves: &str) -> Option<SocketAddr> {
        let log = self.log();
        // The last line may not be complete.
        let mut lines = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let line = lines.find(|line| line.contains(&format!("serves=\"{serves}\"")))?;
        line.split("address=").nth(1)?.split_whitespace().next()?.parse().ok()
    }

    /// Status and body of a GET of `/livez`, `/readyz` or `/metrics`. `None` if nobody answers.
    pub fn get(&self, path: &str) -> Option<(u16, String)> {
        let address = self.address("metrics and health")?;
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let mut response = agent.get(format!("http://{address}{path}")).call().ok()?;
        Some((response.status().as_u16(), response.body_mut().read_to_string().ok()?))
    }

    /// Waits until `/readyz` says so.
    #[track_caller]
    pub fn wait_until_ready(&self) {
        let is_ready = || self.get("/readyz").is_some_and(|(status, _)| status == 200);
        eventually(&format!("the controller is ready; its log is {}", self.log.display()), is_ready);
    }

    /// The sum of a metric over all its labels. A part of the labels may be given as in `name{label="value"`.
    pub fn metric(&self, name: &str) -> f64 {
        let (_, text) = self.get("/metrics").unwrap_or_default();
        let (name, label) = name.split_once('{').unwrap_or((name, ""));
        let is_meant = |line: &&str| {
            let key = line.split(' ').next().unwrap_or_default();
            key.split('{').next() == Some(name) && key.contains(label)
        };
        let values = text.lines().filter(|line| !line.starts_with('#')).filter(is_meant);
        values.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    /// Waits until everything is written, and returns the number of writes so far. A status can be read from the API server
    /// before the controller has counted it.
    #[track_caller]
    pub fn settled_writes(&self) -> f64 {
        let writes = || self.metric("attache_status_writes_total");
        let (mut last, mut since) = (writes(), Instant::now());
        eventually("all statuses are written", || {
            let now = writes();
            if now != last || self.metric("attache_status_queue") > 0.0 {
                (last, since) = (now, Instant::now());
            }
            since.elapsed() > Duration::from_secs(2)
        });
        last
    }

    /// The id of the process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end, and waits.
    pub fn stop(mut self) -> ExitStatus {
        let status = Command::new("kill").args(["-TERM", &self.pid().to_string()]).status().unwrap();
        assert!(status.success());
        self.child.wait().unwrap()
    }

    /// Ends it at once, as a crash does.
    pub fn kill(self) {
        drop(self);
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Creates the namespace of the controller.
pub fn create_namespace(cluster: &TestCluster) {
    cluster.apply(&format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {NAMESPACE}}}}}"));
}
