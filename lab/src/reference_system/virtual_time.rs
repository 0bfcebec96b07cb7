//! The graph in virtual time: its nodes on the scheduling core, without real threads and clocks.
//!
//! What a node does is what it does in a measured run ([`system`]), but its work takes exactly the time that was asked
//! for. So the figures are the same on every machine. They show what scheduling does, and none of a machine's costs.
//!
//! Each thread has a core. Of threads that share one, the most urgent by OS priority runs, and preempts the others.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use rospin_core::Scheduler;
use rospin_core::{EntityId, ThreadIndex, TimerSpec};
use rospin_engine::{Activation as Picked, EntityKind, EntitySpec, GroupKind, Instant, PriorityMap, policy};

use super::graph::Port;
use super::kpi::{Kpis, Recorder};
use super::layout::{self, ExecutorPlan, entity_name};
use super::message::Message;
use super::node::Activation;
use super::runner::Variant;
use super::system::{self, Group};

/// Time that a callback takes besides the work of its node: one that publishes, and below it one that only stores or
/// records. They are the largest 99th percentiles of callbacks of the kind in a measured run (36.5 us and 3.1 us),
/// rounded up.
pub(crate) const PUBLISHES: Duration = Duration::from_micros(40);
pub(crate) const STORES: Duration = Duration::from_micros(5);

/// What is run in virtual time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<'a> {
    /// The executors, and the placement of the groups on them.
    pub(crate) variant: Variant,
    /// Number of cores.
    pub(crate) cores: u16,
    /// Priorities of the callbacks.
    pub(crate) priorities: &'a PriorityMap,
    /// Time that a node takes for its work.
    pub(crate) crunch: Duration,
    /// Length of the run.
    pub(crate) duration: Duration,
    /// Number from which the first due time of each timer follows; `None` if all timers start together.
    pub(crate) phases: Option<u64>,
}

impl Setting<'_> {
    /// Returns the first due time of a timer, that of the group with the number `group`.
    fn first_due(&self, group: usize, period: Duration) -> Instant {
        let Some(seed) = self.phases else { return Instant::ZERO + period };
        let share = scattered(seed << 8 | group as u64) as f64 / u64::MAX as f64;
        Instant::ZERO + period.mul_f64(share)
    }
}

/// Returns a number that looks random, the same for the same `number`: the mixer of SplitMix64.
const fn scattered(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Results of a run in virtual time.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// The figures of merit.
    pub(crate) kpis: Kpis,
    /// Longest time from the release of a callback to its end, by the callback's name.
    pub(crate) responses: BTreeMap<String, Duration>,
    /// Names of the callbacks whose end published, each with the number of these.
    #[cfg(test)]
    pub(crate) published: BTreeMap<String, u32>,
    /// Number of times that a node did its work.
    #[cfg(test)]
    pub(crate) worked: u64,
}

/// A callback: a port of a group.
struct Callback {
    group: usize,
    port: Port,
    executor: usize,
    id: EntityId,
    /// Samples that wait, each with the time of its arrival.
    waiting: VecDeque<(Instant, Arc<Message>)>,
}

/// An executor.
struct Host {
    scheduler: Scheduler,
    /// Callback of each entity, by the entity's index.
    callbacks: Vec<usize>,
}

/// A thread of an executor.
struct Thread {
    executor: usize,
    index: ThreadIndex,
    core: u16,
    os_priority: u8,
    run: Option<Run>,
}

/// A callback that runs on a thread, or has been preempted there.
struct Run {
    picked: Picked,
    callback: usize,
    /// Execution time that is left.
    left_ns: u64,
    /// Message that the callback publishes at its end.
    output: Option<Message>,
}

struct World<'a> {
    setting: Setting<'a>,
    groups: Vec<Group>,
    callbacks: Vec<Callback>,
    hosts: Vec<Host>,
    /// Threads, by core, and on each core the most urgent first.
    threads: Vec<Thread>,
    now: Instant,
    worked: u64,
    responses: BTreeMap<String, Duration>,
    published: BTreeMap<String, u32>,
}

