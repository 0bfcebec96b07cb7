//! The state of an accelerator behind its lock: clients, requests, lanes. Pure: it calls neither the device nor user
//! code.

mod client;
mod ends;
mod pool;
mod requests;

use std::ops::Range;
use std::time::Duration;

use rospin_core::{Activation, Instant, ThreadIndex};
use rospin_engine::{ForeignWaker, RecordedScheduler};
use smallvec::SmallVec;

use crate::backend::Launch;
use crate::options::{AcceleratorOptions, ClientOptions};
use crate::request::Segment;
use crate::statistics::Statistics;

use client::ClientState;
use pool::Pool;

pub(crate) use client::ClientId;
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

/// A segment on a lane.
struct Running {
    activation: Activation,
    client: ClientId,
    request: u32,
    /// The place of the segment in its request.
    nth: usize,
    ticket: u64,
    /// The time since which the lane has no other segment before it.
    started: Instant,
    bound: Option<Duration>,
    /// True once the device has it. Not before, another segment may be put behind it.
    is_on_device: bool,
    /// True if an alarm found the segment past its bound and patience: the overrun is counted, and the request has
    /// ended.
    is_reported: bool,
}

/// The segments that the device has on a lane: the one that runs, and the one that runs after it.
#[derive(Default)]
struct Lane {
    running: Option<Running>,
    following: Option<Running>,
}

/// Clients, requests and lanes.
///
/// To the scheduling core, a client is an entity, and each of its segments an activation that is released at the time
/// of the request. So a request keeps its place in the order from segment to segment, and a client's requests run one
/// after the other.
pub(crate) struct State<W> {
    /// The lanes' pools with their clients: that of the urgent lane if there is one, and that of all others.
    pools: SmallVec<[Pool; 2]>,
    options: AcceleratorOptions,
    lanes: Vec<Lane>,
    requests: Vec<Slot<W>>,
    /// The free slots of `requests`.
    free: Vec<u32>,
    /// Number of segments that were started, which is the ticket of the last one.
    tickets: u64,
    /// The clients whose budgets are used up.
    throttled: Vec<ClientId>,
    /// The time of the alarm that the back end was asked for; `None` if none is set.
    armed: Option<Instant>,
    /// The reason for which the device is lost; `None` if it is not.
    lost: Option<String>,
    /// The counts of clients that were dropped, all together.
    gone: Statistics,
}

