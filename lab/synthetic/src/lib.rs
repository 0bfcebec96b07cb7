//! A scenario on the engine, as synthetic load.
//!
//! The same scenario that the simulator runs: real executors, timers, in-process topics and groups, and callbacks that
//! do nothing but take the time that is drawn for them, from the same streams as in the simulator. A subscription
//! listens to an in-process topic; services, clients and waitables are sources of their kind.
//!
//! - [`run`] is real time: callbacks burn their thread's processor time, and a thread of its own publishes what comes
//!   from outside. OS priorities and cores are left to the machine. What arrives at 0 s is there before executors begin
//!   to spin, since a thread cannot publish several messages at one instant.
//! - `manual`, for tests, is the same system under a clock that the callbacks move themselves, without waiting.

mod agenda;
mod build;
#[cfg(test)]
mod learnt;
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

/// Time for building the system before its zero. If it is too short, a slow machine begins late.
const LEAD: Duration = Duration::from_millis(20);
/// Time between two calls of the function that shows progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Activation that ran to its end. Its times are nanoseconds of the scenario's time since the scenario began: real time
/// divided by the scale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RealRun {
    /// Number of the callback in the scenario.
    pub callback: usize,
    /// Time of its release: of a message's publication, or a timer's due time.
    pub release_ns: u64,
    /// Time of its start.
    pub start_ns: u64,
    /// Time of its end, after all of its waits.
    pub end_ns: u64,
}

/// Moment at which a wait-set policy built a new ready set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RealPollingPoint {
    /// Time in nanoseconds since the scenario began, in the scenario's time.
    pub at_ns: u64,
    /// Callbacks in the ready set, by their numbers in the scenario, in the order in which they will run.
    pub ready_set: Vec<usize>,
}

/// Results of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RealOutcome {
    /// Activations that ran to their ends, in the order in which they ended.
    pub runs: Vec<RealRun>,
    /// Polling points, in the order of time. Policies other than wait sets have none.
    pub polling_points: Vec<RealPollingPoint>,
}

/// Reasons for which a scenario cannot run on the engine.
#[derive(Debug, thiserror::Error)]
pub enum SyntheticError {
    /// The scenario does not pass its check.
    #[error("the scenario cannot be run: {0}")]
    Scenario(#[from] CheckError),
    /// The scenario uses a feature that the simulator has and the engine does not.
    #[error("the engine cannot {0}; simulate the scenario instead")]
    Unsupported(&'static str),
    /// The scale is not a finite number above zero.
    #[error("a scale of {0} makes no sense; give a number above zero")]
    Scale(f64),
    /// The engine refused to create an entity or an executor.
    #[error("the engine refused: {0}")]
    Refused(String),
    /// The spin of an executor ended with an error.
    #[error(transparent)]
    Spin(#[from] SpinError),
}

/// Runs the scenario in real time, with every duration multiplied by `scale`. It calls `progress` with the share that
/// is done, 0 to 1, ten times a second. It blocks until the scenario ends.
///
/// # Errors
/// If the scenario does not pass its check, if it uses a feature that the engine does not have, if `scale` is invalid,
/// if the engine refuses an entity or an executor, or if an executor's spin fails.
pub fn run(scenario: &Scenario, scale: f64, progress: &dyn Fn(f64)) -> Result<RealOutcome, SyntheticError> {
    if !(scale.is_finite() && scale > 0.0) {
        return Err(SyntheticError::Scale(scale));
    }
    let system =
        build::build(scenario, ContextOptions::new(), |clock| Pace::Real { start: clock.now() + LEAD, scale })?;
    let world = &*system.world;
    // Messages of time 0 are published before any executor spins.
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

/// Spins one executor from its start to its stop.
fn spin(world: &World, executor: &Executor, plan: &rospin_scenario::Executor) -> Result<(), SpinError> {
    // An executor whose start is after the scenario's end never spins.
    if nanos(plan.start) >= world.end_ns {
        return Ok(());
    }
    world.sleep_until(nanos(plan.start));
    executor.spin(SpinOptions::new()).map(|_| ())
}

/// Halts every executor at its time, reports the progress, and returns when all are halted. `one_returned` tells if the
/// spin of an executor has ended: if all executors should run to the end, all are then halted at once.
fn watch(system: &System, scenario: &Scenario, progress: &dyn Fn(f64), one_returned: &dyn Fn() -> bool) {
    let world = &*system.world;
    let stop_ns = |plan: &rospin_scenario::Executor| plan.stop.map_or(world.end_ns, nanos).min(world.end_ns);
    let mut stops: Vec<_> = scenario.executors.iter().map(stop_ns).zip(&system.executors).collect();
    stops.sort_by_key(|(at_ns, _)| *at_ns);
    let all_run_to_the_end = stops.iter().all(|(at_ns, _)| *at_ns == world.end_ns);
    for (at_ns, executor) in stops {
        while world.now_ns() < at_ns {
            // An executor returns before its time only if a thread panicked.
            if all_run_to_the_end && one_returned() {
                break;
            }
            progress(world.now_ns() as f64 / world.end_ns as f64);
            world.sleep_at_most(at_ns, PROGRESS_EVERY);
        }
        executor.halt();
    }
}

/// Returns the thread's result. A panic of the engine itself is a bug, and is passed on.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic leaves nothing half changed under these locks, so their poison is ignored.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
