//! The budget of one evaluation, and the functions that spend it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cel::common::types::{CelBool, CelBytes, CelInt, CelList, CelMap, CelMapKey, CelOptional, CelString};
use cel::common::value::{CowVal, Val};
use cel::{Context, ExecutionError, FunctionContext};
use regex::Regex;

use crate::pattern;

/// Values that one evaluation may touch, counting one again each time it is copied, compared or searched.
/// The worst condition found takes 80 ms for it, and tens of megabytes; a real one needs a few hundred.
const BUDGET: u64 = 200_000;

/// A string counts as one value for every so many bytes.
const BYTES_PER_STEP: usize = 16;

/// The memory of a compiled pattern, which also bounds the time to compile it to about a millisecond.
const MAX_PATTERN: usize = 64 << 10;

/// What it costs to compile a pattern that is not written in the condition as a literal.
const PATTERN_COST: u64 = 5_000;

/// `@spend(x)` is `x`, paid for by its size. No identifier of a condition can start with `@`.
pub(super) const SPEND: &str = "@spend";

/// `@each(x, weight)` is the items of the list `x` or the sorted keys of the map `x`, paid for by their
/// size and `weight` for each.
pub(super) const EACH: &str = "@each";

pub(super) const MATCHES: &str = "matches";

/// The literal patterns of a condition, compiled once.
pub(super) type Patterns = BTreeMap<String, Regex>;

#[derive(Debug)]
pub(super) struct Meter(AtomicU64);

impl Default for Meter {
    fn default() -> Self {
        Meter(AtomicU64::new(BUDGET))
    }
}

impl Meter {
    /// Fails, and from then on always does, when the budget is used up.
    pub(super) fn spend(&self, steps: u64) -> Result<(), ExecutionError> {
        let left = self.0.load(Relaxed).saturating_sub(steps);
        self.0.store(left, Relaxed);
        match left {
            0 => Err(ExecutionError::function_error(SPEND, "out of budget")),
            _ => Ok(()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.load(Relaxed) == 0
    }

    fn spend_on(&self, value: &dyn Val) -> Result<(), ExecutionError> {
        self.spend(1)?;
        if let Some(text) = value.downcast_ref::<CelString>() {
            self.spend(steps(text.inner().len()))
        } else if let Some(bytes) = value.downcast_ref::<CelBytes>() {
            self.spend(steps(bytes.inner().len()))
        } else if let Some(list) = value.downcast_ref::<CelList>() {
            list.iter().try_for_each(|item| self.spend_on(item.as_ref()))
        } else if let Some(map) = value.downcast_ref::<CelMap>() {
            map.iter().try_for_each(|(key, item)| {
                if let CelMapKey::String(key) = key {
                    self.spend(steps(key.inner().len()))?;
                }
                self.spend_on(item.as_ref())
            })
        } else if let Some(optional) = value.downcast_ref::<CelOptional>() {
            optional.option().map_or(Ok(()), |inner| self.spend_on(inner))
        } else {
            Ok(())
        }
    }
}

fn steps(bytes: usize) -> u64 {
    (bytes / BYTES_PER_STEP) as u64
}

type Function =
    Box<dyn for<'c, 'v> Fn(&mut FunctionContext<'c, 'v>) -> Result<CowVal<'c, 'v>, ExecutionError> + Send + Sync>;

/// Adds the functions that a guarded expression calls.
pub(super) fn install(context: &mut Context<'_, '_>, meter: &Arc<Meter>, patterns: &Arc<Patterns>) {
    let spend: Function = {
        let meter = Arc::clone(meter);
        Box::new(move |call| {
            let [value] = arguments(call)?;
            meter.spend_on(value.as_ref())?;
            Ok(value)
        })
    };
    let each: Function = {
        let meter = Arc::clone(meter);
        Box::new(move |call| {
            let [range, weight] = arguments(call)?;
            meter.spend_on(range.as_ref())?;
            let items = range.as_sizer().map_or(0, |sizer| *sizer.size().inner());
            let weight = weight.downcast_ref::<CelInt>().map_or(1, |weight| *weight.inner());
            meter.spend(items.unsigned_abs().saturating_mul(weight.unsigned_abs()))?;
            Ok(match range.downcast_ref::<CelMap>() {
                Some(map) => CowVal::owned(sorted_keys(map)),
                None => range,
            })
        })
    };
    let matches: Function = {
        let (meter, patterns) = (Arc::clone(meter), Arc::clone(patterns));
        Box::new(move |call| {
            let [text, pattern] = arguments(call)?;
            let (Some(text), Some(pattern)) = (text.downcast_ref::<CelString>(), pattern.downcast_ref::<CelString>())
            else {
                let types = [&text, &pattern].map(|argument| argument.get_type().name().to_owned());
                return Err(ExecutionError::no_such_overload(MATCHES, types.into()));
            };
            // The matcher's time is bounded by the product of the two.
            meter.spend((1 + steps(text.len())).saturating_mul(1 + steps(pattern.len())))?;
            let found = match patterns.get(pattern.inner()) {
                Some(regex) => regex.is_match(text),
                None => {
                    meter.spend(PATTERN_COST)?;
                    compile(pattern).map_err(|error| ExecutionError::function_error(MATCHES, error))?.is_match(text)
                }
            };
            Ok(CowVal::owned(CelBool::from(found)))
        })
    };
    for (name, function) in [(SPEND, spend), (EACH, each), (MATCHES, matches)] {
        // It fails only for a name that the environment has already, and these it has not.
        let added = context.add_function(name, function);
        debug_assert!(added.is_ok(), "{name} is declared twice");
    }
}

/// The target of a method call, if there is one, and the arguments.
fn arguments<'c, 'v, const N: usize>(
    call: &mut FunctionContext<'c, 'v>,
) -> Result<[CowVal<'c, 'v>; N], ExecutionError> {
    let arguments: Vec<_> = call.this.take().into_iter().chain(call.args.drain(..)).collect();
    arguments.try_into().map_err(|given: Vec<_>| ExecutionError::invalid_argument_count(N, given.len()))
}

/// A map of the interpreter has its keys in random order, which would show in the result of `map` and `filter`.
fn sorted_keys<'v>(map: &CelMap<'v>) -> CelList<'v> {
    let mut keys: Vec<_> = map.keys().collect();
    keys.sort();
    CelList::from(keys.into_iter().map(|key| key.inner().clone_as_boxed()).collect::<Vec<_>>())
}

pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    pattern::compile(pattern, MAX_PATTERN)
}
