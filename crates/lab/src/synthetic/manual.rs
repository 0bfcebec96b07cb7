//! The same system without waiting: a manual clock that callbacks move by what they take.
//!
//! While a callback runs, everything from outside happens at its exact instant; idle time is skipped. So the engine makes
//! its decisions at the same instants as the simulator, and they can be compared.

use std::time::Duration;

use rospin::trace::TraceEvent;
use rospin::{ContextOptions, EntityKind, Instant, ManualClock, Overrun, SpinOptions};
use rospin_scenario::Scenario;

use super::build::{self, System};
use super::world::{MANUAL_ZERO, Pace};
use super::{RealOutcome, SyntheticError, lock, nanos};

/// What the system clock shows at the beginning, as in the simulator: it can be set back without reaching its epoch.
const SYSTEM_START: Instant = Instant::from_millis(1_000_000_000_000);

/// A pick of the scheduler's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Decision {
    /// The callback, by its number in the scenario.
    pub(crate) callback: usize,
    /// 0 for an activation's first segment, then counted up.
    pub(crate) segment: u32,
    /// Arrival of the message, due time of the timer, wake-up.
    pub(crate) release_ns: u64,
    /// When it started.
    pub(crate) start_ns: u64,
}

/// Runs a scenario with one single-threaded executor to its end; returns the decisions in their order, and the rest.
///
/// # Errors
/// If the scenario has another number of executors or threads, or asks for what the engine cannot do.
pub(crate) fn run(scenario: &Scenario) -> Result<(Vec<Decision>, RealOutcome), SyntheticError> {
    let [plan] = &scenario.executors[..] else {
        return Err(SyntheticError::Unsupported("run several executors under one manual clock"));
    };
    if plan.threads != 1 {
        return Err(SyntheticError::Unsupported("run several threads under one manual clock"));
    }
    let clock = ManualClock::new();
    clock.advance(MANUAL_ZERO.saturating_since(Instant::ZERO));
    clock.set_system(SYSTEM_START);
    let options = ContextOptions::new().manual_clock(clock.clone());
    let system = build::build(scenario, options, |_| Pace::Manual(clock.clone()))?;
    let (world, executor) = (&system.world, &system.executors[0]);
    let stop_ns = plan.stop.map_or(world.end_ns, nanos).min(world.end_ns);
    let _ = world.halted_at.set((stop_ns, executor.handle()));
    world.pass(&clock, nanos(plan.start));
    let mut alarms = Alarms::new(scenario);
    while world.now_ns() < stop_ns {
        world.fire_due(world.now_ns());
        executor.spin(SpinOptions::spin_all())?;
        let now_ns = world.now_ns();
        let due_ns = alarms.next(scenario, &system, now_ns);
        let next_ns = [due_ns, world.enter(|agenda| agenda.next_ns())].into_iter().flatten().min();
        match next_ns {
            Some(next_ns) => clock.advance(Duration::from_nanos(next_ns.saturating_sub(now_ns))),
            None => break,
        }
    }
    Ok((decisions(&system), system.outcome()))
}

fn decisions(system: &System) -> Vec<Decision> {
    let record = &system.records[0];
    let decision = |(at, event): &(Instant, TraceEvent)| match event {
        TraceEvent::Dispatched(_, activation) => Some(Decision {
            callback: record.callbacks[activation.entity.index()],
            segment: activation.segment,
            release_ns: system.world.scenario_ns(activation.release),
            start_ns: system.world.scenario_ns(*at),
        }),
        _ => None,
    };
    lock(&record.events).iter().filter_map(decision).collect()
}

/// When timers may be due next: the engine sleeps until then by itself, but under a manual clock it is for the driver to
/// know. At an instant too many the executor spins for nothing, which changes nothing.
struct Alarms {
    /// By callback: the last due time that was served, and when it was.
    served: Vec<Option<(u64, u64)>>,
    events_seen: usize,
}

impl Alarms {
    fn new(scenario: &Scenario) -> Self {
        Self { served: vec![None; scenario.callbacks.len()], events_seen: 0 }
    }

    /// The earliest after `now_ns`, at which everything that was due has been served.
    fn next(&mut self, scenario: &Scenario, system: &System, now_ns: u64) -> Option<u64> {
        let record = &system.records[0];
        let events = lock(&record.events);
        for (at, event) in &events[self.events_seen..] {
            if let TraceEvent::Dispatched(_, activation) = event
                && activation.kind == EntityKind::Timer
                && activation.segment == 0
            {
                let callback = record.callbacks[activation.entity.index()];
                self.served[callback] =
                    Some((system.world.scenario_ns(activation.release), system.world.scenario_ns(*at)));
            }
        }
        self.events_seen = events.len();
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
