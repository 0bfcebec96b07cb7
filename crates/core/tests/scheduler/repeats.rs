//! Traces say everything that a replay needs, and a scheduler repeats what another one did.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rospin_core::policy::{Fifo, Timers, WaitSet};
use rospin_core::trace::TraceEvent;
use rospin_core::{
    Activation, EntityId, EntityKind, EntitySpec, GroupKind, Instant, Policy, Repeated, Scheduler, ThreadIndex,
    TimerSpec,
};

const THREAD: ThreadIndex = ThreadIndex(0);

const fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Returns a scheduler whose events are kept.
fn traced(policy: impl Policy + 'static) -> (Scheduler, Arc<Mutex<Vec<TraceEvent>>>) {
    let mut scheduler = Scheduler::new(Box::new(policy));
    let events = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&events);
    scheduler.set_trace(Some(Box::new(move |_: Instant, event: TraceEvent| into.lock().unwrap().push(event))));
    (scheduler, events)
}

fn withdrawn(events: &Arc<Mutex<Vec<TraceEvent>>>) -> Vec<EntityId> {
    let of = |event: &TraceEvent| match event {
        TraceEvent::Withdrawn(activation) => Some(activation.entity),
        _ => None,
    };
    std::mem::take(&mut *events.lock().unwrap()).iter().filter_map(of).collect()
}

#[test]
fn activations_of_a_removed_entity_are_recorded_as_withdrawn() {
    let (mut scheduler, events) = traced(Fifo::new());
    let group = scheduler.add_group(GroupKind::MutuallyExclusive);
    let spec = |name: &str| EntitySpec::new(name, EntityKind::Subscription, group);
    let timer = scheduler.add_timer(spec("timer"), TimerSpec::periodic(at(1), Duration::from_millis(1))).unwrap();
    let [ready, suspended, running] =
        ["ready", "suspended", "running"].map(|name| scheduler.add_entity(spec(name)).unwrap());
    scheduler.release(at(0), suspended);
    let first = scheduler.next(at(0), THREAD).unwrap();
    scheduler.suspend(at(0), &first);
    scheduler.release(at(0), ready);
    assert!(scheduler.next(at(1), THREAD).is_none(), "the timer is due, and the group is held");
    assert_eq!(withdrawn(&events), []);
    assert!(scheduler.cancel_timer(timer));
    assert_eq!(withdrawn(&events), [timer]);
    assert!(scheduler.remove_entity(suspended) && scheduler.remove_entity(ready));
    assert_eq!(withdrawn(&events), [suspended, ready]);
    scheduler.release(at(2), running);
    let last = scheduler.next(at(2), THREAD).unwrap();
    assert!(scheduler.remove_entity(running));
    scheduler.suspend(at(2), &last);
    assert_eq!(withdrawn(&events), [running], "it will not be resumed");
}

/// A driver without timers passes no times on, and the file of a recording would last since the machine was started.
#[test]
fn nothing_is_withdrawn_before_it_was_released() {
    let mut scheduler = Scheduler::new(Box::new(Fifo::new()));
    let times = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&times);
    scheduler.set_trace(Some(Box::new(move |now: Instant, _: TraceEvent| into.lock().unwrap().push(now))));
    let group = scheduler.add_group(GroupKind::MutuallyExclusive);
    let entity = scheduler.add_entity(EntitySpec::new("parameters", EntityKind::Service, group)).unwrap();
    scheduler.release(at(5), entity);
    scheduler.remove_entity(entity);
    assert_eq!(*times.lock().unwrap(), [at(5), at(5)], "its release, and its end");
}

#[test]
fn a_ready_set_that_is_given_up_is_told() {
    let (mut scheduler, events) = traced(WaitSet::new(Timers::Inside));
    let group = scheduler.add_group(GroupKind::MutuallyExclusive);
    let spec = |name: &str| EntitySpec::new(name, EntityKind::Subscription, group);
    let [first, second] = ["first", "second"].map(|name| scheduler.add_entity(spec(name)).unwrap());
    scheduler.release(at(0), first);
    scheduler.release(at(0), second);
    let run = scheduler.next(at(0), THREAD).unwrap();
    let discards = || events.lock().unwrap().iter().filter(|event| matches!(event, TraceEvent::Discarded(_))).count();
    assert_eq!(discards(), 0);
    assert!(scheduler.next(at(0), ThreadIndex(1)).is_none());
    assert_eq!(discards(), 1);
    assert!(scheduler.next(at(0), ThreadIndex(1)).is_none());
    assert_eq!(discards(), 1, "there was nothing left");
    scheduler.complete(at(0), &run);
}

#[test]
fn events_that_cannot_have_happened_are_refused() {
    let mut scheduler = Scheduler::new(Box::new(Fifo::new()));
    let group = scheduler.add_group(GroupKind::MutuallyExclusive);
    let entity = scheduler.add_entity(EntitySpec::new("entity", EntityKind::Subscription, group)).unwrap();
    let step = |sequence, segment| Repeated { entity, sequence, segment, release: at(1), deadline: Instant::MAX };
    assert!(!scheduler.repeat_release(&step(7, 1), false), "nothing is suspended");
    assert!(!scheduler.repeat_release(&step(7, 0), true), "nothing is ready");
    assert!(!scheduler.repeat_release(&step(u64::MAX, 0), false), "no activation has this number");
    assert!(scheduler.repeat_release(&step(7, 0), false));
    assert!(!scheduler.repeat_release(&step(8, 0), false), "one is ready");
    assert!(scheduler.repeat_release(&step(9, 0), true));
    assert_eq!(scheduler.ready().iter().map(|ready| ready.sequence).collect::<Vec<_>>(), [9]);
    let run: Activation = scheduler.next(at(2), THREAD).unwrap();
    assert_eq!((run.sequence, run.release), (9, at(1)));
    assert!(scheduler.repeat_dispatch(entity, 9, 0).is_none() && !scheduler.repeat_withdrawal(entity, 9));
    scheduler.suspend(at(2), &run);
    assert!(!scheduler.repeat_release(&step(9, 2), false), "it was the first segment");
    assert!(scheduler.repeat_release(&step(9, 1), false));
    assert!(scheduler.repeat_withdrawal(entity, 9));
    assert!(scheduler.repeat_release(&step(10, 0), false) && scheduler.next(at(3), THREAD).is_some());
}
