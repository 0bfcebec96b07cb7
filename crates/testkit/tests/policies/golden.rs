//! Traces that a person can read and check. `ROSPIN_BLESS=1` writes them, and a reviewer reads the difference.

use std::path::Path;
use std::time::Duration;

use rospin_core::policy::{Edf, Fifo, FixedPriority, Policy, Timers, WaitSet};
use rospin_core::trace::TraceEvent;
use rospin_core::{
    Chain, EntityId, EntityKind, EntitySpec, GroupKind, Instant, Overrun, PriorityMap, Scheduler, TimerSpec,
};
use rospin_testkit::golden;
use rospin_testkit::virtual_time::{Behaviour, VirtualTime};

fn assert_golden(name: &str, time: &VirtualTime) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"));
    let actual = golden::render(&time.events(), time.scheduler());
    if let Err(difference) = golden::check(&file, &actual) {
        panic!("{difference}");
    }
}

/// Returns the start time in ms and the name of every run, to compare with a paper.
fn runs(time: &VirtualTime) -> Vec<(u64, String)> {
    let run = |(at, event): (Instant, TraceEvent)| match event {
        TraceEvent::Dispatched(_, activation) => {
            let name = time.scheduler().entity(activation.entity)?.name.clone();
            Some((at.as_nanos() / 1_000_000, name))
        }
        _ => None,
    };
    time.events().into_iter().filter_map(run).collect()
}

/// Experiment 1 of Dust et al. (2023): two messages each for H, M and L at 0 s, one-shot timers T0 at 0.2 s and T1 at
/// 2.3 s, 500 ms per callback.
fn dust_experiment_1(timers: Timers) -> VirtualTime {
    let mut scheduler = Scheduler::new(Box::new(WaitSet::new(timers)));
    let group = scheduler.add_group(GroupKind::MutuallyExclusive);
    let mut ids: Vec<EntityId> = Vec::new();
    for name in ["H", "M", "L"] {
        ids.push(scheduler.add_entity(EntitySpec::new(name, EntityKind::Subscription, group)).unwrap());
    }
    let subscriptions = ids.clone();
    for (name, due_ms) in [("T0", 200), ("T1", 2300)] {
        let timer = TimerSpec::one_shot(Instant::from_millis(due_ms));
        ids.push(scheduler.add_timer(EntitySpec::new(name, EntityKind::Timer, group), timer).unwrap());
    }
    let mut time = VirtualTime::new(scheduler, 1);
    for id in &ids {
        time.behave(*id, Behaviour::runs_ms(500));
    }
    for _ in 0..2 {
        for id in &subscriptions {
            time.message(Instant::ZERO, *id);
        }
    }
    time.run_until(Instant::from_millis(10_000));
    time
}

/// Returns runs without pauses, 500 ms each.
fn back_to_back(names: &str) -> Vec<(u64, String)> {
    let starts = (0..).step_by(500);
    starts.zip(names.split(' ').map(str::to_owned)).collect()
}

#[test]
fn dust_experiment_1_with_timers_outside() {
    let time = dust_experiment_1(Timers::Outside);
    // Polling points at 0 and 2 s. Timers are served before the next pick.
    assert_eq!(runs(&time), back_to_back("H T0 M L H T1 M L"));
    assert_golden("dust_experiment_1_e1", &time);
}

#[test]
fn dust_experiment_1_with_timers_inside() {
    let time = dust_experiment_1(Timers::Inside);
    // Polling points at 0, 1.5 s and 3.5 s, with the ready sets H M L, T0 H M L and T1.
    assert_eq!(runs(&time), back_to_back("H M L T0 H M L T1"));
    assert_golden("dust_experiment_1_e2", &time);
}

