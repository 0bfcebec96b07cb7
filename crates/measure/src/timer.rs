//! The two timers that every other one is compared with: a bare loop, and rospin's. Each runs on the calling thread
//! until its grid of due times is over.

use std::io;
use std::time::Duration;

use rospin_engine::os::ThreadOptions;
use rospin_engine::{
    Context, ContextOptions, ExecutorOptions, Instant, Overrun, SpinError, SpinOptions, TimerError, TimerOptions,
};

use crate::wake_up::{Grid, Lateness, sleep_loop};

/// Number of missed due times that rospin's timer makes up for after a stall: those of one second at 10 kHz. The bare
/// loop makes up for all of them, too.
const CATCH_UP: u32 = 10_000;

/// Reasons for which a timer could not be run.
#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    /// A thread or Tokio's runtime could not be started.
    #[error("cannot start a thread or a runtime: {0}")]
    Start(#[from] io::Error),
    /// The executor refused the timer.
    #[error(transparent)]
    Timer(#[from] TimerError),
    /// The executor's spin failed.
    #[error(transparent)]
    Spin(#[from] SpinError),
    /// The record of starts cannot be taken out of its callback group, because the timer still uses it.
    #[error("the callback group is still in use")]
    Group,
    /// A thread panicked. The text says whose it was.
    #[error("the thread of {0} panicked")]
    Panicked(&'static str),
}

/// Settings of one run of a timer.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Time between two due times.
    pub period: Duration,
    /// Number of due times.
    pub firings: u64,
    /// Time by which all due times are shifted, less than a millisecond and different in each run of a series. The
    /// lateness of Tokio's timers depends on it, because they have a resolution of 1 ms.
    pub phase: Duration,
}

impl Turn {
    /// Returns an empty record of starts whose first due time is [a few milliseconds](Grid::soon) and the
    /// [phase](Self::phase) from now.
    #[must_use]
    pub fn begin(self) -> Lateness {
        Lateness::new(Grid::soon(self.period, self.firings, self.phase))
    }
}

/// Runs the turn in a bare loop that sleeps to absolute due times, on the calling thread, which has `options`
/// meanwhile. Returns the lateness of each start, in microseconds.
#[must_use]
pub fn run_bare(options: &ThreadOptions, turn: Turn) -> Vec<f64> {
    // The options are applied before the grid begins, because an ordinary thread may have to wait long until it is set
    // up.
    let _set_up = options.apply_for_now();
    let mut lateness = turn.begin();
    sleep_loop(&mut lateness);
    lateness.into_us()
}

/// Runs the turn with a timer of an executor, on the calling thread, which has `options` meanwhile. The timer makes up
/// for missed due times. Returns the lateness of each start, in microseconds.
///
/// # Errors
/// If the timer cannot be created, or the executor's spin fails.
pub fn run_rospin(options: &ThreadOptions, turn: Turn) -> Result<Vec<f64>, LoopError> {
    let _set_up = options.apply_for_now();
    Ok(rospin(options, turn.begin())?.into_us())
}

/// Runs a rospin timer over the grid of `lateness`, and returns `lateness` with every start in it. The thread has
/// `options` already; the executor sets them again, as it does in every program.
fn rospin(options: &ThreadOptions, lateness: Lateness) -> Result<Lateness, LoopError> {
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("timers").thread(options.clone()));
    let grid = *lateness.grid();
    let group = executor.create_group("timers", lateness);
    let first_due = Instant::from_nanos(grid.first_ns);
    let timer = TimerOptions::periodic(grid.period()).first_due(first_due).overrun(Overrun::CatchUp(CATCH_UP));
    let stop = executor.handle();
    let _timer = group.create_timer(timer, move |lateness: &mut Lateness, tick| {
        if !lateness.start(tick.due.as_nanos()) {
            stop.halt();
        }
    })?;
    match executor.spin(SpinOptions::new().timeout(grid.left())) {
        Ok(_) | Err(SpinError::Timeout) => {}
        Err(error) => return Err(error.into()),
    }
    group.into_payload().map_err(|_| LoopError::Group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_fire_and_end() {
        let turn = Turn { period: Duration::from_millis(2), firings: 10, phase: Duration::ZERO };
        for late_us in [run_bare(&ThreadOptions::new(), turn), run_rospin(&ThreadOptions::new(), turn).unwrap()] {
            assert!((1..=10).contains(&late_us.len()), "{late_us:?}");
        }
    }
}
