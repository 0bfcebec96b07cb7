//! Guests: an activation that precedes all runs in a group whose holder is suspended, between two segments and never
//! beside one.

use std::time::Duration;

use rospin_core::policy::POLICIES;
use rospin_core::{
    Activation, EntityId, EntityKind, EntitySpec, GroupKind, Instant, Policy, Priority, Scheduler, ThreadIndex,
};

const NOW: Instant = Instant::from_millis(5);
const THREADS: [ThreadIndex; 2] = [ThreadIndex(0), ThreadIndex(1)];

/// A group with a callback that holds it while suspended, an ordinary one, and one that precedes all.
struct World {
    scheduler: Scheduler,
    holder: Activation,
    other: EntityId,
    jump: EntityId,
}

impl World {
    fn new(policy: Box<dyn Policy>) -> Self {
        let mut scheduler = Scheduler::new(policy);
        let group = scheduler.add_group(GroupKind::MutuallyExclusive);
        let spec = |name, priority| {
            EntitySpec::new(name, EntityKind::Subscription, group)
                .priority(Priority(priority))
                .deadline(Duration::from_millis(u64::from(100 - priority)))
        };
        let holder = scheduler.add_entity(spec("holder", 1)).unwrap();
        let other = scheduler.add_entity(spec("other", 9)).unwrap();
        let jump = scheduler.add_entity(spec("jump", 0).precedes_all(true)).unwrap();
        scheduler.release(NOW, holder);
        let holder = scheduler.next(NOW, THREADS[0]).unwrap();
        Self { scheduler, holder, other, jump }
    }

    fn suspended(policy: Box<dyn Policy>) -> Self {
        let mut world = Self::new(policy);
        world.scheduler.suspend(NOW, &world.holder);
        world
    }

    fn next(&mut self, thread: usize) -> Option<Activation> {
        self.scheduler.next(NOW, THREADS[thread])
    }

    fn resume(&mut self) {
        assert!(self.scheduler.resume(NOW, self.holder.entity, self.holder.sequence));
    }

    /// Runs everything that is ready to its end. Returns the order.
    fn run(&mut self) -> Vec<EntityId> {
        let mut ran = Vec::new();
        while let Some(activation) = self.next(0) {
            ran.push(activation.entity);
            self.scheduler.complete(NOW, &activation);
        }
        ran
    }
}

fn with_every_policy(test: impl Fn(&dyn Fn() -> Box<dyn Policy>)) {
    POLICIES.iter().for_each(|entry| test(&|| (entry.build)()));
}

#[test]
fn it_runs_while_the_holder_is_suspended() {
    with_every_policy(|policy| {
        let mut world = World::suspended(policy());
        world.scheduler.release(NOW, world.other);
        world.scheduler.release(NOW, world.jump);
        assert!(world.scheduler.has_candidates());
        assert_eq!(world.run(), [world.jump], "the other one waits for the holder");
        world.resume();
        assert_eq!(world.run(), [world.holder.entity, world.other]);
    });
}

#[test]
fn it_waits_for_a_segment_that_runs() {
    with_every_policy(|policy| {
        for ends in [true, false] {
            let mut world = World::new(policy());
            world.scheduler.release(NOW, world.jump);
            assert_eq!(world.next(1), None);
            if ends {
                world.scheduler.complete(NOW, &world.holder);
            } else {
                world.scheduler.suspend(NOW, &world.holder);
            }
            assert!(world.scheduler.has_candidates());
            assert_eq!(world.run(), [world.jump]);
        }
    });
}

#[test]
fn nothing_of_the_group_runs_beside_it() {
    with_every_policy(|policy| {
        for resumed_before in [true, false] {
            let mut world = World::suspended(policy());
            world.scheduler.release(NOW, world.jump);
            if resumed_before {
                world.resume();
            }
            let jump = world.next(0).unwrap();
            assert_eq!(jump.entity, world.jump);
            if !resumed_before {
                world.resume();
            }
            world.scheduler.release(NOW, world.other);
            world.scheduler.release(NOW, world.jump);
            assert_eq!(world.next(1), None, "one at a time");
            world.scheduler.complete(NOW, &jump);
            assert!(world.scheduler.has_candidates());
            let order = [world.jump, world.holder.entity, world.other];
            assert_eq!(world.run(), order, "resumed before: {resumed_before}");
        }
    });
}

#[test]
fn a_holder_or_guest_that_is_removed_meanwhile_leaves_the_group_to_the_others() {
    with_every_policy(|policy| {
        // The holder is removed while the guest runs: while it is suspended, and after it was resumed.
        for resumed in [true, false] {
            let mut world = World::suspended(policy());
            world.scheduler.release(NOW, world.jump);
            world.scheduler.release(NOW, world.other);
            let jump = world.next(0).unwrap();
            if resumed {
                world.resume();
                assert_eq!(world.next(1), None);
            }
            world.scheduler.remove_entity(world.holder.entity);
            assert_eq!(world.next(1), None, "the group is not held, but one of it runs");
            world.scheduler.complete(NOW, &jump);
            assert_eq!(world.run(), [world.other]);
        }
        // The guest is removed while it runs.
        let mut world = World::suspended(policy());
        world.scheduler.release(NOW, world.jump);
        let jump = world.next(0).unwrap();
        world.resume();
        assert_eq!(world.next(1), None);
        world.scheduler.remove_entity(world.jump);
        world.scheduler.complete(NOW, &jump);
        assert_eq!(world.run(), [world.holder.entity]);
    });
}

#[test]
fn it_does_not_hold_the_group_while_it_waits_itself() {
    with_every_policy(|policy| {
        let mut world = World::suspended(policy());
        world.scheduler.release(NOW, world.jump);
        let jump = world.next(0).unwrap();
        world.resume();
        assert_eq!(world.next(1), None);
        world.scheduler.suspend(NOW, &jump);
        let segment = world.next(0).unwrap();
        assert_eq!(segment.entity, world.holder.entity);
        world.scheduler.complete(NOW, &segment);
        world.scheduler.release(NOW, world.other);
        assert_eq!(world.run(), [world.other]);
        assert!(world.scheduler.resume(NOW, jump.entity, jump.sequence));
        assert_eq!(world.run(), [world.jump]);
    });
}