/// Runs the graph.
pub(crate) fn run(setting: Setting<'_>) -> Outcome {
    let recorder = Arc::new(Recorder::new());
    let mut world = World::new(setting, &recorder);
    let end = Instant::ZERO + setting.duration;
    while world.now < end {
        world.end_runs();
        let running = world.place();
        world.go_on(&running, end);
    }
    Outcome {
        kpis: recorder.recording().kpis(end.as_nanos()),
        responses: world.responses,
        #[cfg(test)]
        published: world.published,
        #[cfg(test)]
        worked: world.worked,
    }
}

impl<'a> World<'a> {
    fn new(setting: Setting<'a>, recorder: &Arc<Recorder>) -> Self {
        let plans = layout::executors(setting.variant, setting.cores);
        let host = |plan: &ExecutorPlan| {
            let policy = policy::by_name(plan.policy).expect("layouts name policies that exist");
            Host { scheduler: Scheduler::new(policy), callbacks: Vec::new() }
        };
        let mut hosts: Vec<Host> = plans.iter().map(host).collect();
        let groups = system::build(recorder);
        let mut callbacks = Vec::new();
        for (index, group) in groups.iter().enumerate() {
            let executor = layout::executor_of(setting.variant, group.spec.name);
            register(setting, &mut hosts[executor], plans[executor].threads(), (index, group), |port, id| {
                callbacks.push(Callback { group: index, port, executor, id, waiting: VecDeque::new() });
                callbacks.len() - 1
            });
        }
        let mut threads = Vec::new();
        for (executor, plan) in plans.iter().enumerate() {
            for (index, core) in plan.cores.iter().enumerate() {
                let index = ThreadIndex(index as _);
                threads.push(Thread { executor, index, core: *core, os_priority: plan.os_priority, run: None });
            }
        }
        threads.sort_by_key(|thread| (thread.core, std::cmp::Reverse(thread.os_priority)));
        let (responses, published) = (BTreeMap::new(), BTreeMap::new());
        Self { setting, groups, callbacks, hosts, threads, now: Instant::ZERO, worked: 0, responses, published }
    }

    /// Ends the callbacks whose execution time is over: all of them publish, then their groups are free.
    fn end_runs(&mut self) {
        let mut ended = Vec::new();
        for thread in &mut self.threads {
            if thread.run.as_ref().is_some_and(|run| run.left_ns == 0) {
                ended.extend(thread.run.take());
            }
        }
        for run in &mut ended {
            if let Some(message) = run.output.take() {
                self.publish(run.callback, Arc::new(message));
            }
        }
        for run in &ended {
            let name = self.name_of(run.callback);
            let response = self.now.saturating_since(run.picked.release);
            let longest = self.responses.entry(name).or_default();
            *longest = response.max(*longest);
            self.complete(run.callback, &run.picked);
        }
    }

    fn name_of(&self, callback: usize) -> String {
        let Callback { group, port, .. } = self.callbacks[callback];
        entity_name(self.groups[group].spec.name, port)
    }

    /// Gives a message to all subscriptions of the topic. A full queue displaces its oldest message.
    fn publish(&mut self, from: usize, message: Arc<Message>) {
        *self.published.entry(self.name_of(from)).or_default() += 1;
        let topic = self.groups[self.callbacks[from].group].spec.output;
        for callback in &mut self.callbacks {
            let spec = &self.groups[callback.group].spec;
            let Port::Input(input) = callback.port else { continue };
            if Some(spec.inputs[input]) != topic {
                continue;
            }
            if callback.waiting.len() == spec.depth {
                callback.waiting.pop_front();
            }
            callback.waiting.push_back((self.now, Arc::clone(&message)));
            self.hosts[callback.executor].scheduler.release(self.now, callback.id);
        }
    }

    /// Gives an activation back. If samples are left, the callback is released again.
    fn complete(&mut self, callback: usize, picked: &Picked) {
        let Callback { executor, id, waiting, .. } = &self.callbacks[callback];
        let scheduler = &mut self.hosts[*executor].scheduler;
        scheduler.complete(self.now, picked);
        if let Some((arrival, _)) = waiting.front() {
            scheduler.release(*arrival, *id);
        }
    }

