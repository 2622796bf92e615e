//! What counts as one thing when policies are compared: a named rule, or else a single leaf.

use crate::kinds::{Pattern, PatternFit, PolicyKind, Strategy};
use crate::value::{Segment, Value};

/// How a kind divides its settings.
#[derive(Clone, Debug)]
pub struct Units {
    rules: Vec<Pattern>,
    whole: Vec<Pattern>,
    /// Without declared rules, `merge` takes the entries of the maps at the top for rules, `shallow` the fields there.
    undeclared: Undeclared,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Undeclared {
    Leaves,
    Fields,
    Entries,
}

impl Units {
    pub fn of(kind: &PolicyKind) -> Units {
        let uses = |strategy| kind.strategies.contains(&strategy);
        let undeclared = if !kind.rules.is_empty() || uses(Strategy::Shallow) || uses(Strategy::Deep) {
            Undeclared::Fields
        } else if uses(Strategy::Merge) {
            Undeclared::Entries
        } else {
            Undeclared::Leaves
        };
        Units { rules: kind.rules.clone(), whole: kind.whole.clone(), undeclared }
    }

    /// Every leaf is one.
    pub fn leaves() -> Units {
        Units { rules: Vec::new(), whole: Vec::new(), undeclared: Undeclared::Leaves }
    }

    /// What these patterns name; beside them, every field at the top.
    pub fn only(rules: &[Pattern]) -> Units {
        Units { rules: rules.to_vec(), whole: Vec::new(), undeclared: Undeclared::Fields }
    }

    /// Whether the value at `path` is one thing.
    pub fn is_unit(&self, path: &[Segment], value: &Value) -> bool {
        if self.is_leaf(path, value) {
            return true;
        }
        match self.fit(path) {
            PatternFit::Exact => true,
            PatternFit::Prefix => false,
            PatternFit::No => match self.undeclared {
                Undeclared::Leaves => false,
                Undeclared::Fields => !path.is_empty(),
                Undeclared::Entries => path.len() >= 2,
            },
        }
    }

    /// Whether the value at `path` is what a policy calls a rule: something declared, or else a field at the top or an
    /// entry of a map there.
    pub fn is_rule(&self, path: &[Segment], value: &Value) -> bool {
        if self.rules.is_empty() { path.len() <= 2 } else { self.is_unit(path, value) }
    }

    /// Whether the value at `path` cannot be merged field by field.
    pub fn is_leaf(&self, path: &[Segment], value: &Value) -> bool {
        match value.as_map() {
            None => true,
            Some(map) => (map.is_empty() && !path.is_empty()) || self.is_whole(path),
        }
    }

    pub fn is_whole(&self, path: &[Segment]) -> bool {
        self.whole.iter().any(|pattern| pattern.fit(path.iter()) == PatternFit::Exact)
    }

    /// Every unit of `value`, with its path.
    pub fn each<'v>(&self, value: &'v Value, path: &mut Vec<Segment>, found: &mut impl FnMut(&[Segment], &'v Value)) {
        if self.is_unit(path, value) {
            found(path, value);
            return;
        }
        for (key, child) in value.entries() {
            path.push(Segment::Key(key.clone()));
            self.each(child, path, found);
            path.pop();
        }
    }

    fn fit(&self, path: &[Segment]) -> PatternFit {
        let fits = || self.rules.iter().map(|pattern| pattern.fit(path.iter()));
        // The longer of two patterns counts: `a.b.*` divides what `a.*` would take whole.
        if fits().any(|fit| fit == PatternFit::Prefix) {
            PatternFit::Prefix
        } else if fits().any(|fit| fit == PatternFit::Exact) {
            PatternFit::Exact
        } else {
            PatternFit::No
        }
    }
}
