//! A progress bar while large input is read.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressStyle};

/// Smaller input is read too quickly for a bar.
const LARGE: u64 = 8 << 20;

/// A bar on standard error, if that is a terminal and the input is large. It disappears at the end.
#[derive(Debug)]
pub struct Progress(Option<ProgressBar>);

impl Progress {
    pub fn new(bytes: u64, quiet: bool) -> Progress {
        let shown = bytes > LARGE && !quiet && stderr().is_terminal();
        Progress(shown.then(|| ProgressBar::new(bytes).with_style(style())))
    }

    pub fn advance(&self, bytes: usize) {
        if let Some(bar) = &self.0 {
            bar.inc(bytes as u64);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("reading {bar:40} {bytes} of {total_bytes}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}
