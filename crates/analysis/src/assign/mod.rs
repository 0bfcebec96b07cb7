//! Assignments of priorities and cores with which deadlines hold.

mod audsley;
mod cores;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use rospin_core::PriorityMap;
use rospin_scenario::{Chain, Scenario};

use crate::analysis::Analysis;
use crate::error::AnalysisError;
use crate::system::System;

/// OS priority of the most urgent executor's threads. Higher ones are left to the middleware, which must not wait for
/// callbacks.
const OS_PRIORITY_TOP: u8 = 80;

/// Assignment of priorities to callbacks, and of OS priorities and cores to executors.
///
/// ```
/// use rospin_analysis::{Analysis, Assignment};
/// use rospin_scenario::{ExecutionTime, Scenario};
///
/// # let text = rospin_scenario::examples::CHAIN;
/// let mut scenario = Scenario::parse(text)?;
/// # scenario.faults.clear();
/// # let plan = scenario.callbacks.iter_mut().find(|callback| callback.name == "plan").unwrap();
/// # plan.execution = ExecutionTime::Fixed(std::time::Duration::from_millis(10));
/// let assignment = Assignment::picas(&Analysis::new(&scenario))?;
/// assert!(assignment.callbacks["brake"] > assignment.callbacks["lidar"], "later before earlier");
/// let better = assignment.apply(&scenario);
/// let report = Analysis::new(&better).run()?;
/// assert!(report.callback("brake").unwrap().bound < report.callback("plan").unwrap().bound);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Assignment {
    /// OS settings by executor.
    pub executors: BTreeMap<String, OsSetting>,
    /// Priorities by callback. A larger number is more urgent.
    pub callbacks: BTreeMap<String, u32>,
}

/// Setting of the operating system for an executor's threads.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct OsSetting {
    /// `SCHED_FIFO` priority, 1 to 99.
    pub priority: u8,
    /// Cores that the threads may use; all cores if empty.
    pub cores: Vec<u16>,
}

impl Assignment {
    /// Returns an assignment by the rules of PiCAS (Choi et al., RTAS 2021; Choi et al. 2022). Callbacks get priorities
    /// by their chain's criticality and their position in it. Executors are ordered by their most urgent callback. A
    /// chain is put on one core where it fits. If deadlines are not proven to hold that way, a search looks for other
    /// cores, and another order of executors, with which more of them are.
    ///
    /// # Errors
    /// If the system cannot be analysed, or if no priorities can be derived from its chains.
    pub fn picas(analysis: &Analysis<'_>) -> Result<Self, AnalysisError> {
        let scenario = analysis.scenario();
        let system = anywhere(analysis)?;
        let chains: Vec<_> = scenario.chains.iter().map(Chain::to_core).collect();
        let priorities = PriorityMap::picas(&chains)?;
        let urgency = |callback: usize| {
            let priority = priorities.get(&system.callbacks[callback].name);
            Reverse(priority.map_or(0, |priority| priority.0))
        };
        Self::by_urgency(analysis, &system, urgency, true)
    }

    /// Returns a rate monotonic assignment (Liu and Layland 1973): a higher rate gives a higher priority. Executors are
    /// ordered by their most frequent callback.
    ///
    /// # Errors
    /// If the system cannot be analysed.
    pub fn rate_monotonic(analysis: &Analysis<'_>) -> Result<Self, AnalysisError> {
        let system = anywhere(analysis)?;
        let rates = system.rates();
        // Rates are converted to periods, so that they can be compared. Callbacks that are released only a few times in
        // all come last.
        let period = |callback: usize| if rates[callback] > 0.0 { (1.0 / rates[callback]) as u64 } else { u64::MAX };
        Self::by_urgency(analysis, &system, period, false)
    }

    /// Returns a deadline monotonic assignment (Leung and Whitehead 1982): a shorter deadline gives a higher priority.
    /// A callback without a deadline has the shortest one of its chains. Without either, it comes last.
    ///
    /// # Errors
    /// If the system cannot be analysed.
    pub fn deadline_monotonic(analysis: &Analysis<'_>) -> Result<Self, AnalysisError> {
        let scenario = analysis.scenario();
        let system = anywhere(analysis)?;
        let deadline = |callback: usize| {
            let plan = &scenario.callbacks[callback];
            let chains = scenario.chains.iter().filter(|chain| chain.callbacks.contains(&plan.name));
            let of_chain = || chains.filter_map(|chain| chain.deadline).min();
            plan.relative_deadline().or_else(of_chain).unwrap_or(Duration::MAX)
        };
        Self::by_urgency(analysis, &system, deadline, false)
    }

