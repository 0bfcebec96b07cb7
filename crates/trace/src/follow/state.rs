//! The state of a scheduler, as its events lead to it.

use std::collections::BTreeMap;

use rospin_core::Instant;
use rospin_core::recording::{Event, Step};

/// Phase of an activation that has not ended.
enum Phase {
    Ready { release: Instant, deadline: Instant },
    Running,
    Suspended,
}

/// The activations that have not ended.
#[derive(Default)]
pub(super) struct State {
    /// By sequence number.
    live: BTreeMap<u64, (Step, Phase)>,
    /// The activation of each entity that was released and not picked yet.
    pending: BTreeMap<u64, u64>,
    /// The segments of the last polling point, by sequence number, in the order in which they are served.
    polled: Vec<(u64, u32)>,
    /// The number of parts of a snapshot that are still to come.
    parts_left: u64,
}

impl State {
    /// Creates the state of a snapshot of so many parts, which are still to come.
    pub(super) fn new(parts: u64) -> Self {
        Self { parts_left: parts, ..Self::default() }
    }

    fn ready(&mut self, step: Step, release: Instant, deadline: Instant) {
        if step.segment == 0 {
            self.pending.insert(step.entity, step.sequence);
        }
        self.live.insert(step.sequence, (step, Phase::Ready { release, deadline }));
    }

    /// Applies the next event. Returns false if it does not fit, so that the state is not known any more.
    pub(super) fn apply(&mut self, event: &Event) -> bool {
        if self.parts_left > 0 {
            self.parts_left -= 1;
            return self.part(event);
        }
        match *event {
            Event::Released { step, release, deadline } => self.ready(step, release, deadline),
            Event::Antedated { step, release, deadline } => {
                if let Some(former) = self.pending.remove(&step.entity) {
                    self.live.remove(&former);
                }
                self.ready(step, release, deadline);
            }
            Event::Dispatched { step, .. } => {
                self.picked(step);
                let Some((known, phase)) = self.live.get_mut(&step.sequence) else { return false };
                (*known, *phase) = (step, Phase::Running);
            }
            Event::Suspended { step, .. } => _ = self.live.insert(step.sequence, (step, Phase::Suspended)),
            Event::Completed { step, .. } | Event::Withdrawn { step } => {
                self.picked(step);
                self.live.remove(&step.sequence);
            }
            Event::PollingPoint { .. } | Event::Discarded { .. } => self.polled.clear(),
            Event::Collected { step } => self.polled.push((step.sequence, step.segment)),
            _ => {}
        }
        true
    }

    /// Notes that the entity's released activation, if it is this one, is not pending any more.
    fn picked(&mut self, step: Step) {
        if self.pending.get(&step.entity) == Some(&step.sequence) {
            self.pending.remove(&step.entity);
        }
    }

    fn part(&mut self, event: &Event) -> bool {
        match *event {
            Event::FoundReady { step, release, deadline, is_polled } => {
                if is_polled {
                    self.polled.push((step.sequence, step.segment));
                }
                self.ready(step, release, deadline);
            }
            Event::FoundRunning { step } => _ = self.live.insert(step.sequence, (step, Phase::Running)),
            Event::FoundSuspended { step } => _ = self.live.insert(step.sequence, (step, Phase::Suspended)),
            Event::FoundArmed { .. } => {}
            _ => return false,
        }
        true
    }

    /// Returns the state as a snapshot; nothing if the parts of the last one are still to come. When timers are due is
    /// not followed.
    pub(super) fn snapshot(&self, executor: u16) -> Vec<Event> {
        if self.parts_left > 0 {
            return Vec::new();
        }
        let mut events = vec![Event::Snapshot { executor, count: self.live.len() as u64 }];
        let polled_at = |step: &Step| self.polled.iter().position(|of| *of == (step.sequence, step.segment));
        let mut ready = Vec::new();
        for (step, phase) in self.live.values() {
            if let Phase::Ready { release, deadline } = *phase {
                let place = polled_at(step);
                let event = Event::FoundReady { step: *step, release, deadline, is_polled: place.is_some() };
                // Those of the ready set come first; most policies were told of the others in this order.
                ready.push((place.unwrap_or(usize::MAX), release, step.sequence, event));
            }
        }
        ready.sort_by_key(|(place, release, sequence, _)| (*place, *release, *sequence));
        events.extend(ready.into_iter().map(|(.., event)| event));
        let running = self.live.values().filter(|(_, phase)| matches!(phase, Phase::Running));
        events.extend(running.map(|(step, _)| Event::FoundRunning { step: Step { segment: 0, ..*step } }));
        let suspended = self.live.values().filter(|(_, phase)| matches!(phase, Phase::Suspended));
        events.extend(suspended.map(|(step, _)| Event::FoundSuspended { step: *step }));
        events
    }
}
