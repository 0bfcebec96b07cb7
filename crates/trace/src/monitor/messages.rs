//! Arrivals and messages, as the judge sees them: who came too early, and the places of messages in chains.

use std::collections::BTreeMap;

use super::judge::Judge;
use super::known::Early;
use super::violation::{Cause, Excess, ViolationKind};

/// The largest number of arrivals of a callback that are remembered.
const ARRIVALS: usize = 64;
/// The nanoseconds after the first event during which callbacks may run whose beginning was not seen.
const BEGINNING: u64 = 1_000_000_000;
/// The largest number of messages of a queue that are remembered for the sake of chains.
const TAGS: u64 = 4096;
/// The number of messages beyond a queue's length that are remembered: threads have taken them, and will tell.
const UNDER_WAY: u64 = 64;

/// The queue of a subscription.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) account: u64,
    pub(super) depth: u64,
    /// The number of events and definitions that came before the last one of this queue.
    pub(super) used: u64,
    /// The places in chains of messages that wait, by ticket.
    pub(super) tags: BTreeMap<u64, Vec<Tag>>,
}

impl Queue {
    /// Adds a message. Forgets those that cannot be among the waiting ones any more, although nobody was seen to take
    /// them.
    fn add(&mut self, ticket: u64, tags: Vec<Tag>) {
        self.tags.insert(ticket, tags);
        let most = self.depth.saturating_add(UNDER_WAY).min(TAGS);
        while self.tags.first_key_value().is_some_and(|(first, _)| ticket.saturating_sub(*first) >= most)
            || self.tags.len() as u64 > most
        {
            self.tags.pop_first();
        }
    }

    /// Returns the number of messages that are remembered.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.tags.len()
    }
}

/// A message's place in a chain.
#[derive(Clone, Copy)]
pub(super) struct Tag {
    pub(super) chain: u32,
    pub(super) place: usize,
    /// The release of the chain's first callback.
    pub(super) origin: u64,
    /// The time of the callback that took longest so far, and the place of that callback.
    pub(super) worst: (u64, usize),
}

impl Judge {
    /// Compares an arrival with the timer's period, or with the release of messages from outside.
    pub(super) fn arrive(&mut self, place: usize, at: u64, cause: Cause, culprit: Option<usize>) {
        self.note_arrival(place, at);
        let callback = &mut self.callbacks[place];
        let Some(spans) = callback.limit.as_ref().and_then(|limit| limit.arrivals.as_ref()) else { return };
        if let Err(early) = callback.gate.pass(spans, at) {
            callback.early = Some(Early { at, allowed: early.allowed, cause, culprit });
            self.violate(
                place,
                at,
                Excess { kind: ViolationKind::Arrival, measured: early.took, limit: early.allowed },
                (cause, culprit),
                0,
            );
        }
    }

    fn note_arrival(&mut self, place: usize, at: u64) {
        let arrivals = &mut self.callbacks[place].arrivals;
        if arrivals.len() == ARRIVALS {
            arrivals.pop_front();
        }
        arrivals.push_back(at);
    }

    pub(super) fn queued(&mut self, thread: u32, at: u64, queue: u64, ticket: u64, displaced: bool) {
        let tags = self.published_tags(thread, at);
        let Some(of) = self.queues.get_mut(&queue) else { return };
        if displaced && of.tags.len() as u64 >= of.depth {
            of.tags.pop_first();
        }
        of.used = self.events.saturating_add(self.defined);
        if !tags.is_empty() {
            of.add(ticket, tags);
        }
        let Some(place) = self.accounts.get(&of.account).copied() else { return };
        self.callbacks[place].has_queue = true;
        let Some(limit) = self.callbacks[place].limit.clone() else { return self.note_arrival(place, at) };
        let from = self.running.get(&thread).and_then(|key| self.open.get_mut(key));
        let publisher = from.as_ref().map(|open| open.callback);
        let is_stated = publisher.is_some_and(|from| limit.publishers.contains(&self.callbacks[from].name));
        if let Some(open) = from.filter(|_| is_stated) {
            let count = match open.published.iter_mut().find(|(of, _)| *of == queue) {
                Some((_, count)) => {
                    *count += 1;
                    *count
                }
                None => {
                    open.published.push((queue, 1));
                    1
                }
            };
            self.note_arrival(place, at);
            if count > 1 {
                self.surplus(place, at, publisher);
            }
        } else if limit.is_fed_from_outside {
            self.arrive(place, at, Cause::Published, publisher);
        } else {
            self.note_arrival(place, at);
            if publisher.is_some() || self.knows_what_runs(thread, at) {
                self.surplus(place, at, publisher);
            }
        }
    }

    /// Returns false if the thread may run a callback whose beginning was not seen: at the beginning, and after a gap
    /// in its events.
    fn knows_what_runs(&self, thread: u32, at: u64) -> bool {
        let is_beginning = self.begin.is_none_or(|begin| at.saturating_sub(begin) < BEGINNING);
        self.seen.contains(&thread) || !is_beginning && !self.dropping.contains(&thread)
    }

    /// Adds the violation of a message that the system file does not have.
    fn surplus(&mut self, place: usize, at: u64, publisher: Option<usize>) {
        self.callbacks[place].early = Some(Early { at, allowed: 0, cause: Cause::Published, culprit: publisher });
        self.violate(
            place,
            at,
            Excess { kind: ViolationKind::Arrival, measured: 0, limit: 0 },
            (Cause::Published, publisher),
            0,
        );
    }

    /// Returns the places in chains of a message that the thread publishes now.
    pub(super) fn published_tags(&self, thread: u32, at: u64) -> Vec<Tag> {
        let Some(open) = self.running.get(&thread).and_then(|key| self.open.get(key)) else { return Vec::new() };
        let own = (at.saturating_sub(open.release), open.callback);
        open.tags.iter().map(|tag| Tag { worst: if own.0 > tag.worst.0 { own } else { tag.worst }, ..*tag }).collect()
    }

    /// Passes the places in chains on to the activation that takes the message.
    pub(super) fn take(&mut self, thread: u32, tags: &[Tag]) {
        let Some(open) = self.running.get(&thread).and_then(|key| self.open.get_mut(key)) else { return };
        let links = &self.callbacks[open.callback].links;
        for tag in tags {
            let is_next = links.contains(&(tag.chain, tag.place + 1));
            if is_next && !open.tags.iter().any(|other| other.chain == tag.chain) {
                open.tags.push(Tag { place: tag.place + 1, ..*tag });
            }
        }
    }
}
