//! The synthetic system without waiting: callbacks move a manual clock by the time that they take.
//!
//! While a callback runs, every event from outside happens at its exact instant; idle time is skipped. So the engine
//! makes its decisions at the same instants as the simulator, and they can be compared.

use std::cmp::Reverse;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use rospin_engine::trace::TraceEvent;
use rospin_engine::{
    ContextOptions, EntityKind, Executor, Instant, ManualClock, Overrun, Recorder, SpinError, SpinOptions,
};
use rospin_scenario::Scenario;

use super::build::{self, Record, System};
use super::world::{MANUAL_ZERO, Others, Pace, World};
use super::{RealOutcome, SyntheticError, lock, nanos};

/// Reading of the system clock at the beginning, as in the simulator. A test can set the clock back from there without
/// reaching its epoch.
const SYSTEM_START: Duration = Duration::from_millis(1_000_000_000_000);

/// A pick of a scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Decision {
    /// Number of the callback in the scenario.
    pub(crate) callback: usize,
    /// Number of the segment within its activation, from 0.
    pub(crate) segment: u32,
    /// Arrival of the message, due time of the timer, or wake-up of a later segment, in nanoseconds since the scenario
    /// began.
    pub(crate) release_ns: u64,
    /// Time of the segment's start, in nanoseconds since the scenario began.
    pub(crate) start_ns: u64,
}

/// Runs a scenario on one core to its end. Returns the picks by executor, in the order of each executor, and the other
/// results.
///
/// Executors have one thread each, and OS priorities that differ: a more urgent one is spun in the middle of the
/// callback that it preempts. At equal priorities it would matter who was notified first, even if the notification was
/// spurious.
///
/// # Errors
/// If the scenario has other executors, or asks for what the engine cannot do.
pub(crate) fn run(scenario: &Scenario) -> Result<(Vec<Decision>, RealOutcome), SyntheticError> {
    run_recorded(scenario, Recorder::of_process())
}

/// Runs a scenario as [`run`] does, under that recorder.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_recorded(
    scenario: &Scenario,
    recorder: Recorder,
) -> Result<(Vec<Decision>, RealOutcome), SyntheticError> {
    let mut by_urgency: Vec<usize> = (0..scenario.executors.len()).collect();
    by_urgency.sort_by_key(|executor| Reverse(scenario.executors[*executor].os_priority));
    let priority = |executor: &usize| scenario.executors[*executor].os_priority;
    if scenario.executors.iter().any(|plan| plan.threads != 1) {
        return Err(SyntheticError::Unsupported("run several threads under one manual clock"));
    }
    let alike = by_urgency.windows(2).any(|pair| priority(&pair[0]) == priority(&pair[1]));
    if alike || (by_urgency.len() > 1 && scenario.core_count() != 1) {
        return Err(SyntheticError::Unsupported("run several executors on several cores under one manual clock"));
    }
    let clock = ManualClock::new();
    clock.advance(MANUAL_ZERO.saturating_since(Instant::ZERO));
    clock.set_system(SystemTime::UNIX_EPOCH + SYSTEM_START);
    let options = ContextOptions::new().manual_clock(clock.clone()).recorder(recorder);
    let mut system = build::build(scenario, options, |_| Pace::Manual(clock.clone()))?;
    let world = Arc::clone(&system.world);
    let driver = Arc::new(Driver {
        scenario: scenario.clone(),
        world: Arc::clone(&world),
        executors: std::mem::take(&mut system.executors),
        by_urgency,
        alarms: Mutex::new(Alarms::new(scenario, &system)),
    });
    let others: Arc<dyn Others> = driver.clone();
    world.set_others(Some(others));
    while world.now_ns() < world.end_ns {
        world.fire_due(world.now_ns());
        driver.run_above(None);
        let now_ns = world.now_ns();
        match driver.next_ns() {
            Some(next_ns) => clock.advance(Duration::from_nanos(next_ns.saturating_sub(now_ns))),
            None => break,
        }
    }
    // World and driver refer to each other. Removing one reference lets both be dropped.
    world.set_others(None);
    Ok((decisions(&system), system.outcome()))
}

/// Driver of all executors, on one core.
struct Driver {
    scenario: Scenario,
    world: Arc<World>,
    executors: Vec<Executor>,
    /// Numbers of the executors, the most urgent first.
    by_urgency: Vec<usize>,
    alarms: Mutex<Alarms>,
}

