//! Progress on stderr: a bar on a terminal, otherwise one line an executor.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Steps of the bar an executor.
const STEPS: u64 = 1000;

/// Progress over several runs of the same length.
pub(crate) struct Progress {
    /// Hidden unless stderr is a terminal and the user wants to see it.
    bar: ProgressBar,
    /// Whether to print lines in place of the bar.
    lines: bool,
    begun: Cell<u64>,
    runs: usize,
    duration: Duration,
}

impl Progress {
    /// Shows nothing yet.
    pub(crate) fn new(runs: usize, duration: Duration, quiet: bool) -> Self {
        let terminal = io::stderr().is_terminal();
        let bar = if terminal && !quiet { ProgressBar::new(STEPS * runs as u64) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{msg:15} [{bar:32}] {percent:>3} %  {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        Self { bar, lines: !terminal && !quiet, begun: Cell::new(0), runs, duration }
    }

    /// The next executor starts.
    pub(crate) fn begin(&self, executor: &str) {
        self.begun.set(self.begun.get() + 1);
        self.bar.set_message(executor.to_owned());
        if self.lines {
            let (number, runs, seconds) = (self.begun.get(), self.runs, self.duration.as_secs_f64());
            // Progress that cannot be shown is no reason to stop.
            let _ = writeln!(io::stderr().lock(), "running {executor} for {seconds} s ({number} of {runs})");
        }
    }

    /// The running executor has done this share of its run, 0 to 1.
    pub(crate) fn at(&self, share: f64) {
        let done = self.begun.get().saturating_sub(1) * STEPS;
        self.bar.set_position(done + (share.clamp(0.0, 1.0) * STEPS as f64) as u64);
    }

    /// The running executor is done.
    pub(crate) fn end(&self) {
        self.at(1.0);
        if self.begun.get() == self.runs as u64 {
            self.bar.finish_and_clear();
        }
    }
}
