//! Discovery: hosts find each other, learn of each other's ends, and match them with their own.
//!
//! It is by sight: what a host learns of an end is what is so at that moment. So a message of discovery that comes late
//! tells nothing old. As over DDS, one host hears of another one's writers in the order in which they came and went, and
//! of its readers likewise. So who creates a server anew has no client that sees a part of either.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rospin_engine::Instant;
use rospin_node::{Durability, EndpointKind, Qos, QosPolicy, Reliability};

use super::channel::{Channel, Key, Sample};
use super::state::{EndId, Event, Host, HostId, Part, Place, Sight, State};

/// Number of messages or requests that are kept where the quality of service has no limit.
pub(super) const KEEP_ALL: usize = 8192;

/// Returns the id of an end in graphs.
fn id_in_graph(end: EndId) -> [u8; 8] {
    end.to_be_bytes()
}

/// Returns the first policy by which a publisher does not offer what a subscription demands, by the rules of DDS.
fn unmet(offered: &Qos, requested: &Qos) -> Option<QosPolicy> {
    let limit = |time: Option<Duration>| time.unwrap_or(Duration::MAX);
    if requested.reliability == Reliability::Reliable && offered.reliability == Reliability::BestEffort {
        Some(QosPolicy::Reliability)
    } else if requested.durability == Durability::TransientLocal && offered.durability == Durability::Volatile {
        Some(QosPolicy::Durability)
    } else if limit(offered.deadline()) > limit(requested.deadline()) {
        Some(QosPolicy::Deadline)
    } else if offered.liveliness < requested.liveliness
        || limit(offered.liveliness_lease()) > limit(requested.liveliness_lease())
    {
        Some(QosPolicy::Liveliness)
    } else {
        None
    }
}

impl State {
    /// Returns a time within which discovery takes place. On a link that loses packets it may take several attempts.
    fn soon(&mut self, from: HostId, to: HostId) -> Instant {
        let link = self.link(from, to);
        let mut at = self.now + link.delay_min;
        if from != to {
            at += self.rng.between(Duration::ZERO, self.discovery);
        }
        for _ in 0..20 {
            if !self.rng.chance(link.loss) {
                break;
            }
            at += self.heartbeat;
        }
        at
    }

    /// Has the other hosts learn of an end that came or went.
    pub(super) fn tell(&mut self, id: EndId) {
        let Some(host) = self.host_of(id) else { return };
        if !self.is_up(host) {
            return;
        }
        let others: Vec<HostId> = self.hosts.keys().copied().filter(|other| *other != host).collect();
        for observer in others {
            self.tell_one(observer, id);
        }
    }

    /// Has a host learn that an end came or went, after all that it is to learn of the end's host by the same writer of
    /// announcements. One announces readers, and one writers; servers and clients have one end of each.
    fn tell_one(&mut self, observer: HostId, id: EndId) {
        let Some(end) = self.ends.get(&id) else { return };
        let (subject, kind) = (end.host, end.kind);
        let ways: &[usize] = match kind {
            None => &[],
            Some(EndpointKind::Publisher) => &[0],
            Some(EndpointKind::Subscription) => &[1],
            Some(_) => &[0, 1],
        };
        let mut at = self.soon(subject, observer);
        let Some(sight) = self.sight(observer, subject) else { return };
        for way in ways {
            at = at.max(sight.last_news[*way]);
        }
        for way in ways {
            sight.last_news[*way] = at;
        }
        self.schedule(at, Event::Learn { observer, end: id });
    }

    /// Has a new host and the others find each other.
    pub(super) fn introduce(&mut self, host: HostId) {
        let others: Vec<HostId> = self.hosts.keys().copied().filter(|other| *other != host).collect();
        for other in others {
            if !self.is_up(other) {
                continue;
            }
            for (observer, subject) in [(host, other), (other, host)] {
                let sign = self.now + self.rng.between(Duration::ZERO, super::ANNOUNCEMENT);
                if let Some(sight) = self.sight(observer, subject) {
                    sight.sign = sign;
                }
                let at = self.soon(subject, observer);
                self.schedule(at, Event::Meet { observer, subject });
            }
        }
    }

