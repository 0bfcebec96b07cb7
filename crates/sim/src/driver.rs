//! The main loop, over the instants at which something happens.

use std::collections::BTreeMap;

use rospin_core::trace::TraceEvent;
use rospin_core::{ClockKind, Instant, Policy};
use rospin_scenario::draw::{Arrivals, Stream};
use rospin_scenario::{Fault, Jump, Scenario};

use crate::agenda::{Agenda, Happening};
use crate::clocks::Clocks;
use crate::cpu::{Change, Cpu};
use crate::devices::{self, Device, Ports};
use crate::error::SimulationError;
use crate::event::{Event, Observer, What};
use crate::outcome::{AcceleratorOutcome, CallbackOutcome, ChainOutcome, Outcome, PollingPoint, Run};
use crate::statistics::Statistics;
use crate::system::{self, Address, Callback, Executor, Lock, Origin, Phase, Progress, Spin, Thread, Work};

/// Number of rounds at one instant, after which the simulation counts as stuck.
const ROUNDS_MAX: usize = 1_000_000;
/// Number of instants between two reports of progress, which take some milliseconds of real time.
const INSTANTS_A_REPORT: u32 = 4096;

/// A running simulation.
pub(crate) struct Driver<'a> {
    pub(crate) scenario: &'a Scenario,
    seed: u64,
    pub(crate) now: Instant,
    end: Instant,
    pub(crate) agenda: Agenda,
    pub(crate) cpu: Cpu,
    pub(crate) executors: Vec<Executor>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) callbacks: Vec<Callback>,
    /// The locks, in the scenario's order.
    pub(crate) locks: Vec<Lock>,
    /// The accelerators, in the scenario's order.
    pub(crate) devices: Vec<Device>,
    /// For each callback, the ports of those awaits that are requests to accelerators.
    pub(crate) ports: Ports,
    /// The arrivals and receivers of each release.
    arrivals: Vec<(Arrivals, Vec<Address>)>,
    /// Delayed messages, by the number that they were sent with.
    pub(crate) in_transit: BTreeMap<u64, (Address, Vec<Origin>)>,
    /// Number of messages that were delayed, which is the number of the next one.
    pub(crate) sent: u64,
    pub(crate) clocks: Clocks,
    observers: Vec<&'a mut dyn Observer>,
    /// True if the outcome keeps all events.
    traces: bool,
    fetched: Vec<TraceEvent>,
    trace: Vec<Event>,
    pub(crate) runs: Vec<Run>,
    polling_points: Vec<PollingPoint>,
    /// Counters of each callback.
    pub(crate) tallies: Vec<Tally>,
    /// Completed instances of each chain, with the release of the first callback and the latency.
    pub(crate) instances: Vec<Vec<(Instant, std::time::Duration)>>,
}

/// Counters of a callback.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    /// Number of activations that found no message.
    pub(crate) empty: u64,
    /// Number of messages that newer ones displaced.
    pub(crate) dropped: u64,
}

