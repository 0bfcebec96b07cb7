//! Matches of publishers, subscriptions, servers and clients, from the library's reports about each reader and writer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use rospin_engine::Waiters;
use rospin_node::{Awaited, EndEvents, Gid, Matches, QosPolicy};

use crate::cyclone::{Guid, Handle, Listen, Probe, ReaderProbe};
use crate::entries::prefix_of;
use crate::feed::{Feed, Peer};
use crate::form::Form;
use crate::ready::Watch;
use crate::vendor::Vendor;

/// Number of ends that an entity of ROS has: one of a topic, or two of a service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Made {
    OfOne,
    /// Two ends, which work only together.
    OfTwo,
}

/// Role of a reader or writer in its entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// Writer of a topic, or of a service's requests.
    FirstWriter,
    /// Reader of a topic, or of a service's requests.
    FirstReader,
    /// Writer of a service's responses.
    SecondWriter,
    /// Reader of a service's responses.
    SecondReader,
}

/// Function that is told of a server or client that came or, if the second argument is false, went.
type NotePair = dyn Fn(&Guid, bool) + Send + Sync;

/// Matches of a publisher, subscription, server or client.
pub(crate) struct Bond {
    made: Made,
    /// Name of the entity in complaints: its topic or service.
    label: String,
    feed: Arc<Feed>,
    state: Mutex<State>,
    /// True while an end is matched, also one that is not sure to listen yet.
    is_heard: AtomicBool,
    watch: Watch,
    /// Probe of the first end, if that is a writer.
    probe: OnceLock<Probe>,
    /// Probe of the second end, if that is a reader.
    reader: OnceLock<ReaderProbe>,
    /// Function that is told, under the lock, of each pair that comes or goes.
    noted: OnceLock<Box<NotePair>>,
    /// Function that is called after each change, on the library's threads.
    changed: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// Record of a publisher's or subscription's events.
    events: Option<EndEvents>,
}

#[derive(Default)]
struct State {
    first: BTreeSet<Handle>,
    second: BTreeSet<Handle>,
    /// Ends that are matched and not yet sure to listen, each with the time of its match.
    unsure: BTreeMap<Handle, Instant>,
    /// Writers of responses that are matched and may not know of this end yet, each with the time of its match.
    silent: BTreeMap<Handle, Instant>,
    /// The matches that count. They are calculated when an end comes or goes: discovery knows of an end before it is
    /// matched.
    count: Count,
    /// Servers or clients whose two ends are both matched, sure to listen or not, each by the id of its first one.
    pairs: BTreeSet<Guid>,
    /// Tasks that wait for the first match.
    waiters: Waiters,
}

/// Numbers of matches that count, and by the form of their requests and responses those of a service that read one form
/// only.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    all: usize,
    headers: usize,
    identities: usize,
}

impl Bond {
    /// Creates the matches of a publisher or subscription.
    pub(crate) fn of_topic(label: String, feed: &Arc<Feed>, watch: Watch, events: &EndEvents) -> Arc<Self> {
        Self::new(Made::OfOne, label, feed, watch, Some(events.clone()))
    }

    /// Creates the matches of a server or client.
    pub(crate) fn of_service(label: String, feed: &Arc<Feed>, watch: Watch) -> Arc<Self> {
        Self::new(Made::OfTwo, label, feed, watch, None)
    }

    fn new(made: Made, label: String, feed: &Arc<Feed>, watch: Watch, events: Option<EndEvents>) -> Arc<Self> {
        Arc::new(Self {
            made,
            label,
            feed: Arc::clone(feed),
            state: Mutex::default(),
            is_heard: AtomicBool::new(false),
            watch,
            probe: OnceLock::new(),
            reader: OnceLock::new(),
            noted: OnceLock::new(),
            changed: OnceLock::new(),
            events,
        })
    }

    /// Sets the writer of the first end: from now on its matches count once they are sure to listen.
    pub(crate) fn writes(self: &Arc<Self>, probe: Probe) {
        let _ = self.probe.set(probe);
        if !self.prove() {
            self.watch.add(self);
        }
    }