    /// A host gives a sign of life, for another one that has forgotten it. If the link loses it, there is a next one.
    pub(super) fn announce(&mut self, observer: HostId, subject: HostId) {
        if !self.is_up(observer) || !self.is_up(subject) || !self.is_open(subject, observer) {
            return;
        }
        if self.sight(observer, subject).is_none_or(|sight| sight.is_seen) {
            return;
        }
        let link = self.link(subject, observer);
        if self.rng.chance(link.loss) {
            self.schedule(self.now + super::ANNOUNCEMENT, Event::Announce { observer, subject });
        } else {
            let at = self.now + self.rng.between(link.delay_min, link.delay_max);
            self.schedule(at, Event::Meet { observer, subject });
        }
    }

    fn sight(&mut self, observer: HostId, subject: HostId) -> Option<&mut Sight> {
        Some(self.hosts.get_mut(&observer)?.sights.entry(subject).or_default())
    }

    /// A host finds another one.
    pub(super) fn meet(&mut self, observer: HostId, subject: HostId) {
        if !self.is_up(observer) || !self.is_up(subject) || !self.is_open(subject, observer) {
            return;
        }
        let Some(sight) = self.sight(observer, subject) else { return };
        sight.is_seen = true;
        self.hear(observer, subject);
        self.look(observer, subject);
        // A stranger is answered.
        if self.sight(subject, observer).is_some_and(|sight| !sight.is_seen) {
            let at = self.soon(observer, subject);
            self.schedule(at, Event::Meet { observer: subject, subject: observer });
        }
    }

    /// A packet of another host comes: its lease begins anew.
    pub(super) fn hear(&mut self, observer: HostId, subject: HostId) {
        if observer == subject || !self.is_up(observer) {
            return;
        }
        let (now, end, is_up) = (self.now, self.now + self.lease, self.is_up(subject));
        let Some(sight) = self.sight(observer, subject) else { return };
        sight.heard = now;
        if !sight.is_ending {
            return;
        }
        sight.change += 1;
        sight.is_ending = !is_up;
        // The last packets of one that has died.
        if !is_up {
            let change = sight.change;
            self.schedule(end, Event::Part { observer, subject, change });
        }
    }

    /// A host hears nothing of another one from now on: it forgets it when the lease is over that its last sign of life
    /// began.
    fn begin_to_forget(&mut self, observer: HostId, subject: HostId) {
        let (now, lease) = (self.now, self.lease);
        let Some(sight) = self.sight(observer, subject).filter(|sight| sight.is_seen) else { return };
        let last = last_sign(sight.sign, now);
        if last >= sight.open_since {
            sight.heard = sight.heard.max(last);
        }
        sight.change += 1;
        sight.is_ending = true;
        let (change, at) = (sight.change, (sight.heard + lease).max(now));
        self.schedule(at, Event::Part { observer, subject, change });
    }

    /// Has a host learn of everything of another one.
    fn look(&mut self, observer: HostId, subject: HostId) {
        let ends = self.ends.iter().filter(|(_, end)| end.host == subject);
        let news = ends.filter(|(_, end)| end.exists != end.seen_by.contains(&observer));
        let news: Vec<EndId> = news.map(|(id, _)| *id).collect();
        for end in news {
            self.tell_one(observer, end);
        }
    }

    /// A host learns that an end came or went.
    pub(super) fn learn(&mut self, observer: HostId, id: EndId) {
        let Some(end) = self.ends.get(&id) else { return };
        let (subject, exists, is_known) = (end.host, end.exists, end.seen_by.contains(&observer));
        let is_seen = self.sight(observer, subject).is_some_and(|sight| sight.is_seen);
        if !is_seen || !self.is_up(observer) || !self.is_open(subject, observer) {
            return;
        }
        match (exists, is_known) {
            (true, false) => self.appear(observer, id),
            (false, true) => self.vanish(observer, id),
            _ => {}
        }
    }

