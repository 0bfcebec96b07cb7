//! Channels: the way of one writer's samples to one reader, and everything that happens to them on it.
//!
//! Publishers, clients and servers write; subscriptions, servers and clients read. A reliable channel keeps what has not
//! arrived, and sends it again after a heartbeat. As in RTPS, a reader takes samples in the order of their numbers: a
//! reliable one waits for those that can still come, and one of best effort drops what was overtaken.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use rospin_engine::Instant;
use rospin_node::{Packet, Publication};

use super::state::{Asked, EndId, Event, HostId, Part, State};

/// The most samples that one heartbeat sends again.
const RESENT_MAX: usize = 64;

/// What is sent.
#[derive(Clone)]
pub(super) enum Sample {
    Message { payload: Bytes, publication: Publication, published: Instant },
    Request { payload: Bytes, number: i64 },
    Response { payload: Bytes, number: i64 },
}

/// A channel's writer and reader.
pub(super) type Key = (EndId, EndId);

/// State of both ends of a channel. Acknowledgements take no time, and need the path back.
pub(super) struct Channel {
    /// Number that no other channel has. A channel that is made anew gets nothing that was sent on the old one.
    pub(super) epoch: u64,
    is_reliable: bool,
    /// The most samples that the writer keeps until they have arrived.
    depth: usize,
    /// Number of the last sample that was sent.
    sent: u64,
    /// Number up to which the reader has taken samples, or knows that they will not come.
    taken: u64,
    /// Samples of a reliable channel that are not acknowledged.
    pub(super) history: VecDeque<(u64, Sample)>,
    /// Samples that arrived before earlier ones that can still come.
    early: BTreeMap<u64, Sample>,
    /// Samples of a channel of best effort that are on their way.
    flying: BTreeSet<u64>,
    /// True if the reader's host has forgotten the writer, and the writer's host does not know that.
    pub(super) is_forgotten: bool,
    /// True if a heartbeat is to come.
    is_repairing: bool,
    /// Time of the last arrival: packets overtake each other only if the link reorders them.
    last_arrival: Instant,
}

impl Channel {
    pub(super) const fn new(epoch: u64, is_reliable: bool, depth: usize) -> Self {
        Self {
            epoch,
            is_reliable,
            depth,
            sent: 0,
            taken: 0,
            history: VecDeque::new(),
            early: BTreeMap::new(),
            flying: BTreeSet::new(),
            is_forgotten: false,
            is_repairing: false,
            last_arrival: Instant::ZERO,
        }
    }

    /// Returns the number of samples whose fate is open.
    pub(super) fn waiting(&self) -> u64 {
        if self.is_reliable { self.sent - self.taken } else { self.flying.len() as u64 }
    }

    /// Returns true if a publisher that keeps all has no room for a further message.
    pub(super) fn is_full(&self) -> bool {
        self.is_reliable && self.history.len() >= self.depth
    }

    /// Takes all samples of a reliable channel that can be taken now. Returns them, and how many will never come.
    fn take(&mut self) -> (Vec<Sample>, u64) {
        let mut taken = Vec::new();
        let mut displaced = 0;
        while !self.early.is_empty() {
            let next = self.taken + 1;
            match self.early.remove(&next) {
                Some(sample) => taken.push(sample),
                // It can still come.
                None if self.history.iter().any(|(number, _)| *number == next) => break,
                None => displaced += 1,
            }
            self.taken = next;
        }
        (taken, displaced)
    }

    /// The writer hears what the reader has taken.
    fn acknowledge(&mut self) {
        while self.history.front().is_some_and(|(number, _)| *number <= self.taken) {
            self.history.pop_front();
        }
    }
}

/// The copies of a packet that arrive: none if it is lost, two if it is duplicated. Each has its delay, and true if it
/// may overtake others.
type Fate = [Option<(Duration, bool)>; 2];

impl State {
    /// Decides what becomes of a packet between two hosts.
    fn fate(&mut self, from: HostId, to: HostId) -> Fate {
        let link = self.link(from, to);
        let mut fate = [None; 2];
        if !self.is_up(from) || !self.is_open(from, to) || self.rng.chance(link.loss) {
            return fate;
        }
        let copies = if self.rng.chance(link.duplicates) { 2 } else { 1 };
        for copy in &mut fate[..copies] {
            let delay = self.rng.between(link.delay_min, link.delay_max);
            *copy = Some((delay, self.rng.chance(link.reordering)));
        }
        fate
    }