    /// Sets the reader of the second end: from now on its matches count once their writers are sure to know of it.
    /// Followed by [`writes`](Self::writes).
    pub(crate) fn reads(&self, probe: ReaderProbe) {
        let _ = self.reader.set(probe);
    }

    /// Sets the function that is told from now on of each server or client that comes, sure to listen or not, and that
    /// goes, by the id of its end that is matched with the first one. It is called under the lock: it must not block,
    /// wake a task, or call this value. Called once.
    pub(crate) fn on_pair(&self, note: impl Fn(&Guid, bool) + Send + Sync + 'static) {
        let _ = self.noted.set(Box::new(note));
    }

    /// Sets the function that is called after each change from now on. Called once.
    pub(crate) fn on_change(&self, act: impl Fn() + Send + Sync + 'static) {
        let _ = self.changed.set(Box::new(act));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Code under this lock leaves nothing half done, so its poison is ignored.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the matches that count; of two ends, those that belong together.
    fn update(&self, state: &mut State) {
        if self.made == Made::OfOne {
            state.count = Count { all: state.first.len(), ..Count::default() };
            return;
        }
        let first = self.feed.peers(&state.first);
        let second = self.feed.peers(&state.second);
        // A request reaches also those that are not sure yet.
        let reached = [first.clone(), self.feed.peers(state.unsure.keys())].concat();
        let others = [second.clone(), self.feed.peers(state.silent.keys())].concat();
        let reached = paired(&reached, &others);
        state.count = Count { all: paired(&first, &second).len(), ..Count::default() };
        for peer in &reached {
            match peer.form() {
                Form::Header => state.count.headers += 1,
                Form::Identity => state.count.identities += 1,
                Form::Both => {}
            }
        }
        let now: BTreeSet<Guid> = reached.iter().map(|peer| peer.guid).collect();
        let before = std::mem::replace(&mut state.pairs, now);
        if let Some(note) = self.noted.get() {
            for guid in state.pairs.difference(&before) {
                note(guid, true);
            }
            for guid in before.difference(&state.pairs) {
                note(guid, false);
            }
        }
    }

    /// Returns the number of matches that count.
    pub(crate) fn count(&self) -> usize {
        self.lock().count.all
    }

    /// Calls a function under the lock if a match counts, and returns what it returns. No end comes or goes meanwhile.
    pub(crate) fn if_matched<T>(&self, act: impl FnOnce() -> T) -> Option<T> {
        let state = self.lock();
        if state.count.all > 0 { Some(act()) } else { None }
    }

    /// Returns the form in which a client sends its requests: that of its servers. A request reaches all servers.
    /// Returns [`Form::Both`] if some read only the one form and some only the other: they would take a request of the
    /// wrong form for another one, and execute that.
    pub(crate) fn form(&self) -> Form {
        let count = self.lock().count;
        match (count.headers > 0, count.identities > 0) {
            (true, true) => Form::Both,
            (_, false) => Form::Header,
            (false, true) => Form::Identity,
        }
    }

    /// Returns true if a reader may get a writer's next message. Neither blocks nor locks.
    pub(crate) fn is_heard(&self) -> bool {
        self.is_heard.load(Ordering::Acquire)
    }

    /// Returns true if a reader may get a writer's next message that is none of `known`. Locks for a moment.
    pub(crate) fn is_heard_besides(&self, known: &[Gid]) -> bool {
        let state = self.lock();
        let is_known =
            |handle: &Handle| self.feed.peer(*handle).is_some_and(|peer| known.contains(&Gid::new(peer.guid)));
        !state.first.iter().all(is_known) || !state.unsure.keys().all(is_known)
    }

    /// Returns true if a request of the client whose writer is `requester` can be answered now, false while the
    /// client's reader is not matched yet, and `None` once the client has gone. `reader` is the client's reader, if the
    /// request names it.
    pub(crate) fn reaches(&self, requester: Handle, reader: Option<&Guid>) -> Option<bool> {
        let state = self.lock();
        if !state.first.contains(&requester) {
            return None;
        }
        let readers = self.feed.peers(&state.second);
        if let Some(reader) = reader {
            return Some(readers.iter().any(|found| found.guid == *reader));
        }
        let requester = self.feed.peer(requester)?;
        Some(readers.iter().any(|reader| belong_together(&requester, reader)))
    }

    /// Notes a match of one of the entity's ends, or the end of a match.
    fn matched(self: &Arc<Self>, end: End, peer: Handle, came: bool) {
        let mut state = self.lock();
        match (end, came) {
            (End::FirstWriter, true) => _ = state.unsure.insert(peer, Instant::now()),
            (End::FirstReader, true) => self.insert(&mut state, peer),
            (End::SecondReader, true) => _ = state.silent.insert(peer, Instant::now()),
            (End::SecondWriter, true) => _ = state.second.insert(peer),
            (End::FirstWriter | End::FirstReader, false) => {
                state.unsure.remove(&peer);
                if state.first.remove(&peer)
                    && let Some(events) = &self.events
                {
                    events.match_went();
                }
            }
            (End::SecondReader | End::SecondWriter, false) => {
                state.silent.remove(&peer);
                state.second.remove(&peer);
            }
        }
        self.changed(state);
        let is_to_be_proven = matches!(end, End::FirstWriter | End::SecondReader) && came;
        if is_to_be_proven && !self.prove() {
            self.watch.add(self);
        }
    }

    /// Counts an end as matched. Events are recorded under the lock, so that they are in order.
    fn insert(&self, state: &mut State, peer: Handle) {
        if state.first.insert(peer)
            && let Some(events) = &self.events
        {
            events.match_came();
        }
    }

    /// Counts the matched ends that are sure by now: that listen to the first end, and that know of the second one.
    /// Returns true if no other ones are left, or if there is no writer yet.
    pub(crate) fn prove(&self) -> bool {
        let Some(probe) = self.probe.get() else {
            // `writes` tries again when the writer exists.
            return true;
        };
        let (unsure, silent) = {
            let state = self.lock();
            (state.unsure.clone(), state.silent.clone())
        };
        // The library is called outside this lock, because it has locks of its own.
        let is_patient = |peer: Handle, came: Instant| came.elapsed() <= self.vendor(peer).patience();
        let mut listening = Vec::new();
        for (peer, came) in unsure {
            if probe.is_heard(peer) || !is_patient(peer, came) {
                listening.push(peer);
            }
        }
        let mut knowing = Vec::new();
        for (peer, came) in silent {
            if self.is_known(peer) || !is_patient(peer, came) {
                knowing.push(peer);
            }
        }
        let mut state = self.lock();
        for peer in &listening {
            // The peer may have gone meanwhile.
            if state.unsure.remove(peer).is_some() {
                self.insert(&mut state, *peer);
            }
        }
        for peer in &knowing {
            if state.silent.remove(peer).is_some() {
                state.second.insert(*peer);
            }
        }
        let are_all = state.unsure.is_empty() && state.silent.is_empty();
        if !listening.is_empty() || !knowing.is_empty() {
            self.changed(state);
        }
        are_all
    }

    /// Returns true if the writer is sure to know of the second end, which is a reader. One that discovery does not
    /// know yet is not.
    fn is_known(&self, writer: Handle) -> bool {
        let Some(probe) = self.reader.get() else { return true };
        self.feed.peer(writer).is_some_and(|peer| probe.is_known(&peer.guid))
    }

    /// Returns the implementation of the reader or writer. One that discovery does not know yet counts as Cyclone DDS.
    fn vendor(&self, peer: Handle) -> Vendor {
        self.feed.peer(peer).map_or(Vendor::CYCLONE, |peer| Vendor::of(&peer.guid))
    }

    /// Updates what follows from the matches, and tells those who wait for it.
    fn changed(&self, mut state: MutexGuard<'_, State>) {
        self.update(&mut state);
        self.is_heard.store(!state.first.is_empty() || !state.unsure.is_empty(), Ordering::Release);
        let waiters = if state.count.all > 0 { state.waiters.take() } else { Waiters::new() };
        drop(state);
        waiters.wake();
        if let Some(act) = self.changed.get() {
            act();
        }
    }

    /// Records and logs another end whose quality of service does not fit. `policy` is its number in the DDS standard.
    fn incompatible(&self, policy: u32) {
        let label = &self.label;
        if let Some(events) = &self.events {
            events.incompatible(match policy {
                2 => QosPolicy::Durability,
                4 => QosPolicy::Deadline,
                8 => QosPolicy::Liveliness,
                11 => QosPolicy::Reliability,
                _ => QosPolicy::Other,
            });
        }
        let (what, fix) = match policy {
            2 => ("durability", "a subscription to latched messages hears only publishers that latch them"),
            11 => ("reliability", "a reliable subscription hears only reliable publishers"),
            4 => ("deadline", "a publisher's must not be longer than the subscription's"),
            8 => ("liveliness", "a publisher's must be as strict as the subscription's"),
            23 => ("data representation", "both have to speak the first version of CDR"),
            _ => ("quality of service", "compare both with `ros2 topic info --verbose`"),
        };
        self.feed
            .tell(&format!("{label} has another end that it is not matched with, since their {what} differs: {fix}"));
    }

    /// Returns a future that resolves when there is a match that counts, or at once if there is one.
    pub(crate) fn wait(self: &Arc<Self>) -> impl Future<Output = ()> + Send + 'static + use<> {
        let bond = Arc::clone(self);
        async move {
            loop {
                let changed = {
                    let mut state = bond.lock();
                    if state.count.all > 0 {
                        return;
                    }
                    state.waiters.wait()
                };
                changed.await;
            }
        }
    }
}