    /// Enters an end in the view of a host.
    pub(super) fn appear(&mut self, observer: HostId, id: EndId) {
        let Some(end) = self.ends.get_mut(&id) else { return };
        end.seen_by.insert(observer);
        let entry = end.entry(id);
        let name = end.name.clone();
        // A node's own process enters it by itself.
        if observer != end.host
            && let Some(host) = self.hosts.get(&observer)
        {
            let graph = Arc::clone(&host.graph);
            self.effects.push(Box::new(move || match entry {
                Some(entry) => graph.endpoint_came(&id_in_graph(id), entry),
                None => graph.node_came(&id_in_graph(id), name),
            }));
        }
        for local in self.namesakes(id) {
            if self.host_of(local) == Some(observer) {
                self.join(local, id);
            }
        }
    }

    /// Removes an end from the view of a host.
    pub(super) fn vanish(&mut self, observer: HostId, id: EndId) {
        let Some(end) = self.ends.get_mut(&id) else { return };
        if !end.seen_by.remove(&observer) {
            return;
        }
        let is_node = end.kind.is_none();
        if observer != end.host
            && let Some(host) = self.hosts.get(&observer)
        {
            let graph = Arc::clone(&host.graph);
            self.effects.push(Box::new(move || {
                if is_node { graph.node_went(&id_in_graph(id)) } else { graph.endpoint_went(&id_in_graph(id)) }
            }));
        }
        for local in self.namesakes(id) {
            if self.host_of(local) == Some(observer) {
                self.part_ends(local, id);
            }
        }
        self.bury(id);
    }

    /// Matches an end with one of another host, or of its own if it is of a service, as its own host sees it.
    pub(super) fn join(&mut self, local: EndId, other: EndId) {
        let (Some(mine), Some(theirs)) = (self.ends.get(&local), self.ends.get(&other)) else { return };
        if !mine.exists || mine.type_name != theirs.type_name || mine.matched.contains(&other) {
            return;
        }
        let policy = match (mine.kind, theirs.kind) {
            (Some(EndpointKind::Publisher), Some(EndpointKind::Subscription)) => unmet(&mine.qos, &theirs.qos),
            (Some(EndpointKind::Subscription), Some(EndpointKind::Publisher)) => unmet(&theirs.qos, &mine.qos),
            (Some(EndpointKind::Client), Some(EndpointKind::Server))
            | (Some(EndpointKind::Server), Some(EndpointKind::Client)) => None,
            _ => return,
        };
        if let Some(policy) = policy {
            if let Part::Publisher { events, .. } | Part::Subscription { events, .. } = &mine.part {
                events.incompatible(policy);
            }
            return;
        }
        let theirs_qos = theirs.qos;
        let Some(mine) = self.ends.get_mut(&local) else { return };
        mine.matched.insert(other);
        let waiters = mine.waiters.take();
        self.effects.push(Box::new(move || waiters.wake()));
        let (alive, qos) = (mine.matched.len(), mine.qos);
        let mut latched = Vec::new();
        match &mine.part {
            Part::Publisher { events, kept, .. } => {
                events.match_came();
                if theirs_qos.durability == Durability::TransientLocal {
                    latched.extend(kept.iter().cloned());
                }
            }
            Part::Subscription { events, .. } => {
                events.match_came();
                events.liveliness(alive, 0);
            }
            Part::Client { calls } => {
                calls.server_came(&id_in_graph(other));
            }
            _ => {}
        }
        let is_writer = !matches!(mine.kind, Some(EndpointKind::Subscription));
        let is_reliable = mine.is_service() || (qos.reliability, theirs_qos.reliability) == RELIABLE;
        if is_writer {
            let depth = if mine.is_service() { KEEP_ALL } else { qos.depth().unwrap_or(KEEP_ALL) };
            let epoch = self.next_id();
            self.end_channel((local, other));
            self.channels.insert((local, other), Channel::new(epoch, is_reliable, depth));
            self.note_heard(local);
            self.send_kept((local, other), &qos, latched);
        } else {
            self.read_anew((other, local));
        }
    }

