//! One kind of policies, as data.

use std::sync::Arc;

use smol_str::SmolStr;

use super::{
    ControllerSetting, CrdDefaults, DictatedBy, KindAcceptance, KindControllers, KindHierarchy, KindMerging, KindOrder,
    KindTargets, LevelName, Participation, Pattern, PolicyFields, SameLevel, StatusTemplate, Strategy,
    StrategyRegistry,
};
use crate::cel::CelCondition;
use crate::document::{Diagnostics, DocumentReader, Location, OneOrMany, document, words};
use crate::level::Level;
use crate::names::KindQuery;
use crate::object::Object;
use crate::problem::Problem;

document! {
    /// What is known of one kind of policy: where its targets and blocks are, its hierarchy, how it merges.
    ///
    /// It is data: a `PolicyKind` document, of which every field is defined here or in one of the groups below. The reader,
    /// the CustomResourceDefinition and the reference documentation are made from these definitions.
    ///
    /// ```
    /// use attache_engine::kinds::{Class, KindOrigin, PolicyKind, SameLevel, StrategyRegistry};
    /// use attache_engine::text;
    ///
    /// let document = "
    /// apiVersion: attache.dev/v1alpha1
    /// kind: PolicyKind
    /// metadata: {name: quotapolicies.acme.io}
    /// spec:
    ///   group: acme.io
    ///   kind: QuotaPolicy
    ///   hierarchy: [Gateway, Listener, Route, RouteRule]
    ///   targets: [Gateway, HTTPRoute]
    ///   strategies: [merge, atomic]
    ///   rules: ['quotas.*']
    /// ";
    /// let objects = text::read(&"quotas.yaml".into(), document).objects;
    /// let strategies = StrategyRegistry::default();
    /// let kind = PolicyKind::read(&objects[0], KindOrigin::Program, &strategies).expect("no mistakes");
    /// assert_eq!(kind.full_name(), "QuotaPolicy.acme.io");
    /// // What the document does not say has a default.
    /// assert_eq!(kind.class, Class::Inherited);
    /// assert_eq!(kind.same_level(), SameLevel::OldestIsHigher);
    /// assert_eq!(kind.hierarchy.effective_targets[0].to_string(), "RouteRule");
    ///
    /// // Every mistake is reported, with its line and a hint.
    /// let document = document.replace("targets:", "target:").replace("merge,", "merged,");
    /// let objects = text::read(&"quotas.yaml".into(), &document).objects;
    /// let problems = PolicyKind::read(&objects[0], KindOrigin::Program, &strategies).expect_err("two mistakes");
    /// assert_eq!(problems[0].message, "unknown value `merged` for `strategies`");
    /// assert_eq!(problems[1].message, "unknown field `target`");
    /// assert_eq!(problems[1].file_location().expect("from a file").to_string(), "quotas.yaml:9:11");
    /// assert_eq!(problems[1].help.as_deref(), Some("did you mean `targets`?"));
    /// ```
    pub struct PolicyKind {
        /// The name of the document, which is the plural with the group: `colorpolicies.example.io`.
        #[field(skip)]
        pub name: SmolStr,

        /// The origin of the description.
        #[field(skip)]
        pub origin: KindOrigin,

        /// The defaults of the CRD of the kind, if it is in the input.
        #[field(skip)]
        pub crd_defaults: CrdDefaults,

        /// The group of the kind.
        #[field("group", required)]
        pub group: SmolStr,

        /// The kind.
        #[field("kind", required)]
        pub kind: SmolStr,

        /// Short names of the kind, as kubectl knows them.
        #[field("shortNames")]
        pub short_names: Vec<SmolStr>,

        /// The known API versions. A policy with another version is a warning.
        #[field("versions", unset = "any version")]
        pub versions: Vec<SmolStr>,

        /// What a policy holds for.
        #[field("class", default = Class::Inherited)]
        pub class: Class,

        /// Whether policies are in namespaces.
        #[field("scope", default = ResourceScope::Namespaced)]
        pub scope: ResourceScope,

        /// Where the parts of a policy are.
        #[field("fields", nested)]
        pub fields: PolicyFields,

        /// The conditions that report the status of policies.
        #[field("status", nested)]
        pub status: StatusTemplate,

        /// What policies can target.
        #[field(flatten)]
        pub targets: KindTargets,

        /// The hierarchy along which policies are inherited.
        #[field(flatten)]
        pub hierarchy: KindHierarchy,

        /// The controllers that handle policies of the kind.
        #[field(flatten)]
        pub controllers: KindControllers,

        /// When a policy is accepted.
        #[field(flatten)]
        pub acceptance: KindAcceptance,

        /// Which of several policies has precedence.
        #[field(flatten)]
        pub order: KindOrder,

        /// How policies merge.
        #[field(flatten)]
        pub merging: KindMerging,

        /// Settings of the controller that handles the policies, which set fields of the kind.
        #[field("settings")]
        pub settings: Vec<ControllerSetting>,

        /// Values that the page and the effective-policy API do not show, such as tokens. They show `<redacted>` instead.
        #[field("redact")]
        pub redact: Vec<Pattern>,
    }
}

