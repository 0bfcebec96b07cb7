//! Progress on stderr: a bar on a terminal, otherwise one line an executor.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Steps of the bar an executor.
const STEPS: u64 = 1000;
/// What is over by then shows no progress if its length is unknown.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often progress of unknown length is a line where there is no bar.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Progress over several runs of the same length.
pub struct Progress {
    /// Hidden unless stderr is a terminal and the user wants to see it.
    bar: ProgressBar,
    /// Whether to print lines in place of the bar.
    lines: bool,
    begun: Cell<u64>,
    runs: usize,
    duration: Duration,
}

impl Progress {
    /// Shows nothing yet. A duration of zero is unknown.
    pub fn new(runs: usize, duration: Duration, quiet: bool) -> Self {
        let terminal = io::stderr().is_terminal();
        let bar = ProgressBar::new(STEPS * runs as u64);
        if !terminal || quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template("{msg:15} [{bar:32}] {percent:>3} %  {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        Self { bar, lines: !terminal && !quiet, begun: Cell::new(0), runs, duration }
    }

    /// The next executor starts.
    pub fn begin(&self, executor: &str) {
        self.begun.set(self.begun.get() + 1);
        self.bar.set_message(executor.to_owned());
        if self.lines {
            let (number, runs, seconds) = (self.begun.get(), self.runs, self.duration.as_secs_f64());
            let time = if self.duration.is_zero() { String::new() } else { format!(" for {seconds} s") };
            // Progress that cannot be shown is no reason to stop.
            let _ = writeln!(io::stderr().lock(), "running {executor}{time} ({number} of {runs})");
        }
    }

    /// The running executor has done this share of its run, 0 to 1.
    pub fn at(&self, share: f64) {
        let done = self.begun.get().saturating_sub(1) * STEPS;
        self.bar.set_position(done + (share.clamp(0.0, 1.0) * STEPS as f64) as u64);
    }

    /// The running executor is done.
    pub fn end(&self) {
        self.at(1.0);
        if self.begun.get() == self.runs as u64 {
            self.bar.finish_and_clear();
        }
    }
}

/// Progress of something that is over in a moment more often than not: shown only if it is not.
pub struct LateProgress {
    name: &'static str,
    quiet: bool,
    begun: Instant,
    /// There from the beginning, for its idea of the time left; hidden until it is late.
    bar: Progress,
    is_shown: bool,
    /// How long it will have run when the next line is due.
    next_line: Duration,
}

impl LateProgress {
    /// It begins now.
    pub fn begin(name: &'static str, quiet: bool) -> Self {
        let bar = Progress::new(1, Duration::ZERO, true);
        bar.begin(name);
        Self { name, quiet, begun: Instant::now(), bar, is_shown: false, next_line: PATIENCE }
    }

    /// This share of it is done, 0 to 1. May be called a thousand times a second.
    pub fn at(&mut self, share: f64) {
        self.bar.at(share);
        let elapsed = self.begun.elapsed();
        if self.quiet || elapsed < PATIENCE {
            return;
        }
        if io::stderr().is_terminal() {
            if !std::mem::replace(&mut self.is_shown, true) {
                self.bar.bar.set_draw_target(ProgressDrawTarget::stderr());
            }
        } else if self.line_is_due(elapsed) {
            let _ = writeln!(io::stderr().lock(), "{}: {:.0} % done", self.name, share * 100.0);
        }
    }

    /// It is done.
    pub fn end(self) {
        self.bar.end();
    }

    fn line_is_due(&mut self, elapsed: Duration) -> bool {
        let due = elapsed >= self.next_line;
        if due {
            self.next_line = elapsed + LINE_EVERY;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_late_and_seldom() {
        let mut progress = LateProgress::begin("test", false);
        let due = [0, 500, 1_000, 1_001, 9_999, 11_000, 12_000, 30_000]
            .map(|ms| progress.line_is_due(Duration::from_millis(ms)));
        assert_eq!(due, [false, false, true, false, false, true, false, true]);
    }
}
