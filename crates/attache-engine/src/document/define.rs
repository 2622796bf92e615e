//! The macros that define documents and the words in them.

/// Defines a struct that is read from a document.
///
/// Doc comments describe fields to the users of the document. `#[field]` says
/// - the name of the field in the document: `#[field("targetRefs")]`;
/// - whether it is required: `#[field("kind", required)]`;
/// - its default, if it is not that of the type: `#[field("sections", default = true)]`;
/// - its default in words, for the documentation, if the value is not self-explanatory:
///   `#[field("targets", unset = "every level")]`;
/// - that it is an object whose fields all have defaults: `#[field("status", nested)]`;
/// - that the fields of another such struct are fields of this document, too: `#[field(flatten)]`;
/// - that it is not part of the document, but set by the program: `#[field(skip)]`.
macro_rules! document {
    (
        $(#[doc = $about:literal])*
        $(#[derive($($Derived:ident),+)])?
        $vis:vis struct $Name:ident {
            $(
                $(#[doc = $doc:literal])*
                #[field($($rule:tt)+)]
                $field_vis:vis $field:ident: $Type:ty,
            )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        $(#[derive($($Derived),+)])?
        $vis struct $Name {
            $($(#[doc = $doc])* $field_vis $field: $Type,)*
        }

        impl $Name {
            /// Reads the fields. Every mistake is reported before this returns `None`.
            pub(crate) fn read_fields(reader: &mut $crate::document::DocumentReader<'_, '_>) -> Option<Self> {
                $(let $field: Option<$Type> = $crate::document::document!(@read reader, $Type, $($rule)+);)*
                Some($Name { $($field: $field?),* })
            }

            pub(crate) fn object_schema() -> $crate::document::ObjectSchema {
                let fields = [$($crate::document::document!(@schema $Type, [$($doc),*], $($rule)+)),*].concat();
                $crate::document::ObjectSchema { description: $crate::document::description(&[$($about),*]), fields }
            }
        }

        impl $crate::document::FieldValue for $Name {
            const TYPE: $crate::document::ValueType = $crate::document::ValueType::Object;

            fn schema() -> $crate::document::Schema {
                $crate::document::Schema::Object($Name::object_schema())
            }

            fn read(
                value: &$crate::value::Value,
                at: &$crate::document::Location<'_>,
                diagnostics: &mut $crate::document::Diagnostics,
            ) -> Option<Self> {
                $crate::document::DocumentReader::read(value, at, diagnostics, $Name::read_fields)
            }
        }
    };

    (@read $reader:ident, $Type:ty, skip) => { Some(<$Type>::default()) };
    (@read $reader:ident, $Type:ty, flatten) => { <$Type>::read_fields($reader) };
    (@read $reader:ident, $Type:ty, $name:literal, nested) => { $reader.nested($name, <$Type>::read_fields) };
    (@read $reader:ident, $Type:ty, $name:literal, required) => { $reader.required($name) };
    (@read $reader:ident, $Type:ty, $name:literal, default = $default:expr $(, unset = $text:literal)?) => {
        Some($reader.field($name).unwrap_or_else(|| $default))
    };
    (@read $reader:ident, $Type:ty, $name:literal $(, unset = $text:literal)?) => {
        Some($reader.field($name).unwrap_or_default())
    };

    (@schema $Type:ty, $docs:tt, skip) => { Vec::new() };
    (@schema $Type:ty, $docs:tt, flatten) => { <$Type>::object_schema().into_group() };
    (@schema $Type:ty, $docs:tt, $name:literal, nested) => {
        vec![$crate::document::FieldSchema::with_text::<$Type>($name, &$docs, "the defaults of its fields")]
    };
    (@schema $Type:ty, $docs:tt, $name:literal, required) => {
        vec![$crate::document::FieldSchema::required::<$Type>($name, &$docs)]
    };
    (@schema $Type:ty, $docs:tt, $name:literal $(, default = $default:expr)?, unset = $text:literal) => {
        vec![$crate::document::FieldSchema::with_text::<$Type>($name, &$docs, $text)]
    };
    (@schema $Type:ty, $docs:tt, $name:literal, default = $default:expr) => {
        vec![$crate::document::FieldSchema::with_default::<$Type>($name, &$docs, $default)]
    };
    (@schema $Type:ty, $docs:tt, $name:literal) => {
        vec![$crate::document::FieldSchema::with_default::<$Type>($name, &$docs, <$Type>::default())]
    };
}

/// Defines an enum whose variants are words of a document. Doc comments describe them to the users of the document.
macro_rules! words {
    (
        $(#[doc = $about:literal])*
        $vis:vis enum $Name:ident {
            $($(#[doc = $doc:literal])* $Variant:ident = $word:literal,)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $vis enum $Name {
            $($(#[doc = $doc])* $Variant,)*
        }

        impl $Name {
            const WORDS: &[(&str, $Name)] = &[$(($word, $Name::$Variant)),*];

            /// The word by which documents name it.
            $vis fn name(self) -> &'static str {
                match self {
                    $($Name::$Variant => $word,)*
                }
            }
        }

        impl $crate::document::FieldValue for $Name {
            const TYPE: $crate::document::ValueType = $crate::document::ValueType::String;

            fn schema() -> $crate::document::Schema {
                $crate::document::Schema::Words(vec![$(
                    $crate::document::WordSchema {
                        word: $word,
                        description: $crate::document::description(&[$($doc),*]),
                    },
                )*])
            }

            fn read(
                value: &$crate::value::Value,
                at: &$crate::document::Location<'_>,
                diagnostics: &mut $crate::document::Diagnostics,
            ) -> Option<Self> {
                let text = diagnostics.text(value, at)?;
                diagnostics.word(text, at, $Name::WORDS)
            }

            fn describe(&self) -> Option<String> {
                Some(format!("`{}`", self.name()))
            }
        }
    };
}

/// Implements [`FieldValue`](super::FieldValue) for a type whose fields depend on each other. Its function `read_fields`
/// reads the fields as the document `$Fields` defines them, checks them together, and reports what is wrong.
macro_rules! from_document {
    ($Type:ident, $Fields:ident) => {
        impl $crate::document::FieldValue for $Type {
            const TYPE: $crate::document::ValueType = $crate::document::ValueType::Object;

            fn schema() -> $crate::document::Schema {
                <$Fields as $crate::document::FieldValue>::schema()
            }

            fn read(
                value: &$crate::value::Value,
                at: &$crate::document::Location<'_>,
                diagnostics: &mut $crate::document::Diagnostics,
            ) -> Option<Self> {
                $crate::document::DocumentReader::read(value, at, diagnostics, $Type::read_fields)
            }
        }
    };
}

pub(crate) use {document, from_document, words};