/// A chain camera -> detector -> brake overtakes a map callback outside of any chain, with PiCAS priorities, on one
/// thread.
#[test]
fn chain_under_fixed_priority() {
    let chain = Chain::new("stop", 1, ["camera", "detector", "brake"]);
    let priorities = PriorityMap::picas(&[chain]).unwrap();
    let mut scheduler = Scheduler::new(Box::new(FixedPriority::new()));
    let group = scheduler.add_group(GroupKind::MutuallyExclusive);
    let mut add = |name: &str| {
        let spec = EntitySpec::new(name, EntityKind::Subscription, group);
        let priority = priorities.get(name).unwrap_or_default();
        scheduler.add_entity(spec.priority(priority)).unwrap()
    };
    let [map, camera, detector, brake] = ["map", "camera", "detector", "brake"].map(&mut add);
    let mut time = VirtualTime::new(scheduler, 1);
    time.behave(map, Behaviour::runs_ms(30));
    time.behave(camera, Behaviour { publishes: vec![detector], ..Behaviour::runs_ms(10) });
    time.behave(detector, Behaviour { publishes: vec![brake], ..Behaviour::runs_ms(20) });
    time.behave(brake, Behaviour::runs_ms(5));
    for (at_ms, id) in [(0, map), (0, map), (10, camera), (35, camera)] {
        time.message(Instant::from_millis(at_ms), id);
    }
    time.run_until(Instant::from_millis(1000));
    assert_golden("chain_fixed_priority", &time);
}

/// Two asynchronous callbacks and a synchronous one in a mutually exclusive group. `polite` releases the group while
/// it awaits, `greedy` does not.
#[test]
fn asynchronous_callbacks() {
    let mut scheduler = Scheduler::new(Box::new(Fifo::new()));
    let group = scheduler.add_group(GroupKind::MutuallyExclusive);
    let spec = |name: &str| EntitySpec::new(name, EntityKind::Subscription, group);
    let polite = scheduler.add_entity(spec("polite").releases_group_at_await(true)).unwrap();
    let greedy = scheduler.add_entity(spec("greedy")).unwrap();
    let plain = scheduler.add_entity(spec("plain")).unwrap();
    let mut time = VirtualTime::new(scheduler, 2);
    let ms = Duration::from_millis;
    let waits = vec![(ms(50), ms(10))];
    time.behave(polite, Behaviour { awaits: waits.clone(), ..Behaviour::runs_ms(10) });
    time.behave(greedy, Behaviour { awaits: waits, ..Behaviour::runs_ms(10) });
    time.behave(plain, Behaviour::runs_ms(20));
    for (at_ms, id) in [(0, polite), (5, plain), (40, greedy), (45, plain)] {
        time.message(Instant::from_millis(at_ms), id);
    }
    time.run_until(Instant::from_millis(1000));
    assert_golden("asynchronous", &time);
}

/// A 330 ms callback delays a 100 ms timer past its due times at 200, 300 and 400 ms.
fn late_timer(overrun: Overrun, policy: Box<dyn Policy>) -> VirtualTime {
    let mut scheduler = Scheduler::new(policy);
    let group = scheduler.add_group(GroupKind::MutuallyExclusive);
    let timer = TimerSpec::periodic(Instant::from_millis(100), Duration::from_millis(100)).overrun(overrun);
    let timer = scheduler.add_timer(EntitySpec::new("timer", EntityKind::Timer, group), timer).unwrap();
    let long = scheduler.add_entity(EntitySpec::new("long", EntityKind::Subscription, group)).unwrap();
    let mut time = VirtualTime::new(scheduler, 1);
    time.behave(timer, Behaviour::runs_ms(10));
    time.behave(long, Behaviour::runs_ms(330));
    time.message(Instant::from_millis(150), long);
    time.run_until(Instant::from_millis(750));
    time
}

#[test]
fn overrun_skip() {
    assert_golden("overrun_skip", &late_timer(Overrun::Skip, Box::new(Fifo::new())));
}

#[test]
fn overrun_catch_up() {
    assert_golden("overrun_catch_up", &late_timer(Overrun::CatchUp(1), Box::new(Fifo::new())));
}

#[test]
fn overrun_shift_phase() {
    assert_golden("overrun_shift_phase", &late_timer(Overrun::ShiftPhase, Box::new(Edf::new())));
}
