//! The state of a simulated network: hosts, ends, channels, and what is to happen when.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use rospin_engine::{Instant, Waiters};
use rospin_node::{Calls, EndEvents, Endpoint, EndpointKind, Gid, Graph, Inlet, Qos, RequestInlet, TypeName};

use super::channel::{Channel, Key, Sample};
use super::rng::Rng;
use super::{LinkOptions, NetworkCounts};

/// Number of a host's name. A host that is started again under its name is at the same place.
pub(super) type Place = u32;
/// Number of a host. It ends with the host, and one that is started again has another one.
pub(super) type HostId = u32;
/// Number of a node, publisher, subscription, server or client.
pub(super) type EndId = u64;

/// Returns the id of a publisher or client.
pub(super) fn gid_of(id: EndId) -> Gid {
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&id.to_be_bytes());
    Gid::new(bytes)
}

/// What is done once the state is unlocked, because it calls other code.
type Effect = Box<dyn FnOnce() + Send>;

/// A process on the network.
pub(super) struct Host {
    pub(super) place: Place,
    /// False once it has left, or was killed.
    pub(super) is_up: bool,
    pub(super) graph: Arc<Graph>,
    /// The other hosts, as this one sees them.
    pub(super) sights: BTreeMap<HostId, Sight>,
}

/// A host as another one sees it.
#[derive(Clone, Copy, Default)]
pub(super) struct Sight {
    pub(super) is_seen: bool,
    /// Number of the last change, so that an end of the lease that was scheduled before it does not count.
    pub(super) change: u64,
    /// Time of one sign of life that it gives by itself. The others are multiples of
    /// [`ANNOUNCEMENT`](super::ANNOUNCEMENT) earlier and later.
    pub(super) sign: Instant,
    /// Time from which the path is open.
    pub(super) open_since: Instant,
    /// Time at which something came from it for the last time, as far as that is noted.
    pub(super) heard: Instant,
    /// True if an end of its lease is scheduled.
    pub(super) is_ending: bool,
    /// Times at which the last news of its writers, and of its readers, is learned.
    pub(super) last_news: [Instant; 2],
}

/// A request in the queue of a server.
pub(super) struct Asked {
    pub(super) client: EndId,
    pub(super) number: i64,
    pub(super) payload: Bytes,
}

/// What an end is for.
pub(super) enum Part {
    Node,
    Publisher {
        events: EndEvents,
        is_heard: Arc<AtomicBool>,
        /// Messages that are kept for late subscriptions.
        kept: std::collections::VecDeque<Sample>,
    },
    Subscription {
        events: EndEvents,
        inlet: Inlet,
        /// Number of the last message of each publisher.
        last: BTreeMap<EndId, u64>,
    },
    Server {
        inlet: RequestInlet<Asked>,
    },
    Client {
        calls: Arc<Calls<Bytes>>,
    },
    /// It was dropped, and other hosts may not know that yet.
    Gone,
}

/// A node, publisher, subscription, server or client.
pub(super) struct End {
    pub(super) host: HostId,
    /// `None` for a node.
    pub(super) kind: Option<EndpointKind>,
    /// Name of the topic or service, or of the node.
    pub(super) name: String,
    pub(super) type_name: String,
    pub(super) type_hash: Option<String>,
    pub(super) node: String,
    pub(super) qos: Qos,
    pub(super) part: Part,
    /// False once it was dropped, or its host was killed.
    pub(super) exists: bool,
    /// The hosts that know it.
    pub(super) seen_by: BTreeSet<HostId>,
    /// The ends that it is matched with, as its own host knows.
    pub(super) matched: BTreeSet<EndId>,
    /// Tasks that wait for a match.
    pub(super) waiters: Waiters,
}

impl End {
    pub(super) fn is_service(&self) -> bool {
        matches!(self.kind, Some(EndpointKind::Server | EndpointKind::Client))
    }

    /// Returns the entry in graphs.
    pub(super) fn entry(&self, id: EndId) -> Option<Endpoint> {
        let mut entry = Endpoint::new(self.kind?, self.name.clone(), self.type_name.clone());
        entry.type_hash.clone_from(&self.type_hash);
        entry.node = Some(self.node.clone());
        let is_of_topic = matches!(self.kind, Some(EndpointKind::Publisher | EndpointKind::Subscription));
        entry.gid = if is_of_topic { Some(gid_of(id)) } else { None };
        entry.reliability = Some(self.qos.reliability);
        entry.durability = Some(self.qos.durability);
        entry.history = Some(self.qos.history);
        entry.deadline = self.qos.deadline();
        entry.lifespan = self.qos.lifespan();
        entry.liveliness = Some(self.qos.liveliness);
        entry.liveliness_lease_duration = self.qos.liveliness_lease();
        Some(entry)
    }
}

