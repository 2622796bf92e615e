//! Names of kinds as users write them (`httproute`, `HTTPRoutes`, `gw`, `retrypolicy.example.io`), and suggestions for names
//! that do not exist.

use std::fmt;

/// Group, kind and kubectl's short names of common kinds.
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

/// Group and kind of common kinds, which are known without a CRD in the input.
pub fn known_kinds<'a>() -> impl Iterator<Item = (&'a str, &'a str)> {
    KNOWN.iter().map(|(group, kind, _)| (*group, *kind))
}

/// A kind as a user writes it: in upper or lower case, singular, plural or short, with or without its group.
///
/// ```
/// use attache_engine::KindQuery;
///
/// let query = KindQuery::parse("httproutes");
/// assert!(query.matches("gateway.networking.k8s.io", "HTTPRoute"));
/// assert!(!query.matches("gateway.networking.k8s.io", "TCPRoute"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindQuery {
    word: String,
    group: Option<String>,
}

impl KindQuery {
    /// Parses `kind` or `kind.group`.
    pub fn parse(text: &str) -> KindQuery {
        match text.split_once('.') {
            Some((word, group)) => KindQuery { word: word.to_lowercase(), group: Some(group.to_lowercase()) },
            None => KindQuery { word: text.to_lowercase(), group: None },
        }
    }

    /// Whether the query matches this kind.
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

/// The English plural of a kind, by the rule with which Kubernetes guesses it.
pub fn plural(kind: &str) -> String {
    match kind.strip_suffix(['y', 'Y']) {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ if ["s", "x", "z", "ch", "sh"].iter().any(|end| kind.ends_with(end)) => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}

/// The candidates that are most similar to `word`, the nearest first, at most three. Empty if none is similar.
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

/// The known word of which an unknown one is probably a misspelling: at most two letters differ.
pub fn misspelt<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    const SHORTEST: usize = 4;
    let long = known.into_iter().filter(|known| word.len() >= SHORTEST && known.len() >= SHORTEST);
    let near = long.map(|known| (distance(&word.to_lowercase(), &known.to_lowercase()), known));
    near.filter(|(distance, _)| *distance <= 2).min().map(|(_, known)| known)
}

/// The number of letters to change, insert, delete or swap.
fn distance(a: &str, b: &str) -> usize {
    // A common prefix or suffix does not change the distance, and most names have long ones.
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
        fn a_common_prefix_or_suffix_does_not_change_the_distance(a in "[abé]{0,8}", b in "[abé]{0,8}") {
            prop_assert_eq!(distance(&a, &b), strsim::damerau_levenshtein(&a, &b));
        }
    }

    const GATEWAY: &str = "gateway.networking.k8s.io";

    #[test]
    fn a_kind_is_found_by_all_its_names() {
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
    fn only_similar_names_are_suggested_the_nearest_first() {
        assert_eq!(nearest("caeks", ["pies", "cakes", "cake", "gateway"]), ["cakes"]);
        assert_eq!(nearest("route", ["httproute", "service"]), ["httproute"]);
        assert!(nearest("zebra", ["cakes", "pies"]).is_empty());
    }
}
