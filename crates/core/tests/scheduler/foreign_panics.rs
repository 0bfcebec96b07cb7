//! A policy or a trace that panics: afterwards, no group of the scheduler is held by an activation that no driver has.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rospin_core::policy::{Fifo, Order, Ordered, Policy, View};
use rospin_core::trace::TraceEvent;
use rospin_core::{
    Activation, EntityId, EntityKind, EntitySpec, GroupId, GroupKind, Instant, Release, Scheduler, ThreadIndex,
    TimerSpec,
};

const THREAD: ThreadIndex = ThreadIndex(0);

const fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// A switch that makes the next call panic.
#[derive(Clone, Default)]
struct Mine(Arc<AtomicBool>);

impl Mine {
    fn lay(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_laid(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn step_on(&self) {
        assert!(!self.0.swap(false, Ordering::Relaxed), "on purpose");
    }
}

/// A policy that is first in, first out, with a mine in one of its methods.
#[derive(Default)]
struct Mined {
    fifo: Fifo,
    release: Mine,
    pick: Mine,
    group_freed: Mine,
    withdraw: Mine,
    unregister: Mine,
}

impl Policy for Mined {
    fn name(&self) -> &'static str {
        "mined"
    }
    fn register(&mut self, id: EntityId, spec: &EntitySpec) {
        self.fifo.register(id, spec);
    }
    fn unregister(&mut self, id: EntityId, spec: &EntitySpec) {
        self.fifo.unregister(id, spec);
        self.unregister.step_on();
    }
    fn release(&mut self, activation: &Activation) {
        self.fifo.release(activation);
        self.release.step_on();
    }
    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        self.pick.step_on();
        self.fifo.pick(view)
    }
    fn group_freed(&mut self, group: GroupId) {
        self.fifo.group_freed(group);
        self.group_freed.step_on();
    }
    fn withdraw(&mut self, activation: &Activation) {
        self.fifo.withdraw(activation);
        self.withdraw.step_on();
    }
    fn has_candidates(&self) -> bool {
        self.fifo.has_candidates()
    }
}

/// Adds two subscriptions of one group.
fn pair(scheduler: &mut Scheduler) -> [EntityId; 2] {
    let group = scheduler.add_group(GroupKind::MutuallyExclusive);
    ["a", "b"].map(|name| scheduler.add_entity(EntitySpec::new(name, EntityKind::Subscription, group)).unwrap())
}

fn release_all(scheduler: &mut Scheduler, now: Instant, entities: [EntityId; 2]) {
    for entity in entities {
        scheduler.release(now, entity);
    }
}

/// Sets a trace that panics at the next event of a kind, if the mine is laid.
fn mined_trace(scheduler: &mut Scheduler, kind: fn(&TraceEvent) -> bool) -> Mine {
    let mine = Mine::default();
    let laid = mine.clone();
    scheduler.set_trace(Some(Box::new(move |_: Instant, event: TraceEvent| {
        if kind(&event) {
            laid.step_on();
        }
    })));
    mine
}

fn panics<T>(work: impl FnOnce() -> T) {
    assert!(catch_unwind(AssertUnwindSafe(work)).is_err());
}

/// Runs everything that is ready to its end. Returns the order.
fn run(scheduler: &mut Scheduler, now: Instant) -> Vec<EntityId> {
    let mut ran = Vec::new();
    while let Some(activation) = scheduler.next(now, THREAD) {
        ran.push(activation.entity);
        scheduler.complete(now, &activation);
    }
    ran
}

#[test]
fn an_activation_is_ready_again_if_the_trace_panics_at_its_dispatch() {
    let mut scheduler = Scheduler::new(Box::new(Fifo::new()));
    let [a, b] = pair(&mut scheduler);
    let mine = mined_trace(&mut scheduler, |event| matches!(event, TraceEvent::Dispatched(..)));
    release_all(&mut scheduler, at(1), [a, b]);
    mine.lay();
    panics(|| scheduler.next(at(1), THREAD));
    assert_eq!(scheduler.release(at(2), a), Release::AlreadyReady);
    assert_eq!(run(&mut scheduler, at(2)), [a, b]);

    // A resumed segment whose activation holds the group.
    scheduler.release(at(3), a);
    let holder = scheduler.next(at(3), THREAD).unwrap();
    scheduler.suspend(at(3), &holder);
    scheduler.release(at(3), b);
    assert!(scheduler.resume(at(4), a, holder.sequence));
    mine.lay();
    panics(|| scheduler.next(at(4), THREAD));
    assert_eq!(run(&mut scheduler, at(4)), [a, b]);
}

