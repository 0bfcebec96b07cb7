//! The state of a scheduler as recorded events, for recordings that begin while it works.

use std::collections::HashSet;

use super::Scheduler;
use super::entity_state::EntityState;
use crate::activation::Activation;
use crate::id::EntityId;
use crate::recording::{Event, Step};

impl Scheduler {
    /// Returns the state as events of the executor with that number: a [snapshot](Event::Snapshot), and behind it what
    /// is ready, suspended and armed, and the activations that are `running`. The scheduler does not keep those, so its
    /// driver names them, with their sequence numbers.
    ///
    /// Looks at all entities, and allocates.
    #[must_use]
    pub fn snapshot(&self, executor: u16, running: impl IntoIterator<Item = (EntityId, u64)>) -> Vec<Event> {
        let mut events = vec![Event::Snapshot { executor, count: 0 }];
        let step = |of: &Activation| {
            let Activation { entity, sequence, segment, .. } = *of;
            Step { executor, entity: entity.to_bits(), sequence, segment }
        };
        let found = |of: &Activation, is_polled| Event::FoundReady {
            step: step(of),
            release: of.release,
            deadline: of.deadline,
            is_polled,
        };
        let mut polled = HashSet::new();
        self.ready.policy.visit_ready_set(&mut |of| {
            polled.insert((of.sequence, of.segment));
            events.push(found(of, true));
        });
        let mut ready = self.ready();
        // Most policies were told in this order.
        ready.sort_by_key(|of| (of.release, of.sequence));
        ready.retain(|of| !polled.contains(&(of.sequence, of.segment)));
        events.extend(ready.iter().map(|of| found(of, false)));
        events.extend(running.into_iter().map(|(entity, sequence)| Event::FoundRunning {
            step: Step { executor, entity: entity.to_bits(), sequence, segment: 0 },
        }));
        for id in self.entities() {
            let Some(entity) = self.entities.get(id.index(), id.generation()) else { continue };
            events.extend(entity.rest.suspended.iter().map(|of| Event::FoundSuspended { step: step(of) }));
            events.extend(armed(executor, id, entity));
        }
        let count = events.len() as u64 - 1;
        events[0] = Event::Snapshot { executor, count };
        events
    }
}

/// Returns the event of an armed timer; `None` if the entity is none.
fn armed(executor: u16, id: EntityId, entity: &EntityState) -> Option<Event> {
    let timer = entity.rest.timer.as_ref().filter(|timer| timer.armed)?;
    let clock = timer.spec.clock.index() as u8;
    Some(Event::FoundArmed { executor, entity: id.to_bits(), clock, due: timer.due() })
}
