//! Strategies by name.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use super::{MergeStrategy, built_in};
use crate::document::{Diagnostics, FieldValue, Location, Schema, ValueType};
use crate::value::Value;

/// A strategy that a kind uses. Strategies with the same name are equal.
#[derive(Clone)]
pub struct Strategy(Handle);

#[derive(Clone)]
enum Handle {
    BuiltIn(&'static dyn MergeStrategy),
    Registered(Arc<dyn MergeStrategy>),
}

impl Strategy {
    /// One policy for each target; the most specific one counts.
    pub const NONE: Strategy = Strategy(Handle::BuiltIn(&built_in::NoneStrategy));
    /// A block is taken as a whole or not at all.
    pub const ATOMIC: Strategy = Strategy(Handle::BuiltIn(&built_in::AtomicStrategy));
    /// Rule by rule.
    pub const MERGE: Strategy = Strategy(Handle::BuiltIn(&built_in::RulesStrategy));
    /// Scalar by scalar, as RFC 7386 merges.
    pub const PATCH: Strategy = Strategy(Handle::BuiltIn(&built_in::PatchStrategy));
    /// Top-level field by top-level field.
    pub const SHALLOW: Strategy = Strategy(Handle::BuiltIn(&built_in::ShallowStrategy));
    /// As `shallow`, and inside of fields where the kind concatenates lists.
    pub const DEEP: Strategy = Strategy(Handle::BuiltIn(&built_in::DeepStrategy));
    /// As `patch`, with lists that the kind matches by keys or concatenates.
    pub const STRATEGIC: Strategy = Strategy(Handle::BuiltIn(&built_in::StrategicStrategy));
    /// All policies apply, one after the other.
    pub const ACCUMULATE: Strategy = Strategy(Handle::BuiltIn(&built_in::AccumulateStrategy));
    /// The first policy that matches a request counts.
    pub const FIRST_MATCH: Strategy = Strategy(Handle::BuiltIn(&built_in::FirstMatchStrategy));

    /// All built-in strategies.
    pub const BUILT_IN: [Strategy; 9] = [
        Strategy::NONE,
        Strategy::ATOMIC,
        Strategy::MERGE,
        Strategy::PATCH,
        Strategy::SHALLOW,
        Strategy::DEEP,
        Strategy::STRATEGIC,
        Strategy::ACCUMULATE,
        Strategy::FIRST_MATCH,
    ];

    /// A strategy of an embedding program, for a [`PolicyKind`](crate::kinds::PolicyKind) that is built in code.
    /// Documents refer to strategies by name, in a [`StrategyRegistry`].
    pub fn new(strategy: impl MergeStrategy + 'static) -> Strategy {
        Strategy(Handle::Registered(Arc::new(strategy)))
    }

    /// Whether the strategy is built in.
    pub fn is_built_in(&self) -> bool {
        matches!(self.0, Handle::BuiltIn(_))
    }
}

impl Deref for Strategy {
    type Target = dyn MergeStrategy;

    fn deref(&self) -> &Self::Target {
        match &self.0 {
            Handle::BuiltIn(strategy) => *strategy,
            Handle::Registered(strategy) => &**strategy,
        }
    }
}

impl PartialEq for Strategy {
    fn eq(&self, other: &Strategy) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Strategy {}

impl Hash for Strategy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Debug for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Strategy").field(&self.name()).finish()
    }
}

/// The strategies that PolicyKind documents can name: the built-in ones, and registered ones.
#[derive(Clone, Debug)]
pub struct StrategyRegistry(Vec<Strategy>);

/// A strategy with this name is already registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrategyNameTaken {
    /// The name.
    pub name: String,
}

impl Default for StrategyRegistry {
    /// The built-in strategies.
    fn default() -> Self {
        StrategyRegistry(Strategy::BUILT_IN.to_vec())
    }
}

impl StrategyRegistry {
    /// Registers a strategy. Its name must be unique.
    pub fn register(&mut self, strategy: impl MergeStrategy + 'static) -> Result<(), StrategyNameTaken> {
        if self.get(strategy.name()).is_some() {
            return Err(StrategyNameTaken { name: strategy.name().to_owned() });
        }
        self.0.push(Strategy::new(strategy));
        Ok(())
    }

    /// The strategy with this name, in upper or lower case.
    pub fn get(&self, name: &str) -> Option<&Strategy> {
        self.0.iter().find(|strategy| strategy.name().eq_ignore_ascii_case(name))
    }

    /// Every strategy, the built-in ones first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Strategy> {
        self.0.iter()
    }
}

impl FromIterator<Strategy> for StrategyRegistry {
    fn from_iter<I: IntoIterator<Item = Strategy>>(strategies: I) -> Self {
        StrategyRegistry(strategies.into_iter().collect())
    }
}

/// A strategy is written as its name. The set of names is open, because programs register strategies of their own.
impl FieldValue for Strategy {
    const TYPE: ValueType = ValueType::String;

    fn schema() -> Schema {
        Schema::String("strategy")
    }

    fn read(value: &Value, at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        let text = diagnostics.text(value, at)?;
        let registry: Arc<StrategyRegistry> = diagnostics.context()?;
        let names: Vec<(&str, &Strategy)> = registry.iter().map(|strategy| (strategy.name(), strategy)).collect();
        diagnostics.word(text, at, &names).cloned()
    }

    fn describe(&self) -> Option<String> {
        Some(format!("`{}`", self.name()))
    }
}

impl fmt::Display for StrategyNameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is a strategy `{}` already", self.name)
    }
}

impl std::error::Error for StrategyNameTaken {}
