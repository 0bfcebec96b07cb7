//! The beginning of a replay: the state of the scheduler that the recording has, and the places of its entities.
//!
//! The snapshot of ready, running and suspended activations was recorded under the executor's lock: a callback that
//! stays suspended has no event, and holds its group all the same.

use std::collections::HashMap;

use rospin_core::Instant;
use rospin_core::recording::{Event, Step};

use super::described::Described;
use super::order::Ordered;
use crate::handover::is_found;
use crate::recording::Recorded;

/// The largest number of activations of an entity that may be under way at once. A hostile file may claim any number,
/// and the scheduler looks through those of an entity one by one.
const UNDER_WAY: usize = 10_000;

/// The state from which a replay begins: what was ready or under way before its first event.
#[derive(Debug, Default)]
pub(super) struct Initial {
    /// The place of the first event that is replayed, among those of the executor.
    pub(super) first: usize,
    /// Segments that were ready, in the order in which the policy gets them.
    pub(super) ready: Vec<Ready>,
    /// Activations that were under way: the entity's place, sequence and segment, and true if they ran.
    pub(super) under_way: Vec<(usize, u64, u32, bool)>,
}

/// A segment that was ready.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    pub(super) entity: usize,
    pub(super) sequence: u64,
    pub(super) segment: u32,
    pub(super) release: Instant,
    pub(super) deadline: Instant,
    /// True if it was in the ready set of the last polling point.
    pub(super) is_polled: bool,
}

impl Initial {
    /// Returns the first state that the recording has of the executor. Recordings of earlier versions have none: what
    /// they know at their beginning is enough only if that is the executor's own.
    ///
    /// # Errors
    /// If nothing says what was ready and under way at any time of the recording, or if the state contradicts itself.
    pub(super) fn of(ordered: &Ordered<'_>, described: &Described) -> Result<Self, String> {
        let begins_with_executor = |recorded: &Recorded| {
            matches!(recorded.event, Event::Released { step: Step { sequence: 0, segment: 0, .. }, .. })
        };
        let mut has_part = false;
        for place in 0..ordered.events.len() {
            if let Some(initial) = Self::at(ordered, place, described)? {
                return Ok(initial);
            }
            has_part |= matches!(ordered.events[place].event, Event::Snapshot { .. });
        }
        if ordered.events.is_empty() || ordered.events.iter().any(|recorded| begins_with_executor(recorded)) {
            return Ok(Self::default());
        }
        Err(if has_part {
            "the recording does not have the whole state of the executor at any time, because events are missing"
                .to_owned()
        } else {
            "the recording begins while the executor works, and nothing says what was ready, running and suspended \
             then: an earlier version wrote it, or its beginning is missing; record it anew"
                .to_owned()
        })
    }

    /// Returns the state that begins at that place of the events; `None` if none does, or if a part of it is missing.
    ///
    /// # Errors
    /// If the state contradicts itself.
    pub(super) fn at(ordered: &Ordered<'_>, place: usize, described: &Described) -> Result<Option<Self>, String> {
        let Event::Snapshot { count, .. } = ordered.events[place].event else { return Ok(None) };
        let follow = &ordered.events[place + 1..];
        let found = follow.iter().take_while(|recorded| is_found(&recorded.event)).count();
        if usize::try_from(count).is_ok_and(|count| count == found) {
            Self::from_snapshot(&follow[..found], place + 1 + found, described).map(Some)
        } else {
            Ok(None)
        }
    }

    fn from_snapshot(found: &[&Recorded], first: usize, described: &Described) -> Result<Self, String> {
        let places = Places::of(described);
        let mut initial = Self { first, ..Self::default() };
        for recorded in found {
            match &recorded.event {
                Event::FoundReady { step, release, deadline, is_polled } => {
                    let entity = places.find(step)?;
                    let Step { sequence, segment, .. } = *step;
                    let release = *release;
                    let deadline = *deadline;
                    let is_polled = *is_polled;
                    initial.ready.push(Ready { entity, sequence, segment, release, deadline, is_polled });
                }
                Event::FoundRunning { step } => {
                    initial.under_way.push((places.find(step)?, step.sequence, step.segment, true));
                }
                Event::FoundSuspended { step } => {
                    initial.under_way.push((places.find(step)?, step.sequence, step.segment, false));
                }
                _ => {}
            }
        }
        let mut counts = vec![0_usize; described.entities.len()];
        let resumed = initial.ready.iter().filter(|ready| ready.segment > 0).map(|ready| ready.entity);
        for entity in initial.under_way.iter().map(|under_way| under_way.0).chain(resumed) {
            counts[entity] += 1;
            if counts[entity] > UNDER_WAY {
                let name = &described.entities[entity].name;
                return Err(format!(
                    "`{name}` has more than {UNDER_WAY} activations under way at once, which is too many to compare"
                ));
            }
        }
        Ok(initial)
    }
}

/// The places of entities by their bits.
pub(super) struct Places {
    /// Bits and place of the first entity of each slot, by slot. Most slots are used once.
    first: Vec<Option<(u64, usize)>>,
    others: HashMap<u64, usize>,
}

impl Places {
    pub(super) fn of(described: &Described) -> Self {
        const SLOTS: usize = 1 << 20;
        let mut places = Self { first: Vec::new(), others: HashMap::new() };
        for (place, entity) in described.entities.iter().enumerate() {
            let slot = entity.bits as u32 as usize;
            if slot < SLOTS && places.first.len() <= slot {
                places.first.resize(slot + 1, None);
            }
            match places.first.get_mut(slot) {
                Some(free @ None) => *free = Some((entity.bits, place)),
                _ => _ = places.others.insert(entity.bits, place),
            }
        }
        places
    }

    pub(super) fn find(&self, step: &Step) -> Result<usize, String> {
        let slot = self.first.get(step.entity as u32 as usize);
        let place = match slot {
            Some(Some((bits, place))) if *bits == step.entity => Some(*place),
            _ => self.others.get(&step.entity).copied(),
        };
        place.ok_or_else(|| {
            format!("its entity {} has events but no name: the recording is not whole, so record it anew", step.entity)
        })
    }
}
