//! Builds the programs of a control plane from the Go module proxy, once.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Programs, TestEnvError, announce};

const MAIN: &str = include_str!("../kube/main.go");
const MODULE: &str = include_str!("../kube/go.mod");
const CHECKSUMS: &str = include_str!("../kube/go.sum");

/// The release of the Gateway API whose CRDs are installed. Its experimental channel has all five kinds of routes.
const GATEWAY_API: &str = "v1.5.1";

/// The names by which the one binary is called.
const NAMES: [&str; 4] = ["etcd", "kube-apiserver", "kube-controllers", "kubectl"];

pub(crate) fn find_or_build(cache: &Path) -> Result<Programs, TestEnvError> {
    let version = kubernetes_version();
    let key = fnv(&[MAIN, MODULE, CHECKSUMS].map(str::as_bytes));
    let folder = cache.join(format!("kubernetes-{version}-{key:016x}"));
    fs::create_dir_all(&folder).map_err(|error| TestEnvError::failed("cannot create the cache", error))?;
    if !folder.join("kube").is_file() {
        let _lock = lock(&folder.join("lock"))?;
        // Another process may have built it meanwhile.
        if !folder.join("kube").is_file() {
            build(&folder, version)?;
        }
    }
    let [etcd, kube_apiserver, controllers, kubectl] = NAMES.map(|name| folder.join(name));
    let gateway_api = gateway_api_crds(cache)?;
    Ok(Programs { etcd, kube_apiserver, kubectl, controllers: Some(controllers), gateway_api, cache: folder })
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

fn build(folder: &Path, version: &str) -> Result<(), TestEnvError> {
    check_go()?;
    announce(format_args!(
        "building kube-apiserver, etcd and kubectl {version} from the Go module proxy into {}; this is done once and \
         takes about 6 minutes on two cores",
        folder.display()
    ));
    let failed = |error: io::Error| TestEnvError::failed("cannot build the control plane", error);
    let source = folder.join("source");
    fs::create_dir_all(&source).map_err(failed)?;
    for (name, text) in [("main.go", MAIN), ("go.mod", MODULE), ("go.sum", CHECKSUMS)] {
        fs::write(source.join(name), text).map_err(failed)?;
    }
    let unfinished = folder.join("kube.unfinished");
    let mut go = go();
    go.current_dir(&source).args(["build", "-mod=readonly", "-trimpath", "-buildvcs=false"]);
    go.args(["-tags", "grpcnotrace,notest"]);
    // Debug information takes time to produce, and nobody debugs these programs here.
    go.arg("-gcflags=all=-dwarf=false");
    // Without it, the server says that its version is v0.0.0.
    go.arg(format!("-ldflags=-s -w -X k8s.io/component-base/version.gitVersion={version}"));
    go.arg("-o").arg(&unfinished).arg(".");
    // The compiler allocates a lot: fewer collections take less time and more memory, some 2 GB.
    go.env("GOGC", "400");
    run_with_progress(go)?;
    for name in NAMES {
        let link = folder.join(name);
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink("kube", &link).map_err(failed)?;
    }
    fs::rename(&unfinished, folder.join("kube")).map_err(failed)
}

/// The folder with the CRDs of the Gateway API, from the Go module proxy.
pub(crate) fn gateway_api_crds(cache: &Path) -> Result<PathBuf, TestEnvError> {
    let folder = cache.join(format!("gateway-api-{GATEWAY_API}"));
    if folder.is_dir() {
        return Ok(folder);
    }
    check_go()?;
    announce(format_args!("downloading the CRDs of the Gateway API {GATEWAY_API}"));
    let failed = |error: &dyn std::fmt::Display| TestEnvError::failed("cannot get the CRDs of the Gateway API", error);
    // Not in a folder with a go.mod, which Go would take into account.
    let mut go = go();
    go.current_dir(cache).args(["mod", "download", "-json", &format!("sigs.k8s.io/gateway-api@{GATEWAY_API}")]);
    let output = go.output().map_err(|error| failed(&error))?;
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|error| failed(&error))?;
    let Some(module) = answer["Dir"].as_str() else {
        return Err(failed(&answer["Error"].as_str().unwrap_or("Go does not say where it put them")));
    };
    let unfinished = tempfile::tempdir_in(cache).map_err(|error| failed(&error))?;
    let copy = || {
        for file in fs::read_dir(Path::new(module).join("config/crd/experimental"))? {
            let file = file?.path();
            // A kustomization is beside the CRDs, which `kubectl apply` does not understand.
            let name = file.file_name().unwrap_or_default();
            if name.to_string_lossy().starts_with("gateway") {
                fs::write(unfinished.path().join(name), fs::read(&file)?)?;
            }
        }
        match fs::rename(unfinished.path(), &folder) {
            // Another process was faster.
            Err(_) if folder.is_dir() => Ok(()),
            renamed => renamed,
        }
    };
    copy().map_err(|error: io::Error| failed(&error))?;
    Ok(folder)
}

fn check_go() -> Result<(), TestEnvError> {
    let unavailable = |why: &str| {
        Err(TestEnvError::Unavailable(format!(
            "{why}: install Go {}, or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver and kubectl",
            go_version()
        )))
    };
    match go().args(["env", "GOVERSION"]).output() {
        Err(_) => unavailable("there is no Go"),
        Ok(output) => {
            let version = String::from_utf8_lossy(&output.stdout).trim().trim_start_matches("go").to_owned();
            let number = |version: &str| -> Vec<u32> { version.split('.').take(2).flat_map(str::parse).collect() };
            if number(&version) < number(go_version()) {
                unavailable(&format!("Go {version} is too old"))
            } else {
                Ok(())
            }
        }
    }
}

fn go() -> Command {
    let mut go = Command::new("go");
    go.env("CGO_ENABLED", "0").env("GOTOOLCHAIN", "local").env("GOWORK", "off").env("GOFLAGS", "");
    go.stdin(Stdio::null());
    go
}

fn run_with_progress(mut go: Command) -> Result<(), TestEnvError> {
    let failed = |error: &dyn std::fmt::Display| TestEnvError::failed("cannot build the control plane", error);
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

/// As `go.mod` says.
fn kubernetes_version() -> &'static str {
    let required = MODULE.lines().find_map(|line| line.strip_prefix("require k8s.io/kubernetes "));
    required.unwrap_or_default().trim()
}

fn go_version() -> &'static str {
    MODULE.lines().find_map(|line| line.strip_prefix("go ")).unwrap_or_default().trim()
}

/// The hash FNV-1a: unlike the standard library's it never changes, and a change would mean a build.
pub(crate) fn fnv(parts: &[&[u8]]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.iter());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
