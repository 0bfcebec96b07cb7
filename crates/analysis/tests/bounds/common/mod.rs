//! Random systems: a kind of system for each analysis, of 0.3 to 0.95 utilization.

pub(crate) mod bounded;
pub(crate) mod misses;
pub(crate) use crate::scenarios::seeds;
use crate::systems::shares;

use std::time::Duration;

use rospin_analysis::{Analysis, AnalysisError, Overheads, Report, Reservation};
use rospin_core::{EntityKind, GroupKind, Overrun};
use rospin_scenario::draw::Stream;
use rospin_scenario::{Await, Burst, Callback, Chain, ExecutionTime, Executor, Group, Pattern, Release, Scenario};

/// Returns the command that runs one seed of a test again.
pub(crate) fn replay(name: &str, seed: u64) -> String {
    format!("ROSPIN_TEST_SEED={seed} cargo test -p rospin-analysis --test bounds random::{name} -- --nocapture")
}

/// Returns the number of systems that a test draws: `ROSPIN_SYSTEMS`, or by default `debug` or `release` of them.
pub(crate) fn systems(debug: u64, release: u64) -> u64 {
    let given = std::env::var("ROSPIN_SYSTEMS").ok().and_then(|text| text.parse().ok());
    given.unwrap_or(if cfg!(debug_assertions) { debug } else { release })
}