impl Driver {
    /// Runs callbacks until none is ready and no event is due: each time a callback of the most urgent executor that
    /// has a ready one. With `os_priority`, only executors above that priority run.
    fn run_above(&self, os_priority: Option<u8>) {
        loop {
            let plan = |executor: usize| &self.scenario.executors[executor];
            let is_above = |executor: &usize| os_priority.is_none_or(|than| plan(*executor).os_priority > than);
            let mut above = self.by_urgency.iter().copied().take_while(is_above);
            if !above.any(|executor| self.spins(executor) && self.run_one(executor)) {
                let now_ns = self.world.now_ns();
                // The agenda is read after the last pick, which may have begun a wait of length zero. That is over now.
                if self.world.enter(|agenda| agenda.next_ns()).is_none_or(|next_ns| next_ns > now_ns) {
                    return;
                }
                self.world.fire_due(now_ns);
            }
        }
    }

    /// Returns true if the present time is between the executor's start and its stop.
    fn spins(&self, executor: usize) -> bool {
        let plan = &self.scenario.executors[executor];
        let stop_ns = plan.stop.map_or(self.world.end_ns, nanos).min(self.world.end_ns);
        (nanos(plan.start)..stop_ns).contains(&self.world.now_ns())
    }

    /// Runs a callback of the executor. Returns true if there was one to run.
    fn run_one(&self, executor: usize) -> bool {
        match self.executors[executor].spin(SpinOptions::spin_once().timeout(Duration::ZERO)) {
            Ok(_) => true,
            Err(SpinError::Timeout) => false,
            Err(error) => panic!("{error}"),
        }
    }
}

impl Others for Driver {
    fn preempt(&self, os_priority: u8) {
        self.run_above(Some(os_priority));
    }

    fn next_ns(&self) -> Option<u64> {
        let now_ns = self.world.now_ns();
        let starts = self.scenario.executors.iter().map(|plan| nanos(plan.start)).filter(|start_ns| *start_ns > now_ns);
        let due_ns = lock(&self.alarms).next(&self.scenario, &self.world, now_ns);
        let outside_ns = self.world.enter(|agenda| agenda.next_ns());
        starts.chain(due_ns).chain(outside_ns).min()
    }
}

/// Returns the picks of all executors, one executor after the other.
fn decisions(system: &System) -> Vec<Decision> {
    let mut decisions = Vec::new();
    for record in &system.records {
        let decision = |(at, event): &(Instant, TraceEvent)| match event {
            TraceEvent::Dispatched(_, activation) => Some(Decision {
                callback: record.callbacks[activation.entity.index()],
                segment: activation.segment,
                release_ns: system.world.scenario_ns(activation.release),
                start_ns: system.world.scenario_ns(*at),
            }),
            _ => None,
        };
        decisions.extend(lock(&record.events).iter().filter_map(decision));
    }
    decisions
}

/// Instants at which timers may be due next. The engine sleeps until them by itself, but under a manual clock the
/// driver has to know them. At a superfluous instant the executor spins without any effect.
struct Alarms {
    /// For each callback, the last due time that was served, and the time at which it was.
    served: Vec<Option<(u64, u64)>>,
    /// For each executor, its record, and the number of its events that were read.
    records: Vec<(Record, usize)>,
}

impl Alarms {
    fn new(scenario: &Scenario, system: &System) -> Self {
        let records = system.records.iter().map(|record| (record.clone(), 0)).collect();
        Self { served: vec![None; scenario.callbacks.len()], records }
    }

    /// Returns the earliest of these instants after `now_ns`; `None` if there is none. All that is due at `now_ns` must
    /// have run before.
    fn next(&mut self, scenario: &Scenario, world: &World, now_ns: u64) -> Option<u64> {
        for (record, seen) in &mut self.records {
            let events = lock(&record.events);
            for (at, event) in &events[*seen..] {
                if let TraceEvent::Dispatched(_, activation) = event
                    && activation.kind == EntityKind::Timer
                    && activation.segment == 0
                {
                    let callback = record.callbacks[activation.entity.index()];
                    self.served[callback] = Some((world.scenario_ns(activation.release), world.scenario_ns(*at)));
                }
            }
            *seen = events.len();
        }
        let timers = scenario.callbacks.iter().zip(&self.served).filter(|(plan, _)| plan.kind == EntityKind::Timer);
        let due = timers.filter_map(|(plan, served)| {
            let Some((due_ns, at_ns)) = *served else {
                return Some(nanos(plan.first_due()));
            };
            let period_ns = nanos(plan.period?).max(1);
            let on_grid = due_ns + ((now_ns.saturating_sub(due_ns)) / period_ns + 1) * period_ns;
            let shifted = Some(at_ns + period_ns).filter(|at| plan.overrun == Overrun::ShiftPhase && *at > now_ns);
            Some(shifted.map_or(on_grid, |shifted| shifted.min(on_grid)))
        });
        due.filter(|at_ns| *at_ns > now_ns).min()
    }
}
