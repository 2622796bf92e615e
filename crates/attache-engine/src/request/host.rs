//! Which hostname of a route or a listener a request came by.

use crate::object::Object;
use crate::topology::api::RouteKind;
use crate::topology::hostname::{covers, intersect, specificity};
use crate::value::Value;

/// The length of the hostname by which a request comes, if it is exact, and its length in any case.
pub type HostRank = [usize; 2];

pub const HOST_RANK: [&str; 2] = ["has the longer exact hostname", "has the longer hostname"];

/// The most specific of a route's hostnames that a host comes by on a listener; empty if the route takes all hosts
/// of the listener.
pub fn of_route<'o>(route: &'o Object, kind: RouteKind, listener: &str, host: &str) -> Option<&'o str> {
    if !kind.has_hostnames() {
        return Some("");
    }
    let mut hostnames = route.spec().list_at("hostnames").iter().filter_map(Value::as_str).peekable();
    if hostnames.peek().is_none() {
        return Some("");
    }
    hostnames
        .filter(|hostname| intersect(hostname, listener) && covers(hostname, host))
        .max_by_key(|hostname| specificity(hostname))
}

pub fn rank(hostname: &str) -> HostRank {
    let (exact, length) = specificity(hostname);
    [if exact { length } else { 0 }, length]
}