/// What happens at a time.
pub(super) enum Event {
    /// A sample comes to its reader.
    Arrive { key: Key, epoch: u64, number: u64, sample: Sample },
    /// A writer sends again what has not arrived.
    Repair { key: Key, epoch: u64 },
    /// A host finds another one.
    Meet { observer: HostId, subject: HostId },
    /// A host gives a sign of life, for one that does not see it.
    Announce { observer: HostId, subject: HostId },
    /// A host learns that an end came or went.
    Learn { observer: HostId, end: EndId },
    /// A host has heard nothing of another one for its lease, or was told that it leaves.
    Part { observer: HostId, subject: HostId, change: u64 },
}

pub(super) struct State {
    pub(super) rng: Rng,
    pub(super) now: Instant,
    events: BTreeMap<(Instant, u64), Event>,
    last_event: u64,
    pub(super) last_id: u64,
    pub(super) places: BTreeMap<String, Place>,
    pub(super) hosts: BTreeMap<HostId, Host>,
    pub(super) ends: BTreeMap<EndId, End>,
    /// Ends by the name of their topic or service.
    pub(super) names: BTreeMap<String, BTreeSet<EndId>>,
    pub(super) channels: BTreeMap<Key, Channel>,
    pub(super) all_links: LinkOptions,
    pub(super) links: BTreeMap<(Place, Place), LinkOptions>,
    /// Directions that are cut.
    pub(super) cuts: BTreeSet<(Place, Place)>,
    pub(super) heartbeat: Duration,
    pub(super) lease: Duration,
    pub(super) discovery: Duration,
    pub(super) counts: NetworkCounts,
    pub(super) fingerprint: u64,
    pub(super) effects: Vec<Effect>,
}

