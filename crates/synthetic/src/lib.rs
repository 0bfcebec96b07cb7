//! A scenario on the engine, as synthetic load.
//!
//! The same scenario that the simulator runs: real executors, timers, in-process topics and groups, and callbacks that
//! do nothing but take the time that is drawn for them, from the same streams as in the simulator. A subscription listens
//! to an in-process topic; services, clients and waitables are sources of their kind.
//!
//! - [`run`] is real time: callbacks burn their thread's processor time, and a thread of its own publishes what comes from
//!   outside. OS priorities and cores are left to the machine. What arrives at 0 s is there before executors begin to
//!   spin, since a thread cannot publish several messages at one instant.
//! - `manual`, for tests, is the same system under a clock that the callbacks move themselves, without waiting.

mod agenda;
mod build;
#[cfg(test)]
mod manual;
#[cfg(test)]
mod parity;
mod work;
mod world;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use rospin_engine::{ContextOptions, Executor, SpinError, SpinOptions};
use rospin_scenario::{CheckError, Scenario};

use self::build::System;
use self::world::{Pace, World};

/// Time to build the system before its zero; more only lets a slow machine begin late.
const LEAD: Duration = Duration::from_millis(20);
/// How often progress is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// An activation that ran to its end. Times in nanoseconds of the scenario, since its beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RealRun {
    /// The callback, by its number in the scenario.
    pub callback: usize,
    /// Publication of the message, due time of the timer.
    pub release_ns: u64,
    /// When it started.
    pub start_ns: u64,
    /// When it ended, after all that it waited for.
    pub end_ns: u64,
}

/// A wait-set policy built a new ready set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RealPollingPoint {
    /// When, in nanoseconds of the scenario.
    pub at_ns: u64,
    /// The callbacks in it, by their numbers in the scenario, in the order in which they will be served.
    pub ready_set: Vec<usize>,
}

/// What came of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RealOutcome {
    /// In the order of the ends.
    pub runs: Vec<RealRun>,
    /// In the order of time; none with policies that build no ready sets.
    pub polling_points: Vec<RealPollingPoint>,
}

/// Why a scenario cannot run on the engine.
#[derive(Debug, thiserror::Error)]
pub enum SyntheticError {
    /// The scenario makes no sense.
    #[error("the scenario cannot be run: {0}")]
    Scenario(#[from] CheckError),
    /// The simulator can do it, the engine cannot.
    #[error("the engine cannot {0}; simulate the scenario instead")]
    Unsupported(&'static str),
    /// Times cannot be scaled by that.
    #[error("a scale of {0} makes no sense; give a number above zero")]
    Scale(f64),
    /// The engine refused to create something.
    #[error("the engine refused: {0}")]
    Refused(String),
    /// An executor did not spin to the end.
    #[error(transparent)]
    Spin(#[from] SpinError),
}

/// Runs the scenario in real time, every duration multiplied by `scale`; `progress` is told the share that is done.
///
/// # Errors
/// If the scenario makes no sense, or asks for what the engine cannot do.
pub fn run(scenario: &Scenario, scale: f64, progress: &dyn Fn(f64)) -> Result<RealOutcome, SyntheticError> {
    if !(scale.is_finite() && scale > 0.0) {
        return Err(SyntheticError::Scale(scale));
    }
    let system =
        build::build(scenario, ContextOptions::new(), |clock| Pace::Real { start: clock.now() + LEAD, scale })?;
    let world = &*system.world;
    // What is there at the beginning.
    world.fire_due(0);
    world.sleep_until(0);
    thread::scope(|scope| {
        let publisher = scope.spawn(|| world.publish_until_closed());
        let spinning: Vec<_> = system
            .executors
            .iter()
            .zip(&scenario.executors)
            .map(|(executor, plan)| scope.spawn(|| spin(world, executor, plan)))
            .collect();
        watch(&system, scenario, progress, &|| spinning.iter().any(ScopedJoinHandle::is_finished));
        world.close();
        let spun: Vec<_> = spinning.into_iter().map(joined).collect();
        joined(publisher);
        spun.into_iter().collect::<Result<(), _>>()
    })?;
    Ok(system.outcome())
}

/// One executor, from its start to its stop.
fn spin(world: &World, executor: &Executor, plan: &rospin_scenario::Executor) -> Result<(), SpinError> {
    // One that would start after the end never spins.
    if nanos(plan.start) >= world.end_ns {
        return Ok(());
    }
    world.sleep_until(nanos(plan.start));
    executor.spin(SpinOptions::new()).map(|_| ())
}

/// Halts every executor at its time, tells the progress, and returns when all are halted.
fn watch(system: &System, scenario: &Scenario, progress: &dyn Fn(f64), one_returned: &dyn Fn() -> bool) {
    let world = &*system.world;
    let stop_ns = |plan: &rospin_scenario::Executor| plan.stop.map_or(world.end_ns, nanos).min(world.end_ns);
    let mut stops: Vec<_> = scenario.executors.iter().map(stop_ns).zip(&system.executors).collect();
    stops.sort_by_key(|(at_ns, _)| *at_ns);
    let all_run_to_the_end = stops.iter().all(|(at_ns, _)| *at_ns == world.end_ns);
    for (at_ns, executor) in stops {
        while world.now_ns() < at_ns {
            // Before its time only because of a panic.
            if all_run_to_the_end && one_returned() {
                break;
            }
            progress(world.now_ns() as f64 / world.end_ns as f64);
            world.sleep_at_most(at_ns, PROGRESS_EVERY);
        }
        executor.halt();
    }
}

/// A panic of the engine itself is a bug: let it through.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is left half done under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
