//! Which listeners can be told apart: those that differ in port, protocol or, where there is one, hostname. A TCP
//! listener takes its port whole, and UDP is another world.

use hashbrown::HashMap;

use super::api::Protocol;
use super::listeners::Listener;
use super::refusal::ListenerConflict;

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

    /// In what a listener conflicts with these claims, `own` of which are its own.
    pub fn conflict(&self, listener: &Listener, own: u32) -> Option<ListenerConflict> {
        let Listener { port, protocol, hostname, .. } = *listener;
        let count = |ports: &HashMap<i64, u32>| ports.get(&port).copied().unwrap_or_default();
        let same = self.names.get(&(port, protocol, hostname)).copied().unwrap_or_default();
        match protocol {
            Protocol::Tcp => (count(&self.streams) > own).then_some(ListenerConflict::Protocol),
            Protocol::Udp => (same > own).then_some(ListenerConflict::Protocol),
            Protocol::Unknown => None,
            _ if count(&self.tcp) > 0 => Some(ListenerConflict::Protocol),
            _ => (same > own).then_some(ListenerConflict::Hostname),
        }
    }
}
