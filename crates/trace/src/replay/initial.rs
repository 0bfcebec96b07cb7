//! The activations that were ready or under way when a recording began, and the places of its entities.

use std::collections::{HashMap, HashSet};

use rospin_core::Instant;
use rospin_core::recording::{Event, Step};

use super::described::Described;
use super::order::Ordered;

/// The largest number of activations of an entity that may be under way at once. A hostile file may claim any number, and the
/// scheduler looks through those of an entity one by one.
const UNDER_WAY: usize = 10_000;

/// The activations that were ready or under way before the first event.
#[derive(Debug, Default)]
pub(super) struct Initial {
    /// Segments that were ready: the entity's place, and the segment.
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
}

/// An entity, as far as the search for what was there at the beginning knows it.
#[derive(Clone, Debug, Default)]
struct Seen {
    pending: Option<u64>,
    under_way: HashSet<u64>,
}

impl Initial {
    pub(super) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.under_way.is_empty()
    }

    /// Finds what was there at the beginning: what is run without having been released, or ends without having been run.
    pub(super) fn of(ordered: &Ordered<'_>, described: &Described) -> Result<Self, String> {
        let places = Places::of(described);
        let mut initial = Self::default();
        let mut seen = vec![Seen::default(); described.entities.len()];
        for recorded in &ordered.events {
            match &recorded.event {
                Event::Released { step, .. } if step.segment > 0 => {
                    let entity = places.find(step)?;
                    if seen[entity].under_way.insert(step.sequence) {
                        initial.under_way.push((entity, step.sequence, step.segment - 1, false));
                        check(described, entity, seen[entity].under_way.len())?;
                    }
                }
                Event::Released { step, .. } | Event::Antedated { step, .. } => {
                    seen[places.find(step)?].pending = Some(step.sequence);
                }
                Event::Dispatched { step, release, .. } => {
                    let entity = places.find(step)?;
                    let of = &mut seen[entity];
                    let is_known = match step.segment {
                        0 => of.pending.take_if(|pending| *pending == step.sequence).is_some(),
                        _ => of.under_way.contains(&step.sequence),
                    };
                    if !is_known {
                        let Step { sequence, segment, .. } = *step;
                        initial.ready.push(Ready { entity, sequence, segment, release: *release });
                    }
                    of.under_way.insert(step.sequence);
                    check(described, entity, of.under_way.len())?;
                }
                Event::Suspended { step, .. } => {
                    let entity = places.find(step)?;
                    if seen[entity].under_way.insert(step.sequence) {
                        initial.under_way.push((entity, step.sequence, step.segment, true));
                        check(described, entity, seen[entity].under_way.len())?;
                    }
                }
                Event::Completed { step, .. } => {
                    let entity = places.find(step)?;
                    if !seen[entity].under_way.remove(&step.sequence) {
                        initial.under_way.push((entity, step.sequence, step.segment, true));
                    }
                }
                Event::Withdrawn { step } => {
                    let of = &mut seen[places.find(step)?];
                    of.pending.take_if(|pending| *pending == step.sequence);
                    of.under_way.remove(&step.sequence);
                }
                _ => {}
            }
        }
        let mut counts = vec![0; described.entities.len()];
        let resumed = initial.ready.iter().filter(|ready| ready.segment > 0).map(|ready| ready.entity);
        for entity in initial.under_way.iter().map(|under_way| under_way.0).chain(resumed) {
            counts[entity] += 1;
            check(described, entity, counts[entity])?;
        }
        initial.ready.sort_by_key(|ready| ready.sequence);
        initial.under_way.sort_by_key(|under_way| under_way.1);
        Ok(initial)
    }
}

/// Returns an error if so many activations of the entity are too many to be under way at once.
fn check(described: &Described, entity: usize, count: usize) -> Result<(), String> {
    if count <= UNDER_WAY {
        return Ok(());
    }
    let name = &described.entities[entity].name;
    Err(format!("`{name}` has more than {UNDER_WAY} activations under way at once, which is too many to compare"))
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
