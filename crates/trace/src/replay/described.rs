//! Executors as a recording describes them: their policies and entities, with everything that the order depends on.

use std::collections::{BTreeMap, HashMap};

use rospin_core::{EntityKind, EntitySpec, GroupId, GroupKind, Policy, Priority, Scheduler};

use crate::Recording;
use crate::names::{Name, kind_named};

/// An executor in a recording.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Described {
    /// Its number in events.
    pub number: u16,
    /// The program.
    pub program: String,
    /// Its name.
    pub name: String,
    /// The name of its policy.
    pub policy: String,
    /// The number of its threads.
    pub threads: u16,
    /// Its entities, in the order of registration.
    pub entities: Vec<Entity>,
    /// The time of the first event of the recording, in nanoseconds on the steady clock.
    pub begin_ns: u64,
    /// Limits of a check, a sentence each.
    pub notes: Vec<String>,
}

/// An entity in a recording.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Entity {
    /// Its bits in events.
    pub bits: u64,
    /// Its name.
    pub name: String,
    /// The name of its group.
    pub group: String,
    /// The number of its group, which is unique within the executor.
    pub group_number: u64,
    /// True if its group runs one callback at a time.
    pub excludes: bool,
    /// Its kind.
    pub kind: EntityKind,
    /// Its priority.
    pub priority: u32,
    /// The nanoseconds from its release to its deadline: its own, or its period.
    pub deadline_ns: Option<u64>,
    /// The place in the order of registration.
    pub registration: u64,
    /// The number of its activations that may be in flight at once.
    pub max_in_flight: u32,
    /// True if a suspended activation frees the group.
    pub frees_group: bool,
    /// True if it precedes everything that the policy picks from.
    pub precedes_all: bool,
}

/// Returns the executors of the recording, with what decided the order of their callbacks.
#[must_use]
pub fn executors(recording: &Recording) -> Vec<Described> {
    let mut executors: BTreeMap<u16, Described> = BTreeMap::new();
    // Later definitions of an entity replace earlier ones, in their place.
    let mut places: HashMap<(u16, u64), usize> = HashMap::new();
    let mut groups: HashMap<(u16, String), u64> = HashMap::new();
    let begin_ns = recording.events.first().map_or(0, |recorded| recorded.at.as_nanos());
    let mut program = String::new();
    let empty = |number: u16| Described {
        number,
        program: String::new(),
        name: format!("executor {number}"),
        policy: String::new(),
        threads: 1,
        entities: Vec::new(),
        begin_ns,
        notes: Vec::new(),
    };
    let mut is_old = BTreeMap::new();
    for name in &recording.names {
        match name {
            Name::Process { name, .. } => program.clone_from(name),
            Name::Executor { executor, name, policy, threads } => {
                let described = executors.entry(*executor).or_insert_with(|| empty(*executor));
                (described.name, described.policy, described.threads) = (name.clone(), policy.clone(), *threads);
            }
            Name::Entity {
                executor,
                entity,
                name,
                group,
                excludes,
                kind,
                priority,
                deadline_ns,
                period_ns,
                rules,
                ..
            } => {
                let described = executors.entry(*executor).or_insert_with(|| empty(*executor));
                let place = *places.entry((*executor, *entity)).or_insert(described.entities.len());
                let known_groups = groups.len() as u64;
                let by_name = *groups.entry((*executor, group.clone())).or_insert(known_groups);
                if rules.is_none() {
                    is_old.insert(*executor, ());
                }
                let entity = Entity {
                    bits: *entity,
                    name: name.clone(),
                    group: group.clone(),
                    group_number: rules.map_or(by_name, |rules| rules.group),
                    excludes: *excludes,
                    kind: kind_named(kind),
                    priority: *priority,
                    deadline_ns: deadline_ns.or(*period_ns),
                    registration: rules.map_or(place as u64, |rules| rules.registration),
                    max_in_flight: rules.map_or(1, |rules| rules.max_in_flight.max(1)),
                    frees_group: rules.is_some_and(|rules| rules.frees_group),
                    precedes_all: rules.is_some_and(|rules| rules.precedes_all),
                };
                match described.entities.get_mut(place) {
                    Some(known) => *known = entity,
                    None => described.entities.push(entity),
                }
            }
            _ => {}
        }
    }
    for (number, described) in &mut executors {
        described.program.clone_from(&program);
        described.entities.sort_by_key(|entity| entity.registration);
        if is_old.contains_key(number) {
            described.notes.push(
                "The recording lacks the order of registration and the limits of asynchronous callbacks, because an \
                 earlier version wrote it; what they decide may differ."
                    .to_owned(),
            );
        }
    }
    executors.into_values().collect()
}

impl Described {
    /// Returns a scheduler with the policy and all entities. They have the numbers of their places in
    /// [`entities`](Self::entities), which begin with 0.
    pub(super) fn scheduler(&self, policy: Box<dyn Policy>) -> Result<(Scheduler, Vec<rospin_core::EntityId>), String> {
        let mut scheduler = Scheduler::new(policy);
        let mut groups: HashMap<u64, GroupId> = HashMap::new();
        let mut ids = Vec::with_capacity(self.entities.len());
        // A damaged file may claim any number, for which the scheduler would make room.
        const MOST: u64 = 1 << 22;
        let room: u64 = self.entities.iter().map(|entity| u64::from(entity.max_in_flight)).sum();
        if room > MOST {
            return Err(format!(
                "its entities claim to have {room} activations in flight at once: the file is damaged"
            ));
        }
        for entity in &self.entities {
            let group = *groups.entry(entity.group_number).or_insert_with(|| {
                let kind = if entity.excludes { GroupKind::MutuallyExclusive } else { GroupKind::Reentrant };
                scheduler.add_group(kind)
            });
            let spec = EntitySpec::new(entity.name.clone(), entity.kind, group)
                .priority(Priority(entity.priority))
                .max_in_flight(entity.max_in_flight)
                .releases_group_at_await(entity.frees_group)
                .precedes_all(entity.precedes_all);
            ids.push(scheduler.add_entity(spec).map_err(|error| error.to_string())?);
        }
        Ok((scheduler, ids))
    }
}
