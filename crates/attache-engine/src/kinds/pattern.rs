//! Paths with wildcards: `rules.authentication.*`, `spec.rules[*].filters[*].retryFilter`.

use std::fmt;

use smol_str::SmolStr;

use crate::document::written_as_string;
use crate::value::{Path, Segment, Value};

/// A path in which `*` is any key and `[*]` any item of a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern(Vec<PatternStep>);

written_as_string!(Pattern, Pattern::parse, "pattern");

/// One step of a [`Pattern`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PatternStep {
    /// A key of a map.
    Key(SmolStr),
    /// Any key of a map.
    AnyKey,
    /// Any item of a list.
    AnyIndex,
}

/// The result of comparing a path with a [`Pattern`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternFit {
    /// The path does not match, or is longer than the pattern.
    No,
    /// The path matches the start of the pattern.
    Prefix,
    /// The path matches the whole pattern.
    Exact,
}

impl Pattern {
    /// Reads `a.*.b[*]`. Every text is a pattern.
    pub fn parse(text: &str) -> Pattern {
        let mut steps = Vec::new();
        for part in text.split('.').filter(|part| !part.is_empty()) {
            let (key, lists) = match part.find('[') {
                Some(at) => part.split_at(at),
                None => (part, ""),
            };
            match key {
                "" => {}
                "*" => steps.push(PatternStep::AnyKey),
                key => steps.push(PatternStep::Key(key.into())),
            }
            steps.extend(lists.matches('[').map(|_| PatternStep::AnyIndex));
        }
        Pattern(steps)
    }

    /// The steps from the top.
    pub fn steps(&self) -> &[PatternStep] {
        &self.0
    }

    /// Compares a path with the pattern.
    pub fn fit<'a>(&self, path: impl ExactSizeIterator<Item = &'a Segment>) -> PatternFit {
        let depth = path.len();
        if depth > self.0.len() || !path.zip(&self.0).all(|(segment, step)| step.takes(segment)) {
            PatternFit::No
        } else if depth == self.0.len() {
            PatternFit::Exact
        } else {
            PatternFit::Prefix
        }
    }

    /// The path up to the first wildcard.
    pub fn keys(&self) -> Vec<Segment> {
        let key = |step: &PatternStep| match step {
            PatternStep::Key(key) => Some(Segment::Key(key.clone())),
            PatternStep::AnyKey | PatternStep::AnyIndex => None,
        };
        self.0.iter().map_while(key).collect()
    }

    /// The values inside `value` whose paths match the whole pattern, in order.
    pub fn find<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        let mut found = vec![value];
        for step in &self.0 {
            found = match step {
                PatternStep::Key(key) => found.into_iter().filter_map(|value| value.get(key)).collect(),
                PatternStep::AnyKey => found.into_iter().flat_map(Value::entries).map(|(_, value)| value).collect(),
                PatternStep::AnyIndex => found.into_iter().flat_map(Value::items).collect(),
            };
        }
        found
    }

    /// Whether a path matches the whole pattern.
    pub fn matches(&self, path: &Path) -> bool {
        self.fit(path.segments().iter()) == PatternFit::Exact
    }
}

impl PatternStep {
    fn takes(&self, segment: &Segment) -> bool {
        match (self, segment) {
            (PatternStep::Key(key), Segment::Key(name)) => key == name,
            (PatternStep::AnyKey, Segment::Key(_)) | (PatternStep::AnyIndex, Segment::Index(_)) => true,
            _ => false,
        }
    }
}

impl From<&str> for Pattern {
    fn from(text: &str) -> Self {
        Pattern::parse(text)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            let dot = if i == 0 { "" } else { "." };
            match step {
                PatternStep::Key(key) => write!(f, "{dot}{key}")?,
                PatternStep::AnyKey => write!(f, "{dot}*")?,
                PatternStep::AnyIndex => f.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_matches_the_whole_pattern_its_start_or_nothing() {
        let pattern = Pattern::parse("rules.*[*].name");
        let fit = |text: &str| pattern.fit(Path::parse(text).segments().iter());
        assert_eq!(fit("rules"), PatternFit::Prefix);
        assert_eq!(fit("rules.a[3]"), PatternFit::Prefix);
        assert_eq!(fit("rules.a[3].name"), PatternFit::Exact);
        assert_eq!(fit("rules.a[3].name.x"), PatternFit::No);
        assert_eq!(fit("limits.a"), PatternFit::No);
        assert_eq!(pattern.to_string(), "rules.*[*].name");
    }
}