impl<'a> Driver<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        seed: u64,
        policies: Vec<Option<Box<dyn Policy>>>,
        observers: Vec<&'a mut dyn Observer>,
        traces: bool,
    ) -> Result<Self, SimulationError> {
        let mut executors = system::executors(scenario, policies, traces || !observers.is_empty())?;
        let callbacks = system::callbacks(scenario, &mut executors, seed)?;
        let (devices, ports) = devices::devices(scenario, &system::priorities(scenario), seed)?;
        let arrivals = scenario.releases.iter().enumerate().map(|(number, release)| {
            let to = release.to.iter().flat_map(|name| system::addresses(scenario, name));
            (Arrivals::new(release, seed, number), to.collect())
        });
        let mut driver = Self {
            scenario,
            seed,
            now: Instant::ZERO,
            end: Instant::ZERO + scenario.duration,
            agenda: Agenda::default(),
            cpu: Cpu::new(usize::from(scenario.core_count())),
            threads: system::threads(&executors),
            arrivals: arrivals.collect(),
            in_transit: BTreeMap::new(),
            sent: 0,
            locks: vec![Lock::default(); scenario.locks.len()],
            clocks: Clocks::new(),
            observers,
            traces,
            fetched: Vec::new(),
            trace: Vec::new(),
            runs: Vec::new(),
            polling_points: Vec::new(),
            tallies: vec![Tally::default(); callbacks.len()],
            instances: vec![Vec::new(); scenario.chains.len()],
            executors,
            callbacks,
            devices,
            ports,
        };
        driver.plan();
        Ok(driver)
    }

    /// Puts the first event of each kind into the agenda.
    fn plan(&mut self) {
        for (number, executor) in self.scenario.executors.iter().enumerate() {
            let stop = executor.stop.map_or(self.end, |stop| self.end.min(Instant::ZERO + stop));
            let start = Instant::ZERO + executor.start;
            // An executor whose start is after the end of the simulation never spins.
            if start < self.end {
                self.agenda.push(start, Happening::SpinStart(number));
                self.agenda.push(stop, Happening::Halt(number));
            }
        }
        for release in 0..self.arrivals.len() {
            self.plan_message(release);
        }
        for (number, fault) in self.scenario.faults.iter().enumerate() {
            match fault {
                Fault::ClockJump { at, .. } => self.agenda.push(Instant::ZERO + *at, Happening::ClockJump(number)),
                Fault::SpuriousNotification { period, .. } => {
                    // A random phase, so that the fault does not always happen in the same situation.
                    let phase = Stream::new(self.seed, &format!("fault {number}")).between(Default::default(), *period);
                    self.agenda.push(Instant::ZERO + phase, Happening::Spurious(number));
                }
                _ => {}
            }
        }
    }

    /// Puts the next message of a release into the agenda, unless it comes at or after the end.
    fn plan_message(&mut self, release: usize) {
        if let Some(at) = self.arrivals[release].0.next().map(|at| Instant::ZERO + at)
            && at < self.end
        {
            self.agenda.push(at, Happening::Message(release));
        }
    }

    /// Runs until every executor's spin has returned.
    pub(crate) fn run(mut self, mut progress: Option<&mut dyn FnMut(f64)>) -> Result<Outcome, SimulationError> {
        let mut instants = 0_u32;
        while self.is_going_on() {
            self.instant()?;
            instants = instants.wrapping_add(1);
            if instants.is_multiple_of(INSTANTS_A_REPORT)
                && let Some(progress) = &mut progress
            {
                progress(self.share());
            }
            match self.next_instant() {
                Some(next) => self.now = next,
                None => break,
            }
        }
        Ok(self.finish())
    }

    /// Returns the elapsed share of the virtual time. Callbacks that run at its end are still completed.
    fn share(&self) -> f64 {
        (self.now.as_nanos() as f64 / self.end.as_nanos() as f64).min(1.0)
    }

    /// Returns true as long as an executor spins, or will start to.
    fn is_going_on(&self) -> bool {
        let planned = |executor: &Executor| executor.spin == Spin::NotYet;
        self.executors.iter().any(|executor| matches!(executor.spin, Spin::On | Spin::Halted))
            || (self.now < self.end && self.executors.iter().any(planned))
    }

    /// Handles everything that happens at this instant, in the order that the crate's documentation states.
    fn instant(&mut self) -> Result<(), SimulationError> {
        for _ in 0..ROUNDS_MAX {
            self.end_runs();
            while let Some(happening) = self.agenda.pop_due(self.now) {
                self.happens(happening);
            }
            for thread in 0..self.threads.len() {
                self.hand_back(thread);
            }
            self.wake_due();
            self.pick_in_turn();
            if self.next_instant().is_none_or(|next| next > self.now) {
                self.emit(0, What::Settled);
                return Ok(());
            }
        }
        Err(SimulationError::Livelock { at: self.now })
    }

    /// Carries out an event of the agenda.
    fn happens(&mut self, happening: Happening) {
        match happening {
            Happening::SpinStart(executor) => {
                self.executors[executor].spin = Spin::On;
                self.emit(executor, What::SpinStarted);
                self.executors[executor].threads.clone().for_each(|thread| self.wake(thread));
            }
            Happening::Halt(executor) => {
                self.executors[executor].spin = Spin::Halted;
                self.emit(executor, What::Halted);
                self.wake_all(executor);
            }
            Happening::ClockJump(fault) => self.jump(fault),
            Happening::Awaited(_, callback, sequence) => self.awaited(callback, sequence),
            Happening::SegmentEnded(device, lane) => self.segment_ended(device, lane),
            Happening::BlockEnded(device) => self.block_ended(device),
            Happening::Message(release) => {
                for place in 0..self.arrivals[release].1.len() {
                    self.deliver(self.arrivals[release].1[place], Vec::new());
                }
                self.plan_message(release);
            }
            Happening::Transit(number) => self.transmitted(number),
            Happening::Spurious(fault) => self.notify_for_nothing(fault),
        }
    }

    /// Sets a clock, as the fault with this number says. Schedulers are told only if ROS time jumps back. All parked
    /// threads wake, and see the new due times.
    fn jump(&mut self, fault: usize) {
        let Fault::ClockJump { clock, by, .. } = self.scenario.faults[fault] else {
            return;
        };
        self.clocks.jump(clock, by, self.now);
        if let (ClockKind::Ros, Jump::Back(_)) = (clock, by) {
            // ROS time jumps, as in the engine. Timers on the system clock are not notified of jumps.
            let reading = self.clocks.read(clock, self.now);
            self.executors.iter_mut().for_each(|executor| executor.scheduler.jump(clock, reading, 0));
        }
        (0..self.executors.len()).for_each(|executor| self.wake_all(executor));
    }

    /// Notifies the executor of the callback that the fault with this number names, and plans the next time.
    fn notify_for_nothing(&mut self, fault: usize) {
        let Fault::SpuriousNotification { callback, period } = &self.scenario.faults[fault] else {
            return;
        };
        if let Some(callback) = self.scenario.callbacks.iter().position(|known| known.name == *callback) {
            self.emit(self.callbacks[callback].executor, What::NotifiedForNothing(callback));
            self.notify(callback, self.now);
        }
        self.agenda.push(self.now + *period, Happening::Spurious(fault));
    }

    /// Gives the cores to the most urgent threads. A thread that loses its core is paused, one that gets a core
    /// continues.
    pub(crate) fn place(&mut self) {
        let (threads, now) = (&mut self.threads, self.now);
        let mut changes = Vec::new();
        self.cpu.place(|change| changes.push(change));
        for change in changes {
            let (Change::Placed(thread, _) | Change::Displaced(thread, _)) = change;
            if let Phase::Running(_, progress) = &mut threads[thread].phase {
                *progress = match (change, *progress) {
                    (Change::Displaced(..), Progress::EndsAt(at)) => Progress::Left(at.saturating_since(now)),
                    (Change::Placed(..), Progress::Left(left)) => Progress::EndsAt(now + left),
                    (_, progress) => progress,
                };
            }
            let what = match change {
                Change::Placed(thread, core) => What::Placed(thread, core),
                Change::Displaced(thread, core) => What::Displaced(thread, core),
            };
            let executor = threads[thread].executor;
            let event = Event { at: now, executor, what };
            record(&mut self.observers, self.traces.then_some(&mut self.trace), &event);
        }
    }

    /// Returns the next instant at which a run ends, an event is due, or a timer of a parked thread is due; `None` if
    /// nothing will happen any more.
    fn next_instant(&self) -> Option<Instant> {
        let of = |thread: &Thread| match &thread.phase {
            Phase::Running(_, Progress::EndsAt(at)) | Phase::Parked(at) => Some(*at).filter(|at| *at != Instant::MAX),
            // The thread completes its activation at this instant.
            Phase::Ended(_) => Some(self.now),
            _ => None,
        };
        self.threads.iter().filter_map(of).chain(self.agenda.next_at()).min()
    }

    // ---- recording ----

    /// Records an event at the present instant.
    pub(crate) fn emit(&mut self, executor: usize, what: What) {
        let event = Event { at: self.now, executor, what };
        record(&mut self.observers, self.traces.then_some(&mut self.trace), &event);
    }

    /// Records what an executor's scheduler has done since the last call.
    pub(crate) fn fetch(&mut self, executor: usize) {
        let mut fetched = std::mem::take(&mut self.fetched);
        self.executors[executor].sink.fetch(&mut fetched);
        for event in fetched.drain(..) {
            let callback = |id: rospin_core::EntityId| self.executors[executor].callbacks.get(id.index()).copied();
            let concerned = match &event {
                TraceEvent::Released(activation)
                | TraceEvent::Antedated(activation)
                | TraceEvent::Dispatched(_, activation)
                | TraceEvent::Suspended(activation)
                | TraceEvent::Completed(activation)
                | TraceEvent::Collected(activation) => callback(activation.entity),
                TraceEvent::Overrun(id, _) => callback(*id),
                _ => None,
            };
            match (&event, concerned) {
                (TraceEvent::PollingPoint(thread), _) => {
                    let (at, thread) = (self.now, *thread);
                    self.polling_points.push(PollingPoint { at, executor, thread, ready_set: Vec::new() });
                }
                (TraceEvent::Collected(_), Some(callback)) => {
                    if let Some(point) = self.polling_points.last_mut() {
                        point.ready_set.push(callback);
                    }
                }
                _ => {}
            }
            self.emit(executor, What::Scheduler(concerned, event));
        }
        self.fetched = fetched;
    }

    /// Returns the results, with the work that had not run by the end.
    fn finish(self) -> Outcome {
        let over = self.end;
        let left: Vec<_> = (0..self.callbacks.len()).map(|callback| self.unfinished(callback, over)).collect();
        let left_of_chains: Vec<_> =
            (0..self.instances.len()).map(|chain| self.unfinished_instances(chain, over)).collect();
        let mut by_callback: Vec<Vec<&Run>> = vec![Vec::new(); self.callbacks.len()];
        self.runs.iter().for_each(|run| by_callback[run.callback].push(run));
        let callbacks = by_callback.iter().enumerate().map(|(number, runs)| {
            let (plan, callback) = (&self.scenario.callbacks[number], &self.callbacks[number]);
            let deadline = plan.relative_deadline();
            let left = &left[number];
            let late = |time: &std::time::Duration| deadline.is_some_and(|limit| *time > limit);
            let missed = runs.iter().filter(|run| late(&run.response())).count()
                + left.waited.iter().filter(|time| late(time)).count();
            CallbackOutcome {
                name: plan.name.clone(),
                response: Statistics::of(runs.iter().map(|run| run.response())),
                wait: Statistics::of(runs.iter().map(|run| run.start.saturating_since(run.release))),
                misses: missed as u64,
                unfinished: left.waited.len() as u64,
                waited: left.waited.iter().max().copied().unwrap_or_default(),
                empty: self.tallies[number].empty,
                dropped: self.tallies[number].dropped,
                overruns: self.executors[callback.executor].scheduler.overruns(callback.id) + left.lost,
                queued: callback.queue.len() as u64,
            }
        });
        let callbacks = callbacks.collect();
        let chains = self.instances.into_iter().zip(&self.scenario.chains).zip(left_of_chains);
        let chains = chains.map(|((instances, chain), left)| {
            let late = |time: &&std::time::Duration| chain.deadline.is_some_and(|limit| **time > limit);
            let ended = instances.iter().map(|(_, latency)| latency).filter(late).count();
            ChainOutcome {
                name: chain.name.clone(),
                latency: Statistics::of(instances.iter().map(|(_, latency)| *latency)),
                misses: (ended + left.iter().filter(late).count()) as u64,
                instances,
            }
        });
        let chains = chains.collect();
        let accelerators = self.scenario.accelerators.iter().zip(&self.devices);
        let accelerators =
            accelerators.map(|(plan, device)| AcceleratorOutcome { name: plan.name.clone(), busy: device.busy });
        let accelerators = accelerators.collect();
        let end = self.runs.iter().map(|run| run.end).max().unwrap_or(Instant::ZERO).max(self.end);
        Outcome {
            seed: self.seed,
            end,
            callbacks,
            chains,
            accelerators,
            runs: self.runs,
            polling_points: self.polling_points,
            trace: self.trace,
        }
    }
}

