//! The processes of a cluster, and the watchdog that ends them.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;

use crate::TestEnvError;

/// Kills the processes of a cluster and removes its folder when the test process ends for any reason: its standard
/// input is then closed. Until then it reads the ids of processes.
const WATCHDOG: &str = r#"
processes=
while read -r change process; do
    case $change in
        started) processes="$processes $process" ;;
        ended) processes=$(for p in $processes; do [ "$p" = "$process" ] || printf ' %s' "$p"; done) ;;
    esac
done
[ -z "$processes" ] || kill -9 $processes 2>/dev/null
rm -rf "$1"
"#;

/// A process that outlives the test process until it has cleaned up.
#[derive(Debug)]
pub(crate) struct Watchdog {
    child: Child,
    input: Mutex<Option<ChildStdin>>,
}

impl Watchdog {
    /// Watches over the cluster in `folder`.
    pub(crate) fn start(folder: &Path) -> Result<Watchdog, TestEnvError> {
        let mut sh = Command::new("sh");
        sh.args(["-c", WATCHDOG, "watchdog"]).arg(folder).stdin(Stdio::piped()).stdout(Stdio::null());
        // Ctrl-C in a terminal is for the tests only. The watchdog notices their end.
        sh.stderr(Stdio::null()).process_group(0);
        let mut child = sh.spawn().map_err(|error| TestEnvError::failed("cannot start `sh`", error))?;
        let input = Mutex::new(child.stdin.take());
        Ok(Watchdog { child, input })
    }

    fn tell(&self, change: &str, process: u32) {
        if let Ok(mut input) = self.input.lock()
            && let Some(input) = input.as_mut()
        {
            let _ = writeln!(input, "{change} {process}");
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Ok(mut input) = self.input.lock() {
            input.take();
        }
        let _ = self.child.wait();
    }
}

/// A server that can be killed and restarted with the same arguments.
#[derive(Debug)]
pub(crate) struct Server {
    program: PathBuf,
    arguments: Vec<String>,
    log: PathBuf,
    child: Option<Child>,
}

impl Server {
    pub(crate) fn new(program: &Path, arguments: Vec<String>, log: PathBuf) -> Server {
        Server { program: program.to_owned(), arguments, log, child: None }
    }

    pub(crate) fn start(&mut self, watchdog: &Watchdog) -> Result<(), TestEnvError> {
        let failed = |error: std::io::Error| TestEnvError::failed(&self.program.display().to_string(), error);
        let log: File = OpenOptions::new().create(true).append(true).open(&self.log).map_err(failed)?;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::null()).stdout(log.try_clone().map_err(failed)?).stderr(log);
        let child = command.process_group(0).spawn().map_err(failed)?;
        watchdog.tell("started", child.id());
        self.child = Some(child);
        Ok(())
    }

    /// Ends the process at once, so that it cannot clean up.
    pub(crate) fn kill(&mut self, watchdog: &Watchdog) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
            watchdog.tell("ended", child.id());
        }
    }

    /// Sends a signal by its name, as in `STOP`.
    pub(crate) fn signal(&self, name: &str) {
        if let Some(child) = &self.child {
            let _ = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status();
        }
    }

    /// Why the process has ended, if it should be running.
    pub(crate) fn unexpected_end(&mut self) -> Option<String> {
        let status = self.child.as_mut()?.try_wait().ok()??;
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(10)..].join("\n");
        Some(format!("{} ended ({status}):\n{tail}", self.program.display()))
    }
}