words! {
    /// What a policy holds for.
    pub enum Class {
        /// for its target alone.
        Direct = "Direct",
        /// for its target and everything below it.
        Inherited = "Inherited",
    }
}

words! {
    /// Whether objects of a kind are in namespaces.
    pub enum ResourceScope {
        /// they are.
        Namespaced = "Namespaced",
        /// they are cluster-scoped.
        Cluster = "Cluster",
    }
}

/// The origin of the description of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KindOrigin {
    /// The program that uses the engine.
    #[default]
    Program,
    /// A file of Attaché itself, by its name.
    BuiltIn(&'static str),
    /// A PolicyKind document in the input, by the name of its file.
    Given(SmolStr),
    /// A CustomResourceDefinition in the input, by its name.
    Inferred(SmolStr),
}

impl PolicyKind {
    /// Reads a PolicyKind document, or returns all of its problems. The document can refer to the given `strategies`.
    pub fn read(
        document: &Object,
        origin: KindOrigin,
        strategies: &StrategyRegistry,
    ) -> Result<PolicyKind, Vec<Problem>> {
        let mut diagnostics = Diagnostics::with_context(Arc::new(strategies.clone()));
        let kind = DocumentReader::read(document.spec(), &Location::top("spec"), &mut diagnostics, |reader| {
            let mut kind = PolicyKind::read_fields(reader)?;
            kind.name = document.id.name.clone();
            kind.origin = origin;
            kind.complete();
            kind.check(reader);
            Some(kind)
        });
        let problems = diagnostics.into_problems(document);
        kind.filter(|_| problems.is_empty()).ok_or(problems)
    }

    /// Fills in the defaults that depend on other fields.
    fn complete(&mut self) {
        if self.targets.allowed.is_empty() {
            self.targets.allowed = self.hierarchy.levels.clone();
        }
        if self.class == Class::Direct {
            // A Direct policy applies to its target, so targets need not be repeated in the hierarchy.
            let virtual_targets = self.targets.virtual_targets.iter().cloned().map(LevelName::Kind);
            self.targets.allowed.add_missing(virtual_targets);
            let targets = self.targets.allowed.iter().filter(|it| self.hierarchy.depth(it).is_none());
            let targets: Vec<LevelName> = targets.cloned().collect();
            self.hierarchy.levels.add_missing(targets.into_iter());
        }
        if self.hierarchy.effective_targets.is_empty() {
            self.hierarchy.effective_targets = OneOrMany(vec![self.deepest_target()]);
        }
        if self.merging.strategies.is_empty() {
            self.merging.strategies = vec![match self.class {
                Class::Direct => Strategy::NONE,
                Class::Inherited => Strategy::ATOMIC,
            }];
        }
    }

    /// The deepest level that can be targeted; for inherited kinds, at least the level of route rules.
    fn deepest_target(&self) -> LevelName {
        let rule = LevelName::Level(Level::RouteRule);
        let least = self.hierarchy.depth(&rule).filter(|_| self.class == Class::Inherited);
        let deepest = self.targets.allowed.iter().filter_map(|target| self.hierarchy.depth(target)).max();
        deepest.max(least).map_or(rule, |depth| self.hierarchy.levels[depth].clone())
    }

