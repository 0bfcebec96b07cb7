//! Entry point: from a scenario to a report.

use std::collections::BTreeMap;
use std::time::Duration;

use rospin_scenario::{Pattern, Scenario};

use crate::accelerators;
use crate::budget::{Budget, Monitor};
use crate::busy::Windows;
use crate::chains;
use crate::error::AnalysisError;
use crate::known::{Known, Solution};
use crate::overheads::{Overheads, Reservation};
use crate::reason::{self, Reason};
use crate::remedies::Trials;
use crate::report::{AcceleratorLoad, AcceleratorUse, CallbackBound, CoreLoad, Report};
use crate::solve::solve;
use crate::starvation;
use crate::system::{Policy, System};
use crate::weakly;

/// Analysis of a scenario, with its options.
///
/// ```
/// use std::time::Duration;
/// use rospin_analysis::{Analysis, Overheads};
/// use rospin_scenario::Scenario;
///
/// # let text = rospin_scenario::examples::EXP1;
/// let mut scenario = Scenario::parse(text)?;
/// scenario.executors[0].policy = "fixed-priority".to_owned();
/// let overheads = Overheads { dispatch: Duration::from_micros(5), ..Overheads::default() };
/// let report = Analysis::new(&scenario).overheads(overheads).run()?;
/// assert!(report.callbacks.iter().all(|callback| callback.bound.is_some()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Analysis<'a> {
    scenario: &'a Scenario,
    overheads: Overheads,
    reservations: BTreeMap<String, Reservation>,
    monitor: Option<Monitor>,
    work: Option<u64>,
}

impl<'a> Analysis<'a> {
    /// Returns the analysis of `scenario`. Without [overheads](Self::overheads), callbacks are all that takes processor
    /// time.
    #[must_use]
    pub const fn new(scenario: &'a Scenario) -> Self {
        let overheads = Overheads { dispatch: Duration::ZERO, wake_up: Duration::ZERO, receive: Duration::ZERO };
        Self { scenario, overheads, reservations: BTreeMap::new(), monitor: None, work: None }
    }

    /// Sets the costs of executor, operating system and middleware, which are added to the callbacks' execution times.
    #[must_use]
    pub const fn overheads(mut self, overheads: Overheads) -> Self {
        self.overheads = overheads;
        self
    }

    /// Guarantees processor time to an executor, by its name. Other executors on its core then have no influence on its
    /// bounds.
    #[must_use]
    pub fn reservation(mut self, executor: impl Into<String>, reservation: Reservation) -> Self {
        self.reservations.insert(executor.into(), reservation);
        self
    }

    /// Sets a monitor, which shows progress and can stop the analysis.
    #[must_use]
    pub fn monitor(mut self, monitor: &Monitor) -> Self {
        self.monitor = Some(monitor.clone());
        self
    }

    /// Sets the number of steps that the search for bounds may take, and the search for margins. A step is a look at an
    /// arrival curve and takes some nanoseconds. Without it, the numbers grow with that of the callbacks.
    #[must_use]
    pub const fn work(mut self, steps: u64) -> Self {
        self.work = Some(steps);
        self
    }

    /// Returns bounds for all callbacks and chains. It ends after a bounded number of steps for every system. A
    /// callback that has no proven bound by then has its reason in [`not_proven`](crate::CallbackBound::not_proven).
    ///
    /// # Errors
    /// If the scenario is invalid, if a callback has no execution time or is never released, if messages flow in a
    /// cycle, if the load of a core, reservation, group or accelerator exceeds 1, if a reservation is invalid or names
    /// no executor, or if the analysis knows no sound bound for this kind of system.
    pub fn run(&self) -> Result<Report, AnalysisError> {
        let system = self.system()?;
        let budget = match self.work {
            Some(steps) => Budget::of(steps, self.monitored()),
            None => Budget::for_bounds(system.callbacks.len(), self.monitored()),
        };
        let solution = solve(&system, &budget);
        Ok(self.report(&system, &solution, &budget))
    }

    /// Returns the largest load of any core, reservation, mutually exclusive group or accelerator, as a share of its
    /// time. One with a load above 1 is overloaded.
    ///
    /// # Errors
    /// The same errors as those of [`run`](Self::run), except for an overload.
    pub fn utilization(&self) -> Result<f64, AnalysisError> {
        Ok(self.unloaded_system()?.loads().into_iter().fold(0.0, f64::max))
    }

