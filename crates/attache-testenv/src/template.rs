//! An etcd folder with the CRDs of the Gateway API in it: copying it takes a tenth of a second, applying them several.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::{ClusterOptions, Programs, TestEnvError, announce, go};

/// The template of these programs, created on demand.
pub(crate) fn find_or_make(programs: &Programs) -> Result<PathBuf, TestEnvError> {
    let name = programs.gateway_api.file_name().unwrap_or_default().to_string_lossy();
    let template = programs.cache.join(format!("etcd-with-{name}"));
    if template.is_dir() {
        return Ok(template);
    }
    let failed = |error: io::Error| TestEnvError::failed("cannot make a template of etcd", error);
    fs::create_dir_all(&programs.cache).map_err(failed)?;
    let _lock = go::lock(&programs.cache.join("template.lock"))?;
    if template.is_dir() {
        return Ok(template);
    }
    announce("preparing etcd with the CRDs of the Gateway API");
    let mut cluster = ClusterOptions::new().without_gateway_api().try_start()?;
    let folder = programs.gateway_api.to_string_lossy();
    cluster.try_kubectl(&["apply", "--server-side", "-f", &folder])?;
    cluster.try_wait_until_served()?;
    cluster.stop_servers();
    let unfinished = programs.cache.join("etcd-unfinished");
    let _ = fs::remove_dir_all(&unfinished);
    copy(&cluster.folder().join("etcd"), &unfinished).map_err(failed)?;
    fs::rename(&unfinished, &template).map_err(failed)?;
    Ok(template)
}

/// Copies a folder. Zeros become holes: etcd preallocates 128 MB of them.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            copy_sparse(&entry.path(), &target)?;
        }
    }
    // etcd refuses a data folder that others may read.
    fs::set_permissions(to, fs::metadata(from)?.permissions())
}

fn copy_sparse(from: &Path, to: &Path) -> io::Result<()> {
    let (mut from, mut to) = (File::open(from)?, File::create(to)?);
    to.set_len(from.metadata()?.len())?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = from.read(&mut buffer)?;
        match &buffer[..length] {
            [] => return Ok(()),
            chunk if chunk.iter().all(|byte| *byte == 0) => _ = to.seek(SeekFrom::Current(length as i64))?,
            chunk => to.write_all(chunk)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_same_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let mut bytes = vec![0; 300_000];
        bytes[150_000] = 7;
        fs::create_dir_all(from.join("inner")).expect("a folder");
        fs::write(from.join("inner/file"), &bytes).expect("a file");
        copy(&from, &to).expect("a copy");
        assert!(fs::read(to.join("inner/file")).expect("a file") == bytes);
    }
}
