//! Where the parts of a policy are.

use smol_str::SmolStr;

use crate::document::document;
use crate::value::Path;

document! {
    /// Where the parts of a policy are.
    ///
    /// With `defaults: []` and `overrides: []` the settings of a policy are one block with the first strategy. A target
    /// without `group` has the usual group of its kind, and `core` is another name for the core group, `""`.
    pub struct PolicyFields {
        /// The fields with references to targets.
        #[field("targetRefs", default = paths(&["spec.targetRef", "spec.targetRefs"]))]
        pub target_refs: Vec<Path>,

        /// The fields with label selectors of targets.
        #[field("targetSelectors", default = paths(&["spec.targetSelectors"]))]
        pub target_selectors: Vec<Path>,

        /// The field with the settings: blocks and bare rules.
        #[field("settings", default = Path::parse("spec"))]
        pub settings: Path,

        /// The names of the block of defaults in the settings.
        #[field("defaults", default = names(&["defaults", "default"]))]
        pub defaults: Vec<SmolStr>,

        /// The names of the block of overrides in the settings.
        #[field("overrides", default = names(&["overrides", "override"]))]
        pub overrides: Vec<SmolStr>,

        /// The field of a block that names its strategy.
        #[field("strategy", default = SmolStr::new_static("strategy"))]
        pub strategy: SmolStr,

        /// The field of a block with its condition, a CEL expression.
        #[field("when", default = SmolStr::new_static("when"))]
        pub when: SmolStr,

        /// The fields of a block that list the rules of higher policies that it removes.
        #[field("remove", default = names(&["remove", "unset"]))]
        pub remove: Vec<SmolStr>,

        /// Fields of the settings that are not rules.
        #[field("ignored")]
        pub ignored: Vec<SmolStr>,

        /// The fields of `spec`. Lint reports other fields that look like a misspelling of one of them.
        #[field("known")]
        pub known: Vec<SmolStr>,
    }
}

fn paths(texts: &[&str]) -> Vec<Path> {
    texts.iter().map(|text| Path::parse(text)).collect()
}

fn names(names: &[&str]) -> Vec<SmolStr> {
    names.iter().map(SmolStr::new).collect()
}
