//! Requests: from their acceptance to the moment at which nobody needs them any more.

use std::time::Duration;
use std::vec::IntoIter;

use rospin_core::Instant;
use rospin_engine::ForeignWaker;

use super::{Actions, ClientId, State, next_of};
use crate::request::{Outcome, Request, RequestError, Segment, SubmitError};

/// A request. Its slot is free once neither its future nor its client's queue has it.
pub(crate) struct Slot<W> {
    pub(super) client: ClientId,
    pub(super) requested: Instant,
    /// Start of the first segment; `None` before it.
    pub(super) started: Option<Instant>,
    pub(super) busy: Duration,
    /// The number of segments that the device was given.
    pub(super) begun: usize,
    /// The number of those that have not ended.
    pub(super) in_flight: usize,
    /// The segments that the device was not given.
    pub(super) segments: IntoIter<Segment<W>>,
    pub(super) result: Option<Result<Outcome, RequestError>>,
    /// True once there was a result, whether or not it was read.
    pub(super) is_over: bool,
    /// Waker of the task that awaits the result.
    pub(super) waker: Option<ForeignWaker>,
    /// True as long as the future of the request exists.
    pub(super) has_future: bool,
    /// True as long as its client's queue has it, or a lane runs it.
    pub(super) is_queued: bool,
}

impl<W> State<W> {
    /// Accepts a request of the client `id`, and starts its first segment if a lane is idle. Returns the index of its
    /// slot, which belongs to the caller until [`abandon`](Self::abandon).
    pub(crate) fn submit(
        &mut self,
        now: Instant,
        id: ClientId,
        request: Request<W>,
        actions: &mut Actions<W>,
    ) -> Result<u32, SubmitError> {
        if let Err(refused) = self.check(id, &request) {
            self.counts(id).refused += 1;
            actions.dropped.push(request.segments.into_iter());
            return Err(refused);
        }
        let slot = Slot {
            client: id,
            requested: now,
            started: None,
            busy: Duration::ZERO,
            begun: 0,
            in_flight: 0,
            segments: request.segments.into_iter(),
            result: None,
            is_over: false,
            waker: None,
            has_future: true,
            is_queued: true,
        };
        let place = match self.free.pop() {
            Some(place) => {
                self.requests[place as usize] = slot;
                place
            }
            None => {
                self.requests.push(slot);
                // The number fits: four billion requests would not fit into memory.
                (self.requests.len() - 1) as u32
            }
        };
        if let Some(client) = self.client_mut(id) {
            client.statistics.accepted += 1;
            client.held += 1;
            client.queue.push_back(place);
            if client.in_flight == 0 {
                self.release_next(id, now);
            }
        }
        self.start(id.pool..id.pool + 1, now, actions);
        Ok(place)
    }

    /// Checks if a request is accepted. The error is the reason for which it is refused.
    fn check(&self, id: ClientId, request: &Request<W>) -> Result<(), SubmitError> {
        let client = self.client(id).expect("a client is not used after its drop");
        let name = || client.options.name.clone();
        if let Some(reason) = &self.lost {
            return Err(SubmitError::DeviceLost { reason: reason.clone() });
        }
        if client.is_expelled {
            return Err(SubmitError::Expelled { client: name() });
        }
        if request.segments.is_empty() {
            return Err(SubmitError::Empty { client: name() });
        }
        if client.held >= client.options.depth {
            return Err(SubmitError::Full { client: name(), depth: client.options.depth });
        }
        if let Some(longest) = client.options.longest_segment {
            let mut bounds = request.segments.iter().map(|segment| segment.bound);
            if let Some(bound) = bounds.find(|bound| bound.is_none_or(|bound| bound > longest)) {
                return Err(SubmitError::TooLong { client: name(), bound, longest });
            }
        }
        Ok(())
    }

