//! The timers themselves. Each runs on the calling thread until its grid of due times is over.

use std::io;
use std::time::Duration;

use rospin_engine::os::ThreadOptions;
use rospin_measure::timer::{LoopError, Turn, run_bare, run_rospin};
use rospin_measure::wake_up::{Lateness, now_ns};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{interval_at, sleep};

use super::contender::Contender;
use super::rcl::{RclTimer, RunError};
use super::timerfd::timerfd_loop;

/// Reasons for which a turn gave no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TurnError {
    /// A timer of this process failed.
    #[error(transparent)]
    Loop(#[from] LoopError),
    /// The timer of rcl failed.
    #[error(transparent)]
    Rcl(#[from] RunError),
    /// The timer of rcl has a turn, and was not found.
    #[error("the timer of rcl was not found")]
    NoRcl,
}

/// Runs the contender's timer for the due times of `turn`, on the calling thread, which has the settings `options`
/// meanwhile. That of rcl has a process of its own. Returns the lateness of each start, in microseconds.
pub(crate) fn run(
    contender: Contender,
    rcl: Option<&RclTimer>,
    options: &ThreadOptions,
    turn: Turn,
) -> Result<Vec<f64>, TurnError> {
    let run = match contender {
        Contender::Floor => return Ok(run_bare(options, turn)),
        Contender::Rospin => return Ok(run_rospin(options, turn)?),
        Contender::Rcl => {
            let rcl = rcl.ok_or(TurnError::NoRcl)?;
            return Ok(rcl.run(options, turn)?);
        }
        Contender::Timerfd => timerfd_loop,
        Contender::TokioInterval => tokio_interval,
        Contender::TaskPerTimer => task_per_timer,
    };
    let _set_up = options.apply_for_now();
    let mut lateness = turn.begin();
    run(&mut lateness).map_err(LoopError::Start)?;
    Ok(lateness.into_us())
}

/// Returns a Tokio runtime as programs have it: with I/O, which decides how Tokio waits. It has one thread, so that it
/// need not wake others.
fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Records a start for each tick of Tokio's interval.
fn tokio_interval(lateness: &mut Lateness) -> io::Result<()> {
    let grid = *lateness.grid();
    runtime()?.block_on(async {
        let lead = Duration::from_nanos(grid.first_ns.saturating_sub(now_ns()));
        let first = tokio::time::Instant::now() + lead;
        let mut interval = interval_at(first, grid.period());
        loop {
            let tick = interval.tick().await;
            let due_ns = grid.first_ns + tick.duration_since(first).as_nanos() as u64;
            if !lateness.start(due_ns) {
                return;
            }
        }
    });
    Ok(())
}

/// Mail from the timer's task to the worker, which runs the callback.
struct Post {
    /// Due time of the callback.
    due_ns: u64,
    /// Sender of the next due time in nanoseconds, which the worker sends once the callback has run.
    ran: oneshot::Sender<u64>,
}

/// Records a start for each mail from the timer's task.
fn task_per_timer(lateness: &mut Lateness) -> io::Result<()> {
    let grid = *lateness.grid();
    runtime()?.block_on(async {
        let (mailbox, mut posts) = mpsc::unbounded_channel();
        tokio::spawn(timer_task(grid.first_ns, mailbox));
        // This is the worker: one task with one mailbox.
        while let Some(Post { due_ns, ran }) = posts.recv().await {
            if !lateness.start(due_ns) {
                return;
            }
            // The timer's task ends only with the runtime.
            let _ = ran.send(grid.next_ns(due_ns, now_ns()));
        }
    });
    Ok(())
}

/// Sleeps until each due time, then sends a mail to the worker and waits for its answer.
///
/// Tokio's timer wheel behind `sleep` has slots of 1 ms and rounds up. Then the thread is parked for whole
/// milliseconds, counted from any point within one. So the task is up to 2 ms late, depending on where the due times
/// lie within the wheel's milliseconds. With a period of 1 ms, that is often more than a period, and the due times that
/// passed are skipped.
async fn timer_task(first_ns: u64, mailbox: mpsc::UnboundedSender<Post>) {
    let mut due_ns = first_ns;
    loop {
        sleep(Duration::from_nanos(due_ns.saturating_sub(now_ns()))).await;
        let (ran, next) = oneshot::channel();
        if mailbox.send(Post { due_ns, ran }).is_err() {
            return;
        }
        match next.await {
            Ok(next_ns) => due_ns = next_ns,
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_fires_and_ends() {
        // That of rcl has a test of its own.
        for contender in Contender::ALL.into_iter().filter(|contender| *contender != Contender::Rcl) {
            let turn = Turn { period: Duration::from_millis(2), firings: 10, phase: Duration::ZERO };
            let late_us = run(contender, None, &ThreadOptions::new(), turn).unwrap();
            assert!((1..=10).contains(&late_us.len()), "{}: {late_us:?}", contender.name());
        }
    }
}