    /// Returns Audsley's optimal assignment (1991; for callbacks without preemption George et al. 1996): from the
    /// lowest priority up, it gives each priority to a callback that still meets its deadline there. Cores stay as they
    /// are if the system can be analysed with them. For systems without chains and asynchronous callbacks, it finds an
    /// order whenever one exists. For others it may miss one.
    ///
    /// # Errors
    /// If no order is found, or the system cannot be analysed.
    pub fn audsley(analysis: &Analysis<'_>) -> Result<Self, AnalysisError> {
        let scenario = match analysis.system() {
            Ok(_) => analysis.scenario().clone(),
            // Cores are assigned first if they are missing or overloaded.
            Err(error @ (AnalysisError::Overloaded { .. } | AnalysisError::NotAnalyzable { .. })) => {
                let placed = Self::deadline_monotonic(analysis).map_err(|_| error)?;
                placed.apply(analysis.scenario())
            }
            Err(error) => return Err(error),
        };
        let mut system = analysis.of(&scenario).system()?;
        audsley::assign(&mut system)?;
        Ok(Self::of(&scenario, &system))
    }

    /// Returns a copy of the scenario with these priorities and cores. Callbacks and executors that are not named keep
    /// theirs.
    #[must_use]
    pub fn apply(&self, scenario: &Scenario) -> Scenario {
        let mut scenario = scenario.clone();
        for executor in &mut scenario.executors {
            if let Some(setting) = self.executors.get(&executor.name) {
                executor.os_priority = setting.priority;
                executor.cores.clone_from(&setting.cores);
            }
        }
        for callback in &mut scenario.callbacks {
            callback.priority = self.callbacks.get(&callback.name).copied().or(callback.priority);
        }
        scenario
    }

    /// Returns the assignment by `urgency`, whose smaller value is the more urgent one. Equal callbacks stay in their
    /// order, with priorities of their own. If `is_free`, executors may get another order than that of their most
    /// urgent callbacks, if more deadlines hold with it.
    fn by_urgency<K: Ord>(
        analysis: &Analysis<'_>,
        system: &System,
        urgency: impl Fn(usize) -> K,
        is_free: bool,
    ) -> Result<Self, AnalysisError> {
        let mut callbacks: Vec<usize> = (0..system.callbacks.len()).collect();
        callbacks.sort_by_key(|callback| urgency(*callback));
        let mut system = system.clone();
        for (level, callback) in (1..).zip(callbacks.iter().rev()) {
            system.callbacks[*callback].priority = level;
        }
        // Executors are ordered by their first callbacks.
        let mut executors: Vec<usize> = Vec::new();
        for callback in callbacks {
            let executor = system.callbacks[callback].executor;
            if !executors.contains(&executor) {
                executors.push(executor);
            }
        }
        for (number, executor) in executors.iter().enumerate() {
            let below = u8::try_from(number).unwrap_or(u8::MAX);
            system.executors[*executor].os_priority = OS_PRIORITY_TOP.saturating_sub(below).max(1);
        }
        let ranked = Self::of(analysis.scenario(), &system).apply(analysis.scenario());
        let placed = cores::allocate(analysis, &ranked, OS_PRIORITY_TOP, is_free)?;
        let mut assignment = Self::of(&placed, &system);
        for executor in &placed.executors {
            if let Some(setting) = assignment.executors.get_mut(&executor.name) {
                setting.priority = executor.os_priority;
            }
        }
        Ok(assignment)
    }

    /// Returns the system's present assignment.
    fn of(scenario: &Scenario, system: &System) -> Self {
        let with_callbacks = system.executors.iter().zip(&scenario.executors);
        let executors = with_callbacks.map(|(executor, plan)| {
            (executor.name.clone(), OsSetting { priority: executor.os_priority, cores: plan.cores.clone() })
        });
        let callbacks = system.callbacks.iter().map(|callback| (callback.name.clone(), callback.priority));
        Self { executors: executors.collect(), callbacks: callbacks.collect() }
    }
}

/// Returns the system. If it cannot be analysed with the cores that executors may use, all executors with one thread
/// are put on the first core, because their cores are still to be found.
fn anywhere(analysis: &Analysis<'_>) -> Result<System, AnalysisError> {
    let error = match analysis.unloaded_system() {
        Err(error @ AnalysisError::NotAnalyzable { .. }) => error,
        found => return found,
    };
    let mut scenario = analysis.scenario().clone();
    scenario
        .executors
        .iter_mut()
        .filter(|executor| executor.threads == 1)
        .for_each(|executor| executor.cores = vec![0]);
    analysis.of(&scenario).unloaded_system().map_err(|_| error)
}
