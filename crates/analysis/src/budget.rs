//! A budget of work, so that every analysis ends and ends in the same place on every machine.
//!
//! Work is counted, not timed: one unit is one look at one arrival curve, some nanoseconds. A search that runs out of
//! work stops early, with a result that is a bound, too: a search over offsets returns the longest response that it has
//! not ruled out; a fixed point goes on in strides that double, and ends at a solution that need not be the least one.
//!
//! Theorems and proofs: `book/src/analysis/budgets.md`.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use response_time_analysis::supply::SupplyBound;
use response_time_analysis::time::Service;

/// Units of work for an analysis, besides a share for each callback.
const BASE: u64 = 40_000_000;
/// Units of work for each callback.
const SHARE: u64 = 120_000;
/// Number of plain steps that a fixed point takes; then its strides double. At a load of 99 % a few hundred are usual.
const PLAIN_STEPS: u32 = 4_096;
/// Number of halvings between a solution that a stride has reached and a length that may be none.
const HALVINGS: u32 = 24;

/// Monitor of an analysis: shows its progress, and stops it, for example on Ctrl-C.
///
/// ```
/// use rospin_analysis::Monitor;
///
/// let monitor = Monitor::default();
/// assert_eq!(monitor.share(), 0.0);
/// monitor.stop(); // Whatever is analysed under it says what it knows by now.
/// ```
#[derive(Clone, Debug, Default)]
pub struct Monitor {
    inner: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    stopped: AtomicBool,
    done: AtomicU64,
    whole: AtomicU64,
}

impl Monitor {
    /// Makes the analysis end soon, with the bounds that it has proven by then. May be called from any thread; does not
    /// block.
    pub fn stop(&self) {
        self.inner.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns true if [`stop`](Self::stop) was called.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.inner.stopped.load(Ordering::Relaxed)
    }

    /// Returns the spent share of the budget that is in use now, 0 to 1. Most analyses end long before 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        let whole = self.inner.whole.load(Ordering::Relaxed).max(1);
        (self.inner.done.load(Ordering::Relaxed) as f64 / whole as f64).min(1.0)
    }
}

/// The reason for a missing bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// The time exceeds this limit, in nanoseconds.
    Limit(u64),
    /// The budget of work ran out.
    Work,
    /// Another callback on which this one depends has no bound.
    Other,
}

/// Work that may be spent, and what stopped the last search.
#[derive(Debug)]
pub(crate) struct Budget {
    whole: u64,
    left: Cell<u64>,
    /// Work that the current search may spend.
    portion: Cell<u64>,
    stop: Cell<Option<Stop>>,
    monitor: Option<Monitor>,
}

impl Budget {
    /// Returns the budget for the bounds of `callbacks` callbacks.
    pub(crate) fn for_bounds(callbacks: usize, monitor: Option<&Monitor>) -> Self {
        Self::of(BASE + SHARE * callbacks as u64, monitor)
    }

    /// Returns a budget of `work` units, which `monitor` shows and can stop.
    pub(crate) fn of(work: u64, monitor: Option<&Monitor>) -> Self {
        if let Some(monitor) = monitor {
            monitor.inner.whole.store(work, Ordering::Relaxed);
            monitor.inner.done.store(0, Ordering::Relaxed);
        }
        Self {
            whole: work,
            left: Cell::new(work),
            portion: Cell::new(work),
            stop: Cell::new(None),
            monitor: monitor.cloned(),
        }
    }

    /// Takes units of work from the budget. Never fails: a search asks [`is_out`](Self::is_out) if it must stop.
    pub(crate) fn spend(&self, work: u64) {
        self.left.set(self.left.get().saturating_sub(work));
        self.portion.set(self.portion.get().saturating_sub(work));
        if let Some(monitor) = &self.monitor {
            monitor.inner.done.store(self.whole - self.left.get(), Ordering::Relaxed);
            if monitor.is_stopped() {
                self.left.set(0);
            }
        }
    }

    pub(crate) fn whole(&self) -> u64 {
        self.whole
    }

    pub(crate) fn left(&self) -> u64 {
        self.left.get()
    }

    /// Begins a search that may spend `portion` units of work, or what is left if that is less.
    pub(crate) fn begin(&self, portion: u64) {
        self.portion.set(portion);
        self.stop.set(None);
    }

    /// Returns true if nothing is left at all.
    pub(crate) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    /// Returns true if the search under way, or the whole budget, has nothing left.
    pub(crate) fn is_out(&self) -> bool {
        self.portion.get() == 0 || self.is_spent()
    }

    /// Returns the reason that the last search ended without a bound; [`Stop::Other`] if none was noted.
    pub(crate) fn stop(&self) -> Stop {
        self.stop.get().unwrap_or(Stop::Other)
    }

    /// Returns the least length, from `start` on, that gives time for the demand in it; or a longer one that does, if
    /// the least one takes too many steps to find. `None` if no length up to `limit` is found. `start` is no longer
    /// than the least one; a look at the demand costs `weight`.
    pub(crate) fn fixed_point(
        &self,
        supply: &impl SupplyBound,
        limit: u64,
        start: u64,
        weight: u64,
        demand: impl Fn(u64) -> u64,
    ) -> Option<u64> {
        let needs = |length: u64| {
            self.spend(weight);
            u64::from(supply.service_time(Service::from(demand(length))))
        };
        let mut length = start.max(1);
        for _ in 0..PLAIN_STEPS {
            if length > limit || self.is_out() {
                break;
            }
            let needed = needs(length);
            if needed <= length {
                return Some(length.min(needed.max(start)));
            }
            length = needed;
        }
        let mut stride = 0_u64;
        while length <= limit {
            let needed = needs(length);
            if needed <= length {
                return Some(shortened(length - stride.min(length), length, needs));
            }
            stride = stride.saturating_mul(2).max(needed - length);
            length = needed.saturating_add(stride);
        }
        self.stop.set(Some(Stop::Limit(limit)));
        None
    }
}

/// Returns a short solution between `bad`, which may be none, and `good`, which is one. A length is a solution if it is
/// at least `needs` of it: the time that the demand in an interval of that length takes.
fn shortened(mut bad: u64, mut good: u64, needs: impl Fn(u64) -> u64) -> u64 {
    for _ in 0..HALVINGS {
        let middle = bad + (good - bad) / 2;
        if middle == bad {
            break;
        }
        if needs(middle) <= middle {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}

#[cfg(test)]
mod tests {
    use response_time_analysis::supply::Dedicated;

    use super::*;

    #[test]
    fn what_runs_out_of_work_still_finds_a_solution() {
        // The demand is 10 in every 12 units of time, and 1000 once. The least solution is 6000.
        let demand = |length: u64| 1_000 + length.div_ceil(12) * 10;
        let (plain, out) = (Budget::of(1 << 30, None), Budget::of(0, None));
        let least = plain.fixed_point(&Dedicated::new(), 1 << 40, 1, 1, demand).unwrap();
        assert_eq!(least, demand(least));
        let other = out.fixed_point(&Dedicated::new(), 1 << 40, 1, 1, demand).unwrap();
        assert!(demand(other) <= other && other >= least && other < 2 * least, "{other}, least {least}");
        assert_eq!(out.fixed_point(&Dedicated::new(), 1 << 40, 1, 1, |length| length + 1), None);
        assert_eq!(out.stop(), Stop::Limit(1 << 40));
    }
}