    /// Checks fields that depend on other fields.
    fn check(&mut self, reader: &mut DocumentReader<'_, '_>) {
        let KindHierarchy { levels, effective_targets, .. } = &self.hierarchy;
        for name in effective_targets.iter().filter(|name| self.hierarchy.depth(name).is_none()) {
            let levels: Vec<String> = levels.iter().map(|level| format!("`{level}`")).collect();
            let help = format!("use one of {}", levels.join(", "));
            reader.report(Some("effectiveTarget"), format!("`{name}` is not in the hierarchy"), Some(help));
        }
        if self.class == Class::Direct && self.same_level() != SameLevel::RejectNewer {
            let help = "leave `sameLevel` out, or make the kind `Inherited`".to_owned();
            reader.report(Some("sameLevel"), "a Direct kind always rejects the newer policy".to_owned(), Some(help));
        }
        // Built-in expressions are compiled when they are needed. A test compiles all of them.
        if !matches!(self.origin, KindOrigin::BuiltIn(_)) {
            let (at, diagnostics) = reader.diagnostics();
            let KindAcceptance { validations, notes, .. } = &mut self.acceptance;
            let validations = validations.iter_mut().enumerate().map(|(i, it)| ("validations", i, &mut it.rule));
            let notes = notes.iter_mut().enumerate();
            let notes = notes.filter_map(|(i, it)| Some(("notes", i, it.rule.as_mut()?)));
            for (field, i, rule) in validations.chain(notes) {
                match CelCondition::compile(rule.text()) {
                    Ok(compiled) => *rule = compiled,
                    Err(error) => diagnostics.report(&at.key(field).index(i).key("rule"), error.to_string(), None),
                }
            }
        }
    }

    /// Whether policies of this kind yield to those of another kind in some fields.
    pub fn yields_to(&self, other: &PolicyKind) -> bool {
        self.merging.yields_to_kind.iter().any(|yields| yields.kind.is(&other.group, &other.kind))
    }

    /// `ColorPolicy.example.io`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.kind, self.group)
    }

    /// Whether a user can refer to this kind by `name`: its kind, plural or short name, with or without the group.
    pub fn is_called(&self, name: &str) -> bool {
        let (word, group) = name.split_once('.').map_or((name, None), |(word, group)| (word, Some(group)));
        let is_short = self.short_names.iter().any(|short| short.eq_ignore_ascii_case(word));
        KindQuery::parse(name).matches(&self.group, &self.kind)
            || self.name.eq_ignore_ascii_case(name)
            || is_short && group.is_none_or(|group| group.eq_ignore_ascii_case(&self.group))
    }

    /// The strategy of blocks that name none.
    pub fn default_strategy(&self) -> &Strategy {
        static ATOMIC: Strategy = Strategy::ATOMIC;
        self.merging.strategies.first().unwrap_or(&ATOMIC)
    }

    /// Whether policies of this kind have `defaults`, bare rules and `overrides`, each with a strategy of its own.
    pub fn has_blocks(&self) -> bool {
        let PolicyFields { defaults, overrides, .. } = &self.fields;
        self.class == Class::Inherited
            && self.merging.dictated_by == DictatedBy::Higher
            && !(defaults.is_empty() && overrides.is_empty())
            && self.merging.strategies.iter().all(|strategy| strategy.allows_blocks())
    }

    /// Which policies of a chain take part in the effective policy.
    pub fn participation(&self) -> Participation {
        let is_annotated = matches!(self.merging.dictated_by, DictatedBy::Annotation(_));
        match self.default_strategy().participation() {
            _ if self.accumulates() => Participation::All,
            _ if is_annotated || !self.merging.deep_at_one_level.is_empty() => Participation::MergedByLevel,
            Participation::MostSpecific if self.has_blocks() => Participation::Merged,
            participation => participation,
        }
    }

    /// Whether all policies apply, one after the other.
    pub fn accumulates(&self) -> bool {
        self.merging.strategies.iter().any(|strategy| strategy.participation() == Participation::All)
    }

    /// Whether policies of this kind are cluster-scoped.
    pub fn is_cluster_scoped(&self) -> bool {
        self.scope == ResourceScope::Cluster
    }
}
