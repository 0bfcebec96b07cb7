//! The comparison finds what it is there to find: policies with one flaw each.
//!
//! Without a flaw the same code agrees with the reference, so it is the flaw that is found.

use std::cmp::Reverse;

use rospin_core::policy::{Policy, View};
use rospin_core::{Activation, EntityId, EntitySpec, GroupId, Instant};
use rospin_testkit::reference::ReferencePolicy;
use rospin_testkit::scenario::Op;
use rospin_testkit::suite::{self, Failure, Plan};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flaw {
    None,
    /// Equal releases in the order of their sequence, not of the registration.
    SequenceBeforeRegistration,
    /// Equal releases by registration, then the latest first.
    LatestSequenceFirst,
    /// The order in which the scheduler learnt of them, not the order of their release.
    IgnoresRelease,
    /// Smaller numbers first.
    PriorityUpsideDown,
    /// Hands out what its group does not admit.
    IgnoresGroups,
    /// Only lets start what finds its group free, so that its own holder cannot go on.
    ForgetsTheHolder,
    /// Forgets what finds its group held at the time of a pick.
    DropsTheBlocked,
    /// Forgets every tenth release.
    LosesOneInTen,
    /// Keeps what was withdrawn.
    KeepsTheWithdrawn,
    /// Hands out an activation a second time.
    KeepsThePicked,
    /// Withdraws everything of the entity, not the one activation.
    WithdrawsTooMuch,
    /// Says that there is nothing to do while there is.
    DeniesCandidates,
    /// A thread other than the first gets nothing.
    OnlyOneThread,
    /// Who holds a group is as urgent as it is, whoever waits.
    InheritsNothing,
    /// Who holds a group is as urgent as whoever was released first of those that wait, not the most urgent.
    InheritsFromTheFirst,
    /// Who holds a group inherits the priority of those that wait, but no tie-breaker.
    InheritsHalf,
}

/// Fixed priority over a plain vector, with a flaw.
struct Flawed {
    flaw: Flaw,
    ready: Vec<Activation>,
    released: u64,
}

impl Flawed {
    fn key(&self, ready: &Activation) -> (Reverse<u32>, Instant, u64, u64) {
        let Activation { priority, release, registration, sequence, .. } = *ready;
        let urgency = Reverse(priority.0);
        match self.flaw {
            Flaw::SequenceBeforeRegistration => (urgency, release, sequence, registration),
            Flaw::LatestSequenceFirst => (urgency, release, registration, u64::MAX - sequence),
            Flaw::IgnoresRelease => (urgency, Instant::ZERO, registration, sequence),
            Flaw::PriorityUpsideDown => (Reverse(u32::MAX - priority.0), release, registration, sequence),
            _ => (urgency, release, registration, sequence),
        }
    }

    /// Priority inheritance: whom its group admits although it is held holds it, and all others of the group wait.
    fn inherited(&self, ready: &Activation, view: &View<'_>) -> (Reverse<u32>, Instant, u64, u64) {
        let own = self.key(ready);
        let holds = view.groups.admits(ready) && !view.groups.is_free(ready.group);
        if !holds || self.flaw == Flaw::InheritsNothing {
            return own;
        }
        let waiting = self.ready.iter().filter(|waiting| waiting.group == ready.group && *waiting != ready);
        let best = match self.flaw {
            Flaw::InheritsFromTheFirst => waiting.min_by_key(|waiting| waiting.sequence).map(|first| self.key(first)),
            _ => waiting.map(|waiting| self.key(waiting)).min(),
        };
        match best {
            Some(best) if self.flaw == Flaw::InheritsHalf => (best.0.min(own.0), own.1, own.2, own.3),
            Some(best) => best.min(own),
            None => own,
        }
    }

    fn admits(&self, ready: &Activation, view: &View<'_>) -> bool {
        match self.flaw {
            Flaw::IgnoresGroups => true,
            Flaw::ForgetsTheHolder => view.groups.is_free(ready.group),
            Flaw::OnlyOneThread => view.thread.0 == 0 && view.groups.admits(ready),
            _ => view.groups.admits(ready),
        }
    }
}

impl Policy for Flawed {
    fn name(&self) -> &'static str {
        "flawed"
    }

    fn register(&mut self, _id: EntityId, _spec: &EntitySpec) {}

    fn unregister(&mut self, _id: EntityId, _spec: &EntitySpec) {}

    fn release(&mut self, activation: Activation) {
        self.released += 1;
        if self.flaw != Flaw::LosesOneInTen || !self.released.is_multiple_of(10) {
            self.ready.push(activation);
        }
    }

    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        let admitted = self.ready.iter().filter(|ready| self.admits(ready, view));
        let chosen = admitted.min_by_key(|ready| self.inherited(ready, view)).copied();
        if self.flaw == Flaw::DropsTheBlocked {
            self.ready.retain(|ready| view.groups.admits(ready));
        }
        if self.flaw != Flaw::KeepsThePicked {
            self.ready.retain(|ready| Some(*ready) != chosen);
        }
        chosen
    }

    fn group_freed(&mut self, _group: GroupId) {}

    fn withdraw(&mut self, activation: &Activation) {
        match self.flaw {
            Flaw::KeepsTheWithdrawn => {}
            Flaw::WithdrawsTooMuch => self.ready.retain(|ready| ready.entity != activation.entity),
            _ => self.ready.retain(|ready| ready != activation),
        }
    }

    fn has_candidates(&self) -> bool {
        self.flaw != Flaw::DeniesCandidates && !self.ready.is_empty()
    }

    fn orders_by_release(&self) -> bool {
        true
    }
}

fn play(flaw: Flaw) -> Result<(), Box<Failure>> {
    // Not from the environment: this is about the scenarios that every run plays.
    let plan = Plan { seed: 2_000_000, count: 50_000 };
    suite::run(plan, ReferencePolicy::FixedPriority, || Box::new(Flawed { flaw, ready: Vec::new(), released: 0 }))
}

#[test]
fn without_a_flaw_it_agrees() {
    if let Err(failure) = play(Flaw::None) {
        panic!("{failure}");
    }
}

#[test]
fn every_flaw_is_found_and_made_small() {
    let flaws = [
        Flaw::SequenceBeforeRegistration,
        Flaw::LatestSequenceFirst,
        Flaw::IgnoresRelease,
        Flaw::PriorityUpsideDown,
        Flaw::IgnoresGroups,
        Flaw::ForgetsTheHolder,
        Flaw::DropsTheBlocked,
        Flaw::LosesOneInTen,
        Flaw::KeepsTheWithdrawn,
        Flaw::KeepsThePicked,
        Flaw::WithdrawsTooMuch,
        Flaw::DeniesCandidates,
        Flaw::OnlyOneThread,
        Flaw::InheritsNothing,
        Flaw::InheritsFromTheFirst,
        Flaw::InheritsHalf,
    ];
    for flaw in flaws {
        let Err(failure) = play(flaw) else {
            panic!("{flaw:?} was not found");
        };
        let added = |op: &&Op| matches!(op, Op::AddGroup(_) | Op::AddEntity(_));
        let happens = failure.scenario.ops.len() - failure.scenario.ops.iter().filter(added).count();
        assert!(happens <= 40, "{flaw:?} is found, but in a scenario that is too large to read:\n{failure}");
    }
}
