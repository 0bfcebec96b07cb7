//! Ends of segments, alarms, and the loss of the device.

use rospin_core::{EntityId, Instant};

use super::{Actions, State};
use crate::backend::Ended;
use crate::options::OnOverrun;
use crate::request::{Outcome, RequestError};

impl<W> State<W> {
    /// Handles the end of a segment: ends its request if that has no more segments or an error, and starts the segment
    /// that comes next. Ignores an end whose ticket is not that of the segment on the lane.
    pub(crate) fn ended(&mut self, ended: &Ended, now: Instant, actions: &mut Actions<W>) {
        let lane = self.lanes.get_mut(ended.lane);
        let Some(running) = lane.and_then(|lane| lane.take_if(|running| running.ticket == ended.ticket)) else {
            return;
        };
        let id = running.activation.entity;
        let place = running.request;
        self.scheduler.complete(now, &running.activation);
        let has_overrun = running.bound.is_some_and(|bound| ended.busy > bound);
        let counts = self.counts(id);
        counts.segments += 1;
        counts.busy += ended.busy;
        counts.overruns += u64::from(has_overrun && !running.is_reported);
        let mut reaction = OnOverrun::Count;
        let mut has_client = false;
        if let Some(client) = self.client_mut(id) {
            has_client = true;
            client.is_running = false;
            reaction = client.options.on_overrun;
            if let Some(account) = &mut client.account {
                account.take(ended.busy, now);
            }
        }
        let slot = &mut self.requests[place as usize];
        slot.busy += ended.busy;
        let outcome = Outcome {
            requested: slot.requested,
            started: slot.started.unwrap_or(now),
            finished: ended.at,
            busy: slot.busy,
        };
        let result = match &ended.result {
            Err(failure) => Some(Err(RequestError::Failed { reason: failure.0.clone() })),
            Ok(()) if has_overrun && reaction == OnOverrun::Fail => Some(Err(RequestError::Overrun)),
            Ok(()) if has_overrun && reaction == OnOverrun::Expel => Some(Err(RequestError::Expelled)),
            Ok(()) if slot.segments.len() == 0 => Some(Ok(outcome)),
            Ok(()) if !has_client => Some(Err(RequestError::ClientGone)),
            Ok(()) => None,
        };
        if result.is_some() || slot.is_over {
            if let Some(client) = self.client_mut(id) {
                client.queue.pop_front();
            }
            self.leave_queue(place);
            if let Some(result) = result {
                self.finish(place, result, actions);
            }
            self.free_if_over(place, actions);
        }
        if has_overrun && reaction == OnOverrun::Expel {
            self.expel(id, actions);
        }
        self.release_next(id);
        self.start(now, actions);
    }

    /// Handles an alarm that the [actions](Actions) asked for. A segment that has exceeded its bound by the patience
    /// ends its request as an overrun. One that has exceeded it by the time to give up, if one is set, makes the device
    /// lost. Clients whose budgets have device time again may run.
    pub(crate) fn alarm(&mut self, now: Instant, actions: &mut Actions<W>) {
        self.armed = None;
        let mut is_given_up = false;
        for lane in 0..self.lanes.len() {
            let Some(running) = &mut self.lanes[lane] else { continue };
            let Some(bound) = running.bound else { continue };
            let late = now.saturating_since(running.started + bound);
            let is_late = now >= running.started + bound;
            is_given_up |= is_late && self.options.give_up.is_some_and(|after| late >= after);
            if is_late && late >= self.options.patience && !running.is_reported {
                running.is_reported = true;
                let id = running.activation.entity;
                let place = running.request;
                self.counts(id).overruns += 1;
                self.finish(place, Err(RequestError::Overrun), actions);
                if self.client(id).is_some_and(|client| client.options.on_overrun == OnOverrun::Expel) {
                    self.expel(id, actions);
                }
            }
        }
        if is_given_up {
            self.lose("a segment did not end", actions);
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
            self.release_next(id);
        }
        self.start(now, actions);
    }

    /// Ends all requests, because the device is lost for this `reason`. Later calls do nothing.
    pub(crate) fn lose(&mut self, reason: &str, actions: &mut Actions<W>) {
        if self.lost.is_some() {
            return;
        }
        self.lost = Some(reason.to_owned());
        self.throttled.clear();
        let mut ended: Vec<u32> = Vec::new();
        for running in self.lanes.iter_mut().filter_map(Option::take) {
            self.scheduler.complete(running.started, &running.activation);
            // The request is in no queue if its client is gone.
            ended.push(running.request);
        }
        for client in self.clients.iter_mut().flatten() {
            client.is_running = false;
            client.is_throttled = false;
            ended.extend(client.queue.drain(..));
        }
        for place in ended {
            // A running request of a live client is there twice.
            if std::mem::replace(&mut self.requests[place as usize].is_queued, false) {
                self.finish(place, Err(RequestError::DeviceLost { reason: reason.to_owned() }), actions);
                self.free_if_over(place, actions);
            }
        }
    }

    /// Expels a client: its waiting requests end with an error, and further ones are refused.
    fn expel(&mut self, id: EntityId, actions: &mut Actions<W>) {
        let Some(client) = self.client_mut(id) else { return };
        client.is_expelled = true;
        let waiting = client.queue.split_off(usize::from(client.is_running));
        for place in waiting {
            self.leave_queue(place);
            self.finish(place, Err(RequestError::Expelled), actions);
            self.free_if_over(place, actions);
        }
    }

    /// Releases the next segment of the client's first request. Does nothing if it has no request, one of its segments
    /// runs, or its budget is used up.
    fn release_next(&mut self, id: EntityId) {
        let Some(client) = self.client(id) else { return };
        if client.is_running || client.is_throttled {
            return;
        }
        if let Some(place) = client.queue.front() {
            self.scheduler.release(self.requests[*place as usize].requested, id);
        }
    }
}
