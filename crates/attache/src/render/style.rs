//! The meaning of colours.

use std::fmt;

use anstyle::{AnsiColor, Effects, Style};

use crate::invocation::UNBROKEN_SPACE;

pub const PLAIN: Style = Style::new();
pub const HEAD: Style = Style::new().bold();
/// An object that a policy can be attached to.
pub const OBJECT: Style = AnsiColor::Cyan.on_default();
pub const POLICY: Style = AnsiColor::Magenta.on_default();
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const BAD: Style = AnsiColor::Red.on_default();
pub const WARNING: Style = AnsiColor::Yellow.on_default();
/// Worth knowing, but not wrong.
pub const INFO: Style = AnsiColor::Blue.on_default();
/// Less important than its surroundings.
pub const DIM: Style = Style::new().effects(Effects::DIMMED);
/// A value that lost. It is also marked with [`LOST_MARK`], for terminals without strike-through.
pub const LOST: Style = Style::new().effects(Effects::DIMMED.insert(Effects::STRIKETHROUGH));
pub const LOST_MARK: &str = "✗";

/// A text in one style.
#[derive(Clone, Debug)]
pub struct Painted {
    pub style: Style,
    pub text: String,
}

pub fn paint(style: Style, text: impl fmt::Display) -> Painted {
    Painted { style, text: text.to_string() }
}

impl fmt::Display for Painted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = if self.text.is_empty() { PLAIN } else { self.style };
        write!(f, "{style}")?;
        for (i, part) in self.text.split(UNBROKEN_SPACE).enumerate() {
            write!(f, "{}{part}", if i == 0 { "" } else { " " })?;
        }
        write!(f, "{style:#}")
    }
}
