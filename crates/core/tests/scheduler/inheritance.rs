//! Priority inheritance: a resumed callback that holds its group is as urgent as the most urgent callback that waits
//! for the group.

use std::time::Duration;

use rospin_core::policy::{Edf, Fifo, FixedPriority, Policy};
use rospin_core::{
    Activation, EntityId, EntityKind, EntitySpec, GroupId, GroupKind, Instant, Priority, Scheduler, ThreadIndex,
};

const THREAD: ThreadIndex = ThreadIndex(0);

const fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// A suspended callback that holds its group, another callback of the same group, and one of another group.
struct World {
    scheduler: Scheduler,
    groups: [GroupId; 2],
    holder: Activation,
    waiter: EntityId,
    middle: EntityId,
}

/// The priorities of the three callbacks; also their relative deadlines, in ms.
struct Urgency {
    holder: u64,
    waiter: u64,
    middle: u64,
}

/// A case of priority inversion: the holder is the least urgent, then the callback of the other group, then the waiter.
const INVERTED: Urgency = Urgency { holder: 1, waiter: 100, middle: 50 };

impl World {
    fn new(policy: Box<dyn Policy>, urgency: &Urgency, releases_group: bool) -> Self {
        let mut scheduler = Scheduler::new(policy);
        let groups = [0, 1].map(|_| scheduler.add_group(GroupKind::MutuallyExclusive));
        let mut add = |name, group, urgency: u64| {
            let spec = EntitySpec::new(name, EntityKind::Subscription, group)
                .priority(Priority(urgency as u32))
                .deadline(Duration::from_millis(1_000 - urgency))
                .releases_group_at_await(releases_group);
            scheduler.add_entity(spec).unwrap()
        };
        let holder = add("holder", groups[0], urgency.holder);
        let waiter = add("waiter", groups[0], urgency.waiter);
        let middle = add("middle", groups[1], urgency.middle);
        scheduler.release(at(0), holder);
        let holder = scheduler.next(at(0), THREAD).unwrap();
        scheduler.suspend(at(0), &holder);
        Self { scheduler, groups, holder, waiter, middle }
    }

    fn inverted() -> Self {
        Self::new(Box::new(FixedPriority::new()), &INVERTED, false)
    }

    fn resume(&mut self, now: u64) {
        assert!(self.scheduler.resume(at(now), self.holder.entity, self.holder.sequence));
    }

    fn release(&mut self, now: u64, entity: EntityId) {
        self.scheduler.release(at(now), entity);
    }

    /// Runs everything that is ready to its end. Returns the order.
    fn run(&mut self, now: u64) -> Vec<EntityId> {
        let mut ran = Vec::new();
        while let Some(activation) = self.scheduler.next(at(now), THREAD) {
            ran.push(activation.entity);
            self.scheduler.complete(at(now), &activation);
        }
        ran
    }
}

#[test]
fn a_resumed_holder_is_as_urgent_as_who_waits_for_its_group() {
    for waiter_is_first in [true, false] {
        let mut world = World::inverted();
        world.release(1, world.middle);
        if waiter_is_first {
            world.release(1, world.waiter);
            world.resume(2);
        } else {
            // The holder's segment is ready already, behind the middle callback.
            world.resume(1);
            world.release(2, world.waiter);
        }
        let order = [world.holder.entity, world.waiter, world.middle];
        assert_eq!(world.run(2), order, "the waiter was released first: {waiter_is_first}");
    }
}

#[test]
fn it_inherits_from_who_was_found_waiting_before() {
    let mut world = World::inverted();
    world.release(1, world.waiter);
    assert_eq!(world.scheduler.next(at(1), THREAD), None, "the group is held");
    world.release(2, world.middle);
    world.resume(3);
    assert_eq!(world.run(3), [world.holder.entity, world.waiter, world.middle]);
}

#[test]
fn a_holder_that_nobody_waits_for_is_as_urgent_as_it_is() {
    let mut world = World::inverted();
    world.resume(1);
    world.release(1, world.middle);
    assert_eq!(world.run(1), [world.middle, world.holder.entity]);
}

