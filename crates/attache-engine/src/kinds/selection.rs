//! Targets that are selected by labels or named by host.

use smol_str::SmolStr;

use super::LevelName;
use crate::document::{DocumentReader, OneOrMany, document, from_document, words};
use crate::value::Path;

/// A field, or a pair of fields, that selects targets by labels. An empty selector selects the whole Namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectionRule {
    /// The field with the labels of targets; without one, whole Namespaces are selected.
    pub labels: Option<SelectorField>,
    /// The field with the selector of Namespaces; without one, the policy's own Namespace is selected from.
    pub namespaces: Option<Path>,
    /// The levels that targets are selected from.
    pub levels: Vec<LevelName>,
    /// What a policy in the root namespace selects from.
    pub from_root: RootSelection,
}

/// The field with the labels of targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectorField {
    /// A selector, with `matchLabels` and `matchExpressions`.
    Selector(Path),
    /// Plain labels.
    Labels(Path),
}

impl SelectorField {
    /// The field itself.
    pub fn path(&self) -> &Path {
        let (SelectorField::Selector(path) | SelectorField::Labels(path)) = self;
        path
    }
}

document! {
    /// At least one of `selector`, `labels` and `namespaces` is given. An empty selector selects the whole Namespace.
    struct SelectionFields {
        /// The field with the selector of targets (`matchLabels`, `matchExpressions`).
        #[field("selector")]
        selector: Option<Path>,

        /// The field with the labels of targets, where the field holds plain labels.
        #[field("labels")]
        labels: Option<Path>,

        /// The field with the selector of Namespaces.
        #[field("namespaces", unset = "the policy's own Namespace")]
        namespaces: Option<Path>,

        /// The levels that are selected from.
        #[field("of")]
        of: OneOrMany<LevelName>,

        /// What a policy in the root namespace selects from.
        #[field("fromRoot", default = RootSelection::OwnNamespace)]
        from_root: RootSelection,
    }
}

words! {
    /// What a policy in the root namespace selects from.
    pub enum RootSelection {
        /// every namespace.
        AllNamespaces = "AllNamespaces",
        /// the root namespace alone.
        OwnNamespace = "OwnNamespace",
        /// nothing: a selector is refused there.
        Nothing = "Nothing",
    }
}

impl SelectionRule {
    fn read_fields(reader: &mut DocumentReader<'_, '_>) -> Option<SelectionRule> {
        let SelectionFields { selector, labels, namespaces, of, from_root } = SelectionFields::read_fields(reader)?;
        if selector.is_none() && labels.is_none() && namespaces.is_none() {
            reader.report(None, "give `selector`, `labels` or `namespaces`".to_owned(), None);
        }
        let labels = selector.map(SelectorField::Selector).or(labels.map(SelectorField::Labels));
        Some(SelectionRule { labels, namespaces, levels: of.0, from_root })
    }
}

from_document!(SelectionRule, SelectionFields);

document! {
    /// Targets are named by host: `name.namespace.svc.<domain>`, a part of it after `*.`, or the name of a Service in the
    /// policy's namespace.
    pub struct HostTargets {
        /// The field with the host.
        #[field("field", required)]
        pub field: Path,

        /// The field that lists the namespaces in which the policy counts: `*` is all, `.` is its own.
        #[field("exportTo")]
        pub export_to: Option<Path>,

        /// The domain of the cluster.
        #[field("domain", default = SmolStr::new_static("cluster.local"))]
        pub domain: SmolStr,
    }
}
