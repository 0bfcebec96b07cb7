//! Recording of a scheduler that is not an executor's: that of an accelerator, whose threads are lanes of a device.

use std::sync::Weak;

use rospin_core::recording::{Definition, DefinitionKey, Rules};
use rospin_core::trace::Trace;
use rospin_core::{EntityId, GroupKind, Instant, Scheduler};

use super::{ExecutorNumber, Recorded, Recorder, Tap};

/// A scheduler that a recorder records beside its executors, as if it were one.
///
/// Its driver asks for a new [trace](Self::trace) whenever the recorder is switched, and tells of entities that come
/// and go. Events have the times that the driver gives the scheduler, which must be those of the steady clock.
#[derive(Debug)]
pub struct RecordedScheduler {
    recorder: Recorder,
    number: ExecutorNumber,
    name: String,
    threads: u16,
    is_tapped: bool,
}

impl Recorder {
    /// Registers a scheduler that is recorded as an executor of this name with so many threads. `driver` is told from
    /// now on whenever the recorder is switched. Locks, and allocates.
    pub fn add_scheduler(&self, name: &str, threads: u16, driver: Weak<dyn Recorded>) -> RecordedScheduler {
        let number = ExecutorNumber::new(self, name);
        self.enter(driver);
        RecordedScheduler { recorder: self.clone(), number, name: name.to_owned(), threads, is_tapped: false }
    }
}

impl RecordedScheduler {
    /// Returns the trace that the scheduler must have from now on; `None` if the recorder is off. Defines all of its
    /// entities, and records its state: `running` names the activations that run, with their sequence numbers.
    ///
    /// The driver holds the lock of the scheduler, so that nothing happens between this call and the next event.
    pub fn trace(
        &mut self,
        scheduler: &Scheduler,
        now: Instant,
        running: impl IntoIterator<Item = (EntityId, u64)>,
    ) -> Option<Box<dyn Trace>> {
        let was_tapped = std::mem::take(&mut self.is_tapped);
        self.is_tapped = self.recorder.is_on() && self.number.is_recordable();
        if !self.is_tapped {
            return None;
        }
        let executor = self.number.get();
        self.recorder.define(Definition::Executor {
            executor,
            name: self.name.clone(),
            policy: scheduler.policy_name().to_owned(),
            threads: self.threads,
        });
        for id in scheduler.entities() {
            self.define(scheduler, id);
        }
        let mut tap = Tap::new(self.recorder.clone(), executor, None, was_tapped);
        tap.begin(now, &scheduler.snapshot(executor, running));
        Some(Box::new(tap))
    }

    /// Tells the recorder of an entity, if the scheduler is recorded.
    pub fn added(&self, scheduler: &Scheduler, id: EntityId) {
        if self.is_tapped {
            self.define(scheduler, id);
        }
    }

    /// Tells the recorder that an entity is gone, if the scheduler is recorded.
    pub fn removed(&self, id: EntityId) {
        if self.is_tapped {
            self.recorder.forget(DefinitionKey::Entity(self.number.get(), id.to_bits()));
        }
    }

    fn define(&self, scheduler: &Scheduler, id: EntityId) {
        let Some(spec) = scheduler.entity(id) else { return };
        self.recorder.define(Definition::Entity {
            executor: self.number.get(),
            entity: id.to_bits(),
            account: 0,
            name: spec.name.clone(),
            group: String::new(),
            excludes: scheduler.group_kind(spec.group) == Some(GroupKind::MutuallyExclusive),
            kind: spec.kind,
            priority: spec.priority.0,
            deadline: spec.deadline,
            period: scheduler.timer_period(id),
            rules: Some(Rules {
                group: spec.group.to_bits(),
                registration: scheduler.registration(id).unwrap_or(0),
                max_in_flight: spec.max_in_flight,
                frees_group: spec.releases_group_at_await,
                precedes_all: spec.precedes_all,
            }),
        });
    }
}

impl Drop for RecordedScheduler {
    fn drop(&mut self) {
        if self.is_tapped {
            self.recorder.forget(DefinitionKey::Executor(self.number.get()));
        }
    }
}
