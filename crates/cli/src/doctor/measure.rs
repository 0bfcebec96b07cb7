//! Measurements: the lateness of threads that wake up, and the time that rospin adds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rospin_engine::os::ThreadOptions;
use rospin_engine::{
    Context, ContextOptions, ExecutorOptions, SpinError, SpinOptions, SubscriptionOptions, TopicError,
};
use rospin_measure::setup::Setup;
use rospin_measure::stats::percentile;
use rospin_measure::timer::{LoopError, Turn, run_rospin};
use rospin_measure::wake_up::{Grid, Lateness, now_ns, sleep_loop};
use serde::Serialize;

use super::finding::{Finding, read_file};
use super::host::{STAT, Ticks};

/// Time between two wake-ups of a measured thread.
const PERIOD: Duration = Duration::from_millis(1);
/// Number of messages that are dispatched one after the other in each burst.
const BURST: usize = 1000;
/// Number of bursts in the measurement of dispatch and publication.
const BURSTS: usize = 50;
/// Number of bursts, or of messages, at the beginning of a measurement that do not count.
const WARM_UP: usize = 5;

/// Reasons for which a measurement failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MeasureError {
    #[error(transparent)]
    Timer(#[from] LoopError),
    #[error("cannot measure with a topic: {0}")]
    Topic(#[from] TopicError),
    #[error("cannot measure with an executor: {0}")]
    Spin(#[from] SpinError),
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
    #[error("{0}: nothing ran in the time that was given; try a longer --duration")]
    Nothing(&'static str),
    #[error("{0}: a thread panicked")]
    Panicked(&'static str),
}

/// Percentiles of a measurement's values in microseconds, and their number. `p999` is the 99.9th percentile.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(crate) struct Microseconds {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) max: f64,
    pub(crate) count: usize,
}

impl Microseconds {
    /// Returns the percentiles of `values`. The error for no values has the `name` of the measurement.
    fn of(name: &'static str, values: &[f64]) -> Result<Self, MeasureError> {
        let at = |percent| percentile(values, percent).ok_or(MeasureError::Nothing(name));
        let (p50, p99, p999, max) = (at(50.0)?, at(99.0)?, at(99.9)?, at(100.0)?);
        Ok(Self { p50, p99, p999, max, count: values.len() })
    }
}

/// Results of all measurements.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Measured {
    /// Lateness of an ordinary thread that sleeps to due times, at 1 kHz.
    pub(crate) floor_plain: Microseconds,
    /// Lateness of a thread with a real-time priority that sleeps to due times, at 1 kHz; `None` if no thread can have
    /// such a priority.
    pub(crate) floor_real_time: Option<Microseconds>,
    /// Lateness of the callback of a rospin timer at 1 kHz, with a real-time priority if the process may have one.
    pub(crate) timer: Microseconds,
    /// Time from the publication of a message to the start of its callback in a parked executor, with the same priority
    /// as `timer`.
    pub(crate) notification: Microseconds,
    /// Time from the start of a callback to the start of the next one that is ready, both empty.
    pub(crate) dispatch: Microseconds,
    /// Time that the publication of a message takes, with one subscription in the process.
    pub(crate) publish: Microseconds,
    /// Share of all cores' time that the host took during the measurements, in percent.
    pub(crate) stolen_percent: f64,
}

/// Runs all measurements: those of wake-ups for `duration` each, and those of dispatch and publication with a fixed
/// number of messages. Calls `progress` with the share that is done, 0 to 1.
pub(crate) fn measure(setup: &Setup, duration: Duration, progress: &dyn Fn(f64)) -> Result<Measured, MeasureError> {
    let before = ticks();
    let count = (duration.as_secs_f64() / PERIOD.as_secs_f64()).ceil() as u64;
    let floor_plain = floor("the floor", &setup.ordinary(), count)?;
    progress(0.25);
    let floor_real_time =
        setup.is_real_time().then(|| floor("the real-time floor", &setup.timer, count)).transpose()?;
    progress(0.5);
    let turn = Turn { period: PERIOD, firings: count, phase: Duration::ZERO };
    let options = setup.timer.clone();
    let timer = apart("the timer", move || run_rospin(&options, turn))??;
    progress(0.75);
    let notification = notifications(setup, count)?;
    let options = setup.timer.clone();
    let (dispatch, publish) = apart("the dispatch", move || bursts(&options))??;
    progress(1.0);
    Ok(Measured {
        floor_plain,
        floor_real_time,
        timer: Microseconds::of("the timer", &timer)?,
        notification: Microseconds::of("the notification", &notification)?,
        dispatch: Microseconds::of("the dispatch", &dispatch)?,
        publish: Microseconds::of("the publication", &publish)?,
        stolen_percent: ticks().stolen_percent(before),
    })
}

impl Measured {
    /// Returns the names and microseconds of the overheads that the analysis adds to execution times. Those of dispatch
    /// and publication are 99th percentiles. That of wake-ups is the 99.9th percentile, because the largest value is a
    /// stall of the machine, which would make every bound useless.
    pub(crate) const fn overheads_us(&self) -> [(&'static str, f64); 3] {
        // The same interruptions delay a dispatch and a wake-up. They are counted in the wake-up.
        let wake_up = self.timer.p999.max(self.notification.p999);
        [("dispatch", self.dispatch.p99), ("wake_up", wake_up), ("receive", self.publish.p99)]
    }

    /// Judges the machine by the lateness of a bare loop, with a real-time priority if there is one.
    pub(crate) fn finding(&self) -> Finding {
        const NAME: &str = "measured wake-up";
        let floor = self.floor_real_time.unwrap_or(self.floor_plain);
        let Microseconds { p50, p99, max, .. } = floor;
        let kind = if self.floor_real_time.is_some() { "with SCHED_FIFO" } else { "of an ordinary thread" };
        let value =
            format!("{p50:.0} us late at the median, {p99:.0} at the 99th percentile, {max:.0} at most, {kind}");
        if p99 <= 100.0 && max <= 1000.0 {
            return Finding::good(NAME, value, "periods of a millisecond can be kept");
        }
        let meaning =
            format!("deadlines closer than {:.1} ms are missed now and then, whatever the executor", max / 1000.0);
        let stolen = match self.stolen_percent {
            percent if percent >= 0.1 => format!("; the host took {percent:.1} % of the time meanwhile"),
            _ => String::new(),
        };
        let finding = Finding::limits(NAME, value, meaning, format!("see what else limits you{stolen}"));
        if p99 > 1000.0 { finding.broken() } else { finding }
    }
}

/// Returns the processor time of all cores; zeros if it cannot be read.
fn ticks() -> Ticks {
    read_file(STAT).and_then(|text| Ticks::parse(&text)).unwrap_or_default()
}

/// Runs `f` on a thread of its own, so that the settings that it applies end with the thread. `name` is that of the
/// measurement, for the error.
fn apart<T: Send + 'static>(name: &'static str, f: impl FnOnce() -> T + Send + 'static) -> Result<T, MeasureError> {
    thread::Builder::new().name("doctor".to_owned()).spawn(f)?.join().map_err(|_| MeasureError::Panicked(name))
}

/// Measures the lateness of a bare loop of `count` wake-ups, on a new thread with `options`. `name` is that of the
/// measurement, for errors.
fn floor(name: &'static str, options: &ThreadOptions, count: u64) -> Result<Microseconds, MeasureError> {
    let options = options.clone();
    let late_us = apart(name, move || {
        options.apply();
        let mut lateness = Lateness::new(Grid::soon(PERIOD, count, Duration::ZERO));
        sleep_loop(&mut lateness);
        lateness.into_us()
    })?;
    Microseconds::of(name, &late_us)
}

/// Measures the time from publication to callback: an ordinary thread publishes the present time `count` times, and the
/// callback compares it with the time then. Returns the microseconds of each message but the first ones.
fn notifications(setup: &Setup, count: u64) -> Result<Vec<f64>, MeasureError> {
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("notified").thread(setup.timer.clone()));
    let group = executor.create_group("notified", Vec::with_capacity(count as usize));
    let publisher = context.create_local_publisher::<u64>("time")?;
    let is_over = Arc::new(AtomicBool::new(false));
    let (handle, over) = (executor.handle(), Arc::clone(&is_over));
    let _subscription = group.create_local_subscription("time", move |late_us: &mut Vec<f64>, sent_ns: Arc<u64>| {
        late_us.push((now_ns() - *sent_ns) as f64 / 1e3);
        if over.load(Ordering::Relaxed) {
            handle.halt();
        }
    })?;
    let body = move || (executor.spin(SpinOptions::new()), executor);
    let spinning = thread::Builder::new().name("notified".to_owned()).spawn(body)?;
    for number in 1..=count {
        thread::sleep(PERIOD);
        is_over.store(number == count, Ordering::Relaxed);
        publisher.publish(now_ns());
    }
    // The group's payload exists as long as the executor, so the executor is kept.
    let (spun, _executor) = spinning.join().map_err(|_| MeasureError::Panicked("the notification"))?;
    spun?;
    let mut late_us = group.into_payload().unwrap_or_default();
    // The first values may include the time in which the thread was set up.
    late_us.drain(..WARM_UP.min(late_us.len().saturating_sub(1)));
    Ok(late_us)
}

/// Returns the microseconds from the start of an empty callback to the start of the next, and those from one
/// publication to the next. The calling thread has `options` while the callbacks run, and its own settings while it
/// publishes.
fn bursts(options: &ThreadOptions) -> Result<(Vec<f64>, Vec<f64>), MeasureError> {
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("bursts").thread(options.clone()));
    let group = executor.create_group("bursts", Vec::with_capacity(BURST * BURSTS));
    let publisher = context.create_local_publisher::<u64>("burst")?;
    let subscription = SubscriptionOptions::new("burst").keep_last(BURST);
    let record = |starts_ns: &mut Vec<u64>, _: Arc<u64>| starts_ns.push(now_ns());
    let _subscription = group.create_local_subscription(subscription, record)?;
    let mut published_ns = Vec::with_capacity(BURST * BURSTS);
    for _ in 0..BURSTS {
        for _ in 0..BURST {
            publisher.publish(0);
            published_ns.push(now_ns());
        }
        executor.spin(SpinOptions::spin_all())?;
    }
    let starts_ns = group.into_payload().unwrap_or_default();
    Ok((steps_us(&starts_ns), steps_us(&published_ns)))
}