    /// Gives each core to its most urgent thread that runs a callback or finds one to run. Returns these threads.
    fn place(&mut self) -> Vec<usize> {
        let mut running: Vec<usize> = Vec::new();
        for thread in 0..self.threads.len() {
            let is_taken = running.last().is_some_and(|last| self.threads[*last].core == self.threads[thread].core);
            if !is_taken && (self.threads[thread].run.is_some() || self.pick(thread)) {
                running.push(thread);
            }
        }
        running
    }

    /// Has an idle thread pick a callback and start it. Returns false if it finds none.
    fn pick(&mut self, thread: usize) -> bool {
        let Thread { executor, index, .. } = self.threads[thread];
        while let Some(picked) = self.hosts[executor].scheduler.next(self.now, index) {
            let callback = self.hosts[executor].callbacks[picked.entity.index()];
            match self.start(callback, picked) {
                Some(run) => {
                    self.threads[thread].run = Some(run);
                    return true;
                }
                // Its sample was displaced, and another activation has taken the newer one.
                None => self.complete(callback, &picked),
            }
        }
        false
    }

    /// Runs the node for a callback that starts now. Returns `None` if there is no sample to take.
    fn start(&mut self, callback: usize, picked: Picked) -> Option<Run> {
        let Callback { group, port, waiting, .. } = &mut self.callbacks[callback];
        let (message, due_ns) = match port {
            Port::Timer => (None, Some(picked.release.as_nanos())),
            Port::Input(_) => (Some(waiting.pop_front()?.1), None),
        };
        let mut work = 0;
        let mut crunch = || work += 1;
        let activation = Activation { start_ns: self.now.as_nanos(), due_ns, crunch: &mut crunch };
        let output = self.groups[*group].run(*port, message, activation);
        self.worked += u64::from(work);
        let besides = if output.is_some() { PUBLISHES } else { STORES };
        let left_ns = (self.setting.crunch * work + besides).as_nanos() as u64;
        Some(Run { picked, callback, left_ns, output })
    }

    /// Lets time pass until a callback ends or a timer is due, but not beyond `end`.
    fn go_on(&mut self, running: &[usize], end: Instant) {
        let ends = running.iter().filter_map(|thread| self.threads[*thread].run.as_ref());
        let ends = ends.map(|run| self.now + Duration::from_nanos(run.left_ns));
        let dues = self.hosts.iter().filter_map(|host| host.scheduler.next_due());
        // A timer that is due already waits for a thread.
        let next = ends.chain(dues.filter(|due| *due > self.now)).min().unwrap_or(end).min(end);
        let passed_ns = next.saturating_since(self.now).as_nanos() as u64;
        for thread in running {
            if let Some(run) = &mut self.threads[*thread].run {
                run.left_ns -= passed_ns;
            }
        }
        self.now = next;
    }
}

/// Adds a group to its executor. `added` is told each port and its entity, and returns the number of the callback.
fn register(
    setting: Setting<'_>,
    host: &mut Host,
    threads: u16,
    (number, group): (usize, &Group),
    mut added: impl FnMut(Port, EntityId) -> usize,
) {
    let is_reentrant = setting.variant.is_reentrant();
    let kind = if is_reentrant { GroupKind::Reentrant } else { GroupKind::MutuallyExclusive };
    let in_flight = if is_reentrant { u32::from(threads) } else { 1 };
    let id = host.scheduler.add_group(kind);
    for port in group.spec.ports() {
        let name = entity_name(group.spec.name, port);
        let priority = setting.priorities.get(&name).unwrap_or_default();
        let kind = if port == Port::Timer { EntityKind::Timer } else { EntityKind::Subscription };
        let spec = EntitySpec::new(name, kind, id).priority(priority).max_in_flight(in_flight);
        let entity = match group.spec.period.filter(|_| port == Port::Timer) {
            Some(period) => {
                let timer = TimerSpec::periodic(setting.first_due(number, period), period);
                host.scheduler.add_timer(spec, timer.overrun(layout::overrun(setting.variant)))
            }
            None => host.scheduler.add_entity(spec),
        };
        let entity = entity.expect("the group was added, and periods are above zero");
        debug_assert_eq!(entity.index(), host.callbacks.len());
        host.callbacks.push(added(port, entity));
    }
}

