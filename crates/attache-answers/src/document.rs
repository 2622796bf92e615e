//! What all documents share.

use std::marker::PhantomData;

use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

/// The `apiVersion` of every document.
pub const API_VERSION: &str = "attache.dev/v1alpha1";

/// For fields that are left out if they are true.
pub(crate) fn is_true(value: &bool) -> bool {
    *value
}

/// A document with a list of items.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct List<I> {
    api_version: &'static str,
    kind: &'static str,
    /// The items: a `Vec`, or a [`Stream`].
    pub items: I,
}

impl<I> List<I> {
    /// A list of the kind `kind`.
    pub fn new(kind: &'static str, items: I) -> List<I> {
        List { api_version: API_VERSION, kind, items }
    }
}

/// Items that are created one by one while the list is serialized: there can be millions.
#[derive(Debug)]
pub struct Stream<T, F>(F, PhantomData<T>);

impl<T: Serialize, F: Fn(&mut dyn FnMut(T))> Stream<T, F> {
    /// `for_each` calls its argument with each item.
    pub(crate) fn new(for_each: F) -> Stream<T, F> {
        Stream(for_each, PhantomData)
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
