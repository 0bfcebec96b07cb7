//! No group starves under a rospin policy: random systems in virtual time, and entities of equal priority.

use std::collections::HashMap;
use std::time::Duration;

use rospin_core::policy::{Edf, Fifo, FixedPriority, Policy};
use rospin_core::trace::TraceEvent;
use rospin_core::{
    EntityId, EntityKind, EntitySpec, GroupId, GroupKind, Instant, Overrun, Priority, Scheduler, TimerSpec,
};
use rospin_testkit::rng::Rng;
use rospin_testkit::suite::Plan;
use rospin_testkit::virtual_time::{Behaviour, Events, VirtualTime};

const POLICIES: [fn() -> Box<dyn Policy>; 3] =
    [|| Box::new(Fifo::new()), || Box::new(FixedPriority::new()), || Box::new(Edf::new())];

/// Number of random systems for each policy.
const SYSTEMS: u64 = 400;
const HORIZON_MS: u64 = 2_000;

/// A random system whose load one thread can carry, simulated up to the horizon and beyond.
struct System {
    time: VirtualTime,
    groups: Vec<(GroupId, GroupKind)>,
    /// Number of messages for each entity.
    messages: Vec<(EntityId, usize)>,
    /// Upper bound of the waiting time of an activation.
    longest_wait: Duration,
}

fn random_system(rng: &mut Rng, policy: Box<dyn Policy>) -> System {
    let mut scheduler = Scheduler::new(policy);
    let kinds = [GroupKind::MutuallyExclusive, GroupKind::MutuallyExclusive, GroupKind::Reentrant];
    let groups: Vec<_> =
        (0..rng.between(1, 4)).map(|_| rng.pick(&kinds)).map(|k| (scheduler.add_group(k), k)).collect();
    let count = rng.between(2, 10);
    let mut messages = Vec::new();
    let mut behaviours = Vec::new();
    let mut arrivals = Vec::new();
    let mut work_ms = 0;
    let mut load = 0.0;
    for number in 0..count {
        let run_ms = rng.between(1, 20);
        // Each entity gets its share of at most 90 % load.
        let period_ms = run_ms * count * 100 / 90 + rng.between(1, 50);
        work_ms += run_ms;
        load += run_ms as f64 / period_ms as f64;
        let (group, _) = groups[rng.index(groups.len())];
        let spec = EntitySpec::new(format!("e{number}"), EntityKind::Subscription, group)
            .priority(Priority(rng.below(4) as u32))
            .max_in_flight(rng.between(1, 2) as u32);
        let spec = if rng.chance(50) { spec.deadline(Duration::from_millis(rng.between(1, 200))) } else { spec };
        let id = if rng.chance(40) {
            let spec = of_kind(spec, EntityKind::Timer);
            let timer = TimerSpec::periodic(Instant::from_millis(rng.below(100)), Duration::from_millis(period_ms));
            let overrun = rng.pick(&[Overrun::Skip, Overrun::CatchUp(3), Overrun::ShiftPhase]);
            scheduler.add_timer(spec, timer.overrun(overrun)).unwrap()
        } else {
            let id = scheduler.add_entity(spec).unwrap();
            let mut at_ms = Vec::new();
            for k in 0..HORIZON_MS / period_ms {
                at_ms.push(k * period_ms + rng.below(period_ms));
            }
            messages.push((id, at_ms.len()));
            arrivals.extend(at_ms.into_iter().map(|ms| (Instant::from_millis(ms), id)));
            id
        };
        behaviours.push((id, Behaviour::runs_ms(run_ms)));
    }
    // While an activation waits, a thread is busy; otherwise that thread would take it. In a busy interval of length
    // L, the arriving work is at most the sum over all entities of (L / period + 2) runs, so L <= 2 * work / (1 -
    // load).
    let longest_wait = Duration::from_secs_f64(2.0 * work_ms as f64 / 1000.0 / (1.0 - load));
    let mut time = VirtualTime::new(scheduler, rng.between(1, 4) as u16);
    for (id, behaviour) in behaviours {
        time.behave(id, behaviour);
    }
    for (at, id) in arrivals {
        time.message(at, id);
    }
    time.run_until(Instant::from_millis(HORIZON_MS) + longest_wait);
    System { time, groups, messages, longest_wait }
}

fn of_kind(mut spec: EntitySpec, kind: EntityKind) -> EntitySpec {
    spec.kind = kind;
    spec
}

