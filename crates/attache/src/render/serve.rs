//! Messages of `attache serve`.

use std::io::{self, Write};

use attache_engine::Problem;

use super::problem::show;

/// Prints the address of the page on standard output, so that scripts can read it.
pub fn write_serving(url: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{url}")?;
    out.flush()
}

/// Warns that others can see the page.
pub fn write_left_open() {
    let problem = Problem::warning("anyone who can reach this address sees everything that you may read");
    show(&problem.help("the page has no login: listen on 127.0.0.1 unless a proxy in front of it requires one"));
}
