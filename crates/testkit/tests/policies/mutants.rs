//! The comparison finds policies with a single flaw.
//!
//! Without the flaw the same code agrees with the reference, so the flaw is what is found.

use std::cmp::Reverse;

use rospin_core::policy::private::Hooks;
use rospin_core::policy::{Policy, View};
use rospin_core::{Activation, EntityId, EntitySpec, GroupId, Instant};
use rospin_testkit::reference::ReferencePolicy;
use rospin_testkit::scenario::Op;
use rospin_testkit::suite::{self, Failure, Plan};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flaw {
    None,
    /// Orders equal releases by sequence before registration.
    SequenceBeforeRegistration,
    /// Orders equal releases by registration, and then the latest first.
    LatestSequenceFirst,
    /// Orders by the time at which the scheduler learned of activations, not by their release.
    IgnoresRelease,
    /// Prefers smaller priorities.
    PriorityUpsideDown,
    /// Returns activations that their group does not admit.
    IgnoresGroups,
    /// Returns only activations whose group is free, so that a group's holder cannot continue.
    ForgetsTheHolder,
    /// Forgets activations whose group is held at a pick.
    DropsTheBlocked,
    /// Forgets every tenth release.
    LosesOneInTen,
    /// Keeps withdrawn activations.
    KeepsTheWithdrawn,
    /// Returns an activation a second time.
    KeepsThePicked,
    /// Withdraws all activations of the entity, not just one.
    WithdrawsTooMuch,
    /// Denies that there are candidates.
    DeniesCandidates,
    /// Returns nothing to any thread but the first.
    OnlyOneThread,
    /// Gives a group's holder no inherited priority.
    InheritsNothing,
    /// Gives a group's holder the priority of the waiting activation that was released first, not of the most urgent
    /// one.
    InheritsFromTheFirst,
    /// Gives a group's holder the inherited priority, but not the tie-breakers.
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

    /// Returns the key with priority inheritance: the holder of a group inherits from all others of the group, which
    /// wait for it.
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

    fn release(&mut self, activation: &Activation) {
        self.released += 1;
        if self.flaw != Flaw::LosesOneInTen || !self.released.is_multiple_of(10) {
            self.ready.push(*activation);
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

    fn with_hooks(self: Box<Self>) -> Box<dyn Hooks> {
        self
    }
}

/// It is told of an earlier release, as the policies that come with rospin are.
impl Hooks for Flawed {}

fn play(flaw: Flaw) -> Result<(), Box<Failure>> {
    // Not from the environment, because the test is about the scenarios of every run.
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
