//! Some of the levels.

use crate::topology::Level;

/// A bit for each: whether a node is at one of them is asked for every node.
#[derive(Clone, Copy, Debug)]
pub struct Levels(u32);

impl Levels {
    pub fn of(is_one: impl Fn(Level) -> bool) -> Levels {
        Levels(Level::ALL.into_iter().filter(|level| is_one(*level)).map(|level| 1 << level as u32).sum())
    }

    pub fn has(self, level: Level) -> bool {
        self.0 >> level as u32 & 1 == 1
    }
}