    /// Sends a sample of a writer on all of its channels. One packet goes to each host, for all of its readers.
    pub(super) fn send_to_all(&mut self, writer: EndId, sample: &Sample) {
        let channels = self.channels.range((writer, 0)..=(writer, EndId::MAX));
        let keys: Vec<Key> = channels.map(|(key, _)| *key).collect();
        let Some(from) = self.host_of(writer) else { return };
        let mut fates = BTreeMap::new();
        for key in keys {
            let Some(to) = self.host_of(key.1) else { continue };
            let fate = match fates.get(&to) {
                Some(fate) => *fate,
                None => self.fate(from, to),
            };
            fates.insert(to, fate);
            self.put(key, sample.clone(), fate);
        }
    }

    /// Sends a sample on a channel.
    pub(super) fn send(&mut self, key: Key, sample: Sample) {
        let (from, to) = (self.host_of(key.0), self.host_of(key.1));
        let fate = from.zip(to).map_or([None; 2], |(from, to)| self.fate(from, to));
        self.put(key, sample, fate);
    }

    /// Puts a sample on a channel. If the writer's host does not know the reader any more, the channel is gone and the
    /// sample is lost.
    fn put(&mut self, key: Key, sample: Sample, fate: Fate) {
        self.counts.sent += 1;
        let Some(channel) = self.channels.get_mut(&key) else {
            self.counts.unmatched += 1;
            self.counts.unmatched_responses += u64::from(matches!(sample, Sample::Response { .. }));
            return;
        };
        channel.sent += 1;
        let number = channel.sent;
        if channel.is_reliable {
            channel.history.push_back((number, sample.clone()));
            if channel.history.len() > channel.depth {
                channel.history.pop_front();
            }
        } else {
            channel.flying.insert(number);
        }
        self.transmit(key, number, sample, fate);
    }

    /// Schedules the arrivals of a sample, or notes that it is lost.
    fn transmit(&mut self, key: Key, number: u64, sample: Sample, fate: Fate) {
        if fate == [None; 2] {
            self.lose(key, number);
            return;
        }
        for (delay, is_reordered) in fate.into_iter().flatten() {
            let Some(channel) = self.channels.get_mut(&key) else { return };
            let mut at = self.now + delay;
            if !is_reordered {
                at = at.max(channel.last_arrival);
                channel.last_arrival = at;
            }
            let epoch = channel.epoch;
            self.schedule(at, Event::Arrive { key, epoch, number, sample: sample.clone() });
        }
    }

    /// Notes that a sample did not arrive: a reliable one is sent again after a heartbeat.
    fn lose(&mut self, key: Key, number: u64) {
        let Some(channel) = self.channels.get_mut(&key) else { return };
        if channel.is_reliable {
            self.repair_later(key);
        } else if channel.flying.remove(&number) {
            self.counts.lost += 1;
        }
    }

    /// Schedules a heartbeat if samples have not arrived and the path is open, both ways, because it takes an answer to
    /// have them sent again. Otherwise its healing does.
    pub(super) fn repair_later(&mut self, key: Key) {
        let (Some(from), Some(to)) = (self.host_of(key.0), self.host_of(key.1)) else { return };
        if !self.is_up(from) || !self.is_open(from, to) || !self.is_open(to, from) {
            return;
        }
        let at = self.now + self.heartbeat + self.link(from, to).delay_max;
        let Some(channel) = self.channels.get_mut(&key) else { return };
        if !channel.is_repairing && !channel.history.is_empty() {
            channel.is_repairing = true;
            let epoch = channel.epoch;
            self.schedule(at, Event::Repair { key, epoch });
        }
    }

    /// Sends what has not arrived again.
    pub(super) fn repair(&mut self, key: Key, epoch: u64) {
        let Some(channel) = self.channels.get_mut(&key).filter(|channel| channel.epoch == epoch) else { return };
        channel.is_repairing = false;
        let (Some(from), Some(to)) = (self.host_of(key.0), self.host_of(key.1)) else { return };
        // Nobody asks for it.
        if !self.is_open(to, from) {
            return;
        }
        let Some(channel) = self.channels.get_mut(&key) else { return };
        channel.acknowledge();
        let missing = channel.history.iter().filter(|(number, _)| !channel.early.contains_key(number));
        let missing: Vec<_> = missing.take(RESENT_MAX).cloned().collect();
        self.counts.resent += missing.len() as u64;
        for (number, sample) in missing {
            let fate = self.fate(from, to);
            self.transmit(key, number, sample, fate);
        }
        self.repair_later(key);
    }