    pub(crate) fn system(&self) -> Result<System, AnalysisError> {
        let system = self.unloaded_system()?;
        system.check_load()?;
        Ok(system)
    }

    /// Returns the system, even if it is overloaded.
    pub(crate) fn unloaded_system(&self) -> Result<System, AnalysisError> {
        System::new(self.scenario, &self.overheads, &self.reservations)
    }

    /// Returns the number of steps that searches may take; `None` if it follows from the number of callbacks.
    pub(crate) const fn steps(&self) -> Option<u64> {
        self.work
    }

    pub(crate) const fn monitored(&self) -> Option<&Monitor> {
        self.monitor.as_ref()
    }

    /// Returns the scenario that is analysed.
    #[must_use]
    pub const fn scenario(&self) -> &'a Scenario {
        self.scenario
    }

    pub(crate) const fn overheads_of(&self) -> &Overheads {
        &self.overheads
    }

    /// Returns the same analysis of another scenario, without a monitor.
    pub(crate) fn of<'b>(&self, scenario: &'b Scenario) -> Analysis<'b> {
        Analysis {
            scenario,
            overheads: self.overheads,
            reservations: self.reservations.clone(),
            monitor: None,
            work: self.work,
        }
    }

    /// Returns the solution in the words of the report, with what follows from it: misses, chains, loads and
    /// assumptions.
    fn report(&self, system: &System, solution: &Solution, budget: &Budget) -> Report {
        let known = Known::of(system, solution, budget);
        let paces = chains::paces(system, solution);
        let misses = |number: usize| {
            let (_, of) = system.callbacks[number].tolerates?;
            weakly::misses(&known, number, of, paces[number].map(|pace| pace.gap))
        };
        let trials = Trials::default();
        let starves = starvation::of(system, solution);
        let callback = |number: usize| self.callback(system, solution, (&trials, &starves), number, misses(number));
        let callbacks = (0..system.callbacks.len()).map(callback).collect();
        let mut windows = Windows::default();
        let chain = |chain| chains::bound(self.scenario, solution, &known, &paces, &mut windows, chain);
        let chains: Vec<_> = self.scenario.chains.iter().map(chain).collect();
        let cores = system.cores.iter().zip(system.utilizations()).flat_map(|(core, utilization)| {
            let executors: Vec<_> =
                core.executors.iter().map(|executor| system.executors[*executor].name.clone()).collect();
            core.numbers.iter().map(move |number| CoreLoad { core: *number, utilization, executors: executors.clone() })
        });
        let mut methods: Vec<_> = solution.found.iter().map(|found| found.method).collect();
        methods.extend(chains.iter().map(|chain| chain.method));
        methods.extend((!system.devices.is_empty()).then_some(accelerators::METHOD));
        methods.sort_unstable();
        methods.dedup();
        Report {
            callbacks,
            chains,
            cores: cores.collect(),
            accelerators: (0..system.devices.len()).map(|device| on_accelerator(&known, device)).collect(),
            methods,
            assumptions: self.assumptions(system, solution),
        }
    }

    fn callback(
        &self,
        system: &System,
        solution: &Solution,
        (trials, starves): (&Trials, &[bool]),
        number: usize,
        misses: Option<u64>,
    ) -> CallbackBound {
        let plan = &system.callbacks[number];
        let deadline = self.scenario.callbacks[number].relative_deadline();
        let bound = solution.found[number].bound.map(Duration::from_nanos);
        let reason = bound.is_none().then(|| reason::of(system, solution, trials, starves, number));
        let is_tolerated = plan.tolerates.zip(misses).is_some_and(|((tolerated, _), misses)| misses <= tolerated);
        CallbackBound {
            name: plan.name.clone(),
            executor: system.executors[plan.executor].name.clone(),
            priority: plan.priority,
            bound,
            not_proven: reason.as_ref().map(Reason::words),
            unbounded: bound.is_none().then(|| reason::kind(system, solution, starves, number)),
            why: reason.as_ref().map(|reason| reason.why.clone()),
            changes: reason.map_or_else(Vec::new, |reason| reason.changes),
            deadline,
            holds: bound.is_some_and(|bound| deadline.is_none_or(|deadline| bound <= deadline)) || is_tolerated,
            misses,
            backlog: chains::backlog(system, solution.for_any_depth(), number),
            may_lose: chains::may_lose(system, solution, number),
            method: solution.found[number].method,
        }
    }

    fn assumptions(&self, system: &System, solution: &Solution) -> Vec<String> {
        let awaits_other =
            |plan: &crate::system::Callback| plan.is_async() && plan.requests.len() + 1 < plan.segments.len();
        let mut assumptions = vec![
            "No callback runs longer than the longest execution time that the scenario gives it.".to_owned(),
            "Timers and messages come no more often than the scenario says; their phases do not matter.".to_owned(),
        ];
        let mut add = |holds: bool, text: &str| {
            if holds {
                assumptions.push(text.to_owned());
            }
        };
        add(
            self.overheads == Overheads::default(),
            "Dispatching, waking up and receiving take no time; give the machine's overheads to count them.",
        );
        add(
            system.cores.iter().any(|core| core.numbers.len() > 1 && core.executors.len() > 1),
            "Where executors share several cores, the most urgent threads have them at any time, whichever they are.",
        );
        add(
            system.cores.iter().any(|core| core.executors.len() > 1),
            "Between executors on one core the larger OS priority preempts, equal ones are served first-in first-out \
             (SCHED_FIFO); nothing else runs at these priorities.",
        );
        add(
            system.executors.iter().any(|executor| executor.threads > 1),
            "Each thread of an executor with several threads has a core of its own.",
        );
        let is_emulated = |policy| matches!(policy, Policy::WaitSet { .. });
        add(
            system.executors.iter().any(|executor| is_emulated(executor.policy)),
            "The wait set serves timers, subscriptions, services, clients, waitables, by registration within each.",
        );
        add(
            system.callbacks.iter().any(awaits_other),
            "What is awaited is there after the longest wait that the scenario gives.",
        );
        add(
            !system.devices.is_empty(),
            "No segment takes an accelerator for longer than the scenario says, and only the scenario's callbacks use it.",
        );
        add(
            self.scenario.releases.iter().any(|release| matches!(release.pattern, Pattern::Measured { .. })),
            "Measured messages never come more densely than they were measured.",
        );
        add(
            !self.scenario.locks.is_empty(),
            "Locks pass on priority (PTHREAD_PRIO_INHERIT), and none is held for longer than the scenario says.",
        );
        add(
            !self.scenario.links.is_empty(),
            "No message is under way for longer than its link says, and messages keep their order.",
        );
        add(
            system.callbacks.iter().any(crate::system::Callback::is_join),
            "A join takes the oldest message of each topic; topics that stop leave it without a bound on reaction and age.",
        );
        add(
            !self.reservations.is_empty(),
            "Reservations are kept by the operating system, and execution does not stop them.",
        );
        let names = by_depths(system, solution);
        add(
            !names.is_empty(),
            &format!(
                "Queues have the depths of the scenario: with deeper ones, bounds of these callbacks are longer or missing: {}.",
                names.join(", ")
            ),
        );
        assumptions
    }
}

/// Returns the names of the callbacks whose bounds follow from the depths of queues.
fn by_depths(system: &System, solution: &Solution) -> Vec<String> {
    let mut names = Vec::new();
    for (plan, (found, deep)) in system.callbacks.iter().zip(solution.found.iter().zip(&solution.for_any_depth().found))
    {
        if found.bound != deep.bound {
            names.push(format!("`{}`", plan.name));
        }
    }
    names
}

/// Returns the load of an accelerator, and the time that each callback takes there.
fn on_accelerator(known: &Known<'_>, device: usize) -> AcceleratorLoad {
    let system = known.system;
    let uses = accelerators::users(system, device).map(|(number, plan)| {
        let own = plan.requests.iter().filter(|request| request.device == device);
        let bound = known.responses[number].and_then(|_| accelerators::time_on(known, number, device));
        AcceleratorUse {
            callback: plan.name.clone(),
            own: Duration::from_nanos(own.map(accelerators::Request::total).sum()),
            bound: bound.map(Duration::from_nanos),
        }
    });
    AcceleratorLoad {
        name: system.devices[device].name.clone(),
        utilization: system.device_loads()[device],
        uses: uses.collect(),
    }
}