    /// Takes the result of a request, or stores the waker that is to be woken when there is one. Returns the waker that
    /// is not needed any more, which the caller drops without the lock.
    pub(crate) fn poll(
        &mut self,
        place: u32,
        waker: Option<ForeignWaker>,
    ) -> (Option<Result<Outcome, RequestError>>, Option<ForeignWaker>) {
        let slot = &mut self.requests[place as usize];
        match slot.result.take() {
            Some(result) => (Some(result), waker),
            // A look without a waker leaves that of the task which awaits the result.
            None if waker.is_none() => (None, None),
            None => (None, std::mem::replace(&mut slot.waker, waker)),
        }
    }

    /// Gives up the future of a request. If the request has not ended, it is cancelled: a segment that runs goes on to
    /// its end, and no further one starts. Returns the request's waker, which the caller drops without the lock.
    pub(crate) fn abandon(&mut self, place: u32, actions: &mut Actions<W>) -> Option<ForeignWaker> {
        let slot = &mut self.requests[place as usize];
        slot.has_future = false;
        slot.result = None;
        let waker = slot.waker.take();
        let id = slot.client;
        let is_over = slot.is_over;
        if !is_over {
            slot.is_over = true;
            self.counts(id).cancelled += 1;
            if self.requests[place as usize].in_flight == 0 {
                self.leave_queue(place);
            }
        }
        self.free_if_over(place, actions);
        waker
    }

    /// Ends a request with this result, and wakes the task that awaits it. Does nothing if it is over.
    pub(super) fn finish(&mut self, place: u32, result: Result<Outcome, RequestError>, actions: &mut Actions<W>) {
        let slot = &mut self.requests[place as usize];
        if slot.is_over {
            return;
        }
        slot.is_over = true;
        let id = slot.client;
        let has_completed = result.is_ok();
        slot.result = Some(result);
        actions.wakers.extend(slot.waker.take());
        let counts = self.counts(id);
        if has_completed {
            counts.completed += 1;
        } else {
            counts.failed += 1;
        }
    }

    /// Takes the request out of its client's queue. No lane may have a segment of it.
    pub(super) fn leave_queue(&mut self, place: u32) {
        let slot = &mut self.requests[place as usize];
        slot.is_queued = false;
        let id = slot.client;
        if let Some(client) = self.client_mut(id)
            && let Some(at) = client.queue.iter().position(|queued| *queued == place)
        {
            client.queue.remove(at);
        }
    }

    /// Releases the next segment of the client. Does nothing if it has none, or its budget is used up. A segment may
    /// be released while another one of the client runs only if it can follow on the same lane.
    pub(super) fn release_next(&mut self, id: ClientId, now: Instant) {
        let Some(client) = self.pools[id.pool].client_mut(id.entity) else { return };
        // The device time of the segment on the device is not known yet, and may use up the budget.
        let may_follow = client.in_flight == 0 || client.in_flight == 1 && client.account.is_none();
        if client.is_throttled || !may_follow {
            return;
        }
        let Some(place) = next_of(client, &self.requests) else { return };
        // Nothing is taken out of the account until the segment has run, so that it may start whenever it is picked.
        if client.account.as_mut().is_some_and(|account| !account.has_some(now)) {
            client.is_throttled = true;
            client.statistics.throttled += 1;
            self.throttled.push(id);
            return;
        }
        let requested = self.requests[place as usize].requested;
        self.pools[id.pool].scheduler.release(requested, id.entity);
    }

    /// Frees the slot of a request that neither a future, nor a queue, nor a lane has. Does nothing otherwise.
    pub(super) fn free_if_over(&mut self, place: u32, actions: &mut Actions<W>) {
        let slot = &mut self.requests[place as usize];
        if slot.is_queued || slot.has_future {
            return;
        }
        if slot.segments.len() > 0 {
            actions.dropped.push(std::mem::take(&mut slot.segments));
        }
        let id = slot.client;
        self.free.push(place);
        if let Some(client) = self.client_mut(id) {
            client.held -= 1;
        }
    }
}