    /// Sends the messages that a publisher keeps once more to a transient local subscription whose host has forgotten
    /// the publisher meanwhile, and asks it for all.
    fn read_anew(&mut self, key: Key) {
        if !self.channels.get(&key).is_some_and(|channel| channel.is_forgotten) {
            return;
        }
        let demanded = self.ends.get(&key.1).map(|reader| reader.qos);
        let Some(writer) = self.ends.get(&key.0) else { return };
        let qos = writer.qos;
        match (demanded, &writer.part) {
            (Some(demanded), Part::Publisher { kept, .. }) if demanded.durability == Durability::TransientLocal => {
                let kept = kept.iter().cloned().collect();
                let is_reliable = (qos.reliability, demanded.reliability) == RELIABLE;
                let epoch = self.next_id();
                self.end_channel(key);
                self.channels.insert(key, Channel::new(epoch, is_reliable, qos.depth().unwrap_or(KEEP_ALL)));
                self.send_kept(key, &qos, kept);
            }
            _ => {
                if let Some(channel) = self.channels.get_mut(&key) {
                    channel.is_forgotten = false;
                }
            }
        }
    }

    /// Sends the messages that a publisher keeps to a subscription that has just come.
    fn send_kept(&mut self, key: Key, qos: &Qos, kept: Vec<Sample>) {
        for sample in kept {
            let Sample::Message { published, .. } = &sample else { continue };
            let age = self.now.saturating_since(*published);
            if qos.lifespan().is_none_or(|lifespan| age < lifespan) {
                self.send(key, sample);
            }
        }
    }

    /// Ends the match of an end with one that its host does not see any more.
    fn part_ends(&mut self, local: EndId, other: EndId) {
        let is_other_gone = self.ends.get(&other).is_none_or(|other| !other.exists);
        let Some(mine) = self.ends.get_mut(&local) else { return };
        if mine.matched.remove(&other) {
            let alive = mine.matched.len();
            match &mine.part {
                Part::Publisher { events, .. } => events.match_went(),
                Part::Subscription { events, .. } => {
                    events.match_went();
                    events.liveliness(alive, 0);
                }
                Part::Client { calls } => {
                    if let Some(number) = calls.server_went(&id_in_graph(other)) {
                        let calls = Arc::clone(calls);
                        self.effects.push(Box::new(move || calls.end_until(number)));
                    }
                }
                _ => {}
            }
            self.note_heard(local);
        }
        self.end_channel((local, other));
        if is_other_gone {
            self.end_channel((other, local));
        } else if let Some(channel) = self.channels.get_mut(&(other, local)) {
            channel.is_forgotten = true;
        }
    }

    /// A host has heard nothing of another one for its lease.
    pub(super) fn part(&mut self, observer: HostId, subject: HostId, change: u64) {
        let Some(sight) = self.sight(observer, subject) else { return };
        if sight.change != change || !sight.is_seen {
            return;
        }
        (sight.is_seen, sight.is_ending) = (false, false);
        let next = last_sign(sight.sign, self.now) + super::ANNOUNCEMENT;
        let ends = self.ends.iter().filter(|(_, end)| end.host == subject && end.seen_by.contains(&observer));
        let ends: Vec<EndId> = ends.map(|(id, _)| *id).collect();
        for end in ends {
            self.vanish(observer, end);
        }
        if !self.is_up(subject) {
            self.hosts.get_mut(&observer).map(|host| host.sights.remove(&subject));
        } else if self.is_open(subject, observer) {
            // The path healed too late for its lease.
            self.schedule(next, Event::Announce { observer, subject });
        }
        self.forget_hosts();
    }

    /// Removes the hosts that have ended and that no other one sees any more.
    fn forget_hosts(&mut self) {
        let ended: Vec<HostId> = self.hosts.iter().filter(|(_, host)| !host.is_up).map(|(id, _)| *id).collect();
        for id in ended {
            let is_seen = |other: &Host| other.sights.get(&id).is_some_and(|sight| sight.is_seen);
            if self.hosts.values().any(is_seen) || self.ends.values().any(|end| end.host == id) {
                continue;
            }
            self.hosts.remove(&id);
            for other in self.hosts.values_mut() {
                other.sights.remove(&id);
            }
        }
    }

