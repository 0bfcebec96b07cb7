//! Progress on stderr: a bar on a terminal, otherwise a line for each run.

use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rospin_measure::others::Others;

use crate::distrust::Distrust;

/// Number of steps of the bar for each run.
const STEPS: u64 = 1000;
/// Time after which a [`LateProgress`] becomes visible.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time between two lines of a [`LateProgress`] where stderr is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Progress over several runs of the same length, such as one for each executor that is compared.
pub struct Progress {
    /// Bar over all runs. It is hidden unless stderr is a terminal and the user wants to see progress.
    bar: ProgressBar,
    /// True if lines are printed in place of the bar.
    lines: bool,
    /// Number of runs that have begun.
    begun: Cell<u64>,
    /// Number of all runs.
    runs: usize,
    /// Length of each run; zero if it is not known.
    duration: Duration,
    /// The runs that others have disturbed.
    distrust: Distrust,
    /// The name of the current run, and the meter of what others do meanwhile.
    current: RefCell<Option<(String, Others)>>,
}

impl Progress {
    /// Returns the progress of `runs` runs that take `duration` each; a `duration` of zero means that it is not known.
    /// Shows nothing before the first run begins. With `quiet`, it never shows anything.
    pub fn new(runs: usize, duration: Duration, quiet: bool) -> Self {
        let terminal = io::stderr().is_terminal();
        let bar = ProgressBar::new(STEPS * runs as u64);
        if !terminal || quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template("{msg:15} [{bar:32}] {percent:>3} %  {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        Self {
            bar,
            lines: !terminal && !quiet,
            begun: Cell::new(0),
            runs,
            duration,
            distrust: Distrust::default(),
            current: RefCell::default(),
        }
    }

    /// Notes in `distrust` the runs during which other programs keep the machine busy.
    #[must_use]
    pub(crate) fn with_distrust(mut self, distrust: &Distrust) -> Self {
        self.distrust = distrust.clone();
        self
    }

    /// Begins the next run, and shows its name, such as that of an executor.
    pub fn begin(&self, executor: &str) {
        self.begun.set(self.begun.get() + 1);
        self.current.replace(Some((executor.to_owned(), Others::watch())));
        self.bar.set_message(executor.to_owned());
        if self.lines {
            let number = self.begun.get();
            let runs = self.runs;
            let seconds = self.duration.as_secs_f64();
            let time = if self.duration.is_zero() { String::new() } else { format!(" for {seconds} s") };
            // A run goes on although its progress cannot be shown.
            let _ = writeln!(io::stderr().lock(), "running {executor}{time} ({number} of {runs})");
        }
    }

    /// Sets the share of the current run that is done, 0 to 1.
    pub fn at(&self, share: f64) {
        let done = self.begun.get().saturating_sub(1) * STEPS;
        self.bar.set_position(done + (share.clamp(0.0, 1.0) * STEPS as f64) as u64);
    }

    /// Ends the current run: fills its part of the bar, and removes the bar after the last run. Notes if other programs
    /// kept the machine busy meanwhile.
    pub fn end(&self) {
        if let Some((run, others)) = self.current.take()
            && let Some(cores) = others.busy_cores()
        {
            self.distrust.note(run, format!("other programs kept {cores:.1} cores busy"));
        }
        self.at(1.0);
        if self.begun.get() == self.runs as u64 {
            self.bar.finish_and_clear();
        }
    }
}

/// Progress of work that usually takes less than a second. It is shown only if the work takes longer.
pub struct LateProgress {
    name: &'static str,
    quiet: bool,
    begun: Instant,
    /// Bar that exists from the beginning, so that it can estimate the time left; hidden for the first second.
    bar: Progress,
    /// True if the bar is visible.
    is_shown: bool,
    /// Time since the beginning at which the next line is due.
    next_line: Duration,
}

impl LateProgress {
    /// Returns the progress of work that begins now, called `name`. With `quiet`, it never shows anything.
    pub fn begin(name: &'static str, quiet: bool) -> Self {
        let bar = Progress::new(1, Duration::ZERO, true);
        bar.begin(name);
        Self { name, quiet, begun: Instant::now(), bar, is_shown: false, next_line: PATIENCE }
    }

    /// Sets the share of the work that is done, 0 to 1. Cheap enough to call a thousand times a second.
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

    /// Removes the bar, because the work is done.
    pub fn end(self) {
        self.bar.end();
    }

    /// Returns true if a line must be printed now, `elapsed` after the beginning, and sets the time of the next line.
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
