//! An entity that is released several times before it runs.

use rospin_core::policy::{Edf, Fifo, Policy, Timers, WaitSet};
use rospin_core::{EntityKind, EntitySpec, GroupKind, Instant, Release, Scheduler, ThreadIndex};

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
