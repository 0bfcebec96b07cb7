//! Activations that run in place, and those that are taken after all.

use std::time::Duration;

use rospin_core::policy::{Edf, Fifo, FixedPriority, Timers, WaitSet};
use rospin_core::{EntityId, EntityKind, EntitySpec, GroupKind, Instant, Priority, Scheduler, ThreadIndex, TimerSpec};

const THREAD: ThreadIndex = ThreadIndex(0);

const fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

#[test]
fn take_first_returns_the_activation_that_was_named_although_its_release_is_later_than_a_timer() {
    let mut scheduler = Scheduler::new(Box::new(Fifo::new()));
    let group = scheduler.add_group(GroupKind::MutuallyExclusive);
    let spec = |name, kind| EntitySpec::new(name, kind, group);
    let entity = scheduler.add_entity(spec("entity", EntityKind::Subscription)).unwrap();
    let timer = TimerSpec::periodic(at(100), Duration::from_millis(100));
    let timer = scheduler.add_timer(spec("timer", EntityKind::Timer), timer).unwrap();
    // A source may tell a time that has not come yet.
    scheduler.release(at(200), entity);
    assert_eq!(scheduler.first().map(|first| first.entity()), Some(entity.index()));
    let taken = scheduler.take_first(THREAD).unwrap();
    assert_eq!((taken.entity, taken.release), (entity, at(200)));
    // It holds its group like any other.
    assert!(scheduler.first().is_none() && scheduler.next(at(150), THREAD).is_none());
    scheduler.complete(at(150), &taken);
    assert_eq!(scheduler.next(at(150), THREAD).map(|next| next.entity), Some(timer));
}

#[test]
fn nothing_runs_in_place_while_a_group_is_held_or_a_trace_is_set_or_under_a_wait_set() {
    for (policy, names_first) in [
        (Box::new(Fifo::new()) as Box<dyn rospin_core::Policy>, true),
        (Box::new(WaitSet::new(Timers::Outside)), false),
    ] {
        let mut scheduler = Scheduler::new(policy);
        let groups = [GroupKind::MutuallyExclusive; 2].map(|kind| scheduler.add_group(kind));
        let entities = groups
            .map(|group| scheduler.add_entity(EntitySpec::new("entity", EntityKind::Subscription, group)).unwrap());
        entities.iter().for_each(|entity| _ = scheduler.release(at(1), *entity));
        assert_eq!(scheduler.first().is_some(), names_first);
        let running = scheduler.next(at(1), THREAD).unwrap();
        assert!(scheduler.first().is_none());
        scheduler.complete(at(2), &running);
        assert_eq!(scheduler.first().map(|first| first.entity()), names_first.then_some(entities[1].index()));
        scheduler.set_trace(Some(Box::new(|_, _| ())));
        assert!(scheduler.first().is_none());
    }
}

/// Under that policy, releases one after the other an entity of each of the priorities. Returns whether each is known
/// to have all later ones behind it when it is the only one that is ready.
fn have_later_behind(policy: Box<dyn rospin_core::Policy>, priorities: &[u32]) -> Vec<bool> {
    let mut scheduler = Scheduler::new(policy);
    let group = scheduler.add_group(GroupKind::MutuallyExclusive);
    let add = |scheduler: &mut Scheduler, priority: &u32| {
        let spec = EntitySpec::new("entity", EntityKind::Subscription, group).priority(Priority(*priority));
        scheduler.add_entity(spec).unwrap()
    };
    let entities: Vec<_> = priorities.iter().map(|priority| add(&mut scheduler, priority)).collect();
    let has = |entity: &EntityId| {
        scheduler.release(at(1), *entity);
        let first = scheduler.first().unwrap();
        assert_eq!((first.entity(), first.release()), (entity.index(), at(1)));
        assert_eq!(scheduler.ran_first(first, None), None);
        first.has_later_behind()
    };
    entities.iter().map(has).collect()
}

#[test]
fn only_the_most_urgent_entities_are_known_to_have_all_later_ones_behind_them() {
    assert_eq!(have_later_behind(Box::new(Fifo::new()), &[1, 2, 3]), [true; 3]);
    assert_eq!(have_later_behind(Box::new(FixedPriority::new()), &[1, 3, 2, 3]), [false, true, false, true]);
    // A deadline may be earlier than that of an entity that was released before.
    assert_eq!(have_later_behind(Box::new(Edf::new()), &[1, 2]), [false; 2]);
    // There are not so many lanes, so that nothing is known.
    let many: Vec<_> = (0..65).collect();
    assert_eq!(have_later_behind(Box::new(FixedPriority::new()), &many), [false; 65]);
}
