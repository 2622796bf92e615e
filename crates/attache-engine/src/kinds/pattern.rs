//! Paths with wildcards: `rules.authentication.*`, `spec.rules[*].filters[*].retryFilter`.

use std::fmt;

use smol_str::SmolStr;

use crate::value::{Path, Segment};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Key(SmolStr),
    AnyKey,
    AnyIndex,
}

/// How a path stands to a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    No,
    /// The pattern goes deeper than the path.
    Above,
    Exact,
}

impl Pattern {
    pub fn parse(text: &str) -> Pattern {
        let mut steps = Vec::new();
        for part in text.split('.').filter(|part| !part.is_empty()) {
            let (key, lists) = match part.find('[') {
                Some(at) => part.split_at(at),
                None => (part, ""),
            };
            match key {
                "" => {}
                "*" => steps.push(Step::AnyKey),
                key => steps.push(Step::Key(key.into())),
            }
            steps.extend(lists.matches('[').map(|_| Step::AnyIndex));
        }
        Pattern(steps)
    }

    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    pub fn fit<'a>(&self, path: impl ExactSizeIterator<Item = &'a Segment>) -> Fit {
        let depth = path.len();
        if depth > self.0.len() || !path.zip(&self.0).all(|(segment, step)| step.takes(segment)) {
            Fit::No
        } else if depth == self.0.len() {
            Fit::Exact
        } else {
            Fit::Above
        }
    }

    /// The path that a pattern without wildcards is.
    pub fn keys(&self) -> Vec<Segment> {
        let key = |step: &Step| match step {
            Step::Key(key) => Some(Segment::Key(key.clone())),
            Step::AnyKey | Step::AnyIndex => None,
        };
        self.0.iter().map_while(key).collect()
    }

    pub fn matches(&self, path: &Path) -> bool {
        self.fit(path.segments().iter()) == Fit::Exact
    }
}

impl Step {
    fn takes(&self, segment: &Segment) -> bool {
        match (self, segment) {
            (Step::Key(key), Segment::Key(name)) => key == name,
            (Step::AnyKey, Segment::Key(_)) | (Step::AnyIndex, Segment::Index(_)) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            let dot = if i == 0 { "" } else { "." };
            match step {
                Step::Key(key) => write!(f, "{dot}{key}")?,
                Step::AnyKey => write!(f, "{dot}*")?,
                Step::AnyIndex => f.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_tells_what_is_above_it_and_what_is_it() {
        let pattern = Pattern::parse("rules.*[*].name");
        let fit = |text: &str| pattern.fit(Path::parse(text).segments().iter());
        assert_eq!(fit("rules"), Fit::Above);
        assert_eq!(fit("rules.a[3]"), Fit::Above);
        assert_eq!(fit("rules.a[3].name"), Fit::Exact);
        assert_eq!(fit("rules.a[3].name.x"), Fit::No);
        assert_eq!(fit("limits.a"), Fit::No);
        assert_eq!(pattern.to_string(), "rules.*[*].name");
    }
}
