//! The cost of adding and removing an entity, beside few others and beside many:
//! `cargo bench -p rospin-core --bench churn`.
//!
//! Prints a table and never fails, since a busy machine must not fail a test. The last column is the ratio of the costs
//! beside 100,000 other entities and beside 100. It should stay below 1.5.

#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::hint::black_box;
use std::time::Duration;

use rospin_core::policy::by_name;
use rospin_core::{
    Activation, ClockKind, EntityId, EntityKind, EntitySpec, GroupId, GroupKind, Instant, Scheduler, ThreadIndex,
    TimerSpec,
};

/// The numbers of other entities.
const FEW: usize = 100;
const MANY: usize = 100_000;
/// The number of entities in each group of the others.
const A_GROUP: usize = 10;
/// The number of measurements of each case. The fastest one counts, since noise only adds time.
const ROUNDS: usize = 15;
/// The approximate length of a round, unless one pass takes longer.
const ROUND: Duration = Duration::from_millis(4);

/// A scheduler with other entities in it.
struct World {
    scheduler: Scheduler,
    /// The group that entities are added to, which is one of the others' groups.
    group: GroupId,
    /// Counter from which due times are derived.
    drawn: u64,
}

/// The kind of the other entities.
#[derive(Clone, Copy)]
enum Others {
    /// Subscriptions without a message.
    Idle,
    /// Timers that are not due.
    Armed,
    /// Subscriptions that wait to run.
    Ready,
}

/// The entity that is added and removed.
#[derive(Clone, Copy)]
enum Churn {
    Subscription,
    ReadySubscription,
    Timer,
    /// A timer that is due before all others.
    UrgentTimer,
    CancelledTimer,
    RestartedTimer,
    Group,
    Suspended,
    JumpCallback,
}

const CHURNS: [(&str, Churn); 9] = [
    ("subscription", Churn::Subscription),
    ("subscription, ready", Churn::ReadySubscription),
    ("timer, armed", Churn::Timer),
    ("timer, due next", Churn::UrgentTimer),
    ("timer, cancelled", Churn::CancelledTimer),
    ("timer, reset", Churn::RestartedTimer),
    ("group of one", Churn::Group),
    ("callback, suspended", Churn::Suspended),
    ("jump callback, ready", Churn::JumpCallback),
];

const fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

impl World {
    fn new(policy: &str, others: Others, count: usize) -> Self {
        let policy = by_name(policy).unwrap_or_else(|error| panic!("{error}"));
        let mut scheduler = Scheduler::new(policy);
        let mut group = scheduler.add_group(GroupKind::MutuallyExclusive);
        let mut world = Self { scheduler, group, drawn: 0 };
        for number in 0..count {
            if number % A_GROUP == 0 {
                group = world.scheduler.add_group(GroupKind::MutuallyExclusive);
            }
            let spec = EntitySpec::new("other", EntityKind::Subscription, group);
            match others {
                Others::Armed => _ = world.add_timer(spec),
                Others::Idle => _ = world.scheduler.add_entity(spec),
                Others::Ready => {
                    let id = world.scheduler.add_entity(spec).unwrap_or_else(|error| panic!("{error}"));
                    world.scheduler.release(at(number as u64 % 1000), id);
                }
            }
        }
        world.group = group;
        world
    }

    /// Adds a timer that is due at some time in the next hours.
    fn add_timer(&mut self, spec: EntitySpec) -> EntityId {
        self.drawn = self.drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let due = at(10_000 + (self.drawn >> 40));
        self.scheduler.add_timer(spec, TimerSpec::one_shot(due)).unwrap_or_else(|error| panic!("{error}"))
    }

    fn add(&mut self) -> EntityId {
        let spec = EntitySpec::new("entity", EntityKind::Subscription, self.group);
        self.scheduler.add_entity(spec).unwrap_or_else(|error| panic!("{error}"))
    }

    fn timer(&mut self) -> EntityId {
        let spec = EntitySpec::new("entity", EntityKind::Timer, self.group);
        self.add_timer(spec)
    }

    /// Adds an entity and removes it.
    fn churn(&mut self, churn: Churn) {
        let id = match churn {
            Churn::Subscription => self.add(),
            Churn::ReadySubscription => {
                let id = self.add();
                self.scheduler.release(at(500), id);
                id
            }
            Churn::Timer => self.timer(),
            Churn::UrgentTimer => {
                let spec = EntitySpec::new("entity", EntityKind::Timer, self.group);
                let timer = TimerSpec::one_shot(at(5_000)).clock(ClockKind::Steady);
                self.scheduler.add_timer(spec, timer).unwrap_or_else(|error| panic!("{error}"))
            }
            Churn::CancelledTimer => {
                let id = self.timer();
                self.scheduler.cancel_timer(id);
                id
            }
            Churn::RestartedTimer => {
                let id = self.timer();
                self.scheduler.restart_timer(id, at(20_000), None);
                id
            }
            Churn::Group => {
                let group = self.scheduler.add_group(GroupKind::MutuallyExclusive);
                let spec = EntitySpec::new("entity", EntityKind::Subscription, group);
                _ = black_box(self.scheduler.add_entity(spec));
                self.scheduler.remove_group(group);
                return;
            }
            Churn::Suspended => {
                // The entity precedes all others, so that it is picked next.
                let spec = EntitySpec::new("entity", EntityKind::Subscription, self.group).precedes_all(true);
                let id = self.scheduler.add_entity(spec).unwrap_or_else(|error| panic!("{error}"));
                self.scheduler.release(at(1), id);
                let activation: Option<Activation> = self.scheduler.next(at(1), ThreadIndex(0));
                activation.iter().for_each(|activation| self.scheduler.suspend(at(1), activation));
                id
            }
            Churn::JumpCallback => {
                let spec = EntitySpec::new("entity", EntityKind::Waitable, self.group).precedes_all(true);
                let id = self.scheduler.add_entity(spec).unwrap_or_else(|error| panic!("{error}"));
                self.scheduler.release(at(1), id);
                id
            }
        };
        self.scheduler.remove_entity(black_box(id));
    }
}

/// Returns the nanoseconds that adding and removing an entity takes.
fn measure(world: &mut World, churn: Churn) -> f64 {
    let mut pass = |count: usize| {
        let start = std::time::Instant::now();
        (0..count).for_each(|_| world.churn(churn));
        start.elapsed()
    };
    let once = pass(8) / 8;
    let count = (ROUND.as_nanos() / once.as_nanos().max(1)).clamp(4, 20_000) as usize;
    let fastest = (0..ROUNDS).map(|_| pass(count)).min().unwrap_or_default();
    fastest.as_nanos() as f64 / count as f64
}

fn main() {
    println!(
        "{:<14} {:<7} {:<22} {:>12} {:>12} {:>7}",
        "policy", "others", "what", "100 (ns)", "100,000 (ns)", "times"
    );
    for policy in ["fifo", "fixed-priority", "wait-set-e2"] {
        for (name, others) in [("idle", Others::Idle), ("armed", Others::Armed), ("ready", Others::Ready)] {
            let mut worlds = [FEW, MANY].map(|count| World::new(policy, others, count));
            for (what, churn) in CHURNS {
                let [few, many] = worlds.each_mut().map(|world| measure(world, churn));
                println!("{policy:<14} {name:<7} {what:<22} {few:>12.0} {many:>12.0} {:>7.2}", many / few);
            }
        }
    }
}