    /// Ends a host. The others notice at once if it says that it leaves, and else after the lease.
    pub(super) fn end_host(&mut self, host: HostId, says_so: bool) {
        let Some(ended) = self.hosts.get_mut(&host).filter(|host| host.is_up) else { return };
        ended.is_up = false;
        ended.sights.clear();
        let own: Vec<EndId> = self.ends.iter().filter(|(_, end)| end.host == host).map(|(id, _)| *id).collect();
        for id in own {
            self.drop_end(id);
        }
        // It sees nobody any more.
        let seen: Vec<EndId> =
            self.ends.iter().filter(|(_, end)| end.seen_by.contains(&host)).map(|(id, _)| *id).collect();
        for id in seen {
            self.vanish(host, id);
        }
        let others: Vec<HostId> = self.hosts.keys().copied().filter(|other| *other != host).collect();
        for observer in others {
            let is_open = self.is_open(host, observer);
            // Behind a path that is cut, the lease began to end with the cut.
            if !is_open {
                continue;
            }
            if !says_so {
                self.begin_to_forget(observer, host);
                continue;
            }
            let at = self.soon(host, observer);
            let Some(sight) = self.sight(observer, host).filter(|sight| sight.is_seen) else { continue };
            sight.is_ending = false;
            sight.change += 1;
            let change = sight.change;
            self.schedule(at, Event::Part { observer, subject: host, change });
        }
        self.forget_hosts();
    }

    fn hosts_at(&self, place: Place) -> Vec<HostId> {
        let hosts = self.hosts.iter().filter(|(_, host)| host.place == place && host.is_up);
        hosts.map(|(id, _)| *id).collect()
    }

    /// Changes paths, and has hosts notice which of them packets do not pass any more, and which they pass again.
    pub(super) fn change_paths(&mut self, change: impl FnOnce(&mut Self)) {
        let before = self.passable();
        change(self);
        let after = self.passable();
        for (from, to) in before.difference(&after) {
            self.closed(*from, *to);
        }
        for (from, to) in after.difference(&before) {
            self.opened(*from, *to);
        }
    }

    /// Returns the directions in which packets pass.
    fn passable(&self) -> BTreeSet<(Place, Place)> {
        let places = self.places.values();
        let all = places.clone().flat_map(|from| places.clone().map(move |to| (*from, *to)));
        all.filter(|(from, to)| self.is_passable(*from, *to)).collect()
    }

    /// Packets do not pass from one place to another any more.
    fn closed(&mut self, from: Place, to: Place) {
        for subject in self.hosts_at(from) {
            for observer in self.hosts_at(to) {
                self.begin_to_forget(observer, subject);
            }
        }
    }

    /// Packets pass from one place to another again.
    fn opened(&mut self, from: Place, to: Place) {
        for subject in self.hosts_at(from) {
            for observer in self.hosts_at(to) {
                let (now, lease) = (self.now, self.lease);
                let Some(sight) = self.sight(observer, subject) else { continue };
                sight.open_since = now;
                let next = last_sign(sight.sign, now) + super::ANNOUNCEMENT;
                if !sight.is_seen {
                    self.schedule(next, Event::Announce { observer, subject });
                } else {
                    if next <= sight.heard + lease {
                        sight.is_ending = false;
                        sight.change += 1;
                    }
                    self.look(observer, subject);
                }
                // Samples go this way, and acknowledgements of those that went the other way.
                let waiting = self.channels.keys().copied().filter(|(writer, reader)| {
                    let hosts = (self.host_of(*writer), self.host_of(*reader));
                    hosts == (Some(subject), Some(observer)) || hosts == (Some(observer), Some(subject))
                });
                let waiting: Vec<Key> = waiting.collect();
                for key in waiting {
                    self.repair_later(key);
                }
            }
        }
    }
}

/// Returns the time of the last sign of life that a host has given by itself, at one of `sign` and every announcement
/// before and after that.
fn last_sign(sign: Instant, now: Instant) -> Instant {
    let (sign, now, every) = (sign.as_nanos(), now.as_nanos(), super::ANNOUNCEMENT.as_nanos() as u64);
    let since = (now % every + every - sign % every) % every;
    Instant::from_nanos(now.saturating_sub(since))
}

const RELIABLE: (Reliability, Reliability) = (Reliability::Reliable, Reliability::Reliable);