impl State {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            now: Instant::ZERO,
            events: BTreeMap::new(),
            last_event: 0,
            last_id: 0,
            places: BTreeMap::new(),
            hosts: BTreeMap::new(),
            ends: BTreeMap::new(),
            names: BTreeMap::new(),
            channels: BTreeMap::new(),
            all_links: LinkOptions::new(),
            links: BTreeMap::new(),
            cuts: BTreeSet::new(),
            heartbeat: Duration::from_millis(100),
            lease: Duration::from_secs(10),
            discovery: Duration::from_millis(100),
            counts: NetworkCounts::default(),
            fingerprint: 0xcbf2_9ce4_8422_2325,
            effects: Vec::new(),
        }
    }

    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Returns the number of a host's name, which is new if no host had it.
    pub(super) fn place(&mut self, name: &str) -> Place {
        let next = self.places.len() as Place;
        *self.places.entry(name.to_owned()).or_insert(next)
    }

    pub(super) fn host_of(&self, end: EndId) -> Option<HostId> {
        self.ends.get(&end).map(|end| end.host)
    }

    pub(super) fn is_up(&self, host: HostId) -> bool {
        self.hosts.get(&host).is_some_and(|host| host.is_up)
    }

    fn places_of(&self, from: HostId, to: HostId) -> Option<(Place, Place)> {
        Some((self.hosts.get(&from)?.place, self.hosts.get(&to)?.place))
    }

    /// Returns true if packets pass from one host to the other.
    pub(super) fn is_open(&self, from: HostId, to: HostId) -> bool {
        from == to || self.places_of(from, to).is_some_and(|(from, to)| self.is_passable(from, to))
    }

    /// Returns true if packets pass from one place to the other: a link that loses all of them is as good as cut.
    pub(super) fn is_passable(&self, from: Place, to: Place) -> bool {
        let link = self.links.get(&(from, to)).unwrap_or(&self.all_links);
        !self.cuts.contains(&(from, to)) && link.loss < 1.0
    }

    /// Returns what packets from one host to the other go through.
    pub(super) fn link(&self, from: HostId, to: HostId) -> LinkOptions {
        if from == to {
            return LinkOptions::new().delay(Duration::ZERO, Duration::ZERO);
        }
        let places = self.places_of(from, to);
        places.and_then(|places| self.links.get(&places)).copied().unwrap_or(self.all_links)
    }

    pub(super) fn schedule(&mut self, at: Instant, event: Event) {
        self.last_event += 1;
        self.events.insert((at, self.last_event), event);
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.events.first_key_value().map(|((at, _), _)| *at)
    }

    /// Makes the next event happen that is due by `until`. Returns false if there is none.
    pub(super) fn step(&mut self, until: Instant) -> bool {
        let Some(next) = self.events.first_entry().filter(|next| next.key().0 <= until) else {
            self.now = self.now.max(until);
            return false;
        };
        let ((at, number), event) = next.remove_entry();
        self.now = self.now.max(at);
        self.note(at.as_nanos());
        self.note(number);
        match event {
            Event::Arrive { key, epoch, number, sample } => {
                self.note(key.0 ^ key.1.rotate_left(20) ^ number.rotate_left(40));
                self.arrive(key, epoch, number, sample);
            }
            Event::Repair { key, epoch } => self.repair(key, epoch),
            Event::Meet { observer, subject } => self.meet(observer, subject),
            Event::Announce { observer, subject } => self.announce(observer, subject),
            Event::Learn { observer, end } => {
                self.note(end ^ u64::from(observer).rotate_left(40));
                self.learn(observer, end);
            }
            Event::Part { observer, subject, change } => self.part(observer, subject, change),
        }
        true
    }

    /// Adds a number to the fingerprint, by FNV-1a.
    fn note(&mut self, number: u64) {
        for byte in number.to_le_bytes() {
            self.fingerprint = (self.fingerprint ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Adds an end. Other hosts learn of it later.
    pub(super) fn add(&mut self, end: End) -> EndId {
        let id = self.next_id();
        let host = end.host;
        let is_service = end.is_service();
        if end.kind.is_some() {
            self.names.entry(end.name.clone()).or_default().insert(id);
        }
        self.ends.insert(id, end);
        // Ends of other hosts that this one knows.
        for other in self.namesakes(id) {
            if self.ends.get(&other).is_some_and(|other| other.seen_by.contains(&host)) {
                self.join(id, other);
            }
        }
        // Services of one host meet here; topics do not.
        if is_service {
            self.appear(host, id);
        }
        self.tell(id);
        id
    }

    /// Returns the other ends of the same name.
    pub(super) fn namesakes(&self, id: EndId) -> Vec<EndId> {
        let Some(end) = self.ends.get(&id).filter(|end| end.kind.is_some()) else { return Vec::new() };
        let ids = self.names.get(&end.name).into_iter().flatten();
        ids.copied().filter(|other| *other != id).collect()
    }

    /// Notes that an end was dropped. Other hosts learn of it later.
    pub(super) fn drop_end(&mut self, id: EndId) {
        let Some(end) = self.ends.get_mut(&id).filter(|end| end.exists) else { return };
        end.exists = false;
        let part = std::mem::replace(&mut end.part, Part::Gone);
        let waiters = end.waiters.take();
        let host = end.host;
        let matched = std::mem::take(&mut end.matched);
        // They may run other code when they are dropped.
        self.effects.push(Box::new(move || drop((part, waiters))));
        // Messages that are on their way to it have nobody who takes them. Those that it sent go on.
        for other in matched {
            let is_other_gone = self.ends.get(&other).is_none_or(|other| !other.exists);
            if is_other_gone {
                self.end_channel((other, id));
            }
        }
        if self.ends.get(&id).is_some_and(|end| end.seen_by.contains(&host)) {
            self.vanish(host, id);
        }
        self.tell(id);
        self.bury(id);
    }

    /// Forgets an end that was dropped, once no host knows it.
    pub(super) fn bury(&mut self, id: EndId) {
        if self.ends.get(&id).is_none_or(|end| end.exists || !end.seen_by.is_empty()) {
            return;
        }
        let keys: Vec<Key> = self.channels.range((id, 0)..=(id, EndId::MAX)).map(|(key, _)| *key).collect();
        for key in keys {
            self.end_channel(key);
        }
        let Some(end) = self.ends.remove(&id) else { return };
        let others: Vec<EndId> = self.names.get(&end.name).into_iter().flatten().copied().collect();
        for other in others {
            self.end_channel((other, id));
            if let Some(Part::Subscription { last, .. }) = self.ends.get_mut(&other).map(|end| &mut end.part) {
                last.remove(&id);
            }
        }
        if let Some(ids) = self.names.get_mut(&end.name) {
            ids.remove(&id);
            if ids.is_empty() {
                self.names.remove(&end.name);
            }
        }
    }

    /// Returns the number of samples whose fate is open.
    pub(super) fn waiting(&self) -> u64 {
        self.channels.values().map(Channel::waiting).sum()
    }

    /// Sets if a publisher has matches.
    pub(super) fn note_heard(&mut self, id: EndId) {
        if let Some(end) = self.ends.get(&id)
            && let Part::Publisher { is_heard, .. } = &end.part
        {
            is_heard.store(!end.matched.is_empty(), Ordering::Release);
        }
    }
}

/// Returns the name of a type, and its hash.
pub(super) fn of_type(name: &TypeName) -> (String, Option<String>) {
    (name.to_string(), name.hash.as_deref().map(str::to_owned))
}