#[test]
fn a_timer_whose_overrun_could_not_be_recorded_is_ready_again() {
    let mut scheduler = Scheduler::new(Box::new(Fifo::new()));
    let group = scheduler.add_group(GroupKind::MutuallyExclusive);
    let spec = EntitySpec::new("timer", EntityKind::Timer, group);
    let timer = scheduler.add_timer(spec, TimerSpec::periodic(at(10), Duration::from_millis(10))).unwrap();
    let mine = mined_trace(&mut scheduler, |event| matches!(event, TraceEvent::Overrun(..)));
    mine.lay();
    panics(|| scheduler.next(at(35), THREAD));
    assert_eq!(run(&mut scheduler, at(35)), [timer]);
    assert_eq!((run(&mut scheduler, at(40)), scheduler.overruns(timer)), (vec![timer], 2));
}

#[test]
fn an_activation_is_over_although_the_trace_panics_at_its_completion() {
    let mut scheduler = Scheduler::new(Box::new(Fifo::new()));
    let [a, b] = pair(&mut scheduler);
    let mine = mined_trace(&mut scheduler, |event| matches!(event, TraceEvent::Completed(_)));
    scheduler.release(at(1), a);
    let activation = scheduler.next(at(1), THREAD).unwrap();
    release_all(&mut scheduler, at(2), [a, b]);
    mine.lay();
    panics(|| scheduler.complete(at(2), &activation));
    assert_eq!(run(&mut scheduler, at(2)), [a, b]);
}

#[test]
fn an_entity_is_ready_although_the_trace_panics_at_its_release() {
    let mut scheduler = Scheduler::new(Box::new(Fifo::new()));
    let [a, b] = pair(&mut scheduler);
    let mine = mined_trace(&mut scheduler, |event| matches!(event, TraceEvent::Released(_)));
    scheduler.release(at(1), a);
    let activation = scheduler.next(at(1), THREAD).unwrap();
    mine.lay();
    panics(|| scheduler.release(at(2), a));
    scheduler.complete(at(2), &activation);
    scheduler.release(at(3), b);
    assert_eq!(run(&mut scheduler, at(3)), [a, b]);
}

#[test]
fn a_policy_that_panics_leaves_no_group_held() {
    let (pick, group_freed, withdraw) = (Mine::default(), Mine::default(), Mine::default());
    let [in_pick, in_group_freed, in_withdraw] = [&pick, &group_freed, &withdraw].map(Mine::clone);
    let mined = Mined { pick: in_pick, group_freed: in_group_freed, withdraw: in_withdraw, ..Mined::default() };
    let mut scheduler = Scheduler::new(Box::new(mined));
    let [a, b] = pair(&mut scheduler);
    release_all(&mut scheduler, at(1), [a, b]);
    pick.lay();
    panics(|| scheduler.next(at(1), THREAD));
    let activation = scheduler.next(at(1), THREAD).unwrap();
    group_freed.lay();
    panics(|| scheduler.complete(at(1), &activation));
    scheduler.release(at(2), a);
    assert_eq!(run(&mut scheduler, at(2)), [b, a], "it is over, and so can begin again");

    // The policy panics in `withdraw`, when the entity of a resumed holder is removed.
    scheduler.release(at(3), a);
    let holder = scheduler.next(at(3), THREAD).unwrap();
    scheduler.suspend(at(3), &holder);
    scheduler.resume(at(3), a, holder.sequence);
    scheduler.release(at(3), b);
    withdraw.lay();
    panics(|| scheduler.remove_entity(a));
    assert_eq!(run(&mut scheduler, at(4)), [b]);
}

#[test]
fn a_policy_that_panics_while_an_entity_is_removed_is_told_all_of_it() {
    let [withdraw, unregister, group_freed] = [(); 3].map(|()| Mine::default());
    let mined = Mined {
        withdraw: withdraw.clone(),
        unregister: unregister.clone(),
        group_freed: group_freed.clone(),
        ..Mined::default()
    };
    let mut scheduler = Scheduler::new(Box::new(mined));
    let [a, b] = pair(&mut scheduler);
    let mine = mined_trace(&mut scheduler, |event| matches!(event, TraceEvent::Withdrawn(_)));
    scheduler.release(at(1), a);
    let holder = scheduler.next(at(1), THREAD).unwrap();
    scheduler.suspend(at(1), &holder);
    scheduler.resume(at(1), a, holder.sequence);
    scheduler.release(at(2), b);
    let mines = [&withdraw, &unregister, &group_freed, &mine];
    mines.into_iter().for_each(Mine::lay);
    panics(|| scheduler.remove_entity(a));
    assert_eq!(mines.map(Mine::is_laid), [false; 4]);
    assert_eq!(run(&mut scheduler, at(2)), [b]);
}

