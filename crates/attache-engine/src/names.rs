//! How people write the names of kinds (`httproute`, `HTTPRoutes`, `gw`, `retrypolicy.example.io`), and what
//! they may have meant by a name that does not exist.

use std::fmt;

/// The group and kind of everything that is commonly asked for, with the short names that kubectl knows.
const KNOWN: &[(&str, &str, &[&str])] = &[
    ("", "Namespace", &["ns"]),
    ("", "Pod", &["po"]),
    ("", "Secret", &[]),
    ("", "Service", &["svc"]),
    ("apiextensions.k8s.io", "CustomResourceDefinition", &["crd", "crds"]),
    ("apps", "DaemonSet", &["ds"]),
    ("apps", "Deployment", &["deploy"]),
    ("apps", "ReplicaSet", &["rs"]),
    ("apps", "StatefulSet", &["sts"]),
    ("gateway.networking.k8s.io", "BackendTLSPolicy", &["btlspolicy"]),
    ("gateway.networking.k8s.io", "GRPCRoute", &[]),
    ("gateway.networking.k8s.io", "Gateway", &["gtw", "gw"]),
    ("gateway.networking.k8s.io", "GatewayClass", &["gc"]),
    ("gateway.networking.k8s.io", "HTTPRoute", &[]),
    ("gateway.networking.k8s.io", "ListenerSet", &["lset"]),
    ("gateway.networking.k8s.io", "ReferenceGrant", &["refgrant"]),
    ("gateway.networking.k8s.io", "TCPRoute", &[]),
    ("gateway.networking.k8s.io", "TLSRoute", &[]),
    ("gateway.networking.k8s.io", "UDPRoute", &[]),
    ("gateway.networking.x-k8s.io", "XListenerSet", &["lset"]),
];

/// Group and kind of the kinds that need no definition in the input.
pub fn known_kinds<'a>() -> impl Iterator<Item = (&'a str, &'a str)> {
    KNOWN.iter().map(|(group, kind, _)| (*group, *kind))
}

/// A kind as somebody wrote it: in any case, singular, plural or short, with or without its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindQuery {
    word: String,
    group: Option<String>,
}

impl KindQuery {
    pub fn parse(text: &str) -> KindQuery {
        match text.split_once('.') {
            Some((word, group)) => KindQuery { word: word.to_lowercase(), group: Some(group.to_lowercase()) },
            None => KindQuery { word: text.to_lowercase(), group: None },
        }
    }

    pub fn matches(&self, group: &str, kind: &str) -> bool {
        self.group.as_ref().is_none_or(|wanted| wanted == group) && self.matches_word(group, kind)
    }

    fn matches_word(&self, group: &str, kind: &str) -> bool {
        let kind = kind.to_lowercase();
        self.word == kind
            || self.word == plural(&kind)
            || KNOWN.iter().any(|(known_group, known, short)| {
                *known_group == group && known.eq_ignore_ascii_case(&kind) && short.contains(&self.word.as_str())
            })
    }
}

impl fmt::Display for KindQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.word)?;
        self.group.as_ref().map_or(Ok(()), |group| write!(f, ".{group}"))
    }
}

/// `Kind.group`, or `Kind` for the core group.
pub fn qualified(group: &str, kind: &str) -> String {
    if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") }
}

/// The English plural, by the rule that Kubernetes guesses with.
pub fn plural(kind: &str) -> String {
    match kind.strip_suffix(['y', 'Y']) {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ if ["s", "x", "z", "ch", "sh"].iter().any(|end| kind.ends_with(end)) => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}

/// The candidates nearest to `word`, nearest first, at most three; none if nothing is like it.
pub fn nearest<T: AsRef<str>>(word: &str, candidates: impl IntoIterator<Item = T>) -> Vec<T> {
    let word = word.to_lowercase();
    let mut near: Vec<(usize, T)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let text = candidate.as_ref().to_lowercase();
            let distance = distance(&word, &text);
            let allowed = word.chars().count().max(text.chars().count()).div_ceil(3).min(4);
            let contained = word.len() >= 3 && text.contains(&word);
            (distance <= allowed || contained).then_some((distance, candidate))
        })
        .collect();
    near.sort_by(|(a, left), (b, right)| a.cmp(b).then_with(|| left.as_ref().cmp(right.as_ref())));
    near.dedup_by(|(_, a), (_, b)| a.as_ref() == b.as_ref());
    let nearest = near.first().map_or(0, |(distance, _)| *distance);
    near.retain(|(distance, _)| *distance <= nearest + nearest / 2);
    near.into_iter().take(3).map(|(_, candidate)| candidate).collect()
}

/// How many letters are to be changed, added, left out or swapped.
fn distance(a: &str, b: &str) -> usize {
    // How both start and end makes no difference, and of many names the most are little else.
    let same = |(a, b): &(char, char)| a == b;
    let start = a.chars().zip(b.chars()).take_while(same).map(|(letter, _)| letter.len_utf8()).sum::<usize>();
    let (a, b) = (&a[start..], &b[start..]);
    let ends = a.chars().rev().zip(b.chars().rev());
    let end = ends.take_while(same).map(|(letter, _)| letter.len_utf8()).sum::<usize>();
    strsim::damerau_levenshtein(&a[..a.len() - end], &b[..b.len() - end])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn how_both_start_and_end_makes_no_difference(a in "[abé]{0,8}", b in "[abé]{0,8}") {
            prop_assert_eq!(distance(&a, &b), strsim::damerau_levenshtein(&a, &b));
        }
    }

    const GATEWAY: &str = "gateway.networking.k8s.io";

    #[test]
    fn a_kind_is_known_by_all_its_names() {
        for name in ["httproute", "HTTPRoutes", "HttpRoute", "httproute.gateway.networking.k8s.io"] {
            assert!(KindQuery::parse(name).matches(GATEWAY, "HTTPRoute"), "{name}");
        }
        assert!(KindQuery::parse("gw").matches(GATEWAY, "Gateway"));
        assert!(KindQuery::parse("gatewayclasses").matches(GATEWAY, "GatewayClass"));
        assert!(KindQuery::parse("retrypolicies").matches("example.io", "RetryPolicy"));
        assert!(!KindQuery::parse("gw").matches("networking.istio.io", "Gateway"));
        assert!(!KindQuery::parse("retrypolicy.other.io").matches("example.io", "RetryPolicy"));
    }

    #[test]
    fn the_nearest_names_come_first_and_strangers_not_at_all() {
        assert_eq!(nearest("caeks", ["pies", "cakes", "cake", "gateway"]), ["cakes"]);
        assert_eq!(nearest("route", ["httproute", "service"]), ["httproute"]);
        assert!(nearest("zebra", ["cakes", "pies"]).is_empty());
    }
}
