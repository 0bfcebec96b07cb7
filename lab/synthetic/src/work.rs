//! Work of a synthetic callback: it takes time, waits, and publishes.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use rospin_engine::{Instant, Tick};
use rospin_scenario::draw::{ExecutionTimes, Stream};
use rospin_scenario::{Callback, Fault, Scenario};

use super::agenda::{Message, Outlet};
use super::world::World;
use super::{RealRun, lock};

/// A callback of a scenario.
pub(super) struct Work {
    callback: usize,
    world: Arc<World>,
    draws: Mutex<Draws>,
    /// Number of awaits.
    awaits: usize,
    os_priority: u8,
    outlets: Vec<Outlet>,
    runs: Arc<Mutex<Vec<RealRun>>>,
}

/// Sources of the random times, with the names under which the simulator draws the same times.
struct Draws {
    execution: ExecutionTimes,
    /// Waits of the callback, each with the execution time after it.
    awaits: Vec<(ExecutionTimes, ExecutionTimes)>,
    /// Fault by which executions take longer: its probability, the additional time, and its random numbers.
    overrun: Option<(f64, Duration, Stream)>,
}

impl Draws {
    fn new(scenario: &Scenario, plan: &Callback) -> Self {
        let draws = |model, part: &str| ExecutionTimes::new(model, scenario.seed, &format!("{}{part}", plan.name));
        let awaits = plan.awaits.iter().enumerate();
        let awaits = awaits.map(|(n, a)| (draws(&a.wait, &format!(" wait {n}")), draws(&a.run, &format!(" run {n}"))));
        let overrun = scenario.faults.iter().enumerate().rev().find_map(|(number, fault)| match fault {
            Fault::Overrun { callback, probability, extra } if *callback == plan.name => {
                Some((*probability, *extra, Stream::new(scenario.seed, &format!("fault {number}"))))
            }
            _ => None,
        });
        Self { execution: draws(&plan.execution, ""), awaits: awaits.collect(), overrun }
    }

    /// Returns the execution time of the next activation's first segment.
    fn execution(&mut self) -> Duration {
        let mut run = self.execution.draw();
        if let Some((probability, extra, stream)) = &mut self.overrun
            && stream.chance(*probability)
        {
            run += *extra;
        }
        run
    }
}

impl Work {
    pub(super) fn new(
        scenario: &Scenario,
        callback: usize,
        world: Arc<World>,
        outlets: Vec<Outlet>,
        runs: Arc<Mutex<Vec<RealRun>>>,
    ) -> Self {
        let plan = &scenario.callbacks[callback];
        let draws = Mutex::new(Draws::new(scenario, plan));
        let group = scenario.groups.iter().find(|group| group.name == plan.group);
        let executor = group.and_then(|group| scenario.executors.iter().find(|known| known.name == group.executor));
        let os_priority = executor.map_or(0, |executor| executor.os_priority);
        Self { callback, world, draws, awaits: plan.awaits.len(), os_priority, outlets, runs }
    }

    /// Runs a whole synchronous callback.
    pub(super) fn run(&self, release: Instant) {
        let start_ns = self.world.now_ns();
        self.first_segment();
        self.end(release, start_ns);
    }

    /// Runs a whole asynchronous callback.
    pub(super) async fn run_async(self: Arc<Self>, release: Instant) {
        let start_ns = self.world.now_ns();
        self.first_segment();
        for number in 0..self.awaits {
            let wait = lock(&self.draws).awaits[number].0.draw();
            self.wait(wait).await;
            let run = lock(&self.draws).awaits[number].1.draw();
            self.world.spend(run, self.os_priority);
        }
        self.end(release, start_ns);
    }

    /// Spends the time of the first segment.
    fn first_segment(&self) {
        let time = lock(&self.draws).execution();
        self.world.spend(time, self.os_priority);
    }

    /// Waits for the time `wait` of the scenario, in which the thread is free.
    async fn wait(&self, wait: Duration) {
        let mut until_ns = None;
        poll_fn(|cx| match until_ns {
            None => {
                self.world.segment_ends();
                until_ns = Some(self.world.wake_after(wait, cx.waker().clone()));
                Poll::Pending
            }
            Some(until_ns) if self.world.now_ns() >= until_ns => Poll::Ready(()),
            // A spurious poll: the waker is still in the agenda.
            Some(_) => Poll::Pending,
        })
        .await;
    }

    /// Publishes the callback's messages, and records the run.
    fn end(&self, release: Instant, start_ns: u64) {
        let now = self.world.now();
        self.outlets.iter().for_each(|outlet| outlet.send(now));
        let (release_ns, end_ns) = (self.world.scenario_ns(release), self.world.scenario_ns(now));
        lock(&self.runs).push(RealRun { callback: self.callback, release_ns, start_ns, end_ns });
        self.world.segment_ends();
    }
}

/// Argument of a callback: anything with a release time.
pub(super) trait Released {
    /// Returns the time of its release, on the engine's clock.
    fn release(&self) -> Instant;
}

impl Released for Tick {
    fn release(&self) -> Instant {
        self.release
    }
}

impl Released for Message {
    fn release(&self) -> Instant {
        self.published
    }
}

impl Released for Arc<Message> {
    fn release(&self) -> Instant {
        self.published
    }
}
