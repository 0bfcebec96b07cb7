//! The scheduler keeps its side of the `Policy` contract: each activation is added once, and withdrawn only while it
//! is ready. Registrations and removals of entities, and releases of groups, come in a valid order.

use rospin_core::policy::private::Hooks;
use rospin_core::policy::{Fifo, Policy, View};
use rospin_core::{Activation, EntityId, EntitySpec, GroupId};
use rospin_testkit::reference::ReferencePolicy;
use rospin_testkit::suite::{self, Plan};

/// First in, first out. It panics on any breach of the contract, which the suite counts as a failure.
#[derive(Default)]
struct Strict {
    fifo: Fifo,
    registered: Vec<EntityId>,
    ready: Vec<Activation>,
    /// The largest sequence number of a first segment so far.
    latest: Option<u64>,
}

impl Policy for Strict {
    fn name(&self) -> &'static str {
        "strict"
    }

    fn register(&mut self, id: EntityId, spec: &EntitySpec) {
        assert!(!self.registered.contains(&id), "{id:?} is registered twice");
        self.registered.push(id);
        self.fifo.register(id, spec);
    }

    fn unregister(&mut self, id: EntityId, spec: &EntitySpec) {
        assert!(self.ready.iter().all(|ready| ready.entity != id), "{id:?} leaves before its activations");
        let at = self.registered.iter().position(|known| *known == id);
        self.registered.remove(at.expect("whoever leaves has come"));
        self.fifo.unregister(id, spec);
    }

    fn release(&mut self, activation: &Activation) {
        assert!(self.registered.contains(&activation.entity), "{activation:?} of nobody");
        for ready in self.ready.iter().filter(|ready| ready.entity == activation.entity) {
            assert_ne!(ready.sequence, activation.sequence, "{activation:?} is handed over twice");
            assert!(ready.segment > 0 || activation.segment > 0, "{activation:?} is one too many, after {ready:?}");
        }
        if activation.segment == 0 {
            self.latest = self.latest.max(Some(activation.sequence));
        }
        assert!(self.latest >= Some(activation.sequence), "a segment of something that was never released");
        self.ready.push(*activation);
        self.fifo.release(activation);
    }

    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        let picked = self.fifo.pick(view)?;
        self.leave(&picked);
        Some(picked)
    }

    fn group_freed(&mut self, group: GroupId) {
        self.fifo.group_freed(group);
    }

    fn withdraw(&mut self, activation: &Activation) {
        self.leave(activation);
        self.fifo.withdraw(activation);
    }

    fn has_candidates(&self) -> bool {
        self.fifo.has_candidates()
    }

    fn with_hooks(self: Box<Self>) -> Box<dyn Hooks> {
        self
    }
}

/// It is told of an earlier release, as the policies that come with rospin are.
impl Hooks for Strict {}

impl Strict {
    fn leave(&mut self, activation: &Activation) {
        let at = self.ready.iter().position(|ready| ready == activation);
        self.ready.remove(at.expect("only what is ready is picked or withdrawn"));
    }
}

#[test]
fn the_scheduler_keeps_the_contract() {
    let plan = Plan::from_env_or(7_000_000, 30_000);
    if let Err(failure) = suite::run(plan, ReferencePolicy::Fifo, || Box::<Strict>::default()) {
        panic!("{failure}");
    }
}
