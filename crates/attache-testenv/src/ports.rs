//! Ports on loopback that belong to one cluster.

use std::fs::File;
use std::net::TcpListener;

use crate::TestEnvError;

/// Below the ports that the kernel assigns to outgoing connections, so that a restarted server finds its port free.
const RANGE: std::ops::Range<u16> = 20_000..32_000;

/// A port that no other test process on this machine uses while this value exists.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) number: u16,
    /// Released when the file is closed. The file stays: removing it could remove the lock of another process.
    _lock: File,
}

impl Port {
    pub(crate) fn reserve() -> Result<Port, TestEnvError> {
        for number in RANGE {
            let file = std::env::temp_dir().join(format!("attache-testenv-port-{number}.lock"));
            let Ok(lock) = File::create(file) else { continue };
            if lock.try_lock().is_ok() && TcpListener::bind(("127.0.0.1", number)).is_ok() {
                return Ok(Port { number, _lock: lock });
            }
        }
        Err(TestEnvError::Failed(format!("there is no free port between {} and {}", RANGE.start, RANGE.end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_clusters_never_get_the_same_port() {
        let ports: Vec<Port> = (0..20).map(|_| Port::reserve().expect("there are enough ports")).collect();
        let mut numbers: Vec<u16> = ports.iter().map(|port| port.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 20);
    }
}