/// A kind of system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// One executor for each callback, all on one core.
    Preemptive,
    /// One executor, alone on its core, under this policy.
    Alone(&'static str),
    /// One executor, alone on its core, with callbacks that wait between two segments.
    Asynchronous(&'static str),
    /// As `Asynchronous`, with up to three groups that callbacks may hold while they wait, and with so many threads.
    /// With one thread, perhaps with another executor on its core.
    Holding(&'static str, u16),
    /// Several executors of all policies on one core.
    Shared,
    /// An executor with several threads.
    Threads,
    /// An executor with several threads under an emulated wait set, with mutually exclusive groups.
    Polling,
    /// An executor under a reservation; in the simulator, something more urgent takes all other time.
    Reserved,
    /// Chains across executors on two cores.
    Chains,
    /// Chains inside one executor, which may share its core.
    Linked,
    /// Receiving and dispatching take time; in the simulator, they are callbacks.
    Overheads,
}

/// A system, and what the analysis must be told beside the scenario.
pub(crate) struct System {
    pub(crate) scenario: Scenario,
    /// The scenario that is simulated, if that is another one.
    pub(crate) simulated: Option<Scenario>,
    overheads: Overheads,
    reservation: Option<Reservation>,
}

impl System {
    pub(crate) fn analyse(&self) -> Result<Report, AnalysisError> {
        let analysis = Analysis::new(&self.scenario).overheads(self.overheads);
        match self.reservation {
            Some(reservation) => analysis.reservation("x0", reservation).run(),
            None => analysis.run(),
        }
    }
}

pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(crate) const fn us(count: u64) -> Duration {
    Duration::from_micros(count)
}

const NS: Duration = Duration::from_nanos(1);

pub(crate) fn pick<T: Clone>(rng: &mut Stream, choices: &[T]) -> T {
    choices[rng.below(choices.len() as u64) as usize].clone()
}

fn percent(rng: &mut Stream, percent: u64) -> bool {
    rng.below(100) < percent
}

const PERIODS_US: [u64; 8] = [1_000, 2_000, 3_000, 4_000, 5_000, 8_000, 10_000, 20_000];

/// Returns the system of this kind that belongs to `seed`.
pub(crate) fn random(kind: Kind, seed: u64) -> System {
    let rng = &mut Stream::new(seed, &format!("{kind:?}"));
    let mut scenario = Scenario::default();
    scenario.name = format!("{kind:?} {seed}");
    scenario.seed = seed;
    scenario.duration = us(30_000);
    scenario.cores = Some(1);
    place(rng, &mut scenario, kind);
    let mut system = System { scenario, simulated: None, overheads: Overheads::default(), reservation: None };
    let mut utilization = 0.3 + rng.below(650) as f64 / 1000.0;
    match kind {
        // Groups keep threads idle. Without this factor of one half, most systems would have no bound.
        Kind::Holding(_, threads) => utilization *= 0.5 * f64::from(threads),
        Kind::Threads | Kind::Polling => utilization *= f64::from(system.scenario.executors[0].threads) / 2.0,
        Kind::Reserved => {
            let period = us(pick(rng, &[200, 500, 1_000]));
            let share = 0.4 + rng.below(50) as f64 / 100.0;
            system.reservation = Some(Reservation { budget: period.mul_f64(share), period });
            utilization *= share;
        }
        Kind::Chains | Kind::Linked => utilization *= 1.2,
        _ => {}
    }
    let count = match kind {
        Kind::Threads | Kind::Polling | Kind::Holding(..) => 4 + rng.below(4),
        _ => 2 + rng.below(4),
    } as usize;
    let shares = shares(rng, count, utilization);
    for (number, share) in shares.into_iter().enumerate() {
        callback(rng, &mut system.scenario, kind, number, share);
    }
    if matches!(kind, Kind::Chains | Kind::Linked) {
        link(rng, &mut system.scenario);
    }
    if kind == Kind::Linked && percent(rng, 40) {
        // Earlier callbacks get higher priorities than later ones, against the rule of PiCAS.
        let priorities: Vec<_> = system.scenario.callbacks.iter().rev().map(|callback| callback.priority).collect();
        system
            .scenario
            .callbacks
            .iter_mut()
            .zip(priorities)
            .for_each(|(callback, priority)| callback.priority = priority);
    }
    match kind {
        Kind::Reserved => black_out(&mut system),
        Kind::Overheads => receive(rng, &mut system),
        _ => {}
    }
    for scenario in std::iter::once(&system.scenario).chain(&system.simulated) {
        scenario.check().unwrap_or_else(|error| panic!("{kind:?} {seed}: {error}\n{}", scenario.to_toml()));
    }
    system
}

fn executor(rng: &mut Stream, scenario: &mut Scenario, policy: &str, groups: u64) {
    let mut executor = Executor::new(format!("x{}", scenario.executors.len()));
    policy.clone_into(&mut executor.policy);
    executor.os_priority = 10;
    for _ in 0..groups {
        let mut group = Group::new(format!("g{}", scenario.groups.len()), &executor.name);
        group.kind = pick(rng, &[GroupKind::MutuallyExclusive, GroupKind::MutuallyExclusive, GroupKind::Reentrant]);
        scenario.groups.push(group);
    }
    scenario.executors.push(executor);
}

/// Adds the executors and groups of this kind.
fn place(rng: &mut Stream, scenario: &mut Scenario, kind: Kind) {
    let any = pick(rng, &["fixed-priority", "edf", "fifo", "wait-set-e1", "wait-set-e2"]);
    match kind {
        Kind::Alone(policy) | Kind::Asynchronous(policy) => executor(rng, scenario, policy, 2),
        Kind::Holding(policy, threads) => {
            let groups = 1 + rng.below(3);
            executor(rng, scenario, policy, groups);
            scenario.executors[0].threads = threads;
            scenario.cores = Some(threads);
            scenario.groups.iter_mut().for_each(|group| group.kind = GroupKind::MutuallyExclusive);
            if threads == 1 && percent(rng, 20) {
                executor(rng, scenario, any, 1);
                scenario.executors[1].os_priority = pick(rng, &[5, 10, 20]);
            }
        }
        // Executors were created together with their callbacks.
        Kind::Preemptive => {}
        Kind::Reserved => executor(rng, scenario, any, 1),
        Kind::Overheads => executor(rng, scenario, "fixed-priority", 1),
        Kind::Linked => {
            executor(rng, scenario, "fixed-priority", 1);
            if percent(rng, 40) {
                executor(rng, scenario, any, 1);
                scenario.executors[1].os_priority = pick(rng, &[5, 10, 20]);
            }
        }
        Kind::Polling => {
            let policy = pick(rng, &["wait-set-e1", "wait-set-e2"]);
            executor(rng, scenario, policy, 3);
            let threads = 2 + rng.below(2) as u16;
            scenario.executors[0].threads = threads;
            scenario.cores = Some(threads);
        }
        Kind::Threads => {
            executor(rng, scenario, any, 3);
            let threads = 2 + rng.below(2) as u16;
            scenario.executors[0].threads = threads;
            scenario.cores = Some(threads);
            if any.starts_with("wait-set") {
                scenario.groups.iter_mut().for_each(|group| group.kind = GroupKind::Reentrant);
            }
        }
        Kind::Shared | Kind::Chains => {
            let cores = if kind == Kind::Shared { 1 } else { 2 };
            for number in 0..2 + rng.below(2) as u16 {
                let any = pick(rng, &["fixed-priority", "edf", "fifo", "wait-set-e1", "wait-set-e2"]);
                executor(rng, scenario, any, 1);
                let executor = &mut scenario.executors[usize::from(number)];
                executor.os_priority = 10 + rng.below(3) as u8;
                executor.cores = vec![number % cores];
            }
            scenario.cores = Some(cores);
        }
    }
}

/// Adds a callback that asks for this share of a core, and what releases it.
fn callback(rng: &mut Stream, scenario: &mut Scenario, kind: Kind, number: usize, share: f64) {
    if kind == Kind::Preemptive {
        let mut executor = Executor::new(format!("x{number}"));
        executor.os_priority = 10 + number as u8;
        scenario.executors.push(executor);
        scenario.groups.push(Group::new(format!("g{number}"), format!("x{number}")));
    }
    let others = [EntityKind::Subscription, EntityKind::Service, EntityKind::Waitable];
    let is_timer = if kind == Kind::Overheads { percent(rng, 30) } else { percent(rng, 50) };
    let entity = if is_timer { EntityKind::Timer } else { pick(rng, &others) };
    let group = if kind == Kind::Preemptive { format!("g{number}") } else { pick(rng, &scenario.groups).name };
    let mut callback = Callback::new(format!("c{number}"), entity, group);
    callback.priority = Some(if percent(rng, 80) { number as u32 } else { rng.below(3) as u32 });
    callback.depth = 1_000;
    let period_us = pick(rng, &PERIODS_US);
    let period = us(period_us);
    let cost = period.mul_f64(share).max(us(1));
    callback.execution = execution(rng, cost);
    callback.deadline = percent(rng, 70).then(|| us(period_us / 2 + rng.below(period_us)));
    let asynchronous = match kind {
        Kind::Asynchronous(_) => 40,
        Kind::Holding(..) => 50,
        Kind::Threads | Kind::Polling => 15,
        _ => 0,
    };
    if asynchronous > 0 && percent(rng, asynchronous) {
        wait(rng, &mut callback, cost, period);
    }
    // In most systems callback 0, the longest, is released 1 ns before all others: the critical instant of
    // non-preemptive scheduling.
    let offset =
        if percent(rng, 60) { if number == 0 { Duration::ZERO } else { NS } } else { us(rng.below(period_us)) };
    if is_timer {
        callback.period = Some(period);
        callback.offset = Some(offset);
        callback.overrun = pick(rng, &[Overrun::Skip, Overrun::CatchUp(3), Overrun::ShiftPhase]);
    } else {
        scenario.releases.push(release(rng, &callback.name, period, offset, cost));
    }
    scenario.callbacks.push(callback);
}

fn execution(rng: &mut Stream, cost: Duration) -> ExecutionTime {
    match rng.below(10) {
        0 => ExecutionTime::Uniform(Duration::ZERO, cost),
        1 => ExecutionTime::List(vec![cost, cost / 2]),
        _ => ExecutionTime::Fixed(cost),
    }
}

/// Splits the execution time, with waits between.
fn wait(rng: &mut Stream, callback: &mut Callback, cost: Duration, period: Duration) {
    let parts = 2 + rng.below(2) as u32;
    callback.execution = ExecutionTime::Fixed(cost / parts);
    for _ in 1..parts {
        let wait = ExecutionTime::Fixed(period.mul_f64(rng.below(10) as f64 / 100.0));
        callback.awaits.push(Await::new(wait, ExecutionTime::Fixed(cost / parts)));
    }
    callback.releases_group_at_await = percent(rng, 50);
}

/// Returns a release that comes as often as `period` says in the long run.
fn release(rng: &mut Stream, name: &str, period: Duration, offset: Duration, cost: Duration) -> Release {
    let name = [name.to_owned()];
    match rng.below(10) {
        0 | 1 => Release::new(name, Pattern::Periodic { period, offset, jitter: period / 3 }),
        2 => Release::new(name, Pattern::Sporadic { offset, min: period, max: period + period / 2 }),
        3 => {
            let mut release =
                Release::new(name, Pattern::Periodic { period: 2 * period, offset, jitter: Duration::ZERO });
            release.burst =
                Some(Burst { count: 2, spacing: if rng.below(2) == 0 { Duration::ZERO } else { cost / 2 } });
            release
        }
        4 => {
            let times = (0..1 + rng.below(8)).map(|_| Duration::from_micros(rng.below(20_000))).collect();
            Release::new(name, Pattern::List(times))
        }
        _ => Release::new(name, Pattern::Periodic { period, offset, jitter: Duration::ZERO }),
    }
}

/// Lets callbacks hand on to later ones, whose own releases it takes away, and declares chains along that.
fn link(rng: &mut Stream, scenario: &mut Scenario) {
    for from in 0..scenario.callbacks.len() - 1 {
        let to = from + 1 + rng.below((scenario.callbacks.len() - from - 1) as u64) as usize;
        if scenario.callbacks[to].kind == EntityKind::Timer || percent(rng, 20) {
            continue;
        }
        let (from_name, to_name) = (scenario.callbacks[from].name.clone(), scenario.callbacks[to].name.clone());
        // A publisher that runs more often than its receiver may overload it. Such systems are refused, and counted.
        if percent(rng, 80) {
            scenario.releases.retain(|release| release.to != [to_name.clone()]);
        }
        scenario.callbacks[from].publishes.push(to_name.clone());
        match scenario.chains.iter_mut().find(|chain| chain.callbacks.last() == Some(&from_name)) {
            Some(chain) => chain.callbacks.push(to_name),
            None => scenario.chains.push(Chain::new(format!("chain {from}"), 1, [from_name, to_name])),
        }
    }
}

/// Something more urgent takes the time that is not reserved.
fn black_out(system: &mut System) {
    let Some(Reservation { budget, period }) = system.reservation else { return };
    let mut scenario = system.scenario.clone();
    let mut executor = Executor::new("others");
    executor.os_priority = 99;
    scenario.executors.push(executor);
    scenario.groups.push(Group::new("others", "others"));
    let mut others = Callback::new("others", EntityKind::Timer, "others");
    others.period = Some(period);
    others.offset = Some(Duration::ZERO);
    others.execution = ExecutionTime::Fixed(period - budget);
    scenario.callbacks.push(others);
    system.simulated = Some(scenario);
}

/// Adds what the middleware and the executor do, as callbacks and as execution time.
fn receive(rng: &mut Stream, system: &mut System) {
    let overheads = Overheads { dispatch: us(rng.below(20)), wake_up: Duration::ZERO, receive: us(1 + rng.below(20)) };
    system.overheads = overheads;
    let mut scenario = system.scenario.clone();
    let mut middleware = Executor::new("middleware");
    middleware.os_priority = 99;
    "fifo".clone_into(&mut middleware.policy);
    scenario.executors.push(middleware);
    scenario.groups.push(Group::new("middleware", "middleware"));
    for number in 0..scenario.callbacks.len() {
        let callback = &mut scenario.callbacks[number];
        match &mut callback.execution {
            ExecutionTime::Fixed(time) => *time += overheads.dispatch,
            ExecutionTime::Uniform(_, time) => *time += overheads.dispatch,
            ExecutionTime::List(times) => times.iter_mut().for_each(|time| *time += overheads.dispatch),
            _ => {}
        }
        if callback.kind == EntityKind::Timer {
            continue;
        }
        let name = callback.name.clone();
        let via = format!("receive {name}");
        let mut receiver = Callback::new(&via, EntityKind::Waitable, "middleware");
        receiver.depth = 1_000;
        receiver.execution = ExecutionTime::Fixed(overheads.receive);
        receiver.publishes.push(name.clone());
        scenario.callbacks.push(receiver);
        for release in &mut scenario.releases {
            release.to.iter_mut().filter(|to| **to == name).for_each(|to| to.clone_from(&via));
        }
        scenario.chains.push(Chain::new(&name, 1, [via, name.clone()]));
    }
    system.simulated = Some(scenario);
}