/// Checks that each release is dispatched once and in time. A release that is not dispatched yet must not have waited
/// too long.
fn assert_nothing_is_lost_or_late(system: &System, events: &Events) {
    let mut waiting = HashMap::new();
    for (at, event) in events {
        match event {
            TraceEvent::Released(activation) => {
                let before = waiting.insert(activation.sequence, *activation);
                assert!(before.is_none(), "released twice: {activation:?}");
            }
            TraceEvent::Dispatched(_, activation) => {
                assert_eq!(waiting.remove(&activation.sequence), Some(*activation), "dispatched unasked or twice");
                let waited = at.saturating_since(activation.release);
                assert!(waited <= system.longest_wait, "{activation:?} waited {waited:?}");
            }
            _ => {}
        }
    }
    let end = Instant::from_millis(HORIZON_MS) + system.longest_wait;
    for activation in waiting.values() {
        let waits = end.saturating_since(activation.release);
        assert!(waits <= system.longest_wait, "{activation:?} still waits after {waits:?}");
    }
    for (id, count) in &system.messages {
        assert_eq!(system.time.starts(*id).len(), *count, "one run a message of {id:?}");
    }
}

/// Checks that no two activations of a mutually exclusive group overlap.
fn assert_exclusion(system: &System, events: &Events) {
    let mut held = HashMap::new();
    for (at, event) in events {
        match event {
            TraceEvent::Dispatched(_, activation) if exclusive(system, activation.group) => {
                let other = held.insert(activation.group, activation.sequence);
                assert!(other.is_none(), "{activation:?} was started at {at:?} while {other:?} runs");
            }
            TraceEvent::Completed(activation) => drop(held.remove(&activation.group)),
            _ => {}
        }
    }
}

fn exclusive(system: &System, group: GroupId) -> bool {
    system.groups.contains(&(group, GroupKind::MutuallyExclusive))
}

#[test]
fn with_load_below_one_everything_runs_soon() {
    let plan = Plan::from_env_or(6_000_000, SYSTEMS);
    for seed in (0..plan.count.min(SYSTEMS)).map(|number| plan.seed.wrapping_add(number)) {
        for policy in POLICIES {
            let system = random_system(&mut Rng::new(seed), policy());
            let events = system.time.events();
            let name = policy().name();
            let checks = std::panic::AssertUnwindSafe(|| {
                assert_nothing_is_lost_or_late(&system, &events);
                assert_exclusion(&system, &events);
            });
            if let Err(panic) = std::panic::catch_unwind(checks) {
                let test = "cargo test -p rospin-testkit --test policies fairness";
                eprint_replay(&format!("{name}; replay: ROSPIN_TEST_SEED={seed} ROSPIN_TEST_COUNT=1 {test}"));
                std::panic::resume_unwind(panic);
            }
        }
    }
}

#[allow(clippy::print_stderr, reason = "what a failing test has to say")]
fn eprint_replay(text: &str) {
    eprintln!("{text}");
}

/// Entities of one group with equal priority that always have work take turns.
#[test]
fn equals_in_a_group_alternate() {
    const ROUNDS: usize = 50;
    for policy in POLICIES {
        for (entities, threads) in [(2, 1), (2, 2), (3, 1), (3, 4), (4, 2)] {
            let mut scheduler = Scheduler::new(policy());
            let group = scheduler.add_group(GroupKind::MutuallyExclusive);
            let spec = |number| {
                let name = format!("e{number}");
                EntitySpec::new(name, EntityKind::Subscription, group).deadline(Duration::from_millis(5))
            };
            let ids: Vec<_> = (0..entities).map(|number| scheduler.add_entity(spec(number)).unwrap()).collect();
            let mut time = VirtualTime::new(scheduler, threads);
            for id in &ids {
                time.behave(*id, Behaviour::runs_ms(3));
                for _ in 0..ROUNDS {
                    time.message(Instant::ZERO, *id);
                }
            }
            time.run_until(Instant::from_millis(1_000_000));
            let mut order = Vec::new();
            for (_, event) in time.events() {
                if let TraceEvent::Dispatched(_, activation) = event {
                    order.push(activation.entity);
                }
            }
            // The first entity's second message is as old as the others' first ones, and the entity was registered
            // first, so it runs twice. From then on each is released when it is picked, and goes to the end of the
            // queue.
            let turns: Vec<_> = ids.iter().copied().cycle().take((ROUNDS - 1) * ids.len()).collect();
            assert_eq!(
                order[1..=turns.len()],
                turns,
                "{} with {entities} entities on {threads} threads",
                policy().name()
            );
        }
    }
}
