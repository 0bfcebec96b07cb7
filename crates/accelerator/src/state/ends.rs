//! Ends of segments, alarms, and the loss of the device.

use rospin_core::Instant;

use super::{Actions, ClientId, Running, State};
use crate::backend::Ended;
use crate::options::OnOverrun;
use crate::request::{Outcome, RequestError};

impl<W> State<W> {
    /// Handles the end of a segment: ends its request if that has no more segments or an error, and starts the segment
    /// that comes next. Ignores an end whose ticket is that of no segment on the lane.
    pub(crate) fn ended(&mut self, ended: &Ended, now: Instant, actions: &mut Actions<W>) {
        let Some(running) = self.take_ended(ended) else { return };
        let id = running.client;
        let place = running.request;
        self.pools[id.pool].scheduler.complete(now, &running.activation);
        self.begin_following(ended.lane, now);
        let has_overrun = running.bound.is_some_and(|bound| ended.busy > bound);
        let counts = self.counts(id);
        counts.segments += 1;
        counts.busy += ended.busy;
        counts.overruns += u64::from(has_overrun && !running.is_reported);
        let mut reaction = OnOverrun::Count;
        let mut has_client = false;
        if let Some(client) = self.client_mut(id) {
            has_client = true;
            client.in_flight -= 1;
            reaction = client.options.on_overrun;
            if ended.result.is_ok() {
                client.learn(running.nth, ended.busy);
            }
            if let Some(account) = &mut client.account {
                account.take(ended.busy, now);
            }
        }
        let slot = &mut self.requests[place as usize];
        slot.busy += ended.busy;
        slot.in_flight -= 1;
        let outcome = Outcome {
            requested: slot.requested,
            started: slot.started.unwrap_or(now),
            finished: ended.at,
            busy: slot.busy,
        };
        let has_run = slot.segments.len() == 0 && slot.in_flight == 0;
        let result = match &ended.result {
            Err(failure) => Some(Err(RequestError::Failed { reason: failure.0.clone() })),
            Ok(()) if has_overrun && reaction == OnOverrun::Fail => Some(Err(RequestError::Overrun)),
            Ok(()) if has_overrun && reaction == OnOverrun::Expel => Some(Err(RequestError::Expelled)),
            Ok(()) if has_run => Some(Ok(outcome)),
            Ok(()) if !has_client && slot.in_flight == 0 => Some(Err(RequestError::ClientGone)),
            Ok(()) => None,
        };
        if let Some(result) = result {
            self.finish(place, result, actions);
        }
        let slot = &self.requests[place as usize];
        if slot.is_over && slot.in_flight == 0 {
            self.leave_queue(place);
            self.free_if_over(place, actions);
        }
        if has_overrun && reaction == OnOverrun::Expel {
            self.expel(id, actions);
        }
        if self.client(id).is_some_and(|client| client.in_flight == 0) {
            self.release_next(id, now);
        }
        self.start(id.pool..id.pool + 1, now, actions);
    }

    /// Takes the segment that has ended off its lane; `None` if the lane has no segment with that ticket.
    fn take_ended(&mut self, ended: &Ended) -> Option<Running> {
        let lane = self.lanes.get_mut(ended.lane)?;
        // A segment that could not be started ends before the one that runs.
        let following = lane.following.take_if(|following| following.ticket == ended.ticket);
        if following.is_some() {
            return following;
        }
        lane.running.take_if(|running| running.ticket == ended.ticket)
    }

    /// Lets the segment that a lane has next be the one that runs, if none runs.
    fn begin_following(&mut self, lane: usize, now: Instant) {
        let place = &mut self.lanes[lane];
        if place.running.is_some() {
            return;
        }
        place.running = place.following.take();
        if let Some(running) = &mut place.running {
            running.started = now;
            self.requests[running.request as usize].started.get_or_insert(now);
        }
    }

    /// Handles an alarm that the [actions](Actions) asked for. A segment that has exceeded its bound by the patience
    /// ends its request as an overrun. One that has exceeded it by the time to give up, if one is set, makes the device
    /// lost. Clients whose budgets have device time again may run.
    pub(crate) fn alarm(&mut self, now: Instant, actions: &mut Actions<W>) {
        self.armed = None;
        let mut is_given_up = false;
        for lane in 0..self.lanes.len() {
            let Some(running) = &mut self.lanes[lane].running else { continue };
            let Some(bound) = running.bound else { continue };
            let late = now.saturating_since(running.started + bound);
            let is_late = now >= running.started + bound;
            is_given_up |= is_late && self.options.give_up.is_some_and(|after| late >= after);
            if is_late && late >= self.options.patience && !running.is_reported {
                running.is_reported = true;
                let id = running.client;
                let place = running.request;
                self.counts(id).overruns += 1;
                self.finish(place, Err(RequestError::Overrun), actions);
                if self.client(id).is_some_and(|client| client.options.on_overrun == OnOverrun::Expel) {
                    self.expel(id, actions);
                }
            }
        }
        if is_given_up {
            self.lose("a segment did not end", now, actions);
            return;
        }
        let mut at = 0;
        while let Some(&id) = self.throttled.get(at) {
            let refill = self.client(id).and_then(|client| client.account.as_ref()).map(|account| account.next_start());
            if refill.is_some_and(|refill| refill > now) {
                at += 1;
                continue;
            }
            self.throttled.swap_remove(at);
            if let Some(client) = self.client_mut(id) {
                client.is_throttled = false;
            }
            self.release_next(id, now);
        }
        self.start(0..self.pools.len(), now, actions);
    }

    /// Ends all requests, because the device is lost for this `reason` at the time `now`. Later calls do nothing.
    pub(crate) fn lose(&mut self, reason: &str, now: Instant, actions: &mut Actions<W>) {
        if self.lost.is_some() {
            return;
        }
        self.lost = Some(reason.to_owned());
        self.throttled.clear();
        let mut ended: Vec<u32> = Vec::new();
        for lane in &mut self.lanes {
            for running in [lane.running.take(), lane.following.take()].into_iter().flatten() {
                self.pools[running.client.pool].scheduler.complete(now, &running.activation);
                self.requests[running.request as usize].in_flight = 0;
                // The request is in no queue if its client is gone.
                ended.push(running.request);
            }
        }
        for pool in &mut self.pools {
            for client in pool.clients.iter_mut().flatten() {
                client.in_flight = 0;
                client.is_throttled = false;
                ended.extend(client.queue.drain(..));
            }
        }
        for place in ended {
            // A request of a live client that has segments on the device is there more than once.
            if std::mem::replace(&mut self.requests[place as usize].is_queued, false) {
                self.finish(place, Err(RequestError::DeviceLost { reason: reason.to_owned() }), actions);
                self.free_if_over(place, actions);
            }
        }
    }

    /// Expels a client: its waiting requests end with an error, and further ones are refused.
    fn expel(&mut self, id: ClientId, actions: &mut Actions<W>) {
        let Some(client) = self.client_mut(id) else { return };
        client.is_expelled = true;
        let queue: Vec<u32> = client.queue.iter().copied().collect();
        for place in queue {
            self.finish(place, Err(RequestError::Expelled), actions);
            if self.requests[place as usize].in_flight == 0 {
                self.leave_queue(place);
                self.free_if_over(place, actions);
            }
        }
    }
}
