//! Scenarios that begin with a critical instant.
//!
//! At a critical instant all callbacks are released at once. From then on they are released as often as they may, and
//! run as long as they may. If callbacks are not preempted, a less urgent one has begun just before (Lehoczky, RTSS
//! 1990; George, Rivierre and Spuri, INRIA 2966, 1996). Which one is the worst depends on the policy, so there is a
//! scenario for each.
//!
//! A simulation of such a scenario shows one possible schedule. Its longest response time is the bound wherever the
//! analysis is exact.

use std::time::Duration;

use rospin_core::{EntityKind, Overrun};
use rospin_scenario::{ExecutionTime, Fault, Pattern, Release, Scenario};

use crate::analysis::Analysis;
use crate::lower::{extra, longest};

/// Time of all first releases, except that of the callback that has begun before.
const INSTANT: Duration = Duration::from_nanos(1);
/// Largest number of callbacks that are tried as the one that has begun before.
const FIRST_MAX: usize = 32;
/// Largest number of arrivals that are listed for a release with jitter.
const ARRIVALS_MAX: u32 = 4_096;

impl Analysis<'_> {
    /// Returns scenarios of length `duration` that begin with a critical instant: one in which all timers and releases
    /// from outside begin at once, and one for each callback that may have begun just before. Those are the timers and
    /// the callbacks that a release names, the first 32 of them. Execution times include the overheads of dispatching
    /// and waking up.
    #[must_use]
    pub fn critical_instants(&self, duration: Duration) -> Vec<Scenario> {
        let mut worst = self.scenario().clone();
        worst.duration = duration.max(INSTANT);
        lengthen(&mut worst, Duration::from_nanos(extra(self.overheads_of())));
        let is_source = |name: &String| {
            let callback = worst.callbacks.iter().find(|callback| callback.name == *name);
            callback.is_some_and(|callback| callback.kind == EntityKind::Timer)
                || worst.releases.iter().any(|release| release.to.contains(name))
        };
        let names = worst.callbacks.iter().map(|callback| &callback.name).filter(|name| is_source(name));
        let first: Vec<_> = names.take(FIRST_MAX).cloned().map(Some).collect();
        std::iter::once(None).chain(first).map(|first| with_first(&worst, first.as_deref())).collect()
    }
}

/// Gives each callback its longest execution time, with the overhead and the longest overrun. Then removes the faults,
/// and lets timers catch up on missed due times, unless bounds may follow from those that they skip: where executors have
/// several threads.
fn lengthen(scenario: &mut Scenario, overhead: Duration) {
    let fixed = |time: &ExecutionTime, more: Duration| ExecutionTime::Fixed(Duration::from_nanos(longest(time)) + more);
    let skips = scenario.executors.iter().any(|executor| executor.threads > 1);
    for callback in &mut scenario.callbacks {
        let overrun = scenario.faults.iter().find_map(|fault| match fault {
            Fault::Overrun { callback: name, extra, .. } if *name == callback.name => Some(*extra),
            _ => None,
        });
        callback.execution = fixed(&callback.execution, overhead + overrun.unwrap_or_default());
        for pause in &mut callback.awaits {
            if pause.accelerator.is_none() {
                pause.wait = fixed(&pause.wait, Duration::ZERO);
            }
            pause.segments.iter_mut().for_each(|segment| *segment = fixed(segment, Duration::ZERO));
            pause.run = fixed(&pause.run, overhead);
        }
        // A timer that misses a due time serves it late, so that no activation is left out.
        if callback.period.is_some() && !skips {
            callback.overrun = Overrun::CatchUp(1_000);
        }
    }
    scenario.faults.clear();
}

/// Returns the scenario with the callback `first` released at time zero, and all others just after it. With `None`, all
/// are released together.
fn with_first(worst: &Scenario, first: Option<&str>) -> Scenario {
    let mut scenario = worst.clone();
    let at = |name: &str| if first == Some(name) { Duration::ZERO } else { INSTANT };
    for timer in scenario.callbacks.iter_mut().filter(|callback| callback.kind == EntityKind::Timer) {
        timer.offset = Some(at(&timer.name));
    }
    let end = scenario.duration;
    for release in &mut scenario.releases {
        let begin = release.to.iter().map(|name| at(name)).min().unwrap_or(INSTANT);
        release.pattern = at_once(release, begin, end);
    }
    scenario
}

/// Returns the densest arrivals of a release from `begin` on; those that have to be listed end before `end`.
fn at_once(release: &Release, begin: Duration, end: Duration) -> Pattern {
    match &release.pattern {
        Pattern::Periodic { period, jitter, .. } if !jitter.is_zero() => {
            // The first activation has the whole jitter, and the later ones have none.
            let on_time = |number: u32| begin + (period.saturating_mul(number)).saturating_sub(*jitter);
            Pattern::List((0..ARRIVALS_MAX).map(on_time).take_while(|at| *at < end).collect())
        }
        Pattern::Periodic { period, jitter, .. } => {
            Pattern::Periodic { period: *period, offset: begin, jitter: *jitter }
        }
        Pattern::Sporadic { min, .. } => Pattern::Periodic { period: *min, offset: begin, jitter: Duration::ZERO },
        Pattern::Limited { limits, .. } => Pattern::Limited { offset: begin, limits: limits.clone() },
        Pattern::List(times) | Pattern::Measured { times, .. } => {
            let first = times.iter().min().copied().unwrap_or_default();
            Pattern::List(times.iter().map(|at| *at - first + begin).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_source_begins_once() {
        let scenario = Scenario::parse(rospin_scenario::examples::EXP1).unwrap();
        let found = Analysis::new(&scenario).critical_instants(Duration::from_secs(1));
        assert!(found.len() > 1);
        for scenario in &found {
            scenario.check().unwrap();
        }
        let jitter = Pattern::Periodic {
            period: Duration::from_millis(10),
            offset: Duration::ZERO,
            jitter: Duration::from_millis(3),
        };
        let dense = at_once(&Release::new(["a"], jitter), INSTANT, Duration::from_millis(25));
        assert_eq!(dense, Pattern::List([0, 7, 17].map(|ms| INSTANT + Duration::from_millis(ms)).to_vec()));
    }
}
