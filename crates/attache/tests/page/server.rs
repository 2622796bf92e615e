//! `attache serve` as a separate process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub struct Server {
    child: Child,
    /// `http://127.0.0.1:12345`.
    pub address: String,
}

impl Server {
    /// Serves files. Port 0 is any free port.
    pub fn start(files: &Path, port: u16) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_attache"));
        command.args(["serve", "--listen", &format!("127.0.0.1:{port}"), "-f"]).arg(files);
        Server::run(command)
    }

    /// Serves a cluster.
    pub fn cluster(kubeconfig: &Path) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_attache"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).env("KUBECONFIG", kubeconfig);
        Server::run(command)
    }

    fn run(mut command: Command) -> Server {
        let mut child = command.current_dir(root()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().trim_end_matches('/').to_owned();
        assert!(address.starts_with("http://127.0.0.1:"), "{address}");
        Server { child, address }
    }

    /// Serves a folder of `examples`.
    pub fn example(name: &str) -> Server {
        Server::start(&Path::new("examples").join(name), 0)
    }

    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.rsplit(':').next().unwrap().parse().unwrap()
    }

    /// Sends a request as it is written, and returns the response.
    pub fn send(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address.trim_start_matches("http://")).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        String::from_utf8_lossy(&response).into_owned()
    }

    /// The response to a GET request.
    pub fn get(&self, path: &str) -> String {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