#[test]
fn inheritance_ends_when_the_holder_is_suspended_again() {
    let mut world = World::inverted();
    world.release(1, world.waiter);
    world.release(1, world.middle);
    world.resume(1);
    let segment = world.scheduler.next(at(1), THREAD).unwrap();
    assert_eq!((segment.entity, segment.segment), (world.holder.entity, 1));
    assert_eq!(segment.priority, Priority(1), "what it inherits is not its own");
    world.scheduler.suspend(at(2), &segment);
    assert_eq!(world.run(2), [world.middle], "the group is held, and nobody can run in it");
    // The holder inherits once more, since the waiter still waits.
    world.release(3, world.middle);
    world.resume(3);
    assert_eq!(world.run(3), [world.holder.entity, world.waiter, world.middle]);
}

#[test]
fn inheritance_ends_when_the_waiter_is_withdrawn() {
    for found in [true, false] {
        let mut world = World::inverted();
        world.release(1, world.waiter);
        if found {
            assert_eq!(world.scheduler.next(at(1), THREAD), None);
        }
        world.resume(1);
        world.release(1, world.middle);
        world.scheduler.remove_entity(world.waiter);
        assert_eq!(world.run(1), [world.middle, world.holder.entity], "the waiter had been found: {found}");
    }
}

#[test]
fn of_several_that_wait_the_most_urgent_counts() {
    let mut world = World::inverted();
    let add = |world: &mut World, priority| {
        let spec = EntitySpec::new("other", EntityKind::Service, world.groups[0]).priority(Priority(priority));
        world.scheduler.add_entity(spec).unwrap()
    };
    let [less, more] = [40, 60].map(|priority| add(&mut world, priority));
    world.release(1, less);
    world.release(1, more);
    assert_eq!(world.scheduler.next(at(1), THREAD), None);
    world.release(1, world.middle);
    world.resume(1);
    // Without the urgent waiter, the middle callback comes before all callbacks of the group.
    let mut other = World::inverted();
    let less_there = add(&mut other, 40);
    for entity in [less_there, other.middle] {
        other.release(1, entity);
    }
    other.resume(1);
    assert_eq!(other.run(1), [other.middle, other.holder.entity, less_there]);
    assert_eq!(world.run(1), [world.holder.entity, more, world.middle, less]);
}

#[test]
fn a_callback_that_released_its_group_inherits_nothing() {
    let mut world = World::new(Box::new(FixedPriority::new()), &INVERTED, true);
    world.release(1, world.waiter);
    world.resume(1);
    world.release(1, world.middle);
    assert_eq!(world.run(1), [world.waiter, world.middle, world.holder.entity]);
}

#[test]
fn deadlines_and_releases_are_inherited_as_priorities_are() {
    let mut world = World::new(Box::new(Edf::new()), &INVERTED, false);
    world.release(1, world.middle);
    world.resume(1);
    world.release(2, world.waiter);
    assert_eq!(world.run(2), [world.holder.entity, world.waiter, world.middle], "by deadline");

    let mut world = World::new(Box::new(Fifo::new()), &INVERTED, false);
    world.release(1, world.waiter);
    world.release(2, world.middle);
    world.resume(3);
    assert_eq!(world.run(3), [world.holder.entity, world.waiter, world.middle], "by release");
}

#[test]
fn an_entity_runs_again_only_if_no_holder_inherits_more() {
    let mut world = World::inverted();
    let group = world.scheduler.add_group(GroupKind::MutuallyExclusive);
    let spec = EntitySpec::new("busy", EntityKind::Subscription, group).priority(Priority(70));
    let busy = world.scheduler.add_entity(spec).unwrap();
    world.release(1, busy);
    let running = world.scheduler.next(at(1), THREAD).unwrap();
    world.resume(2);
    world.release(2, busy);
    world.scheduler.complete(at(2), &running);
    let running = world.scheduler.next(at(2), THREAD).unwrap();
    assert_eq!(running.entity, busy, "the holder has priority 1");
    world.release(3, world.waiter);
    world.release(3, busy);
    world.scheduler.complete(at(3), &running);
    let holder = world.scheduler.next(at(3), THREAD).unwrap();
    assert_eq!(holder.entity, world.holder.entity, "somebody with priority 100 waits for it");
    let running = world.scheduler.next(at(3), ThreadIndex(1)).unwrap();
    assert_eq!(running.entity, busy, "all others wait for the holder");
}