#[cfg(test)]
mod tests {
    use rospin_measure::stats::Summary;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn simulate(variant: Variant, cores: u16, crunch: Duration, duration_s: u64) -> Outcome {
        let priorities = layout::paired_priorities().unwrap();
        run(Setting {
            variant,
            cores,
            priorities: &priorities,
            crunch,
            duration: Duration::from_secs(duration_s),
            phases: None,
        })
    }

    #[test]
    fn without_load_everything_arrives_and_nothing_waits() {
        let Outcome { kpis, worked, .. } = simulate(Variant::FifoSingle, 1, Duration::from_micros(10), 11);
        assert!(kpis.hot_path_latency_ms.len() >= 98, "{}", kpis.hot_path_latency_ms.len());
        // Alone on one thread the path has its own four nodes to wait for, the second transformer, and at most what was
        // released with it, each with its 40 us besides.
        let latency = Summary::of(kpis.hot_path_latency_ms.iter().copied()).unwrap();
        assert!(latency.min >= 0.2 && latency.max < 1.0, "{latency:?}");
        assert!(kpis.hot_path_drops.iter().all(|drops| *drops == 0));
        assert_eq!(kpis.missed_front_lidar, 0);
        assert!(kpis.front_lidar_counted >= 98);
        assert!(kpis.planner_periods.iter().all(|p| (p.period_ms - 100.0).abs() < 0.2));
        // The load that makes 5 ms of work just fit one core.
        let per_second = worked as f64 / 11.0;
        assert!((per_second - 190.0).abs() < 4.0, "{per_second}");
    }

    #[test]
    fn overload_misses_lidar_samples_and_drops() {
        let Outcome { kpis, .. } = simulate(Variant::FifoSingle, 1, 7 * MS, 21);
        assert!(kpis.missed_front_lidar > 0);
        assert!(kpis.hot_path_drops.iter().any(|drops| *drops > 0));
        let latency = Summary::of(kpis.hot_path_latency_ms.iter().copied()).unwrap();
        assert!(latency.mean > 100.0, "{latency:?}");
    }

    #[test]
    fn an_urgent_executor_preempts_the_other_one_on_its_core() {
        // On four cores, nothing but its own executor delays the hot path. Nor does anything on two, where it is the
        // more urgent executor of its core.
        let of = |cores| simulate(Variant::PriorityPartitioned, cores, 7 * MS, 12).kpis.hot_path_from_due_ms;
        assert_eq!(of(2), of(4));
    }

    #[test]
    fn a_reentrant_group_runs_beside_itself_and_an_exclusive_one_does_not() {
        // With 14 ms of work the planner's timer keeps its group while samples for the planner come.
        let longest = |variant| {
            let outcome = simulate(variant, 4, 14 * MS, 12);
            let stores = outcome
                .responses
                .iter()
                .filter(|(name, _)| name.starts_with("BehaviorPlanner/") && !name.ends_with("timer"));
            stores.map(|(_, longest)| *longest).max().unwrap()
        };
        let (exclusive, reentrant) = (longest(Variant::PriorityShared), longest(Variant::PriorityReentrant));
        assert!(reentrant < exclusive, "{reentrant:?} {exclusive:?}");
    }

    #[test]
    fn phases_follow_from_their_number_and_are_within_a_period() {
        let priorities = layout::priorities().unwrap();
        let (variant, duration) = (Variant::PrioritySingle, Duration::from_secs(1));
        let due = |phases, group| {
            let setting = Setting { variant, cores: 1, priorities: &priorities, crunch: MS, duration, phases };
            setting.first_due(group, 100 * MS)
        };
        assert_eq!(due(None, 3), Instant::ZERO + 100 * MS);
        assert_eq!(due(Some(1), 3), due(Some(1), 3));
        let all: std::collections::BTreeSet<_> = (0..1000).map(|seed| due(Some(seed), 3)).collect();
        assert!(all.len() > 990 && all.iter().all(|due| *due <= Instant::ZERO + 100 * MS));
    }

    #[test]
    fn the_same_run_has_the_same_figures() {
        for variant in Variant::EVERY {
            let [one, other] = [0, 1].map(|_| simulate(variant, 2, 7 * MS, 4));
            assert_eq!((one.kpis, one.responses), (other.kpis, other.responses), "{}", variant.name());
        }
    }
}
