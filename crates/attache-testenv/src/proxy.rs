//! A proxy that injects faults between a client and a real API server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::{HttpClient, TestCluster};

/// A fault of a request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// None: the API server responds.
    None,
    /// The API server responds later.
    Delay(Duration),
    /// The connection is cut after so many bytes of the response.
    CutAfter(usize),
    /// The proxy responds itself.
    Answer {
        /// The HTTP status code.
        status: u16,
        /// A header, as in `Retry-After: 1`.
        header: Option<&'static str>,
        /// The body.
        body: String,
    },
}

impl Fault {
    /// A refusal in the format of the API server.
    pub fn refusal(status: u16, message: &str) -> Fault {
        let body =
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": status});
        Fault::Answer { status, header: None, body: body.to_string() }
    }
}

/// A proxy in front of the API server of a test that injects faults. It has the permissions of a cluster administrator.
#[derive(Debug)]
pub struct FaultProxy {
    kubeconfig: PathBuf,
}

impl FaultProxy {
    /// Starts a proxy. `fault` selects the fault by the path and query of a request. The proxy ends with the test
    /// process.
    pub fn start(cluster: &TestCluster, fault: impl Fn(&str) -> Fault + Send + Sync + 'static) -> FaultProxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("{error}"));
        let address = listener.local_addr().unwrap_or_else(|error| panic!("{error}"));
        let (client, fault) = (cluster.http().clone(), Arc::new(fault));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (client, fault) = (client.clone(), Arc::clone(&fault));
                // A client may close the connection at any time.
                std::thread::spawn(move || _ = answer(stream, &client, &*fault));
            }
        });
        let kubeconfig = cluster.folder().join(format!("proxy-{}.kubeconfig", address.port()));
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {"server": format!("http://{address}")}}],
            "users": [],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": ""}}],
            "current-context": "test",
        });
        std::fs::write(&kubeconfig, config.to_string()).unwrap_or_else(|error| panic!("{error}"));
        FaultProxy { kubeconfig }
    }

    /// A kubeconfig that uses the proxy.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

fn answer(stream: TcpStream, client: &HttpClient, fault: &dyn Fn(&str) -> Fault) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let (mut accept, mut length) = (String::new(), 0);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        match header.trim().split_once(':') {
            None => break,
            Some((name, value)) if name.eq_ignore_ascii_case("accept") => accept = value.trim().to_owned(),
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().unwrap_or(0)
            }
            Some(_) => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut limit = usize::MAX;
    match fault(&path) {
        Fault::None => {}
        Fault::Delay(delay) => std::thread::sleep(delay),
        Fault::CutAfter(bytes) => limit = bytes,
        Fault::Answer { status, header, body } => {
            let header = header.map(|header| format!("{header}\r\n")).unwrap_or_default();
            let length = body.len();
            return write!(
                &stream,
                "HTTP/1.1 {status} Fault\r\nContent-Type: application/json\r\nConnection: close\r\n{header}\
                 Content-Length: {length}\r\n\r\n{body}"
            );
        }
    }
    let opened = client.open(&method, &path, &accept, body);
    let (status, mut body) = opened.map_err(|error| std::io::Error::other(error.to_string()))?;
    // Chunks, so that a cut response differs from one that has ended.
    write!(
        &stream,
        "HTTP/1.1 {status} OK\r\nContent-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    )?;
    let mut buffer = [0; 1 << 14];
    loop {
        let length = body.read(&mut buffer)?.min(limit);
        limit -= length;
        write!(&stream, "{length:x}\r\n")?;
        (&stream).write_all(&buffer[..length])?;
        write!(&stream, "\r\n")?;
        if length == 0 || limit == 0 {
            return Ok(());
        }
    }
}
