//! The state of an accelerator behind its lock: clients, requests, lanes. Pure: it calls neither the device nor user
//! code.

mod ends;
mod requests;

use std::time::Duration;

use rospin_core::{Activation, EntityId, EntityKind, EntitySpec, GroupId, GroupKind, Instant, Scheduler, ThreadIndex};
use rospin_engine::ForeignWaker;
use smallvec::SmallVec;

use crate::backend::Launch;
use crate::client::ClientState;
use crate::options::{AcceleratorOptions, ClientOptions};
use crate::request::Segment;
use crate::statistics::Statistics;

pub(crate) use requests::Slot;

/// Calls that a change of the state asks for. [`Shared::perform`](crate::accelerator::Shared::perform) makes them
/// without the lock.
pub(crate) struct Actions<W> {
    pub(crate) launches: SmallVec<[Launch<W>; 2]>,
    pub(crate) wakers: SmallVec<[ForeignWaker; 2]>,
    /// Segments that will not run. Their work is the user's, and so is its drop.
    pub(crate) dropped: SmallVec<[std::vec::IntoIter<Segment<W>>; 1]>,
    pub(crate) alarm: Option<Instant>,
}

impl<W> Actions<W> {
    pub(crate) fn new() -> Self {
        Self { launches: SmallVec::new(), wakers: SmallVec::new(), dropped: SmallVec::new(), alarm: None }
    }
}

/// The segment on a lane.
struct Running {
    activation: Activation,
    request: u32,
    ticket: u64,
    started: Instant,
    bound: Option<Duration>,
    /// True if an alarm found the segment past its bound and patience: the overrun is counted, and the request has
    /// ended.
    is_reported: bool,
}

/// Clients, requests and lanes.
///
/// To the scheduling core, a client is an entity, and each of its segments an activation that is released at the time
/// of the request. So a request keeps its place in the order from segment to segment, and a client's requests run one
/// after the other.
pub(crate) struct State<W> {
    scheduler: Scheduler,
    group: GroupId,
    options: AcceleratorOptions,
    lanes: Vec<Option<Running>>,
    /// The clients by the index of their entity.
    clients: Vec<Option<ClientState>>,
    requests: Vec<Slot<W>>,
    /// The free slots of `requests`.
    free: Vec<u32>,
    /// Number of segments that were started, which is the ticket of the last one.
    tickets: u64,
    /// The clients whose budgets are used up.
    throttled: Vec<EntityId>,
    /// The time of the alarm that the back end was asked for; `None` if none is set.
    armed: Option<Instant>,
    /// The reason for which the device is lost; `None` if it is not.
    lost: Option<String>,
    /// The counts of clients that were dropped, all together.
    gone: Statistics,
}

impl<W> State<W> {
    pub(crate) fn new(options: AcceleratorOptions, lanes: usize) -> Self {
        let mut scheduler = Scheduler::new(options.discipline.policy());
        let group = scheduler.add_group(GroupKind::Reentrant);
        Self {
            scheduler,
            group,
            options,
            lanes: (0..lanes).map(|_| None).collect(),
            clients: Vec::new(),
            requests: Vec::new(),
            free: Vec::new(),
            tickets: 0,
            throttled: Vec::new(),
            armed: None,
            lost: None,
            gone: Statistics::default(),
        }
    }

    /// Adds a client, whose options were checked. Returns its id.
    pub(crate) fn add_client(&mut self, options: ClientOptions, now: Instant) -> EntityId {
        let mut spec =
            EntitySpec::new(options.name.clone(), EntityKind::Waitable, self.group).priority(options.priority);
        if let Some(deadline) = options.deadline {
            spec = spec.deadline(deadline);
        }
        let id = self.scheduler.add_entity(spec).expect("the group exists, and one activation is allowed");
        if self.clients.len() <= id.index() {
            self.clients.resize_with(id.index() + 1, || None);
        }
        self.throttled.reserve(self.clients.len());
        self.clients[id.index()] = Some(ClientState::new(id, options, now));
        id
    }

    /// Removes a client. Its waiting requests end with an error; the one that runs goes on until its segment ends.
    pub(crate) fn remove_client(&mut self, id: EntityId, actions: &mut Actions<W>) {
        let Some(client) = self.clients.get_mut(id.index()).and_then(|slot| slot.take_if(|client| client.id == id))
        else {
            return;
        };
        self.gone.add(&client.statistics);
        self.throttled.retain(|throttled| *throttled != id);
        self.scheduler.remove_entity(id);
        for request in client.queue.into_iter().skip(usize::from(client.is_running)) {
            self.leave_queue(request);
            self.finish(request, Err(crate::request::RequestError::ClientGone), actions);
            self.free_if_over(request, actions);
        }
    }

