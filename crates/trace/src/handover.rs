//! Events of schedulers among those of a recording.

use rospin_core::recording::{Event, Words};

/// Returns the executor of an event of a scheduler; `None` if it is about something else.
pub(crate) const fn executor_of(event: &Event) -> Option<u16> {
    if let Some(step) = event.step() {
        return Some(step.executor);
    }
    match event {
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

/// Returns true if nothing has happened: the events are only snapshots of schedulers.
pub(crate) fn are_of_snapshots<'a>(events: impl IntoIterator<Item = &'a Words>) -> bool {
    let is_of_snapshot = |words: &Words| match Event::decode(words) {
        Some((_, event)) => is_of_snapshot(&event) || matches!(event, Event::HandedOver { .. }),
        None => false,
    };
    events.into_iter().all(is_of_snapshot)
}
