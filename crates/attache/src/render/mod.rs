//! What answers look like.

pub mod audit;
pub mod describe;
mod describe_policy;
pub mod effective;
pub mod explain;
pub mod get;
pub mod graph;
pub mod lint;
mod loss;
pub mod plan;
pub mod problem;
pub mod reach;
pub mod request;
pub mod sarif;
pub mod spec;
pub mod status;
pub mod style;
pub mod table;
pub mod unseen;
pub mod watch;

use std::fmt::Display;
use std::io::{self, BufWriter, StdoutLock, Write};

use anstream::AutoStream;
use attache_answers::scopes::cut;
use attache_cluster::Unseen;
use attache_engine::Value;
use attache_engine::plural;
use attache_engine::text::to_yaml;
use serde::Serialize;

use crate::invocation::Invocation;
use unseen::UnseenDocument;

/// Decides for the whole program whether colours are used. `auto` looks at the terminal and at `NO_COLOR`.
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

/// The first `most` names, and how many more there are: `a, b and 3 more`.
pub fn some(names: &[impl Display], most: usize) -> String {
    let shown = cut(names.len(), most);
    let listed = joined(&names[..shown]);
    if shown < names.len() { format!("{listed} and {} more", names.len() - shown) } else { listed }
}

/// `a, b, c`.
pub fn joined(names: &[impl Display]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A line, or several where it is too long for one.
pub fn write_line(cell: impl Into<table::Cell>, screen: &mut Screen) -> io::Result<()> {
    let mut line = table::Table::plain(0);
    line.row([cell.into()]);
    line.write(screen)
}

/// Standard output. Colours are dropped on the way if they are not wanted.
pub struct Screen {
    out: BufWriter<AutoStream<StdoutLock<'static>>>,
    width: Option<usize>,
    /// What hints to run another command repeat.
    pub invocation: Invocation,
    /// What of the input could not be read. Every document says so.
    pub unseen: Vec<Unseen>,
}

/// A document, and what of the input could not be read.
#[derive(Serialize)]
struct WithUnseen<'d, T> {
    #[serde(flatten)]
    document: &'d T,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unseen: Vec<UnseenDocument<'d>>,
}

impl Screen {
    pub fn new(invocation: Invocation) -> Screen {
        let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let terminal = || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        let out = BufWriter::new(AutoStream::auto(io::stdout().lock()));
        Screen { out, width: width.or_else(terminal), invocation, unseen: Vec::new() }
    }

    /// The width that lines should fit; none in a pipe.
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// Lets lines be as long as they are.
    pub fn widen(&mut self) {
        self.width = None;
    }

    pub fn json(&mut self, document: &impl Serialize) -> io::Result<()> {
        let unseen = unseen::documents(&self.unseen);
        serde_json::to_writer_pretty(&mut self.out, &WithUnseen { document, unseen })?;
        writeln!(self)
    }

    /// A document on one line, for those who read line by line.
    pub fn json_line(&mut self, document: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, document)?;
        writeln!(self)
    }

    pub fn yaml(&mut self, document: &impl Serialize) -> io::Result<()> {
        let unseen = unseen::documents(&self.unseen);
        let value = Value::from(serde_json::to_value(WithUnseen { document, unseen })?);
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
