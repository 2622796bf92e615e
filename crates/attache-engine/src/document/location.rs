//! The location of a value in a document.

use std::fmt;

use crate::value::Path;

/// The location of a value: a linked list on the stack, because a [`Path`] is needed only where there is a mistake.
#[derive(Clone, Copy, Debug)]
pub struct Location<'a> {
    parent: Option<&'a Location<'a>>,
    step: LocationStep<'a>,
}

#[derive(Clone, Copy, Debug)]
enum LocationStep<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> Location<'a> {
    /// A field at the top of the document.
    pub fn top(field: &'a str) -> Self {
        Location { parent: None, step: LocationStep::Key(field) }
    }

    /// A field of the object at this location.
    pub fn key(&'a self, field: &'a str) -> Self {
        Location { parent: Some(self), step: LocationStep::Key(field) }
    }

    /// An item of the list at this location.
    pub fn index(&'a self, index: usize) -> Self {
        Location { parent: Some(self), step: LocationStep::Index(index) }
    }

    pub fn path(&self) -> Path {
        let parent = self.parent.map(Location::path).unwrap_or_default();
        match self.step {
            LocationStep::Key(key) => parent.key(key),
            LocationStep::Index(index) => parent.index(index),
        }
    }

    /// The name of the field that is, or holds, the value.
    pub fn field(&self) -> &'a str {
        match (self.step, self.parent) {
            (LocationStep::Key(key), _) => key,
            (LocationStep::Index(_), Some(parent)) => parent.field(),
            (LocationStep::Index(_), None) => "",
        }
    }
}

/// The name of the field, with the index of an item of a list: `targets[1]`.
impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.step, self.parent) {
            (LocationStep::Key(key), _) => f.write_str(key),
            (LocationStep::Index(index), Some(parent)) => write!(f, "{parent}[{index}]"),
            (LocationStep::Index(index), None) => write!(f, "[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_has_the_path_of_its_parents() {
        let spec = Location::top("spec");
        let values = spec.key("values");
        let item = values.index(2);
        let name = item.key("name");
        assert_eq!(name.path().to_string(), "spec.values[2].name");
        assert_eq!((name.to_string(), item.to_string()), ("name".to_owned(), "values[2]".to_owned()));
        assert_eq!(item.field(), "values");
    }
}