/// Returns the differences between neighbouring times of each burst, in microseconds. The first bursts are left out.
fn steps_us(times_ns: &[u64]) -> Vec<f64> {
    let bursts = times_ns.chunks(BURST).skip(WARM_UP);
    bursts.flat_map(|burst| burst.windows(2)).map(|pair| (pair[1] - pair[0]) as f64 / 1e3).collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::super::testing;
    use super::*;

    #[test]
    fn steps_are_taken_within_bursts_after_the_warm_up() {
        let times: Vec<u64> = (0..(WARM_UP + 2) * BURST).map(|n| n as u64 * 2000).collect();
        let steps = steps_us(&times);
        assert_eq!(steps.len(), 2 * (BURST - 1));
        assert!(steps.iter().all(|step| (*step - 2.0).abs() < 1e-9));
    }

    #[test]
    fn the_floor_decides_what_the_machine_can_promise() {
        let with = |p99, max| {
            let floor = Microseconds { p50: 5.0, p99, p999: p99, max, count: 9 };
            Measured { floor_real_time: Some(floor), ..testing::measured() }.finding()
        };
        assert_eq!(with(50.0, 900.0).verdict, Verdict::Good);
        assert_eq!(with(50.0, 4000.0).verdict, Verdict::LimitsYou);
        assert_eq!(with(1500.0, 4000.0).verdict, Verdict::Broken);
        assert!(with(50.0, 4000.0).meaning.contains("4.0 ms"));
        let plain = Measured { floor_real_time: None, ..testing::measured() }.finding();
        assert!(plain.value.contains("ordinary"), "{}", plain.value);
    }

    #[test]
    fn everything_is_measured_in_a_moment() {
        let setup = Setup::find(None).unwrap();
        let measured = measure(&setup, Duration::from_millis(20), &|_| {}).unwrap();
        assert_eq!(measured.floor_real_time.is_some(), setup.is_real_time());
        assert!(measured.overheads_us().iter().all(|(_, us)| *us >= 0.0));
        assert_eq!(measured.dispatch.count, (BURSTS - WARM_UP) * (BURST - 1));
    }
}
