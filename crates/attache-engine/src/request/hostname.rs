//! The hostname of a route that matches the host of a request.

use crate::object::Object;
use crate::topology::api::RouteKind;
use crate::topology::hostname::{covers, intersect, specificity};
use crate::value::Value;

/// The most specific hostname of a route that matches a host on a listener; empty if the route has no hostnames and so
/// accepts every host of the listener.
pub fn matching_hostname<'o>(route: &'o Object, kind: RouteKind, listener: &str, host: &str) -> Option<&'o str> {
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

/// The specificity of a hostname: its length if it is exact, then its length in any case. The greater rank wins.
pub fn hostname_rank(hostname: &str) -> [usize; 2] {
    let (exact, length) = specificity(hostname);
    [if exact { length } else { 0 }, length]
}
