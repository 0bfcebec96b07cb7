//! The spin contract: nothing runs outside of a spin.

use rospin_core::trace::TraceEvent;
use rospin_scenario::Scenario;

use super::{Judge, Rule, Verdict};
use crate::event::{Event, What};

/// State of an executor's spin, as the events show it.
#[derive(Clone, Copy, Default)]
struct Spin {
    on: bool,
    halted: bool,
    returned: bool,
    /// Number of its activations that run now.
    running: i64,
}

pub(super) struct SpinContract<'a> {
    scenario: &'a Scenario,
    spins: Vec<Spin>,
}

impl<'a> SpinContract<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Self {
        Self { scenario, spins: vec![Spin::default(); scenario.executors.len()] }
    }

    /// Checks that the scenario lets the executor spin at the event's time.
    fn started(&mut self, event: &Event) -> Verdict {
        let plan = &self.scenario.executors[event.executor];
        self.spins[event.executor] = Spin { on: true, ..Spin::default() };
        if event.at == rospin_core::Instant::ZERO + plan.start {
            Ok(())
        } else {
            Err(format!("`{}` starts to spin, which it should do at {:?}", plan.name, plan.start))
        }
    }
}

impl Judge for SpinContract<'_> {
    fn rule(&self) -> Rule {
        Rule::SpinContract
    }

    fn judge(&mut self, event: &Event) -> Verdict {
        let name =
            |callback: &Option<usize>| callback.map_or("?", |number| self.scenario.callbacks[number].name.as_str());
        match &event.what {
            What::SpinStarted => self.started(event),
            What::Halted => {
                self.spins[event.executor].halted = true;
                Ok(())
            }
            What::SpinReturned => {
                let spin = &mut self.spins[event.executor];
                (spin.on, spin.returned) = (false, true);
                if spin.running == 0 { Ok(()) } else { Err(format!("the spin returned while {} run", spin.running)) }
            }
            What::Scheduler(callback, TraceEvent::Dispatched(..)) => {
                let name = name(callback).to_owned();
                let spin = &mut self.spins[event.executor];
                spin.running += 1;
                match (spin.on, spin.halted, spin.returned) {
                    (true, false, _) => Ok(()),
                    (true, true, _) => Err(format!("{name} starts after the halt")),
                    (false, _, true) => Err(format!("{name} starts after the spin returned")),
                    (false, _, false) => Err(format!("{name} starts before the spin")),
                }
            }
            What::Scheduler(callback, TraceEvent::Completed(_) | TraceEvent::Suspended(_)) => {
                let name = name(callback).to_owned();
                let spin = &mut self.spins[event.executor];
                spin.running -= 1;
                if spin.returned { Err(format!("{name} runs after the spin returned")) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }
}
