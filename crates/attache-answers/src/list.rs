//! What all documents have in common.

use std::marker::PhantomData;

use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

pub const API_VERSION: &str = "attache.dev/v1alpha1";

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct List<I> {
    api_version: &'static str,
    kind: &'static str,
    items: I,
}

impl<I: Serialize> List<I> {
    pub fn new(kind: &'static str, items: I) -> List<I> {
        List { api_version: API_VERSION, kind, items }
    }
}

/// Items that are made while they are written, one by one: there may be millions.
#[derive(Debug)]
pub struct Stream<T, F>(F, PhantomData<T>);

impl<T: Serialize, F: Fn(&mut dyn FnMut(T))> Stream<T, F> {
    /// `each` calls what it is given with one item after the other.
    pub fn new(each: F) -> Stream<T, F> {
        Stream(each, PhantomData)
    }
}

impl<T: Serialize, F: Fn(&mut dyn FnMut(T))> Serialize for Stream<T, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut items = serializer.serialize_seq(None)?;
        let mut result = Ok(());
        (self.0)(&mut |item| {
            if result.is_ok() {
                result = items.serialize_element(&item);
            }
        });
        result?;
        items.end()
    }
}