    /// Handles a sample that comes to its reader's host.
    pub(super) fn arrive(&mut self, key: Key, epoch: u64, number: u64, sample: Sample) {
        if self.channels.get(&key).is_none_or(|channel| channel.epoch != epoch) {
            return;
        }
        let (Some(from), Some(to)) = (self.host_of(key.0), self.host_of(key.1)) else { return };
        // A reader takes nothing from a writer that its host does not know.
        let is_known = self.ends.get(&key.1).is_some_and(|end| end.exists && end.matched.contains(&key.0));
        if !self.is_up(to) || !self.is_open(from, to) || !is_known {
            self.lose(key, number);
            return;
        }
        let is_acknowledged = self.is_up(from) && self.is_open(to, from);
        self.hear(to, from);
        if is_acknowledged && self.channels.get(&key).is_some_and(|channel| channel.is_reliable) {
            self.hear(from, to);
        }
        if !self.has_room(key) {
            self.lose(key, number);
            return;
        }
        let Some(channel) = self.channels.get_mut(&key) else { return };
        let (taken, displaced) = if channel.is_reliable {
            if number <= channel.taken || channel.early.contains_key(&number) {
                self.counts.duplicates += 1;
                return;
            }
            channel.early.insert(number, sample);
            let taken = channel.take();
            if is_acknowledged {
                channel.acknowledge();
            }
            taken
        } else if !channel.flying.remove(&number) {
            self.counts.duplicates += 1;
            return;
        } else if number <= channel.taken {
            self.counts.overtaken += 1;
            return;
        } else {
            channel.taken = number;
            (vec![sample], 0)
        };
        self.counts.displaced += displaced;
        self.counts.delivered += taken.len() as u64;
        for sample in taken {
            self.deliver(key, sample);
        }
    }

    /// Returns false if the reader of a reliable channel is a subscription that keeps all and has no room for a further
    /// sample, with those that wait for it. As over DDS, the sample stays with its writer then.
    fn has_room(&self, key: Key) -> bool {
        let Some(channel) = self.channels.get(&key) else { return true };
        match self.ends.get(&key.1).map(|end| &end.part) {
            Some(Part::Subscription { inlet, .. }) if channel.is_reliable && inlet.keeps_all() => {
                inlet.has_room(1 + channel.early.len())
            }
            _ => true,
        }
    }

    /// Passes a sample to its reader.
    fn deliver(&mut self, (from, to): Key, sample: Sample) {
        let Some(end) = self.ends.get_mut(&to) else { return };
        match (sample, &mut end.part) {
            (Sample::Message { payload, publication, .. }, Part::Subscription { inlet, last, .. }) => {
                let number = publication.number.unwrap_or_default();
                let before = last.entry(from).or_insert(number);
                // A latched message that comes once more makes no gap.
                let missing = number.saturating_sub(*before).saturating_sub(1);
                *before = number.max(*before);
                let inlet = inlet.clone();
                let lifespan = self.ends.get(&from).and_then(|writer| writer.qos.lifespan());
                let packet = Packet::new(payload, Some(publication)).with_lifespan(lifespan);
                self.effects.push(Box::new(move || inlet.push(packet, missing)));
            }
            (Sample::Request { payload, number }, Part::Server { inlet }) => {
                let inlet = inlet.clone();
                let asked = Asked { client: from, number, payload };
                self.effects.push(Box::new(move || inlet.push(asked, 0)));
            }
            (Sample::Response { payload, number }, Part::Client { calls }) => {
                let calls = std::sync::Arc::clone(calls);
                self.effects.push(Box::new(move || calls.respond(number, payload)));
            }
            _ => {}
        }
    }

    /// Ends a channel. What was on its way has nobody any more who takes it.
    pub(super) fn end_channel(&mut self, key: Key) {
        if let Some(channel) = self.channels.remove(&key) {
            self.counts.unmatched += channel.waiting();
            let open = channel.history.iter().filter(|(number, _)| *number > channel.taken);
            let responses = open.filter(|(_, sample)| matches!(sample, Sample::Response { .. })).count();
            self.counts.unmatched_responses += responses as u64;
        }
    }
}