#[test]
fn a_group_is_gone_with_all_of_its_entities_although_the_policy_panics() {
    let unregister = Mine::default();
    let mut scheduler = Scheduler::new(Box::new(Mined { unregister: unregister.clone(), ..Mined::default() }));
    let [a, b] = pair(&mut scheduler);
    let group = scheduler.entity(a).unwrap().group;
    release_all(&mut scheduler, at(1), [a, b]);
    unregister.lay();
    panics(|| scheduler.remove_group(group));
    assert!(scheduler.entity(a).is_none() && scheduler.entity(b).is_none());
    assert_eq!(scheduler.group_kind(group), None);
    assert_eq!(run(&mut scheduler, at(1)), []);
}

#[test]
fn a_policy_that_panics_at_the_next_activation_of_an_entity_is_told_that_the_group_is_free() {
    for panics_twice in [false, true] {
        let (release, group_freed) = (Mine::default(), Mine::default());
        let mined = Mined { release: release.clone(), group_freed: group_freed.clone(), ..Mined::default() };
        let mut scheduler = Scheduler::new(Box::new(mined));
        let [a, b] = pair(&mut scheduler);
        scheduler.release(at(1), a);
        let activation = scheduler.next(at(1), THREAD).unwrap();
        // One is held back, since its entity has an activation under way, and the other one waits for the group.
        scheduler.release(at(2), b);
        scheduler.release(at(3), a);
        assert_eq!(scheduler.next(at(3), THREAD), None);
        release.lay();
        if panics_twice {
            group_freed.lay();
        }
        panics(|| scheduler.complete(at(3), &activation));
        assert_eq!(run(&mut scheduler, at(3)), [b, a]);
    }
}

/// First in, first out, with a key that is a mine.
#[derive(Default)]
struct MinedKey(Mine);

impl Order for MinedKey {
    type Key = ();
    fn name(&self) -> &'static str {
        "mined-key"
    }
    fn key(&self, _: &Activation) {
        self.0.step_on();
    }
    fn key_of_all(&self, _: &EntitySpec) -> Option<()> {
        Some(())
    }
}

#[test]
fn a_key_that_panics_after_a_run_in_place_leaves_the_entity_as_ready_as_before() {
    let mine = Mine::default();
    let mut scheduler = Scheduler::new(Box::new(Ordered::with(MinedKey(mine.clone()))));
    let [a, b] = pair(&mut scheduler);
    release_all(&mut scheduler, at(1), [a, b]);
    let first = scheduler.first().unwrap();
    mine.lay();
    panics(|| scheduler.ran_first(first, Some(at(2))));
    assert_eq!(scheduler.first(), Some(first), "what was not noted is ready still");
    // It can be taken out, and its place goes to another one.
    scheduler.remove_entity(a);
    let group = scheduler.add_group(GroupKind::MutuallyExclusive);
    let c = scheduler.add_entity(EntitySpec::new("c", EntityKind::Subscription, group)).unwrap();
    scheduler.release(at(3), c);
    assert_eq!(run(&mut scheduler, at(3)), [b, c]);
    assert!(!scheduler.has_candidates());
}

/// A policy that panics when a timer is released.
struct NoTimers(Fifo);

impl Policy for NoTimers {
    fn name(&self) -> &'static str {
        "no-timers"
    }
    fn register(&mut self, id: EntityId, spec: &EntitySpec) {
        self.0.register(id, spec);
    }
    fn unregister(&mut self, id: EntityId, spec: &EntitySpec) {
        self.0.unregister(id, spec);
    }
    fn release(&mut self, activation: &Activation) {
        assert_ne!(activation.kind, EntityKind::Timer, "on purpose");
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

#[test]
fn a_due_timer_that_panics_in_the_policy_leaves_no_group_held() {
    let mut scheduler = Scheduler::new(Box::new(NoTimers(Fifo::new())));
    let [a, b] = pair(&mut scheduler);
    let timers = scheduler.add_group(GroupKind::MutuallyExclusive);
    let spec = EntitySpec::new("timer", EntityKind::Timer, timers);
    let timer = scheduler.add_timer(spec, TimerSpec::periodic(at(2), Duration::from_millis(10))).unwrap();
    release_all(&mut scheduler, at(0), [a, b]);
    let first = scheduler.next(at(0), THREAD).unwrap();
    scheduler.complete(at(3), &first);
    panics(|| scheduler.next(at(3), THREAD));
    assert!(scheduler.cancel_timer(timer));
    assert_eq!(scheduler.next(at(3), THREAD).map(|activation| activation.entity), Some(b), "the group is free");
}
