//! Builds an engine from objects, policy kinds and settings.

use super::Engine;
use crate::kinds::{PolicyKind, Settings, StrategyRegistry, TargetLinks, built_in};
use crate::object::{Object, Objects};

/// What an engine is built from: see [`Engine::builder`].
#[derive(Clone, Debug, Default)]
pub struct EngineBuilder {
    objects: Vec<Object>,
    kinds: Option<Vec<PolicyKind>>,
    settings: Settings,
}

impl EngineBuilder {
    /// Adds objects. PolicyKind documents among them describe further policy kinds.
    pub fn objects(mut self, objects: impl IntoIterator<Item = Object>) -> EngineBuilder {
        self.objects.extend(objects);
        self
    }

    /// Uses these policy kinds instead of the built-in ones.
    pub fn kinds(mut self, kinds: impl IntoIterator<Item = PolicyKind>) -> EngineBuilder {
        self.kinds = Some(kinds.into_iter().collect());
        self
    }

    /// Uses these merge strategies. PolicyKind documents refer to them by name.
    pub fn strategies(mut self, strategies: StrategyRegistry) -> EngineBuilder {
        self.settings.strategies = strategies;
        self
    }

    /// Links kinds of targets that the Gateway API does not know to their parents.
    pub fn links(mut self, links: TargetLinks) -> EngineBuilder {
        self.settings.links = links;
        self
    }

    /// Replaces all settings, strategies and links included.
    pub fn settings(mut self, settings: Settings) -> EngineBuilder {
        self.settings = settings;
        self
    }

    /// Builds the engine.
    pub fn build(self) -> Engine {
        let (objects, kinds, settings) = self.into_parts();
        Engine::new(objects, &kinds, settings)
    }

    pub(crate) fn into_parts(self) -> (Objects, Vec<PolicyKind>, Settings) {
        let kinds = self.kinds.unwrap_or_else(|| built_in().0);
        (Objects::new(self.objects), kinds, self.settings)
    }
}
