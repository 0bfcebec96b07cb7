//! Order of the threads that use one executor's scheduler: events that the scheduler saw, and the numbers under which threads record
//! them.

use std::collections::BTreeMap;

use rospin_core::recording::Event;

/// Returns the executor of an event of a scheduler; `None` if it is about something else.
pub(crate) const fn executor_of(event: &Event) -> Option<u16> {
    match event {
        Event::Released { step, .. }
        | Event::Antedated { step, .. }
        | Event::Dispatched { step, .. }
        | Event::Suspended { step, .. }
        | Event::Completed { step, .. }
        | Event::Collected { step }
        | Event::Withdrawn { step }
        | Event::FoundReady { step, .. }
        | Event::FoundRunning { step }
        | Event::FoundSuspended { step } => Some(step.executor),
        Event::PollingPoint { executor, .. }
        | Event::Discarded { executor, .. }
        | Event::HandedOver { executor, .. }
        | Event::Snapshot { executor, .. }
        | Event::FoundArmed { executor, .. } => Some(*executor),
        _ => None,
    }
}

/// Returns true if the event is a snapshot of a scheduler, or a part of one.
pub(crate) const fn is_of_snapshot(event: &Event) -> bool {
    matches!(event, Event::Snapshot { .. }) || is_found(event)
}

/// Returns true if the event is a part of a snapshot.
pub(crate) const fn is_found(event: &Event) -> bool {
    matches!(
        event,
        Event::FoundReady { .. } | Event::FoundRunning { .. } | Event::FoundSuspended { .. } | Event::FoundArmed { .. }
    )
}

/// The numbers under which threads use schedulers. Where a thread takes over from another one, it records a number that is larger
/// than all before.
#[derive(Default)]
pub(crate) struct Handovers {
    /// By thread and executor.
    numbers: BTreeMap<(u32, u16), u64>,
}

impl Handovers {
    /// Takes note of a thread's next event. Returns the executor whose scheduler it comes from, and its number, which is 0 before the
    /// thread's first one. Returns `None` if the event comes from no scheduler.
    pub(crate) fn next(&mut self, thread: u32, event: &Event) -> Option<(u16, u64)> {
        let executor = executor_of(event)?;
        let number = self.numbers.entry((thread, executor)).or_default();
        if let Event::HandedOver { number: fresh, .. } = event {
            *number = *fresh;
        }
        Some((executor, *number))
    }
}
