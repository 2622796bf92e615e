//! The names of API objects.
//!
//! ```text
//! EffectivePolicy   httproute.cakes.retrypolicy-example-io             kind . name . policy kind
//! PolicyReach       retrypolicy-example-io.be-patient                  policy kind . name
//! ```
//!
//! A kind is a single DNS label: in lower case, with `-` for each dot of its group and `--` for each `-`. The core group and
//! `gateway.networking.k8s.io` are left out. Kinds contain no dots, so the first label, the last label and the part between
//! them identify one object.
//!
//! If the object's name is not a DNS subdomain, or the whole name is longer than 253 characters, the object's name is
//! shortened, and a hash of it is added. Such a name is stable, but the object's name cannot be derived from it.

use attache_engine::ObjectRef;

/// The longest name of an API object.
const LONGEST: usize = 253;

/// The name of the EffectivePolicy of an object for the policy kind with this group and kind.
pub fn effective_policy(object: &ObjectRef, policy_group: &str, policy_kind: &str) -> String {
    let (before, after) = (kind_label(&object.group, &object.kind), kind_label(policy_group, policy_kind));
    joined(&format!("{before}."), &object.name, &format!(".{after}"))
}

/// The name of the PolicyReach of a policy.
pub fn policy_reach(policy: &ObjectRef) -> String {
    joined(&format!("{}.", kind_label(&policy.group, &policy.kind)), &policy.name, "")
}

fn kind_label(group: &str, kind: &str) -> String {
    let escaped = |text: &str| text.to_lowercase().replace('-', "--").replace('.', "-");
    match group {
        "" | "gateway.networking.k8s.io" => escaped(kind),
        group => format!("{}-{}", escaped(kind), escaped(group)),
    }
}

fn joined(before: &str, name: &str, after: &str) -> String {
    let room = LONGEST.saturating_sub(before.len() + after.len());
    if is_subdomain(name) && name.len() <= room {
        return format!("{before}{name}{after}");
    }
    let hash = format!("{:016x}", fnv(name));
    let kept: String = name.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let kept = kept.get(..room.saturating_sub(hash.len() + 1)).unwrap_or(&kept).trim_matches('-');
    let separator = if kept.is_empty() { "" } else { "-" };
    format!("{before}{kept}{separator}{hash}{after}")
}

/// Whether a text is a DNS subdomain (RFC 1123), as the names of most objects must be.
fn is_subdomain(text: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(is_inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    text.split('.').all(is_label)
}

/// The 64-bit FNV-1a hash. It must stay the same in all versions: names depend on it.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(name: &str) -> ObjectRef {
        ObjectRef::new("gateway.networking.k8s.io", "HTTPRoute", "baker", name)
    }

    #[test]
    fn names_are_readable() {
        assert_eq!(
            effective_policy(&route("cakes"), "example.io", "RetryPolicy"),
            "httproute.cakes.retrypolicy-example-io"
        );
        let service = ObjectRef::new("serving.knative.dev", "Service", "baker", "a.b");
        assert_eq!(
            effective_policy(&service, "gateway.networking.k8s.io", "BackendTLSPolicy"),
            "service-serving-knative-dev.a.b.backendtlspolicy"
        );
        assert_eq!(
            policy_reach(&ObjectRef::new("example.io", "RetryPolicy", "baker", "be-patient")),
            "retrypolicy-example-io.be-patient"
        );
    }

    #[test]
    fn names_of_different_objects_differ() {
        let name = |name: &str, group: &str, kind: &str| effective_policy(&route(name), group, kind);
        assert_ne!(name("a", "c.d", "B"), name("a.b", "d", "C"));
        assert_ne!(name("a", "b-c.io", "P"), name("a", "b.c.io", "P"));
        assert_ne!(name("A", "b.io", "P"), name("a", "b.io", "P"));
        assert_ne!(name("system:a", "b.io", "P"), name("system/a", "b.io", "P"));
    }

    #[test]
    fn every_name_is_a_valid_name_of_an_api_object() {
        let long = "x".repeat(253);
        for odd in ["*.example.com", "system:node", "Ünï", "", "-", "..", "a/b", &long, &long.replace('x', "é")] {
            let name = effective_policy(&route(odd), "very-long.group.example.io", "Policy");
            assert!(is_subdomain(&name), "{name}");
            assert!(name.len() <= LONGEST, "{name}");
        }
    }

    /// Clients keep names, so they must not change from one version to the next.
    #[test]
    fn hashed_names_stay_the_same() {
        assert_eq!(
            effective_policy(&route("*.example.com"), "b.io", "P"),
            "httproute.example-com-3b6d46e985455aca.p-b-io"
        );
    }
}
