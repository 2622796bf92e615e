//! HTTPRoutes and GRPCRoutes on one listener: where their hostnames meet, only the older is let in.

use hashbrown::HashSet;

use super::api::{GATEWAY_API, RouteKind};
use super::gateways;
use super::index::Index;
use super::listeners::Listener;
use super::refusal::ParentRefusal;
use super::routes::RouteView;
use crate::object::ObjectId;

/// Controllers that let in both, as their own tests show, although the Gateway API says that they must not.
const LENIENT: [&str; 2] = ["gateway.envoyproxy.io/", "kgateway.dev/"];

/// Whether the routes of the listeners of a Gateway or ListenerSet have to compete.
pub fn is_held(index: &Index, owner: ObjectId) -> bool {
    let owner = &index.objects[owner];
    let gateway = match owner.id.kind.as_str() {
        "Gateway" => Some(owner),
        _ => gateways::parent(owner).and_then(|parent| parent.find(index.objects)).map(|id| &index.objects[id]),
    };
    let class = gateway.and_then(|gateway| gateway.spec().get_str("gatewayClassName")).unwrap_or_default();
    let class = index.objects.lookup(GATEWAY_API, "GatewayClass", "", class);
    let controller = class.and_then(|class| index.objects[class].spec().get_str("controllerName"));
    !controller.is_some_and(|controller| LENIENT.iter().any(|prefix| controller.starts_with(prefix)))
}

/// Which of the routes that attach to a listener must go, and for whom.
pub fn losers(index: &Index, listener: &Listener, mut routes: Vec<ObjectId>) -> Vec<(ObjectId, ParentRefusal)> {
    routes.sort_by(|a, b| index.objects[*a].by_age(&index.objects[*b]));
    let mut http = Hosts::default();
    let mut grpc = Hosts::default();
    let mut losers = Vec::new();
    for id in routes {
        let Some(guest) = RouteView::of(index, &index.objects[id]) else { continue };
        let (own, others, older) = match guest.kind {
            RouteKind::Http => (&mut http, &grpc, RouteKind::Grpc),
            _ => (&mut grpc, &http, RouteKind::Http),
        };
        let hosts = guest.hostnames_on(listener);
        match hosts.iter().find(|host| others.meets(host)) {
            None => hosts.iter().for_each(|host| own.insert(host)),
            Some(host) => {
                let (hostname, listener) = ((*host).into(), listener.name.into());
                losers.push((id, ParentRefusal::Conflicted { older, hostname, listener }));
            }
        }
    }
    losers
}

/// A set of hostnames that knows in a few steps whether another meets one of them.
#[derive(Debug, Default)]
struct Hosts<'o> {
    exact: HashSet<&'o str>,
    /// What follows the `*`; empty for any host.
    wildcards: HashSet<&'o str>,
    /// Every `.suffix` of them all, and the empty one.
    suffixes: HashSet<&'o str>,
}

impl<'o> Hosts<'o> {
    fn insert(&mut self, host: &'o str) {
        match wildcard(host) {
            Some(suffix) => {
                self.wildcards.insert(suffix);
                self.suffixes.extend(suffixes(suffix));
            }
            None => {
                self.exact.insert(host);
                self.suffixes.extend(suffixes(host));
            }
        }
    }

    fn meets(&self, host: &str) -> bool {
        match wildcard(host) {
            Some(suffix) => {
                self.suffixes.contains(suffix) || suffixes(suffix).any(|above| self.wildcards.contains(above))
            }
            None => self.exact.contains(host) || suffixes(host).any(|above| self.wildcards.contains(above)),
        }
    }
}

/// What follows the `*`; empty for any host.
pub fn wildcard(host: &str) -> Option<&str> {
    if host.is_empty() { Some("") } else { host.strip_prefix('*') }
}

/// `.b.c`, `.c` and the empty one, for `a.b.c` as for `.b.c`.
pub fn suffixes(host: &str) -> impl Iterator<Item = &str> {
    host.match_indices('.').map(|(at, _)| &host[at..]).chain([""])
}
