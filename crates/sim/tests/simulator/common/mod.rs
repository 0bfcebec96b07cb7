//! Random scenarios: small, with coarse times, so that ties, full queues and held groups are the rule.

#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod seeds;

use std::time::Duration;

use rospin_core::{ClockKind, EntityKind, GroupKind, Overrun};
use rospin_scenario::draw::Stream;
use rospin_scenario::{
    Await, Bin, Burst, Callback, Chain, ExecutionTime, Executor, Fault, Group, Jump, Pattern, Priorities, Release,
    Scenario,
};

/// The command that runs one seed of a test again.
pub(crate) fn replay(test: &str, name: &str, seed: u64) -> String {
    format!("ROSPIN_TEST_SEED={seed} cargo test -p rospin-sim --test {test} {name} -- --nocapture")
}

pub(crate) const POLICIES: [&str; 5] = ["fifo", "fixed-priority", "edf", "wait-set-e1", "wait-set-e2"];

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn pick<T: Clone>(rng: &mut Stream, choices: &[T]) -> T {
    choices[rng.below(choices.len() as u64) as usize].clone()
}

fn percent(rng: &mut Stream, percent: u64) -> bool {
    rng.below(100) < percent
}

/// Returns the scenario that belongs to `seed`.
pub(crate) fn random(seed: u64) -> Scenario {
    let rng = &mut Stream::new(seed, "random scenario");
    let mut scenario = Scenario::default();
    scenario.name = format!("random {seed}");
    scenario.seed = seed;
    scenario.duration = ms(300);
    let cores = 1 + rng.below(3) as u16;
    scenario.cores = Some(cores);
    scenario.priorities = pick(rng, &[Priorities::Given, Priorities::Picas]);
    for number in 0..=rng.below(3) {
        scenario.executors.push(executor(rng, number, cores));
    }
    for number in 0..=rng.below(4) {
        let mut group = Group::new(format!("g{number}"), pick(rng, &scenario.executors).name);
        group.kind = pick(rng, &[GroupKind::MutuallyExclusive, GroupKind::MutuallyExclusive, GroupKind::Reentrant]);
        scenario.groups.push(group);
    }
    scenario.topics = ["/a", "/b", "/c"].map(str::to_owned).to_vec();
    for number in 0..=rng.below(8) {
        let callback = callback(rng, number, &scenario);
        scenario.callbacks.push(callback);
    }
    link(rng, &mut scenario);
    for _ in 0..rng.below(4) {
        scenario.releases.push(release(rng, &scenario));
    }
    if percent(rng, 30) {
        faults(rng, &mut scenario);
    }
    scenario.check().unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", scenario.to_toml()));
    scenario
}

fn executor(rng: &mut Stream, number: u64, cores: u16) -> Executor {
    let mut executor = Executor::new(format!("x{number}"));
    pick(rng, &POLICIES).clone_into(&mut executor.policy);
    executor.threads = 1 + rng.below(3) as u16;
    executor.os_priority = 1 + rng.below(3) as u8;
    if percent(rng, 50) {
        executor.cores = (0..cores).filter(|_| percent(rng, 60)).collect();
    }
    if percent(rng, 20) {
        executor.start = ms(rng.below(100));
        executor.stop = percent(rng, 50).then(|| executor.start + ms(1 + rng.below(100)));
    }
    executor
}

fn execution(rng: &mut Stream) -> ExecutionTime {
    match rng.below(6) {
        0 => ExecutionTime::Uniform(ms(rng.below(3)), ms(3 + rng.below(9))),
        1 => ExecutionTime::List(vec![ms(rng.below(5)), ms(rng.below(9))]),
        2 => ExecutionTime::Recorded(vec![
            Bin { time: ms(1), count: 8 },
            Bin { time: ms(12), count: 1 + rng.below(3) as u32 },
        ]),
        _ => ExecutionTime::Fixed(ms(rng.below(10))),
    }
}

