//! Values that are not shown: what a PolicyKind lists under `redact`.

use attache_engine::kinds::{Pattern, PatternFit, PolicyKind};
use attache_engine::{GroupKind, Path, PolicyId, Segment, Value};

use crate::snapshot::Snapshot;

/// What is shown in place of a value.
pub const REDACTED: &str = "<redacted>";

impl Snapshot {
    /// The same state for readers who may not read the policies themselves: documents do not show values that a PolicyKind
    /// lists under `redact`.
    pub fn redacting(mut self) -> Snapshot {
        self.redacts = true;
        self
    }

    /// The value at a path of a spec, as it is shown.
    pub(crate) fn shown(&self, kind: &PolicyKind, path: &Path, value: &Value) -> Value {
        match self.redacts && !kind.redact.is_empty() {
            true => redacted(&kind.redact, path, value),
            false => value.clone(),
        }
    }

    /// A whole spec, as it is shown.
    pub(crate) fn shown_spec(&self, kind: &PolicyKind, spec: &Value) -> Value {
        self.shown(kind, &Path::default(), spec)
    }

    /// The kind of a policy.
    pub(crate) fn kind_of(&self, policy: PolicyId) -> &PolicyKind {
        self.engine.kinds().get(self.engine.policy(policy).kind)
    }

    /// The value at a path of a spec of a kind with this name, as it is shown.
    pub(crate) fn shown_of(&self, kind: &GroupKind, path: &Path, value: &Value) -> Value {
        let kinds = self.engine.kinds();
        match kinds.find(&kind.group, &kind.kind) {
            Some(kind) => self.shown(kinds.get(kind), path, value),
            None => value.clone(),
        }
    }

    /// The YAML of an object, as it is shown.
    pub fn shown_object(&self, object: &attache_engine::Object) -> Value {
        let Some(policy) = self.engine.find_policy(&object.id) else { return object.body.clone() };
        let kind = self.kind_of(policy);
        let blocks = self.engine.policy(policy).blocks.iter();
        let patterns = blocks.flat_map(|block| {
            let start = attache_engine::block_path(object, kind, block.kind).to_string();
            kind.redact.iter().map(move |pattern| Pattern::parse(&format!("{start}.{pattern}")))
        });
        let patterns: Vec<Pattern> = patterns.collect();
        match self.redacts && !patterns.is_empty() {
            true => redacted(&patterns, &Path::default(), &object.body),
            false => object.body.clone(),
        }
    }
}

/// The value at a path, without values at or below redacted paths.
fn redacted(hidden: &[Pattern], path: &Path, value: &Value) -> Value {
    let fit = |pattern: &Pattern, segments: &[Segment]| pattern.fit(segments.iter());
    let is_hidden = |pattern: &Pattern| {
        let depth = pattern.steps().len().min(path.segments().len());
        fit(pattern, &path.segments()[..depth]) == PatternFit::Exact
    };
    if hidden.iter().any(is_hidden) {
        return Value::str(REDACTED);
    }
    if !hidden.iter().any(|pattern| fit(pattern, path.segments()) == PatternFit::Prefix) {
        return value.clone();
    }
    match value {
        Value::Map(map) => {
            let entry = |(key, child): &(smol_str::SmolStr, Value)| {
                (key.clone(), redacted(hidden, &path.key(key.clone()), child))
            };
            Value::map(map.entries().iter().map(entry).collect())
        }
        Value::List(items) => {
            let item = |(at, child): (usize, &Value)| redacted(hidden, &path.index(at), child);
            Value::list(items.iter().enumerate().map(item).collect())
        }
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_at_or_below_a_redacted_path_are_hidden() {
        let spec: Value =
            serde_json::json!({"auth": {"token": "s3cret", "user": "a"}, "keys": [{"value": 1}, {"value": 2}]}).into();
        let hidden = ["auth.token", "keys[*].value"].map(Pattern::parse);
        let shown = |path: &str, value: &Value| {
            serde_json::to_string(&redacted(&hidden, &Path::parse(path), value)).expect("JSON")
        };
        assert_eq!(
            shown("", &spec),
            r#"{"auth":{"token":"<redacted>","user":"a"},"keys":[{"value":"<redacted>"},{"value":"<redacted>"}]}"#
        );
        assert_eq!(shown("auth.token", &Value::str("s3cret")), r#""<redacted>""#);
        assert_eq!(shown("auth.token.deeper", &Value::str("s3cret")), r#""<redacted>""#);
        assert_eq!(shown("auth.user", &Value::str("a")), r#""a""#);
    }
}
