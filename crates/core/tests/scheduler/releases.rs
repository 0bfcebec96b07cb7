//! An entity that is released several times before it runs.

use std::collections::VecDeque;

use rospin_core::policy::{Edf, Fifo, Policy, Timers, View, WaitSet};
use rospin_core::{
    Activation, EntityId, EntityKind, EntitySpec, GroupId, GroupKind, Instant, Release, Scheduler, ThreadIndex,
};

const THREAD: ThreadIndex = ThreadIndex(0);

const fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Releases `a` at 13 ms and `b` at 11 ms, and then `a` at 0 ms. Returns the entities in the order in which they run,
/// with their releases.
fn order(policy: Box<dyn Policy>) -> Vec<(&'static str, Instant)> {
    let mut scheduler = Scheduler::new(policy);
    let group = scheduler.add_group(GroupKind::Reentrant);
    let names = ["a", "b"];
    let ids = names.map(|name| {
        let spec =
            EntitySpec::new(name, EntityKind::Subscription, group).deadline(std::time::Duration::from_millis(20));
        scheduler.add_entity(spec).unwrap()
    });
    assert_eq!(scheduler.release(at(13), ids[0]), Release::Ready);
    assert_eq!(scheduler.release(at(11), ids[1]), Release::Ready);
    assert_eq!(scheduler.release(at(0), ids[0]), Release::AlreadyReady);
    std::iter::from_fn(|| {
        let run = scheduler.next(at(14), THREAD)?;
        scheduler.complete(at(14), &run);
        let name = names[ids.iter().position(|id| *id == run.entity).unwrap()];
        Some((name, run.release))
    })
    .collect()
}

#[test]
fn the_earliest_release_counts_where_the_order_is_by_release() {
    assert_eq!(order(Box::new(Fifo::new())), [("a", at(0)), ("b", at(11))]);
    assert_eq!(order(Box::new(Edf::new())), [("a", at(0)), ("b", at(11))]);
}

#[test]
fn a_wait_set_keeps_its_order() {
    assert_eq!(order(Box::new(WaitSet::new(Timers::Inside))), [("a", at(13)), ("b", at(11))]);
}

/// A user's policy around another one, such as one that counts the picks.
struct Around(Box<dyn Policy>);

impl Policy for Around {
    fn name(&self) -> &'static str {
        "around"
    }
    fn register(&mut self, id: EntityId, spec: &EntitySpec) {
        self.0.register(id, spec);
    }
    fn unregister(&mut self, id: EntityId, spec: &EntitySpec) {
        self.0.unregister(id, spec);
    }
    fn release(&mut self, activation: &Activation) {
        self.0.release(activation);
    }
    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        self.0.pick(view)
    }
    fn group_freed(&mut self, group: GroupId) {
        self.0.group_freed(group);
    }
    fn withdraw(&mut self, activation: &Activation) {
        self.0.withdraw(activation);
    }
    fn has_candidates(&self) -> bool {
        self.0.has_candidates()
    }
}

/// Two of three entities are ready at a polling point. The last of them turns out to have an earlier release, and the
/// third one, which was registered first, becomes ready. Returns the order in which they run.
fn order_around_a_polling_point(policy: Box<dyn Policy>) -> Vec<&'static str> {
    let mut scheduler = Scheduler::new(policy);
    let group = scheduler.add_group(GroupKind::Reentrant);
    let names = ["late", "first", "last"];
    let ids = names.map(|name| scheduler.add_entity(EntitySpec::new(name, EntityKind::Subscription, group)).unwrap());
    scheduler.release(at(10), ids[1]);
    scheduler.release(at(10), ids[2]);
    let mut order = Vec::new();
    while let Some(run) = scheduler.next(at(11), THREAD) {
        if order.is_empty() {
            scheduler.release(at(11), ids[0]);
            scheduler.release(at(5), ids[2]);
        }
        scheduler.complete(at(11), &run);
        order.push(names[ids.iter().position(|id| *id == run.entity).unwrap()]);
    }
    order
}

#[test]
fn a_wait_set_in_a_policy_of_a_user_makes_the_same_decisions() {
    let wait_set = || Box::new(WaitSet::new(Timers::Inside));
    assert_eq!(order_around_a_polling_point(wait_set()), ["first", "last", "late"]);
    assert_eq!(order_around_a_polling_point(Box::new(Around(wait_set()))), ["first", "last", "late"]);
}

/// A user's policy that is first come, first served: in the order in which it is told.
#[derive(Default)]
struct Told(VecDeque<Activation>);

impl Policy for Told {
    fn name(&self) -> &'static str {
        "told"
    }
    fn register(&mut self, _: EntityId, _: &EntitySpec) {}
    fn unregister(&mut self, _: EntityId, _: &EntitySpec) {}
    fn release(&mut self, activation: &Activation) {
        self.0.push_back(*activation);
    }
    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        let at = self.0.iter().position(|ready| view.groups.admits(ready))?;
        self.0.remove(at)
    }
    fn group_freed(&mut self, _: GroupId) {}
    fn withdraw(&mut self, activation: &Activation) {
        self.0.retain(|ready| ready.sequence != activation.sequence);
    }
    fn has_candidates(&self) -> bool {
        !self.0.is_empty()
    }
}

/// An earlier release never puts an activation behind others.
#[test]
fn an_earlier_release_does_not_put_an_activation_off() {
    let mut scheduler = Scheduler::new(Box::new(Told::default()));
    let group = scheduler.add_group(GroupKind::Reentrant);
    let ids =
        ["a", "b"].map(|name| scheduler.add_entity(EntitySpec::new(name, EntityKind::Subscription, group)).unwrap());
    scheduler.release(at(11), ids[0]);
    scheduler.release(at(12), ids[1]);
    scheduler.release(at(10), ids[0]);
    let first = scheduler.next(at(13), THREAD).unwrap();
    assert_eq!(first.entity, ids[0], "it was released first, and told of first");
}
