//! Policies that an executor is given: of a user's own, and by name.

mod common;

use std::collections::VecDeque;
use std::time::Duration;

use common::ears::{ear, executor, on, publish};
use common::{Log, manual, manual_executor, ms, spin_all, watchdog};
use rospin::policy::{Ordered, View};
use rospin::{Activation, ExecutorOptions, Order, Policy};
use rospin_core::{EntityId, EntitySpec, GroupId};

/// Longest relative deadline first.
#[derive(Default)]
struct LaziestFirst;

impl Order for LaziestFirst {
    type Key = std::cmp::Reverse<Duration>;

    fn name(&self) -> &'static str {
        "laziest-first"
    }

    fn key(&self, activation: &Activation) -> Self::Key {
        std::cmp::Reverse(activation.deadline.saturating_since(activation.release))
    }
}

#[test]
fn users_write_an_order_of_their_own() {
    watchdog(|| {
        let (_, context, executor) = executor(Ordered::<LaziestFirst>::new());
        let log = Log::new();
        let names = [("a", 10), ("b", 30), ("c", 20)];
        let _ears = names.map(|(name, deadline)| ear(&executor, &log, name, on(name).deadline(ms(deadline))));
        names.iter().for_each(|(name, _)| publish(&context, name, 0));
        spin_all(&executor);
        assert_eq!(log.take(), ["b0", "c0", "a0"]);
    });
}

/// Last in, first out.
#[derive(Default)]
struct Stack(VecDeque<Activation>);

impl Policy for Stack {
    fn name(&self) -> &'static str {
        "stack"
    }
    fn register(&mut self, _: EntityId, _: &EntitySpec) {}
    fn unregister(&mut self, _: EntityId, _: &EntitySpec) {}
    fn release(&mut self, activation: Activation) {
        self.0.push_back(activation);
    }
    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        let at = self.0.iter().rposition(|activation| view.groups.admits(activation))?;
        self.0.remove(at)
    }
    fn group_freed(&mut self, _: GroupId) {}
    fn withdraw(&mut self, activation: &Activation) {
        self.0.retain(|other| other.sequence != activation.sequence);
    }
    fn has_candidates(&self) -> bool {
        !self.0.is_empty()
    }
}

#[test]
fn users_write_a_policy_of_their_own() {
    watchdog(|| {
        let (_, context, executor) = executor(Stack::default());
        let log = Log::new();
        let names = ["a", "b", "c"];
        let [_a, b, _c] = names.map(|name| ear(&executor, &log, name, on(name)));
        names.iter().for_each(|name| publish(&context, name, 0));
        drop(b);
        spin_all(&executor);
        assert_eq!(log.take(), ["c0", "a0"], "without the one that was removed");
    });
}

#[test]
fn boxed_policies_are_chosen_by_name() {
    watchdog(|| {
        for entry in rospin::policy::POLICIES {
            let (_, context) = manual();
            let policy = rospin::policy::by_name(entry.name).unwrap();
            let executor = context.create_executor(ExecutorOptions::new("main").boxed_policy(policy));
            let log = Log::new();
            let _ear = ear(&executor, &log, "a", on("a"));
            (0..3).for_each(|n| publish(&context, "a", n));
            spin_all(&executor);
            assert_eq!(log.take(), ["a0", "a1", "a2"], "{}", entry.name);
        }
        let (_, _context, executor) = manual_executor();
        spin_all(&executor);
    });
}
