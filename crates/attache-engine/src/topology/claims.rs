//! Which listeners can be told apart: those that differ in port, protocol or, where there is one, hostname. A TCP
//! listener takes its port whole, and UDP is another world.

use hashbrown::HashMap;

use super::api::Protocol;
use super::listeners::Listener;

/// How many listeners claim what.
#[derive(Debug, Default)]
pub struct Claims<'o> {
    names: HashMap<(i64, Protocol, &'o str), u32>,
    tcp: HashMap<i64, u32>,
    /// Everything that runs over TCP.
    streams: HashMap<i64, u32>,
}

impl<'o> Claims<'o> {
    pub fn add(&mut self, listener: &Listener<'o>) {
        let Listener { port, protocol, hostname, .. } = *listener;
        *self.names.entry((port, protocol, hostname)).or_default() += 1;
        match protocol {
            Protocol::Tcp => {
                *self.tcp.entry(port).or_default() += 1;
                *self.streams.entry(port).or_default() += 1;
            }
            Protocol::Http | Protocol::Https | Protocol::Tls => *self.streams.entry(port).or_default() += 1,
            Protocol::Udp | Protocol::Unknown => {}
        }
    }

    /// With which reason a listener conflicts with more of the claims than the `own` that are its own.
    pub fn conflict(&self, listener: &Listener, own: u32) -> Option<&'static str> {
        let Listener { port, protocol, hostname, .. } = *listener;
        let count = |ports: &HashMap<i64, u32>| ports.get(&port).copied().unwrap_or_default();
        let same = self.names.get(&(port, protocol, hostname)).copied().unwrap_or_default();
        match protocol {
            Protocol::Tcp => (count(&self.streams) > own).then_some("ProtocolConflict"),
            Protocol::Udp => (same > own).then_some("ProtocolConflict"),
            Protocol::Unknown => None,
            _ if count(&self.tcp) > 0 => Some("ProtocolConflict"),
            _ => (same > own).then_some("HostnameConflict"),
        }
    }
}
