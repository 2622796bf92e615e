//! Conflicts between listeners of a Gateway, as the Gateway API defines them: on one port, HTTP listeners, or HTTPS and
//! TLS listeners, must differ in their hostname. No other protocols can share a port, except UDP with protocols over
//! TCP.

use hashbrown::HashMap;

use crate::topology::api::Protocol;
use crate::topology::listeners::Listener;
use crate::topology::refusal::ListenerConflict;

/// Protocols that can share a port, if the hostnames differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PortUse {
    Http,
    /// HTTPS and TLS: the hostname is part of the TLS handshake.
    Tls,
    Tcp,
    Udp,
}

impl PortUse {
    fn new(protocol: Protocol) -> Option<PortUse> {
        Some(match protocol {
            Protocol::Http => PortUse::Http,
            Protocol::Https | Protocol::Tls => PortUse::Tls,
            Protocol::Tcp => PortUse::Tcp,
            Protocol::Udp => PortUse::Udp,
            Protocol::Unknown => return None,
        })
    }

    /// The other uses of a port that this one conflicts with.
    fn rivals(self) -> &'static [PortUse] {
        match self {
            PortUse::Http => &[PortUse::Tls, PortUse::Tcp],
            PortUse::Tls => &[PortUse::Http, PortUse::Tcp],
            PortUse::Tcp => &[PortUse::Http, PortUse::Tls],
            PortUse::Udp => &[],
        }
    }
}

/// The number of listeners that claim each port, by protocol and hostname.
#[derive(Debug, Default)]
pub struct ListenerClaims<'o> {
    names: HashMap<(i64, PortUse, &'o str), u32>,
    uses: HashMap<(i64, PortUse), u32>,
}

impl<'o> ListenerClaims<'o> {
    pub fn add(&mut self, listener: &Listener<'o>) {
        let Listener { port, protocol, hostname, .. } = *listener;
        if let Some(port_use) = PortUse::new(protocol) {
            *self.names.entry((port, port_use, hostname)).or_default() += 1;
            *self.uses.entry((port, port_use)).or_default() += 1;
        }
    }

    /// Whether a TCP or UDP listener shares its port with another of the same protocol.
    pub fn has_stream(&self, listener: &Listener) -> bool {
        let port_use = PortUse::new(listener.protocol).filter(|it| matches!(it, PortUse::Tcp | PortUse::Udp));
        port_use.is_some_and(|port_use| self.uses.contains_key(&(listener.port, port_use)))
    }

    /// The conflict of a listener with these claims, `own` of which are its own.
    pub fn conflict(&self, listener: &Listener, own: u32) -> Option<ListenerConflict> {
        let Listener { port, protocol, hostname, .. } = *listener;
        let port_use = PortUse::new(protocol)?;
        if port_use.rivals().iter().any(|rival| self.uses.contains_key(&(port, *rival))) {
            return Some(ListenerConflict::Protocol);
        }
        // Listeners without hostnames have the empty one.
        let same = self.names.get(&(port, port_use, hostname)).copied().unwrap_or_default();
        (same > own).then_some(if protocol.has_hostnames() {
            ListenerConflict::Hostname
        } else {
            ListenerConflict::Protocol
        })
    }
}