/// Shows an event to the observers, and adds it to the trace if there is one.
fn record(observers: &mut [&mut dyn Observer], trace: Option<&mut Vec<Event>>, event: &Event) {
    observers.iter_mut().for_each(|observer| observer.observe(event));
    if let Some(trace) = trace {
        trace.push(*event);
    }
}

impl Driver<'_> {
    /// Ends the runs whose execution time is over, by thread. The last segment of an activation publishes.
    fn end_runs(&mut self) {
        for thread in 0..self.threads.len() {
            let over = |phase: &Phase| matches!(phase, Phase::Running(_, Progress::EndsAt(at)) if *at <= self.now);
            if !over(&self.threads[thread].phase) {
                continue;
            }
            let phase = std::mem::replace(&mut self.threads[thread].phase, Phase::Off);
            if let Phase::Running(mut work, _) = phase {
                if let Some(step) = work.steps.pop() {
                    self.step(thread, work, step);
                    continue;
                }
                if self.is_last_segment(&work) {
                    self.publish(&work);
                }
                self.threads[thread].phase = Phase::Ended(work);
            }
        }
    }

    /// Returns true if the activation ends with this segment.
    pub(crate) fn is_last_segment(&self, work: &Work) -> bool {
        !work.item.taken || work.activation.segment as usize >= self.callbacks[work.callback].awaits.len()
    }
}
