//! Response bodies that are sent while they are computed.

use std::convert::Infallible;
use std::io::{self, Write};

use axum::body::{Body, Bytes};
use futures_util::stream;
use tokio::sync::mpsc;

/// The size of a chunk, in bytes.
const CHUNK: usize = 64 << 10;

/// Sends what is written to it as the body of a response. It blocks while a client reads slowly, so that a response never
/// takes more memory than some chunks: use it outside of the threads of the async runtime.
#[derive(Debug)]
pub struct ChunkWriter {
    sender: mpsc::Sender<Bytes>,
    chunk: Vec<u8>,
}

/// A channel for the chunks of a body.
pub fn chunks() -> (mpsc::Sender<Bytes>, Body) {
    let (sender, receiver) = mpsc::channel(4);
    let next = |mut receiver: mpsc::Receiver<Bytes>| async move {
        receiver.recv().await.map(|bytes| (Ok::<Bytes, Infallible>(bytes), receiver))
    };
    (sender, Body::from_stream(stream::unfold(receiver, next)))
}

impl ChunkWriter {
    /// Sends chunks to a channel.
    pub fn new(sender: mpsc::Sender<Bytes>) -> ChunkWriter {
        ChunkWriter { sender, chunk: Vec::new() }
    }
}

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.chunk.extend_from_slice(bytes);
        if self.chunk.len() >= CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    /// Fails if the client has disconnected.
    fn flush(&mut self) -> io::Result<()> {
        let chunk = std::mem::take(&mut self.chunk);
        if chunk.is_empty() {
            return Ok(());
        }
        self.sender.blocking_send(chunk.into()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