/// Returns true if both are ends of one client or server. Ends without the name of a pair belong together if they are
/// of one participant.
fn belong_together(one: &Peer, other: &Peer) -> bool {
    match (&one.pair, &other.pair) {
        (Some(one), Some(other)) => one == other,
        (None, None) => prefix_of(&one.guid) == prefix_of(&other.guid),
        _ => false,
    }
}

/// Returns the ends in `first` that belong to one in `second`.
fn paired<'a>(first: &'a [Arc<Peer>], second: &[Arc<Peer>]) -> Vec<&'a Peer> {
    let mut found = Vec::new();
    for one in first {
        if second.iter().any(|other| belong_together(one, other)) {
            found.push(one.as_ref());
        }
    }
    found
}

/// Listener of one end, which the library calls.
pub(crate) struct Ear {
    bond: Arc<Bond>,
    end: End,
}

impl Ear {
    pub(crate) fn new(bond: &Arc<Bond>, end: End) -> Arc<Self> {
        Arc::new(Self { bond: Arc::clone(bond), end })
    }
}

impl Listen for Ear {
    fn matched(&self, peer: Handle, came: bool) {
        self.bond.matched(self.end, peer, came);
    }

    fn incompatible(&self, policy: u32) {
        self.bond.incompatible(policy);
    }

    fn liveliness(&self, alive: u32, not_alive: u32) {
        if let Some(events) = &self.bond.events {
            events.liveliness(alive as usize, not_alive as usize);
        }
    }
}

/// Matches of a subscription, as the node asks for them.
pub(crate) struct Matched {
    pub(crate) bond: Arc<Bond>,
    /// Id of the subscription's reader.
    pub(crate) id: Gid,
}

impl Matches for Matched {
    fn count(&self) -> usize {
        self.bond.count()
    }

    fn wait(&self) -> Awaited<()> {
        Box::pin(self.bond.wait())
    }

    fn id(&self) -> Option<Gid> {
        Some(self.id)
    }
}