fn callback(rng: &mut Stream, number: u64, scenario: &Scenario) -> Callback {
    let kinds = [
        EntityKind::Timer,
        EntityKind::Timer,
        EntityKind::Subscription,
        EntityKind::Subscription,
        EntityKind::Service,
        EntityKind::Client,
        EntityKind::Waitable,
    ];
    let mut callback = Callback::new(format!("c{number}"), pick(rng, &kinds), pick(rng, &scenario.groups).name);
    callback.priority = percent(rng, 60).then(|| rng.below(3) as u32);
    callback.deadline = percent(rng, 40).then(|| ms(1 + rng.below(40)));
    callback.execution = execution(rng);
    callback.depth = 1 + rng.below(4) as u32;
    callback.max_in_flight = percent(rng, 40).then(|| 1 + rng.below(3) as u32);
    callback.releases_group_at_await = percent(rng, 50);
    for _ in 0..if percent(rng, 25) { 1 + rng.below(2) } else { 0 } {
        callback.awaits.push(Await::new(execution(rng), execution(rng)));
    }
    if callback.kind == EntityKind::Subscription {
        callback.subscribes = percent(rng, 80).then(|| pick(rng, &scenario.topics));
    }
    if callback.kind == EntityKind::Timer {
        callback.period = percent(rng, 85).then(|| ms(3 + rng.below(40)));
        if callback.period.is_none() || percent(rng, 50) {
            callback.offset = Some(ms(rng.below(30)));
        }
        callback.overrun = pick(rng, &[Overrun::Skip, Overrun::CatchUp(2), Overrun::ShiftPhase]);
        callback.clock = pick(rng, &[ClockKind::Steady, ClockKind::Steady, ClockKind::System, ClockKind::Ros]);
    }
    callback
}

/// Publishes forward only, to callbacks with larger numbers, so that nothing goes round for ever; and chains along
/// that.
fn link(rng: &mut Stream, scenario: &mut Scenario) {
    for from in 0..scenario.callbacks.len() {
        if !percent(rng, 40) {
            continue;
        }
        let later: Vec<_> = scenario.callbacks[from + 1..].iter().filter(|to| to.kind != EntityKind::Timer).collect();
        let Some(to) = later.get(rng.below(later.len() as u64) as usize) else {
            continue;
        };
        let address = to.subscribes.clone().unwrap_or_else(|| to.name.clone());
        let to = to.name.clone();
        // Receivers of the topic may come earlier in the scenario than the publisher.
        let back = scenario.receivers(&address).any(|(receiver, _)| receiver <= from);
        if !back {
            scenario.callbacks[from].publishes.push(address);
            let name = format!("chain {from}");
            let from = scenario.callbacks[from].name.clone();
            match scenario.chains.iter_mut().find(|chain| chain.callbacks.last() == Some(&from)) {
                Some(chain) => chain.callbacks.push(to),
                None => scenario.chains.push(Chain::new(name, rng.below(3) as u32, [from, to])),
            }
        }
    }
}

fn release(rng: &mut Stream, scenario: &Scenario) -> Release {
    let callbacks = scenario.callbacks.iter().filter(|callback| callback.kind != EntityKind::Timer);
    let mut addresses: Vec<_> = callbacks.map(|callback| callback.name.clone()).collect();
    addresses.extend(scenario.topics.iter().cloned());
    let to: Vec<_> = (0..=rng.below(3)).map(|_| pick(rng, &addresses)).collect();
    let pattern = match rng.below(3) {
        0 => Pattern::List((0..rng.below(8)).map(|_| ms(rng.below(150))).collect()),
        1 => Pattern::Periodic { period: ms(5 + rng.below(30)), offset: ms(rng.below(20)), jitter: ms(rng.below(5)) },
        _ => Pattern::Sporadic { offset: ms(rng.below(20)), min: ms(1 + rng.below(9)), max: ms(10 + rng.below(30)) },
    };
    let mut release = Release::new(to, pattern);
    if percent(rng, 30) {
        release.burst = Some(Burst { count: 1 + rng.below(4) as u32, spacing: ms(0) });
    }
    release
}

fn faults(rng: &mut Stream, scenario: &mut Scenario) {
    let callback = pick(rng, &scenario.callbacks);
    let name = callback.name.clone();
    scenario.faults.push(Fault::Overrun { callback: name.clone(), probability: 0.2, extra: ms(7) });
    if callback.kind != EntityKind::Timer {
        scenario.faults.push(Fault::LostNotification { callback: name.clone(), probability: 0.2 });
        scenario.faults.push(Fault::SpuriousNotification { callback: name, period: ms(11) });
    }
    let by = ms(rng.below(100));
    let by = if percent(rng, 50) { Jump::Forward(by) } else { Jump::Back(by) };
    scenario.faults.push(Fault::ClockJump {
        clock: pick(rng, &[ClockKind::System, ClockKind::Ros]),
        at: ms(rng.below(200)),
        by,
    });
}
