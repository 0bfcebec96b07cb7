//! A timer that has nothing to do with the network, and a check that it went on while there was none.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use rospin_engine::{CallbackGroup, Context, Executor, Instant, LossCause, Tick, Timer};

/// Period of the timer.
const PERIOD: Duration = Duration::from_millis(5);

/// The timer, and counts of its ticks.
#[derive(Debug)]
pub struct Ticks {
    timer: Arc<OnceLock<Timer>>,
    seen: Arc<Mutex<Seen>>,
    _group: CallbackGroup<()>,
}

#[derive(Debug, Default)]
struct Seen {
    ticks: u64,
    /// Number of due times that the timer had given up when its callback last ran.
    overruns: u64,
    first: Option<Instant>,
    unaccounted: u64,
    latest: Duration,
}

impl Ticks {
    /// Starts the timer.
    ///
    /// # Panics
    /// If the executor is gone.
    #[must_use]
    pub fn start(context: &Context, executor: &Executor) -> Self {
        let group = executor.create_group("ticks", ());
        let seen = Arc::<Mutex<Seen>>::default();
        let clock = context.clock().clone();
        let log = Arc::clone(&seen);
        let timer = Arc::<OnceLock<Timer>>::default();
        let own = Arc::clone(&timer);
        let created = group.create_timer(PERIOD, move |(), Tick { due, .. }| {
            let mut seen = log.lock().unwrap();
            let first = *seen.first.get_or_insert(due);
            let due_before = due.saturating_since(first).as_nanos() / PERIOD.as_nanos();
            seen.unaccounted += u64::from(due_before != u128::from(seen.ticks + seen.overruns));
            seen.ticks += 1;
            seen.latest = seen.latest.max(clock.now().saturating_since(due));
            seen.overruns = own.get().expect("it was there before the spin").lost(LossCause::TimerOverrun);
        });
        timer.set(created.unwrap()).expect("it is set once");
        Self { timer, seen, _group: group }
    }

    /// Returns four numbers, as text with blanks between them: ticks, due times that were given up, ticks before which
    /// a due time was neither served nor counted as given up, and the largest lateness in milliseconds.
    ///
    /// # Panics
    /// If a callback of the timer did.
    #[must_use]
    pub fn figures(&self) -> String {
        let seen = self.seen.lock().unwrap();
        let overruns = self.timer.get().map_or(0, |timer| timer.lost(LossCause::TimerOverrun));
        format!("{} {overruns} {} {}", seen.ticks, seen.unaccounted, seen.latest.as_millis())
    }
}

/// Checks that a timer with those [figures](Ticks::figures) went on during an outage of the network of this length.
///
/// # Panics
/// If it did not.
pub fn assert_they_went_on(figures: &[i64], outage: Duration) {
    let [ticks, overruns, unaccounted, latest_ms] = figures else { panic!("figures") };
    assert_eq!(*unaccounted, 0, "every due time is accounted for");
    let due = i64::try_from(outage.as_millis() / PERIOD.as_millis()).unwrap();
    assert!(ticks + overruns >= due, "it went on all the while");
    assert!(*latest_ms < 2_000, "a tick was {latest_ms} ms late, as if it had waited for the network");
}
