//! The `deep` strategy: inside a field, lists are put one behind the other and single values taken from the preferred.

use super::merge::{Merge, join};
use super::tree::Tree;
use crate::kinds::{Concatenate, Pattern, PatternFit, PolicyKind};
use crate::value::{Path, Segment};

/// How what comes later meets what is held.
pub struct Deep<'k> {
    pub kind: &'k PolicyKind,
    pub prefer_new: bool,
}

impl Deep<'_> {
    /// Whether anything at `path` or inside can be merged deeply.
    pub fn reaches(&self, path: &[Segment]) -> bool {
        self.kind.concatenated.iter().any(|(pattern, _)| pattern.fit(path.iter()) != PatternFit::No)
    }

    pub fn merge(&self, merge: &mut Merge<'_>, held: &mut Tree, mut new: Tree, path: &mut Vec<Segment>) {
        let take = self.decided(held, &new, path).unwrap_or_else(|| {
            if let Some(order) = self.order(path) {
                let new_first = (order == Concatenate::PreferredFirst) == self.prefer_new;
                join(held, std::mem::take(&mut new), new_first);
                return Take::Both;
            }
            if !held.is_map() || merge.units.is_whole(path) {
                return self.preferred();
            }
            let (Some(fields), Some(more)) = (held.split(), new.split()) else { return self.preferred() };
            for (key, child) in std::mem::take(more) {
                path.push(Segment::Key(key.clone()));
                match fields.binary_search_by(|(name, _)| name.cmp(&key)) {
                    Ok(at) => self.merge(merge, &mut fields[at].1, child, path),
                    Err(at) => fields.insert(at, (key, child)),
                }
                path.pop();
            }
            Take::Both
        });
        let (loser, winner) = match take {
            Take::Both => return,
            Take::Held => (&new, held.first_source()),
            Take::New => (&*held, new.first_source()),
        };
        if let Some(winner) = winner {
            merge.lose_tree(loser, path, winner, false);
        }
        if take == Take::New {
            *held = new;
        }
    }

    fn preferred(&self) -> Take {
        if self.prefer_new { Take::New } else { Take::Held }
    }

    /// Who wins by a field that decides alone, if one of the two has it.
    fn decided(&self, held: &Tree, new: &Tree, path: &[Segment]) -> Option<Take> {
        let mut has = (false, false);
        for field in self.kind.decisive.iter().filter_map(|pattern| inside(pattern, path)) {
            has.0 |= held.field(&field).is_some();
            has.1 |= new.field(&field).is_some();
        }
        match has {
            (false, false) => None,
            (true, true) => Some(self.preferred()),
            (true, false) => Some(Take::Held),
            (false, true) => Some(Take::New),
        }
    }

    fn order(&self, path: &[Segment]) -> Option<Concatenate> {
        let found = self.kind.concatenated.iter().find(|(pattern, _)| pattern.fit(path.iter()) == PatternFit::Exact);
        found.map(|(_, order)| *order)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Take {
    Held,
    New,
    Both,
}

/// The last key of a pattern that names a field of what is at `path`.
fn inside(pattern: &Pattern, path: &[Segment]) -> Option<String> {
    let text = pattern.to_string();
    let (parent, field) = text.rsplit_once('.')?;
    Pattern::parse(parent).matches(&Path::new(path.to_vec())).then(|| field.to_string())
}
