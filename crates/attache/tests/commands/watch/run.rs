//! A run of the program that does not end by itself.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

/// Longer than any machine needs, even under load.
const PATIENCE: Duration = Duration::from_secs(120);

/// A run on `manifests`, which is a copy of the bakery.
pub struct Run {
    pub folder: TempDir,
    child: Child,
    /// Each line, and whether it was printed on standard error.
    lines: Receiver<(bool, String)>,
    pub transcript: [String; 2],
    arguments: String,
}

impl Run {
    pub fn start(arguments: &str) -> Run {
        let folder = tempfile::tempdir().expect("a folder");
        let manifests = folder.path().join("manifests");
        fs::create_dir(&manifests).expect("a folder");
        for entry in fs::read_dir(bakery()).expect("a folder") {
            let from = entry.expect("readable").path();
            fs::copy(&from, manifests.join(from.file_name().expect("a name"))).expect("copied");
        }
        Run::start_in(folder, arguments)
    }

    pub fn start_in(folder: TempDir, arguments: &str) -> Run {
        let mut child = Command::new(env!("CARGO_BIN_EXE_attache"))
            .arg("watch")
            .args(arguments.split_whitespace())
            .current_dir(folder.path())
            .env_clear()
            .env("KUBECONFIG", "/nowhere/kubeconfig")
            .env("COLUMNS", "100")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let (sender, lines) = mpsc::channel();
        let (out, err) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
        let streams: [(bool, Box<dyn Read + Send>); 2] = [(false, Box::new(out)), (true, Box::new(err))];
        for (is_error, stream) in streams {
            let sender = sender.clone();
            thread::spawn(move || {
                for line in BufReader::new(stream).lines() {
                    let _ = sender.send((is_error, line.expect("text")));
                }
            });
        }
        let mut run = Run { folder, child, lines, transcript: Default::default(), arguments: arguments.to_owned() };
        run.wait_for("watching ");
        run
    }

    /// Waits until a line that contains this is printed.
    pub fn wait_for(&mut self, text: &str) {
        self.wait_for_all(&[text]);
    }

    /// The same for several texts, on both streams, in any order.
    pub fn wait_for_all(&mut self, texts: &[&str]) {
        let mut missing = texts.to_vec();
        while !missing.is_empty() {
            let line = self.lines.recv_timeout(PATIENCE);
            assert!(line.is_ok(), "no {missing:?} in\n{}", self.transcript.join("\n"));
            let line = line.expect("a line");
            missing.retain(|text| !line.1.contains(text));
            self.take(line);
        }
    }

    fn take(&mut self, (is_error, line): (bool, String)) {
        self.transcript[usize::from(is_error)] += &format!("{}\n", line.replace('\x1b', "␛"));
    }

    /// Interrupts it, and returns everything that it printed.
    pub fn end(mut self) -> String {
        self.interrupt();
        let [out, err] = &self.transcript;
        format!("$ attache watch {}\n{out}--- stderr\n{err}", self.arguments)
    }

    fn interrupt(&mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill runs").success());
        let status = self.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(0), "{status}");
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.take(line);
        }
    }

    /// Interrupts it, and returns the folder for another run.
    pub fn end_and_keep(mut self, printed: &mut Vec<String>) -> TempDir {
        let empty = tempfile::tempdir().expect("a folder");
        let folder = std::mem::replace(&mut self.folder, empty);
        self.interrupt();
        printed.extend(self.transcript.iter().flat_map(|text| text.lines()).map(str::to_owned));
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("manifests").join(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("readable")
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        // All at once, as a short write of an editor.
        fs::write(path, text).expect("writable");
    }

    pub fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).expect("renamed");
    }

    /// The text of the file with so many attempts.
    pub fn with_attempts(&self, attempts: u32) -> String {
        let text = self.read("policies.yaml");
        let line = text.lines().find(|line| line.contains("attempts: ") && !line.ends_with(": 0")).expect("a line");
        text.replace(line, &format!("      attempts: {attempts}"))
    }

    /// Makes a change that is easy to recognise.
    pub fn change_attempts(&mut self, attempts: u32) {
        self.write("policies.yaml", &self.with_attempts(attempts));
        self.wait_for(&format!("→ {attempts}"));
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn bakery() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bakery")
}
