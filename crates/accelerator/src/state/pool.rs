//! Pools: lanes that are given segments in one order, and the clients that use them.

use std::ops::Range;

use rospin_core::{EntityId, EntityKind, EntitySpec, GroupId, GroupKind, Instant, Scheduler};
use rospin_engine::RecordedScheduler;

use super::client::ClientState;
use crate::options::{ClientOptions, Discipline};

/// Lanes with their clients, and the order of these.
pub(super) struct Pool {
    pub(super) scheduler: Scheduler,
    group: GroupId,
    pub(super) lanes: Range<usize>,
    /// The clients by the index of their entity.
    pub(super) clients: Vec<Option<ClientState>>,
    /// The recording of what the scheduler does, once somebody has asked for it.
    pub(super) recorded: Option<RecordedScheduler>,
}

impl Pool {
    pub(super) fn new(discipline: Discipline, lanes: Range<usize>) -> Self {
        let mut scheduler = Scheduler::new(discipline.policy());
        let group = scheduler.add_group(GroupKind::Reentrant);
        Self { scheduler, group, lanes, clients: Vec::new(), recorded: None }
    }

    /// Adds a client, whose options were checked.
    pub(super) fn add(&mut self, options: ClientOptions, now: Instant) -> EntityId {
        // A segment may be on the device behind the one that runs.
        let mut spec = EntitySpec::new(options.name.clone(), EntityKind::Waitable, self.group)
            .priority(options.priority)
            .max_in_flight(2);
        if let Some(deadline) = options.deadline {
            spec = spec.deadline(deadline);
        }
        let id = self.scheduler.add_entity(spec).expect("the group exists, and two activations are allowed");
        if self.clients.len() <= id.index() {
            self.clients.resize_with(id.index() + 1, || None);
        }
        self.clients[id.index()] = Some(ClientState::new(id, options, now));
        if let Some(recorded) = &self.recorded {
            recorded.added(&self.scheduler, id);
        }
        id
    }

    /// Removes a client. Returns it; `None` if it was removed before.
    pub(super) fn remove(&mut self, id: EntityId) -> Option<ClientState> {
        let client = self.clients.get_mut(id.index())?.take_if(|client| client.id == id)?;
        self.scheduler.remove_entity(id);
        if let Some(recorded) = &self.recorded {
            recorded.removed(id);
        }
        Some(client)
    }

    pub(super) fn client(&self, id: EntityId) -> Option<&ClientState> {
        self.clients.get(id.index())?.as_ref().filter(|client| client.id == id)
    }

    pub(super) fn client_mut(&mut self, id: EntityId) -> Option<&mut ClientState> {
        self.clients.get_mut(id.index())?.as_mut().filter(|client| client.id == id)
    }
}