    /// Returns the counts of a client.
    pub(crate) fn statistics_of(&self, id: EntityId) -> Statistics {
        self.client(id).map(|client| client.statistics).unwrap_or_default()
    }

    /// Returns the counts of all clients, also of those that were dropped.
    pub(crate) fn statistics(&self) -> Statistics {
        let mut all = self.gone;
        for client in self.clients.iter().flatten() {
            all.add(&client.statistics);
        }
        all
    }

    /// Returns the reason for which the device is lost; `None` if it is not.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Returns the number of requests in memory, for tests of leaks.
    pub(crate) fn requests_in_memory(&self) -> usize {
        self.requests.len() - self.free.len()
    }

    /// Gives idle lanes the segments that come first in the order of the policy, and asks for the next alarm. Does
    /// nothing if the device is lost.
    fn start(&mut self, now: Instant, actions: &mut Actions<W>) {
        if self.lost.is_none() {
            for lane in 0..self.lanes.len() {
                if self.lanes[lane].is_none() && !self.start_on(lane, now, actions) {
                    break;
                }
            }
            self.arm(actions);
        }
    }

    /// Gives an idle lane the segment that comes first in the order of the policy. Returns false if no segment may
    /// start now.
    fn start_on(&mut self, lane: usize, now: Instant, actions: &mut Actions<W>) -> bool {
        // Each turn takes an activation that leads to no segment out of the ready set, and none comes back twice.
        while let Some(activation) = self.scheduler.next(now, ThreadIndex(lane as u16)) {
            let id = activation.entity;
            let Some(client) = self.clients.get_mut(id.index()).and_then(Option::as_mut) else {
                self.scheduler.complete(now, &activation);
                continue;
            };
            let Some(&request) = client.queue.front() else {
                // The request was cancelled.
                self.scheduler.complete(now, &activation);
                continue;
            };
            let slot = &mut self.requests[request as usize];
            if slot.requested != activation.release {
                // The request that the activation was released for was cancelled. The next one has another place in the
                // order.
                self.scheduler.complete(now, &activation);
                self.scheduler.release(slot.requested, id);
                continue;
            }
            if client.account.as_mut().is_some_and(|account| !account.has_some(now)) {
                client.is_throttled = true;
                client.statistics.throttled += 1;
                self.throttled.push(id);
                self.scheduler.complete(now, &activation);
                continue;
            }
            let Some(segment) = slot.segments.next() else {
                // A request with no segment left is not in its client's queue.
                debug_assert!(false, "a request without segments waits");
                self.scheduler.complete(now, &activation);
                continue;
            };
            client.is_running = true;
            slot.started.get_or_insert(now);
            self.tickets += 1;
            let ticket = self.tickets;
            let bound = segment.bound;
            self.lanes[lane] = Some(Running { activation, request, ticket, started: now, bound, is_reported: false });
            actions.launches.push(Launch { lane, ticket, priority: activation.priority, work: segment.work });
            return true;
        }
        false
    }

    /// Asks for an alarm if one is needed earlier than the one that is set.
    fn arm(&mut self, actions: &mut Actions<W>) {
        let overruns = self.lanes.iter().flatten().filter_map(|running| self.overrun_at(running));
        let refills = self.throttled.iter().filter_map(|id| self.client(*id)?.account.as_ref());
        let next = overruns.chain(refills.map(|account| account.next_start())).min();
        if let Some(next) = next
            && self.armed.is_none_or(|armed| next < armed)
        {
            self.armed = Some(next);
            actions.alarm = Some(next);
        }
    }

    /// Returns the time at which the segment will have exceeded its bound by the patience or, after that, by the time
    /// to give up. `None` if it has no bound, or no such time is ahead.
    fn overrun_at(&self, running: &Running) -> Option<Instant> {
        let bound = running.started + running.bound?;
        let patience = if running.is_reported { None } else { Some(self.options.patience) };
        Some(bound + patience.into_iter().chain(self.options.give_up).min()?)
    }

    /// Returns the client with this id; `None` if it was dropped.
    fn client(&self, id: EntityId) -> Option<&ClientState> {
        self.clients.get(id.index())?.as_ref().filter(|client| client.id == id)
    }

    /// Returns the client with this id, to change it; `None` if it was dropped.
    fn client_mut(&mut self, id: EntityId) -> Option<&mut ClientState> {
        self.clients.get_mut(id.index())?.as_mut().filter(|client| client.id == id)
    }

    /// Returns the counts of a client, to add to; those of all dropped clients if the client was dropped.
    fn counts(&mut self, id: EntityId) -> &mut Statistics {
        match self.clients.get_mut(id.index()).and_then(Option::as_mut).filter(|client| client.id == id) {
            Some(client) => &mut client.statistics,
            None => &mut self.gone,
        }
    }
}
