//! Recording of an executor: the tap before its trace, and the definitions of what it has.

use rospin_core::recording::{Definition, Rules};
use rospin_core::trace::Trace;
use rospin_core::{EntityId, GroupKind};

use super::State;
use crate::recorder::Tap;
use crate::shared::Shared;

impl State {
    /// Sets the user's trace in place of the former one, behind a tap if the executor is recorded.
    pub(crate) fn set_users_trace(&mut self, executor: &Shared, threads: u16, trace: Option<Box<dyn Trace>>) {
        let former = self.scheduler.take_trace();
        self.scheduler.set_trace(trace);
        let was_tapped = std::mem::take(&mut self.tapped);
        if executor.scribe.recorder.is_on() {
            self.tap(executor, threads, was_tapped);
        }
        // Its drop is user code.
        self.leftovers.garbage.extend(former.map(|former| Box::new(former) as _));
    }

    /// Puts a tap before the trace if the recorder is on, or else takes it away. Defines everything that there is.
    pub(crate) fn follow_recorder(&mut self, executor: &Shared, threads: u16) {
        self.tap(executor, threads, self.tapped);
    }

    /// Puts the tap before the trace if the recorder is on, or else takes it away. Defines everything that there is. `was_tapped`
    /// is true if the recording has events of this executor already.
    fn tap(&mut self, executor: &Shared, threads: u16, was_tapped: bool) {
        let recorder = &executor.scribe.recorder;
        let trace = self.scheduler.take_trace();
        let users = if self.tapped { trace.and_then(Trace::into_inner) } else { trace };
        self.tapped = recorder.is_on();
        if !self.tapped {
            self.scheduler.set_trace(users);
            return;
        }
        self.scheduler.set_trace(Some(Box::new(Tap::new(recorder.clone(), executor.number, users, was_tapped))));
        recorder.define(|| Definition::Executor {
            executor: executor.number,
            name: executor.name.clone(),
            policy: self.scheduler.policy_name().to_owned(),
            threads,
        });
        self.scheduler.entities().for_each(|id| self.define_entity(executor, id));
    }

    /// Passes the definition of an entity on to the recorder.
    pub(super) fn define_entity(&self, executor: &Shared, id: EntityId) {
        let Some(spec) = self.scheduler.entity(id) else { return };
        let slot = self.entities.get(id.index()).and_then(Option::as_ref);
        let group = self.groups.get(spec.group.index()).and_then(Option::as_ref);
        executor.scribe.recorder.define(|| Definition::Entity {
            executor: executor.number,
            entity: id.to_bits(),
            account: slot.map_or(0, |slot| slot.details.losses.number),
            name: spec.name.clone(),
            group: group.map_or_else(String::new, |group| group.name.to_string()),
            excludes: self.scheduler.group_kind(spec.group) == Some(GroupKind::MutuallyExclusive),
            kind: spec.kind,
            priority: spec.priority.0,
            deadline: spec.deadline,
            period: self.scheduler.timer_period(id),
            rules: Some(Rules {
                group: spec.group.to_bits(),
                registration: self.scheduler.registration(id).unwrap_or(0),
                max_in_flight: spec.max_in_flight,
                frees_group: spec.releases_group_at_await,
                precedes_all: spec.precedes_all,
            }),
        });
    }
}
