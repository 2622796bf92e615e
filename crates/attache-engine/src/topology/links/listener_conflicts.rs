//! Listeners of a Gateway that conflict: those with the same port, protocol and, where the protocol has them, hostname. A
//! TCP listener conflicts with every other listener on its port, except for UDP.

use hashbrown::HashMap;

use crate::topology::api::Protocol;
use crate::topology::listeners::Listener;
use crate::topology::refusal::ListenerConflict;

/// How many listeners claim each port, protocol and hostname.
#[derive(Debug, Default)]
pub struct ListenerClaims<'o> {
    names: HashMap<(i64, Protocol, &'o str), u32>,
    /// TCP listeners by port.
    tcp: HashMap<i64, u32>,
    /// Listeners of all protocols over TCP by port.
    streams: HashMap<i64, u32>,
}

impl<'o> ListenerClaims<'o> {
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
