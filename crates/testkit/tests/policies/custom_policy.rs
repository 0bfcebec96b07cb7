//! A policy of a user, by the whole trait: one thread is reserved for urgent callbacks, all others take turns.

use rospin_core::policy::{Policy, View};
use rospin_core::{
    Activation, EntityId, EntityKind, EntitySpec, GroupId, GroupKind, Instant, Priority, Scheduler, ThreadIndex,
};
use rospin_testkit::virtual_time::{Behaviour, VirtualTime};

/// The lowest priority that thread 0 runs.
const URGENT: Priority = Priority(10);

/// Picks the entity that ran least recently. Thread 0 is reserved for urgent ones.
#[derive(Default)]
struct Reserved {
    ready: Vec<Activation>,
    /// The number of the pick at which each entity ran last, by entity index.
    last_run: Vec<u64>,
    picks: u64,
}

impl Policy for Reserved {
    fn name(&self) -> &'static str {
        "reserved"
    }

    fn register(&mut self, id: EntityId, spec: &EntitySpec) {
        self.ready.reserve(spec.max_in_flight as usize + 1);
        if self.last_run.len() <= id.index() {
            self.last_run.resize(id.index() + 1, 0);
        }
        self.last_run[id.index()] = 0;
    }

    fn unregister(&mut self, id: EntityId, _spec: &EntitySpec) {
        assert!(self.ready.iter().all(|ready| ready.entity != id), "its activations are withdrawn before");
    }

    fn release(&mut self, activation: &Activation) {
        self.ready.push(*activation);
    }

    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        let may = |ready: &&Activation| {
            view.groups.admits(ready) && (view.thread != ThreadIndex(0) || ready.priority >= URGENT)
        };
        let turn = |ready: &&Activation| (self.last_run[ready.entity.index()], ready.tie_breaker());
        let chosen = *self.ready.iter().filter(may).min_by_key(turn)?;
        self.picks += 1;
        self.last_run[chosen.entity.index()] = self.picks;
        self.withdraw(&chosen);
        Some(chosen)
    }

    fn group_freed(&mut self, _group: GroupId) {}

    fn withdraw(&mut self, activation: &Activation) {
        let at = self.ready.iter().position(|ready| ready == activation);
        self.ready.remove(at.expect("what is withdrawn was released"));
    }

    fn has_candidates(&self) -> bool {
        !self.ready.is_empty()
    }
}

#[test]
fn a_thread_is_kept_for_the_urgent() {
    let mut scheduler = Scheduler::new(Box::<Reserved>::default());
    assert_eq!(scheduler.policy_name(), "reserved");
    let group = scheduler.add_group(GroupKind::Reentrant);
    let spec = |name: &str| EntitySpec::new(name, EntityKind::Subscription, group);
    let stop = scheduler.add_entity(spec("stop").priority(URGENT)).unwrap();
    let maps = ["map a", "map b"].map(|name| scheduler.add_entity(spec(name)).unwrap());
    let mut time = VirtualTime::new(scheduler, 2);
    time.behave(stop, Behaviour::runs_ms(5));
    for map in maps {
        time.behave(map, Behaviour::runs_ms(100));
        for _ in 0..2 {
            time.message(Instant::ZERO, map);
        }
    }
    time.message(Instant::from_millis(50), stop);
    time.run_until(Instant::from_millis(1000));
    let at = |ms, thread| (Instant::from_millis(ms), ThreadIndex(thread));
    assert_eq!(time.starts(stop), [at(50, 0)], "at once, although thread 1 is busy");
    assert_eq!(time.starts(maps[0]), [at(0, 1), at(200, 1)], "the maps take turns on thread 1");
    assert_eq!(time.starts(maps[1]), [at(100, 1), at(300, 1)]);
}

#[test]
fn a_removed_entity_is_withdrawn_from_it() {
    let mut scheduler = Scheduler::new(Box::<Reserved>::default());
    let group = scheduler.add_group(GroupKind::MutuallyExclusive);
    let spec = |name: &str| EntitySpec::new(name, EntityKind::Waitable, group);
    let [first, second] = ["first", "second"].map(|name| scheduler.add_entity(spec(name)).unwrap());
    let now = Instant::ZERO;
    let thread = ThreadIndex(1);
    scheduler.release(now, first);
    scheduler.release(now, second);
    assert!(scheduler.remove_entity(first));
    let picked = scheduler.next(now, thread).unwrap();
    assert_eq!(picked.entity, second);
    scheduler.complete(now, &picked);
    assert_eq!(scheduler.next(now, thread), None);
    assert!(!scheduler.has_candidates());
}