impl<W> State<W> {
    pub(crate) fn new(options: AcceleratorOptions, lanes: usize) -> Self {
        let mut pools = SmallVec::new();
        let mut first = 0;
        if options.urgent.is_some() && lanes > 1 {
            pools.push(Pool::new(options.discipline, 0..1));
            first = 1;
        }
        pools.push(Pool::new(options.discipline, first..lanes));
        Self {
            pools,
            options,
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
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
    pub(crate) fn add_client(&mut self, options: ClientOptions, now: Instant) -> ClientId {
        let is_urgent = self.options.urgent.is_some_and(|from| options.priority >= from);
        let pool = if is_urgent { 0 } else { self.pools.len() - 1 };
        let entity = self.pools[pool].add(options, now);
        let clients = self.pools.iter().map(|pool| pool.clients.len()).sum();
        self.throttled.reserve(clients);
        ClientId { pool, entity }
    }

    /// Removes a client. Its waiting requests end with an error; the one that runs goes on until its segments end.
    pub(crate) fn remove_client(&mut self, id: ClientId, actions: &mut Actions<W>) {
        let Some(client) = self.pools[id.pool].remove(id.entity) else { return };
        self.gone.add(&client.statistics);
        self.throttled.retain(|throttled| *throttled != id);
        for request in client.queue {
            if self.requests[request as usize].in_flight == 0 {
                self.leave_queue(request);
                self.finish(request, Err(crate::request::RequestError::ClientGone), actions);
                self.free_if_over(request, actions);
            }
        }
    }

    /// Has the schedulers recorded by what `register` returns for a name and a number of threads, which are the lanes.
    pub(crate) fn record(
        &mut self,
        name: &str,
        now: Instant,
        mut register: impl FnMut(&str, u16) -> RecordedScheduler,
    ) {
        let has_urgent_lane = self.pools.len() > 1;
        for (number, pool) in self.pools.iter_mut().enumerate() {
            let is_urgent = has_urgent_lane && number == 0;
            let name = if is_urgent { format!("{name}, urgent") } else { name.to_owned() };
            let threads = u16::try_from(pool.lanes.len()).unwrap_or(u16::MAX);
            pool.recorded = Some(register(&name, threads));
        }
        self.follow_recorder(now);
    }

    /// Gives the schedulers the traces that they have while the recorder is as it is now.
    pub(crate) fn follow_recorder(&mut self, now: Instant) {
        for pool in &mut self.pools {
            let Some(recorded) = &mut pool.recorded else { continue };
            let mut running = Vec::new();
            for lane in &self.lanes[pool.lanes.clone()] {
                for segment in [&lane.running, &lane.following].into_iter().flatten() {
                    running.push((segment.activation.entity, segment.activation.sequence));
                }
            }
            let trace = recorded.trace(&pool.scheduler, now, running);
            pool.scheduler.set_trace(trace);
        }
    }

    /// Returns the counts of a client.
    pub(crate) fn statistics_of(&self, id: ClientId) -> Statistics {
        self.client(id).map(|client| client.statistics).unwrap_or_default()
    }

    /// Returns the counts of all clients, also of those that were dropped.
    pub(crate) fn statistics(&self) -> Statistics {
        let mut all = self.gone;
        for pool in &self.pools {
            for client in pool.clients.iter().flatten() {
                all.add(&client.statistics);
            }
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

    /// Gives lanes of these pools the segments that come first in the order of the policy: idle lanes, and lanes whose
    /// segment is expected to end soon. Asks for the next alarm. Does nothing if the device is lost.
    ///
    /// The thread that has news of one pool starts no segments of another one, which would delay it: a launch takes long
    /// beside what an urgent request can wait for. For these there is an alarm.
    fn start(&mut self, pools: Range<usize>, now: Instant, actions: &mut Actions<W>) {
        if self.lost.is_some() {
            return;
        }
        for pool in pools {
            for lane in self.pools[pool].lanes.clone() {
                if self.lanes[lane].running.is_none() && !self.start_on(pool, lane, now, actions) {
                    break;
                }
            }
            for lane in self.pools[pool].lanes.clone() {
                if self.decision_on(lane).is_none_or(|at| at > now) {
                    continue;
                }
                // The next segment of the client that runs may follow its own.
                if let Some(client) = self.lanes[lane].running.as_ref().map(|running| running.client) {
                    self.release_next(client, now);
                }
                self.start_on(pool, lane, now, actions);
            }
        }
        self.arm(now, actions);
    }

    /// Returns the pool that a lane belongs to.
    fn pool_of(&self, lane: usize) -> usize {
        self.pools.iter().position(|pool| pool.lanes.contains(&lane)).unwrap_or(0)
    }

    /// Returns the lanes on which a request may run, and those whose segments it may wait for.
    pub(crate) fn lanes_of(&self, place: u32) -> Range<usize> {
        self.pools[self.requests[place as usize].client.pool].lanes.clone()
    }

    /// Takes note that the device has a segment, which another one may follow now. Only needed if segments are picked
    /// ahead: a segment that another thread puts on the lane must not come before this one.
    pub(crate) fn launched(&mut self, now: Instant, lane: usize, ticket: u64, actions: &mut Actions<W>) {
        let Lane { running, following } = &mut self.lanes[lane];
        for segment in [running, following].into_iter().flatten() {
            segment.is_on_device |= segment.ticket == ticket;
        }
        let pool = self.pool_of(lane);
        self.start(pool..pool + 1, now, actions);
    }

    /// Returns the time from which a lane may be given the segment that follows the running one; `None` if it may
    /// not, because it is idle, has one, or nothing is known of the end.
    fn decision_on(&self, lane: usize) -> Option<Instant> {
        let Lane { running: Some(running), following: None } = &self.lanes[lane] else { return None };
        if !self.options.is_ahead() || !running.is_on_device {
            return None;
        }
        let client = self.client(running.client)?;
        // The device time of the running segment is not known yet, so that the next one of a client with a budget cannot
        // follow; nor may one that is less urgent.
        if client.account.is_some() && next_of(client, &self.requests).is_some() {
            return None;
        }
        // Nothing waits behind the blocks of an urgent lane for long.
        if self.pools.len() > 1 && running.client.pool == 0 {
            return Some(running.started);
        }
        let expected = client.expected(running.nth)?;
        Some(running.started + expected.saturating_sub(self.options.ahead))
    }

    /// Gives a lane the segment that comes first in the order of the policy. It runs after the one that the lane has,
    /// if there is one. Returns false if no segment may start now.
    fn start_on(&mut self, pool: usize, lane: usize, now: Instant, actions: &mut Actions<W>) -> bool {
        let is_following = self.lanes[lane].running.is_some();
        // A segment that is picked ahead is on the thread of the one that it follows, and begins when that ends.
        let thread = ThreadIndex((lane - self.pools[pool].lanes.start) as u16);
        // Each turn takes an activation that leads to no segment out of the ready set, and none comes back twice.
        while let Some(activation) = self.pools[pool].scheduler.next(now, thread) {
            let id = ClientId { pool, entity: activation.entity };
            let Pool { scheduler, clients, .. } = &mut self.pools[pool];
            let Some(client) = clients.get_mut(id.entity.index()).and_then(Option::as_mut) else {
                scheduler.complete(now, &activation);
                continue;
            };
            if client.in_flight > 0 && (client.lane != lane || client.in_flight > 1) {
                // Its segments run one after the other. The end of the one on the other lane releases the next one.
                scheduler.complete(now, &activation);
                continue;
            }
            let Some(request) = next_of(client, &self.requests) else {
                // The request was cancelled.
                scheduler.complete(now, &activation);
                continue;
            };
            let slot = &mut self.requests[request as usize];
            if slot.requested != activation.release {
                // The request that the activation was released for was cancelled. The next one has another place in the
                // order.
                scheduler.complete(now, &activation);
                scheduler.release(slot.requested, id.entity);
                continue;
            }
            let Some(segment) = slot.segments.next() else {
                debug_assert!(false, "a request without segments waits");
                scheduler.complete(now, &activation);
                continue;
            };
            client.in_flight += 1;
            client.lane = lane;
            let nth = slot.begun;
            slot.begun += 1;
            slot.in_flight += 1;
            if !is_following {
                slot.started.get_or_insert(now);
            }
            self.tickets += 1;
            let ticket = self.tickets;
            let running = Running {
                activation,
                client: id,
                request,
                nth,
                ticket,
                started: now,
                bound: segment.bound,
                is_on_device: false,
                is_reported: false,
            };
            let place = &mut self.lanes[lane];
            if is_following {
                place.following = Some(running);
            } else {
                place.running = Some(running);
            }
            actions.launches.push(Launch { lane, ticket, priority: activation.priority, work: segment.work });
            return true;
        }
        false
    }

    /// Asks for an alarm if one is needed earlier than the one that is set.
    fn arm(&mut self, now: Instant, actions: &mut Actions<W>) {
        let mut next: Option<Instant> = None;
        let mut consider = |at: Instant| next = Some(next.map_or(at, |next| next.min(at)));
        for pool in &self.pools {
            for lane in pool.lanes.clone() {
                let Some(running) = &self.lanes[lane].running else { continue };
                if let Some(at) = self.overrun_at(running) {
                    consider(at);
                }
                // A segment that comes later is looked at when it comes.
                let is_waited_for = pool.scheduler.has_candidates() || self.has_more(running.client);
                if let Some(at) = self.decision_on(lane).filter(|at| *at > now && is_waited_for) {
                    consider(at);
                }
            }
        }
        for id in &self.throttled {
            if let Some(account) = self.client(*id).and_then(|client| client.account.as_ref()) {
                consider(account.next_start());
            }
        }
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

    /// Returns true if a client has a segment that is not on the device.
    fn has_more(&self, id: ClientId) -> bool {
        self.client(id).is_some_and(|client| next_of(client, &self.requests).is_some())
    }

    /// Returns the client with this id; `None` if it was dropped.
    fn client(&self, id: ClientId) -> Option<&ClientState> {
        self.pools[id.pool].client(id.entity)
    }

    /// Returns the client with this id, to change it; `None` if it was dropped.
    fn client_mut(&mut self, id: ClientId) -> Option<&mut ClientState> {
        self.pools[id.pool].client_mut(id.entity)
    }

    /// Returns the counts of a client, to add to; those of all dropped clients if the client was dropped.
    fn counts(&mut self, id: ClientId) -> &mut Statistics {
        match self.pools[id.pool].client_mut(id.entity) {
            Some(client) => &mut client.statistics,
            None => &mut self.gone,
        }
    }
}

/// Returns the first request of the client that has a segment which is not on the device, and is not over.
fn next_of<W>(client: &ClientState, requests: &[Slot<W>]) -> Option<u32> {
    // All but the first two have none on the device, so that this ends soon.
    client.queue.iter().copied().find(|request| {
        let slot = &requests[*request as usize];
        !slot.is_over && slot.segments.len() > 0
    })
}
