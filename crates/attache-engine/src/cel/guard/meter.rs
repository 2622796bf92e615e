//! The budget of one evaluation, and the functions that charge it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cel::common::types::{CelBool, CelBytes, CelInt, CelList, CelMap, CelMapKey, CelOptional, CelString};
use cel::common::value::{CowVal, Val};
use cel::{Context, ExecutionError, FunctionContext};
use regex::Regex;

/// The steps of one evaluation. A value costs one step each time that it is copied, compared or searched. Real conditions need a
/// few hundred. The worst expression found takes 80 ms and tens of megabytes until the budget is used up.
pub const BUDGET: u64 = 200_000;

/// A string costs one more step for every so many bytes.
const BYTES_PER_STEP: usize = 16;

/// The steps of compiling a pattern that is not a literal.
const PATTERN_COST: u64 = 5_000;

/// `@spend(x)` returns `x` and charges its size.
pub(super) const SPEND: &str = "@spend";

/// `@each(x, weight)` returns the items of a list `x` or the sorted keys of a map `x`. It charges the size of `x`, and `weight`
/// steps for each item.
pub(super) const EACH: &str = "@each";

pub(super) const MATCHES: &str = "matches";

/// The literal patterns of an expression, compiled once.
pub(super) type Patterns = BTreeMap<String, Regex>;

/// The steps that an evaluation has left.
#[derive(Debug)]
pub struct Meter {
    left: AtomicU64,
    /// How often something was charged, also after the budget was used up.
    #[cfg(test)]
    charges: AtomicU64,
}

impl Default for Meter {
    fn default() -> Self {
        Meter {
            left: AtomicU64::new(BUDGET),
            #[cfg(test)]
            charges: AtomicU64::new(0),
        }
    }
}

impl Meter {
    /// Charges steps. Fails, now and always after, when the budget is used up.
    pub fn spend(&self, steps: u64) -> Result<(), ExecutionError> {
        #[cfg(test)]
        self.charges.fetch_add(1, Relaxed);
        let left = self.left.load(Relaxed).saturating_sub(steps);
        self.left.store(left, Relaxed);
        match left {
            0 => Err(ExecutionError::function_error(SPEND, "out of budget")),
            _ => Ok(()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left.load(Relaxed) == 0
    }

    #[cfg(test)]
    pub(in super::super) fn spent(&self) -> u64 {
        BUDGET - self.left.load(Relaxed)
    }

    #[cfg(test)]
    pub(in super::super) fn charges(&self) -> u64 {
        self.charges.load(Relaxed)
    }

    /// Charges the size of a value.
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
pub(super) fn install(
    context: &mut Context<'_, '_>,
    meter: &Arc<Meter>,
    patterns: &Arc<Patterns>,
    compile_pattern: fn(&str) -> Result<Regex, String>,
) {
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
            // The time to match is at most proportional to the product of the two lengths.
            meter.spend((1 + steps(text.len())).saturating_mul(1 + steps(pattern.len())))?;
            let found = match patterns.get(pattern.inner()) {
                Some(regex) => regex.is_match(text),
                None => {
                    meter.spend(PATTERN_COST)?;
                    let compiled = compile_pattern(pattern.inner());
                    compiled.map_err(|error| ExecutionError::function_error(MATCHES, error))?.is_match(text)
                }
            };
            Ok(CowVal::owned(CelBool::from(found)))
        })
    };
    for (name, function) in [(SPEND, spend), (EACH, each), (MATCHES, matches)] {
        // This fails only if the environment has a function of this name, which it has not.
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

/// The keys of a map, sorted: the interpreter has them in random order, which would show in the results of `map` and `filter`.
fn sorted_keys<'v>(map: &CelMap<'v>) -> CelList<'v> {
    let mut keys: Vec<_> = map.keys().collect();
    keys.sort();
    CelList::from(keys.into_iter().map(|key| key.inner().clone_as_boxed()).collect::<Vec<_>>())
}
