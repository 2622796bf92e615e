//! The object that a question concerns.

use attache_engine::KindQuery;

use crate::ApiResource;

/// The object of a question, as the user writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Its kind, as in `httproute`.
    pub kind: String,
    /// Its name, if the question concerns one object of the kind.
    pub name: Option<String>,
}

impl Subject {
    /// Whether objects of a kind can be meant.
    pub(crate) fn is_of_kind(&self, resource: &ApiResource) -> bool {
        KindQuery::parse(&self.kind).matches(&resource.group, &resource.kind)
            || resource.short_names.iter().any(|name| name.eq_ignore_ascii_case(&self.kind))
    }
}
