//! Hostnames of listeners and routes: empty for any host, `*.x` for every subdomain of `x` but not `x` itself, or exact.

/// Whether some host matches both hostnames.
pub fn intersect(a: &str, b: &str) -> bool {
    narrower(a, b).is_some()
}

/// The intersection of two hostnames, which is always one of them.
pub fn narrower<'h>(a: &'h str, b: &'h str) -> Option<&'h str> {
    if a.is_empty() || b.is_empty() {
        return Some(if a.is_empty() { b } else { a });
    }
    match (a.strip_prefix('*'), b.strip_prefix('*')) {
        (None, None) => same(a, b).then_some(a),
        (Some(suffix), None) => ends_below(b, suffix).then_some(b),
        (None, Some(suffix)) => ends_below(a, suffix).then_some(a),
        (Some(left), Some(right)) if left.len() >= right.len() => ends_with(left, right).then_some(a),
        (Some(left), Some(right)) => ends_with(right, left).then_some(b),
    }
}

/// Whether a hostname matches a host. The host of a request without one is empty.
pub fn covers(hostname: &str, host: &str) -> bool {
    hostname.is_empty() || !host.is_empty() && intersect(hostname, host)
}

/// Exact hostnames before wildcards, longer ones before shorter: the greatest is the most specific.
pub fn specificity(hostname: &str) -> (bool, usize) {
    let exact = !hostname.is_empty() && !hostname.starts_with('*');
    (exact, hostname.len())
}

/// The text after the `*` of a wildcard; empty for any hostname, `None` for an exact one.
pub fn wildcard(host: &str) -> Option<&str> {
    if host.is_empty() { Some("") } else { host.strip_prefix('*') }
}

/// The suffixes of a hostname that start with a dot, and the empty one: `.b.c`, `.c` and the empty one for `a.b.c` and for
/// `.b.c`.
pub fn suffixes(host: &str) -> impl Iterator<Item = &str> {
    host.match_indices('.').map(|(at, _)| &host[at..]).chain([""])
}

fn ends_below(host: &str, suffix: &str) -> bool {
    host.len() > suffix.len() && ends_with(host, suffix)
}

fn ends_with(host: &str, suffix: &str) -> bool {
    host.len().checked_sub(suffix.len()).and_then(|at| host.get(at..)).is_some_and(|end| same(end, suffix))
}

/// Compares hostnames case-insensitively. Most are equal byte by byte, which is ten times as fast to test.
fn same(a: &str, b: &str) -> bool {
    a == b || a.eq_ignore_ascii_case(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_intersection_is_the_narrower_of_the_two() {
        for (a, b, both) in [
            ("", "", Some("")),
            ("", "a.x", Some("a.x")),
            ("*.x", "", Some("*.x")),
            ("a.x", "a.x", Some("a.x")),
            ("a.x", "b.x", None),
            ("*.x", "a.x", Some("a.x")),
            ("*.x", "b.a.x", Some("b.a.x")),
            ("*.x", "x", None),
            ("*.x", "ax", None),
            ("*.x", "*.a.x", Some("*.a.x")),
            ("*.ax", "*.x", None),
            ("*.a.x", "*.b.x", None),
            ("A.x", "a.X", Some("A.x")),
        ] {
            assert_eq!(narrower(a, b), both, "{a} and {b}");
            assert_eq!(intersect(b, a), both.is_some(), "{b} and {a}");
        }
    }

    #[test]
    fn a_host_without_a_name_is_covered_by_any_only() {
        assert!(covers("", "") && covers("", "a.x") && covers("*.x", "a.x") && covers("a.x", "A.x"));
        assert!(!covers("*.x", "") && !covers("a.x", "") && !covers("*.x", "x"));
    }

    #[test]
    fn exact_hostnames_are_more_specific_than_any_wildcard() {
        let order = ["", "*.x", "*.a.x", "b.x", "b.a.x"];
        assert!(order.is_sorted_by_key(|hostname| specificity(hostname)));
    }

    #[test]
    fn hostnames_that_are_none_do_no_harm() {
        assert!(!intersect("*é", "é"));
        assert!(!intersect("*.x", "é"));
        assert!(intersect("*", "anything"));
    }
}
