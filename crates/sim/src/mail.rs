//! Messages: publication, queues, notifications, takes.

use std::collections::VecDeque;

use rospin_core::{ClockKind, Instant};

use crate::agenda::Happening;
use crate::driver::Driver;
use crate::event::What;
use crate::system::{Address, Message, Origin, Phase, Route, Signal, Work};

impl Driver<'_> {
    /// Publishes at the end of a callback: its receivers get a message, and its chains are recorded. Does nothing if it
    /// found no message to take.
    pub(crate) fn publish(&mut self, work: &Work) {
        if !work.item.taken {
            return;
        }
        let now = self.now;
        let mut origins = Vec::new();
        for &(chain, position) in &self.callbacks[work.callback].chains {
            let came_by = |origin: &&Origin| origin.chain == chain && origin.position + 1 == position;
            let release = match position {
                0 => Some(work.item.arrival),
                _ => work.item.origins.iter().find(came_by).map(|origin| origin.release),
            };
            let Some(release) = release else {
                continue;
            };
            if position + 1 == self.scenario.chains[chain].callbacks.len() {
                self.instances[chain].push((release, now.saturating_since(release)));
            } else {
                origins.push(Origin { chain, position, release });
            }
        }
        for route in 0..self.callbacks[work.callback].routes.len() {
            for _ in 0..self.callbacks[work.callback].messages(work.item.number, route) {
                self.send(work.callback, route, origins.clone());
            }
        }
    }

    /// Delivers a message, or delays it if there is a link.
    fn send(&mut self, from: usize, route: usize, origins: Vec<Origin>) {
        let now = self.now;
        let Route { to, delay, last } = &mut self.callbacks[from].routes[route];
        let to = *to;
        if let Some(delay) = delay {
            *last = (*last).max(now + delay.draw());
            if *last > now {
                let (number, at) = (self.sent, *last);
                self.sent += 1;
                self.in_transit.insert(number, (to, origins));
                self.agenda.push(at, Happening::Transit(number));
                return;
            }
        }
        self.deliver(to, origins);
    }

    /// Delivers a message whose delay is over.
    pub(crate) fn transmitted(&mut self, number: u64) {
        if let Some((to, origins)) = self.in_transit.remove(&number) {
            self.deliver(to, origins);
        }
    }

    /// Queues a message for the callback, or for one of the topics that it joins. A full queue displaces its oldest
    /// message.
    pub(crate) fn deliver(&mut self, Address { callback: to, input }: Address, origins: Vec<Origin>) {
        let callback = &mut self.callbacks[to];
        if let Some(queue) = callback.inputs.get_mut(input) {
            let is_full = queue.len() == callback.depth;
            queue.push_back(Message { arrival: self.now, origins });
            if is_full {
                queue.pop_front();
                self.tallies[to].dropped += 1;
            }
            if callback.inputs.iter().any(VecDeque::is_empty) {
                return;
            }
            let oldest = callback.inputs.iter_mut().filter_map(VecDeque::pop_front);
            let origins = oldest.flat_map(|message| message.origins).collect();
            self.enqueue(to, origins);
        } else {
            self.enqueue(to, origins);
        }
    }

    /// Queues an item for the callback, with the data's origins.
    fn enqueue(&mut self, to: usize, origins: Vec<Origin>) {
        let callback = &mut self.callbacks[to];
        let executor = callback.executor;
        let oldest = if callback.queue.len() == callback.depth { callback.queue.pop_front() } else { None };
        callback.queue.push_back(Message { arrival: self.now, origins });
        let lost = callback.loss.as_mut().is_some_and(|(probability, stream)| stream.chance(*probability));
        if let Some(oldest) = &oldest {
            callback.displaced.get_or_insert(oldest.arrival);
        }
        if let Some(oldest) = oldest {
            self.tallies[to].dropped += 1;
            self.emit(executor, What::Dropped(to, oldest.arrival));
        }
        self.emit(executor, What::Arrived(to));
        if lost {
            self.emit(executor, What::NotificationLost(to));
        } else {
            self.notify(to, self.now);
        }
    }

    /// Notifies the callback's executor of a message. Of several notifications in the inbox, the earliest arrival
    /// counts.
    pub(crate) fn notify(&mut self, to: usize, arrival: Instant) {
        let callback = &mut self.callbacks[to];
        let executor = callback.executor;
        if !std::mem::replace(&mut callback.notified, true) {
            self.executors[executor].inbox.push(Signal { callback: to, awaited: None, arrival });
        }
        self.wake_one(executor);
    }

    /// Notifies the callback's executor that an await of the activation with this sequence number has ended.
    pub(crate) fn awaited(&mut self, callback: usize, sequence: u64) {
        let executor = self.callbacks[callback].executor;
        self.executors[executor].inbox.push(Signal { callback, awaited: Some(sequence), arrival: self.now });
        self.wake_one(executor);
    }

    /// Passes notifications and wake-ups from the inbox to the scheduler.
    pub(crate) fn drain(&mut self, executor: usize) {
        if self.executors[executor].inbox.is_empty() {
            return;
        }
        let mut inbox = std::mem::take(&mut self.executors[executor].inbox);
        inbox.sort_unstable();
        let scheduler = &mut self.executors[executor].scheduler;
        for Signal { callback, awaited, arrival } in inbox.drain(..) {
            let callback = &mut self.callbacks[callback];
            if let Some(sequence) = awaited {
                scheduler.resume(arrival, callback.id, sequence);
            } else {
                callback.notified = false;
                scheduler.release(arrival, callback.id);
            }
        }
        self.executors[executor].inbox = inbox;
        self.fetch(executor);
    }

    /// Makes the thread runnable, if it was parked or did not spin yet.
    pub(crate) fn wake(&mut self, thread: usize) {
        if matches!(self.threads[thread].phase, Phase::Parked(_) | Phase::Off) {
            self.threads[thread].phase = Phase::Picking;
            let executor = self.threads[thread].executor;
            self.cpu.add(thread, self.executors[executor].os_priority, self.executors[executor].affinity);
            self.emit(executor, What::Woken(thread));
        }
    }

    /// Wakes the thread that has been parked longest, if there is one.
    pub(crate) fn wake_one(&mut self, executor: usize) {
        let mut parked = self.executors[executor].parked.iter().copied();
        if let Some(thread) = parked.find(|thread| matches!(self.threads[*thread].phase, Phase::Parked(_))) {
            self.wake(thread);
        }
    }

    /// Wakes all threads of the executor that are parked.
    pub(crate) fn wake_all(&mut self, executor: usize) {
        for thread in self.executors[executor].threads.clone() {
            if matches!(self.threads[thread].phase, Phase::Parked(_)) {
                self.wake(thread);
            }
        }
    }

    /// Wakes the threads whose time of parking is over.
    pub(crate) fn wake_due(&mut self) {
        for thread in 0..self.threads.len() {
            if matches!(self.threads[thread].phase, Phase::Parked(until) if until <= self.now) {
                self.wake(thread);
            }
        }
    }

    /// Returns the due time of the executor's next timer, on the steady clock as the clocks are set now; `None` if no
    /// timer is armed.
    pub(crate) fn next_due(&self, executor: usize) -> Option<Instant> {
        let scheduler = &self.executors[executor].scheduler;
        let of = |clock| {
            let reading = self.clocks.read(clock, self.now);
            scheduler.next_due_on(clock).map(|due| self.now + due.saturating_since(reading))
        };
        [ClockKind::Steady, ClockKind::System, ClockKind::Ros].into_iter().filter_map(of).min()
    }
}
