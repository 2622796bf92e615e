//! Documents as text.

pub mod audit;
pub mod describe;
mod describe_policy;
pub mod effective;
pub mod explain;
pub mod get;
pub mod graph;
pub mod lint;
pub mod plan;
pub mod problem;
pub mod reach;
pub mod reported;
pub mod request;
pub mod sarif;
pub mod serve;
pub mod status;
pub mod style;
pub mod table;
pub mod unknown;
pub mod unseen;
pub mod watch;

use std::fmt::Display;
use std::io::{self, BufWriter, StdoutLock, Write};

use anstream::AutoStream;
use attache_answers::UnknownDocument;
use attache_answers::scopes::cut;
use attache_cluster::Unseen;
use attache_engine::plural;
use attache_engine::text::to_yaml;
use attache_engine::{Unknown, Value};
use serde::Serialize;

use crate::invocation::Invocation;
use reported::Reported;
use unseen::UnseenDocument;

/// Sets for the whole program whether colours are used. `auto` follows the terminal and `NO_COLOR`.
pub fn set_colour(when: clap::ColorChoice) {
    match when {
        clap::ColorChoice::Auto => anstream::ColorChoice::Auto,
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

/// `1 scope`, `37 scopes`.
pub fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {}", plural(what)) }
}

/// The first `most` names, and the number of further ones: `a, b and 3 more`.
pub fn some(names: &[impl Display], most: usize) -> String {
    let shown = cut(names.len(), most);
    let listed = joined(&names[..shown]);
    if shown < names.len() { format!("{listed} and {} more", names.len() - shown) } else { listed }
}

/// `a, b, c`.
pub fn joined(names: &[impl Display]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// That no route leads to some backends: their policies do not count for requests to a Gateway.
pub fn no_route(backends: &[impl Display]) -> String {
    format!("no route leads to {}: what is in force there is for direct requests and those of a mesh", joined(backends))
}

/// A line, broken if it is too long.
pub fn write_line(cell: impl Into<table::Cell>, screen: &mut Screen) -> io::Result<()> {
    let mut line = table::Table::plain(0);
    line.row([cell.into()]);
    line.write(screen)
}

/// Standard output. Colours are dropped if they are not wanted.
pub struct Screen {
    out: BufWriter<AutoStream<StdoutLock<'static>>>,
    width: Option<usize>,
    /// The call of the program, which hints repeat.
    pub invocation: Invocation,
    /// Kinds of which not all objects could be read. They are part of every document.
    pub unseen: Vec<Unseen>,
    /// What the answer depends on and the input does not contain. It is part of every document.
    pub unknown: Vec<Unknown>,
    /// Effective policies of policies that the user may not read, as the controller reports them. They are part of every
    /// document.
    pub reported: Vec<Reported>,
}

/// A document, with what could not be read or is not in the input.
#[derive(Serialize)]
struct WithInputNotes<'d, T> {
    #[serde(flatten)]
    document: &'d T,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unseen: Vec<UnseenDocument<'d>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<UnknownDocument>,
    #[serde(skip_serializing_if = "<[Reported]>::is_empty")]
    reported: &'d [Reported],
}

impl Screen {
    pub fn new(invocation: Invocation) -> Screen {
        let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let terminal = || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        let out = BufWriter::new(AutoStream::auto(io::stdout().lock()));
        Screen {
            out,
            width: width.or_else(terminal),
            invocation,
            unseen: Vec::new(),
            unknown: Vec::new(),
            reported: Vec::new(),
        }
    }

    /// The maximum width of lines; `None` in a pipe.
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// Removes the limit on the width of lines.
    pub fn widen(&mut self) {
        self.width = None;
    }

    pub fn json(&mut self, document: &impl Serialize) -> io::Result<()> {
        let unseen = unseen::documents(&self.unseen);
        let unknown = self.unknown.iter().map(UnknownDocument::from).collect();
        let notes = WithInputNotes { document, unseen, unknown, reported: &self.reported };
        serde_json::to_writer_pretty(&mut self.out, &notes)?;
        writeln!(self)
    }

    /// A document on one line.
    pub fn json_line(&mut self, document: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, document)?;
        writeln!(self)
    }

    pub fn yaml(&mut self, document: &impl Serialize) -> io::Result<()> {
        let unseen = unseen::documents(&self.unseen);
        let unknown = self.unknown.iter().map(UnknownDocument::from).collect();
        let notes = WithInputNotes { document, unseen, unknown, reported: &self.reported };
        let value = Value::from(serde_json::to_value(notes)?);
        self.write_all(to_yaml(&value).as_bytes())
    }
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
