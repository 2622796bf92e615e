//! The types that a field of a document can have.

use std::ops::Deref;

use smol_str::SmolStr;

use super::{Diagnostics, Location, Schema};
use crate::value::{Path, Value};

/// A type that a field of a document can have.
pub trait FieldValue: Sized {
    const TYPE: ValueType;

    fn schema() -> Schema;

    /// Reads a value. Every mistake is reported before this returns `None`.
    fn read(value: &Value, at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self>;

    /// The value as documentation shows it, if it can be shown in a few words.
    fn describe(&self) -> Option<String> {
        None
    }
}

/// The type of a value in YAML or JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    String,
    Integer,
    Boolean,
    List,
    Object,
    /// A string or a list of strings.
    Strings,
    /// An object or a list of objects.
    Objects,
}

impl ValueType {
    fn holds(self, value: &Value) -> bool {
        match self {
            ValueType::String => matches!(value, Value::Str(_)),
            ValueType::Integer => matches!(value, Value::Int(_)),
            ValueType::Boolean => matches!(value, Value::Bool(_)),
            ValueType::List => matches!(value, Value::List(_)),
            ValueType::Object => matches!(value, Value::Map(_)),
            ValueType::Strings => matches!(value, Value::Str(_) | Value::List(_)),
            ValueType::Objects => matches!(value, Value::Map(_) | Value::List(_)),
        }
    }

    /// What a list of such values is called.
    fn list(self) -> &'static str {
        match self {
            ValueType::String | ValueType::Strings => "a list of strings",
            ValueType::Integer => "a list of whole numbers",
            ValueType::Object | ValueType::Objects => "a list of objects",
            ValueType::Boolean | ValueType::List => "a list",
        }
    }
}

impl FieldValue for SmolStr {
    const TYPE: ValueType = ValueType::String;

    fn schema() -> Schema {
        Schema::String("string")
    }

    fn read(value: &Value, at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        diagnostics.text(value, at).map(SmolStr::new)
    }

    fn describe(&self) -> Option<String> {
        (!self.is_empty()).then(|| format!("`{self}`"))
    }
}

impl FieldValue for bool {
    const TYPE: ValueType = ValueType::Boolean;

    fn schema() -> Schema {
        Schema::Boolean
    }

    fn read(value: &Value, at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        match value {
            Value::Bool(flag) => Some(*flag),
            other => diagnostics.wrong_type(at, "true or false", other),
        }
    }

    fn describe(&self) -> Option<String> {
        Some(format!("`{self}`"))
    }
}

impl FieldValue for i64 {
    const TYPE: ValueType = ValueType::Integer;

    fn schema() -> Schema {
        Schema::Integer
    }

    fn read(value: &Value, at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        match value {
            Value::Int(number) => Some(*number),
            other => diagnostics.wrong_type(at, "a whole number", other),
        }
    }

    fn describe(&self) -> Option<String> {
        Some(format!("`{self}`"))
    }
}

/// Implements [`FieldValue`] for a type that is written as a string and parsed by a function that cannot fail. `$noun` is
/// what documentation calls such a string.
macro_rules! written_as_string {
    ($Type:ty, $parse:expr, $noun:literal) => {
        impl $crate::document::FieldValue for $Type {
            const TYPE: $crate::document::ValueType = $crate::document::ValueType::String;

            fn schema() -> $crate::document::Schema {
                $crate::document::Schema::String($noun)
            }

            fn read(
                value: &$crate::value::Value,
                at: &$crate::document::Location<'_>,
                diagnostics: &mut $crate::document::Diagnostics,
            ) -> Option<Self> {
                diagnostics.text(value, at).map($parse)
            }

            fn describe(&self) -> Option<String> {
                Some(format!("`{self}`"))
            }
        }
    };
}

pub(crate) use written_as_string;

written_as_string!(Path, Path::parse, "path");

impl<T: FieldValue> FieldValue for Option<T> {
    const TYPE: ValueType = T::TYPE;

    fn schema() -> Schema {
        T::schema()
    }

    fn read(value: &Value, at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        T::read(value, at, diagnostics).map(Some)
    }

    fn describe(&self) -> Option<String> {
        self.as_ref().and_then(T::describe)
    }
}

/// A list. A list of one may be written without brackets.
impl<T: FieldValue> FieldValue for Vec<T> {
    const TYPE: ValueType = ValueType::List;

    fn schema() -> Schema {
        Schema::List(Box::new(T::schema()))
    }

    fn read(value: &Value, at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        match value {
            Value::List(items) => {
                let items = items.iter().enumerate();
                Some(items.filter_map(|(i, item)| T::read(item, &at.index(i), diagnostics)).collect())
            }
            one if T::TYPE.holds(one) => Some(T::read(one, at, diagnostics).into_iter().collect()),
            other => diagnostics.wrong_type(at, T::TYPE.list(), other),
        }
    }

    fn describe(&self) -> Option<String> {
        let items: Option<Vec<String>> = self.iter().map(T::describe).collect();
        items.filter(|items| !items.is_empty()).map(|items| items.join(", "))
    }
}

/// One value or a list of values, for fields whose documented form is either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        OneOrMany(Vec::new())
    }
}

impl<T> Deref for OneOrMany<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: FieldValue> FieldValue for OneOrMany<T> {
    const TYPE: ValueType = match T::TYPE {
        ValueType::Object => ValueType::Objects,
        _ => ValueType::Strings,
    };

    fn schema() -> Schema {
        Schema::OneOrMany(Box::new(T::schema()))
    }

    fn read(value: &Value, at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        Vec::read(value, at, diagnostics).map(OneOrMany)
    }

    fn describe(&self) -> Option<String> {
        self.0.describe()
    }
}

/// An object with any keys, in the order of its keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OrderedMap<K, V>(pub Vec<(K, V)>);

impl<K, V> Default for OrderedMap<K, V> {
    fn default() -> Self {
        OrderedMap(Vec::new())
    }
}

impl<K, V> Deref for OrderedMap<K, V> {
    type Target = Vec<(K, V)>;

    fn deref(&self) -> &Vec<(K, V)> {
        &self.0
    }
}

impl<K: for<'a> From<&'a str>, V: FieldValue> FieldValue for OrderedMap<K, V> {
    const TYPE: ValueType = ValueType::Object;

    fn schema() -> Schema {
        Schema::Map(Box::new(V::schema()))
    }

    fn read(value: &Value, at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        let Some(map) = value.as_map() else { return diagnostics.wrong_type(at, "an object", value) };
        let entry =
            |(key, value): &(SmolStr, Value)| Some((K::from(key.as_str()), V::read(value, &at.key(key), diagnostics)?));
        Some(OrderedMap(map.entries().iter().filter_map(entry).collect()))
    }
}
