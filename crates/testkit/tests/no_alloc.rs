//! The dispatch path does not allocate, under any of rospin's policies.

#[path = "../../engine/tests/common/counting.rs"]
mod counting;

use std::cell::Cell;
use std::time::Duration;

use counting::Counting;
use rospin_core::policy::POLICIES;
use rospin_core::{
    Activation, ClockKind, EntityId, EntityKind, EntitySpec, GroupKind, Instant, Overrun, Policy, Priority, Scheduler,
    ThreadIndex, TimerSpec,
};

thread_local! {
    /// Per thread, because tests run in parallel and the test harness allocates. Access does not allocate: the initial
    /// value is constant, and there is no destructor.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static COUNTING: Counting = Counting { count };

fn count() {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
}

fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

/// Ten entities and three timers in three groups.
struct Fixture {
    scheduler: Scheduler,
    entities: Vec<EntityId>,
}

fn system(policy: Box<dyn Policy>) -> Fixture {
    let mut scheduler = Scheduler::new(policy);
    let groups = [GroupKind::MutuallyExclusive, GroupKind::MutuallyExclusive, GroupKind::Reentrant];
    let groups = groups.map(|kind| scheduler.add_group(kind));
    let spec = |number: u32, kind| {
        EntitySpec::new(format!("e{number}"), kind, groups[number as usize % 3])
            .priority(Priority(number % 4))
            .max_in_flight(1 + number % 2)
            .releases_group_at_await(number.is_multiple_of(2))
    };
    let add = |number| scheduler.add_entity(spec(number, EntityKind::Subscription)).unwrap();
    let entities = (0..10).map(add).collect();
    for (number, overrun) in [Overrun::Skip, Overrun::CatchUp(2), Overrun::ShiftPhase].into_iter().enumerate() {
        let timer = TimerSpec::periodic(Instant::ZERO, Duration::from_millis(1 + number as u64)).overrun(overrun);
        scheduler.add_timer(spec(10 + number as u32, EntityKind::Timer), timer).unwrap();
    }
    Fixture { scheduler, entities }
}

const THREADS: usize = 3;

/// Releases everything and runs it on three threads. Every seventh round is late, so that timers overrun.
fn round(system: &mut Fixture, number: u64, asynchronous: bool) {
    let now = Instant::from_millis(number + number / 7 * 10);
    let scheduler = &mut system.scheduler;
    for id in &system.entities {
        scheduler.release(now, *id);
    }
    let mut threads: [Option<Activation>; THREADS] = [None; THREADS];
    loop {
        for (index, thread) in threads.iter_mut().enumerate() {
            *thread = scheduler.next(now, ThreadIndex(index as u16));
        }
        if threads.iter().all(Option::is_none) {
            return;
        }
        for activation in threads.iter_mut().filter_map(Option::take) {
            if asynchronous && activation.segment == 0 {
                scheduler.suspend(now, &activation);
                assert!(scheduler.resume(now, activation.entity, activation.sequence));
            } else {
                scheduler.complete(now, &activation);
            }
        }
    }
}

#[test]
fn synchronous_callbacks_never_allocate() {
    for policy in POLICIES {
        let mut system = system((policy.build)());
        // From the first activation on, because adding an entity must reserve memory for its activations.
        let count = allocations(|| {
            for number in 0..2_000 {
                round(&mut system, number, false);
            }
        });
        assert_eq!(count, 0, "allocations under {}", policy.name);
    }
}

#[test]
fn asynchronous_callbacks_do_not_allocate_once_warm() {
    for policy in POLICIES {
        let mut system = system((policy.build)());
        for number in 0..100 {
            round(&mut system, number, true);
        }
        let count = allocations(|| {
            for number in 100..2_000 {
                round(&mut system, number, true);
            }
        });
        assert_eq!(count, 0, "allocations under {}", policy.name);
    }
}

#[test]
fn entities_that_come_and_go_leave_no_debt() {
    for policy in POLICIES {
        let mut system = system((policy.build)());
        for number in 0..20 {
            round(&mut system, number, false);
        }
        let gone = system.entities.remove(3);
        let group = system.scheduler.entity(gone).unwrap().group;
        system.scheduler.remove_entity(gone);
        let spec = EntitySpec::new("late", EntityKind::Service, group);
        system
            .entities
            .extend([system.scheduler.add_entity(spec.clone()), system.scheduler.add_entity(spec)].map(Result::unwrap));
        let count = allocations(|| {
            for number in 20..2_000 {
                round(&mut system, number, false);
            }
        });
        assert_eq!(count, 0, "allocations under {}", policy.name);
    }
}

#[test]
fn withdrawn_activations_leave_no_debt() {
    for policy in POLICIES {
        let mut system = system((policy.build)());
        let Fixture { scheduler, entities } = &mut system;
        let group = scheduler.entity(entities[0]).unwrap().group;
        let timers = [1, 2].map(|number| {
            let spec = EntitySpec::new(format!("t{number}"), EntityKind::Timer, group);
            scheduler.add_timer(spec, TimerSpec::one_shot(Instant::MAX)).unwrap()
        });
        // One entity is always ready, and more urgent than those that are withdrawn.
        scheduler.release(Instant::ZERO, entities[0]);
        let count = allocations(|| {
            for number in 0..5_000 {
                let now = Instant::from_millis(number);
                for timer in &timers {
                    assert!(scheduler.restart_timer(*timer, now, None));
                }
                scheduler.advance(ClockKind::Steady, now, now);
                // Some are withdrawn while their group is held, and where blocked activations are kept.
                let holder = scheduler.next(now, ThreadIndex(0));
                let blocked = scheduler.next(now, ThreadIndex(1));
                for timer in &timers {
                    assert!(scheduler.cancel_timer(*timer));
                }
                for activation in [holder, blocked].iter().flatten() {
                    scheduler.complete(now, activation);
                }
                scheduler.release(now, entities[number as usize % entities.len()]);
            }
        });
        assert_eq!(count, 0, "allocations under {}", policy.name);
    }
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1_u64)))), 1);
}
