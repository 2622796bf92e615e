//! Builds programs from the Go module proxy into the cache, each once.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{TestEnvError, announce};

/// A Go program whose modules are pinned by `go.mod` and `go.sum`.
pub(crate) struct GoProgram {
    /// The name of the binary.
    pub(crate) name: &'static str,
    /// What the user reads while it is built.
    pub(crate) description: &'static str,
    /// The name and the version in the cache.
    pub(crate) release: String,
    /// `go.mod`, `go.sum` and sources, by their file names.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// The package to build.
    pub(crate) package: &'static str,
    /// The variable that holds the version, which is set when the program is linked.
    pub(crate) version_variable: &'static str,
    /// The value of this variable.
    pub(crate) version: &'static str,
    /// What else the user can do where there is no Go, as the end of a sentence.
    pub(crate) instead: &'static str,
}

impl GoProgram {
    /// The folder in the cache that has the binary. `prepare` is called in this folder before the binary is put there.
    pub(crate) fn find_or_build(
        &self,
        cache: &Path,
        prepare: impl Fn(&Path) -> io::Result<()>,
    ) -> Result<PathBuf, TestEnvError> {
        let texts: Vec<&[u8]> = self.files.iter().map(|(_, text)| text.as_bytes()).collect();
        let folder = cache.join(format!("{}-{:016x}", self.release, fnv(&texts)));
        fs::create_dir_all(&folder).map_err(|error| TestEnvError::failed("cannot create the cache", error))?;
        if !folder.join(self.name).is_file() {
            let _lock = lock(&folder.join("lock"))?;
            // Another process may have built it meanwhile.
            if !folder.join(self.name).is_file() {
                self.build(&folder, prepare)?;
            }
        }
        Ok(folder)
    }

    fn build(&self, folder: &Path, prepare: impl Fn(&Path) -> io::Result<()>) -> Result<(), TestEnvError> {
        let module = self.files.iter().find(|(name, _)| *name == "go.mod").map_or("", |(_, text)| text);
        check_go(line_after(module, "go "), self.instead)?;
        announce(format_args!(
            "building {} from the Go module proxy into {}; this is done once",
            self.description,
            folder.display()
        ));
        let failed = |error: io::Error| TestEnvError::failed(&format!("cannot build {}", self.name), error);
        let source = folder.join("source");
        fs::create_dir_all(&source).map_err(failed)?;
        for (name, text) in self.files {
            fs::write(source.join(name), text).map_err(failed)?;
        }
        let unfinished = folder.join(format!("{}.unfinished", self.name));
        let mut go = go();
        go.current_dir(&source).args(["build", "-mod=readonly", "-trimpath", "-buildvcs=false"]);
        go.args(["-tags", "grpcnotrace,notest"]);
        // Debug information takes time to produce, and nobody debugs these programs here.
        go.arg("-gcflags=all=-dwarf=false");
        // Without it, the programs say that their version is v0.0.0.
        go.arg(format!("-ldflags=-s -w -X {}={}", self.version_variable, self.version));
        go.arg("-o").arg(&unfinished).arg(self.package);
        // The compiler allocates a lot: fewer collections take less time and more memory, some 2 GB.
        go.env("GOGC", "400");
        run_with_progress(go, self.name)?;
        prepare(folder).map_err(failed)?;
        fs::rename(&unfinished, folder.join(self.name)).map_err(failed)
    }
}

/// The rest of the line that starts with `prefix`.
pub(crate) fn line_after<'a>(text: &'a str, prefix: &str) -> &'a str {
    text.lines().find_map(|line| line.trim().strip_prefix(prefix)).unwrap_or_default().trim()
}

/// Waits until no other process holds the lock, which is released when the file is closed.
pub(crate) fn lock(path: &Path) -> Result<File, TestEnvError> {
    let failed = |error: io::Error| TestEnvError::failed(&path.display().to_string(), error);
    let file = File::create(path).map_err(failed)?;
    if file.try_lock().is_err() {
        announce("waiting for another process that prepares the test environment");
        file.lock().map_err(failed)?;
    }
    Ok(file)
}

pub(crate) fn check_go(needed: &str, instead: &str) -> Result<(), TestEnvError> {
    let unavailable =
        |why: &str| Err(TestEnvError::Unavailable(format!("{why}: install Go {needed} or newer{instead}")));
    match go().args(["env", "GOVERSION"]).output() {
        Err(_) => unavailable("there is no Go"),
        Ok(output) => {
            let version = String::from_utf8_lossy(&output.stdout).trim().trim_start_matches("go").to_owned();
            let number = |version: &str| -> Vec<u32> { version.split('.').take(2).flat_map(str::parse).collect() };
            if number(&version) < number(needed) { unavailable(&format!("Go {version} is too old")) } else { Ok(()) }
        }
    }
}

pub(crate) fn go() -> Command {
    let mut go = Command::new("go");
    go.env("CGO_ENABLED", "0").env("GOTOOLCHAIN", "local").env("GOWORK", "off").env("GOFLAGS", "");
    go.stdin(Stdio::null());
    go
}

fn run_with_progress(mut go: Command, name: &str) -> Result<(), TestEnvError> {
    let failed = |error: &dyn std::fmt::Display| TestEnvError::failed(&format!("cannot build {name}"), error);
    let start = Instant::now();
    let mut child = go.stderr(Stdio::piped()).spawn().map_err(|error| failed(&error))?;
    let mut stderr = child.stderr.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = stderr.as_mut().map(|stderr| stderr.read_to_string(&mut text));
        text
    });
    let mut next = Duration::from_secs(60);
    let status = loop {
        match child.try_wait().map_err(|error| failed(&error))? {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(200)),
        }
        if start.elapsed() >= next {
            announce(format_args!("still building after {} minutes", next.as_secs() / 60));
            next += Duration::from_secs(60);
        }
    };
    let text = reader.join().unwrap_or_default();
    if !status.success() {
        let lines = text.lines().filter(|line| !line.starts_with("go: downloading"));
        return Err(failed(&lines.collect::<Vec<_>>().join("\n")));
    }
    announce(format_args!("built in {} seconds", start.elapsed().as_secs()));
    Ok(())
}

/// The hash FNV-1a: unlike the standard library's it never changes, and a change would mean a build.
pub(crate) fn fnv(parts: &[&[u8]]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.iter());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
