//! A network under the nodes of a test, which delays, loses, reorders and duplicates packets, and which the test cuts
//! and heals.
//!
//! Each host is a process of its own on a [`SimulatedNetwork`]: nodes of one host reach each other as nodes of one
//! process do, and those of different hosts through the network. Time is that of the [`Harness`](super::Harness). A
//! seed decides everything that happens by chance, so a failure comes again with its seed, in a debugger as well.
//!
//! It behaves as Cyclone DDS does, with its usual times:
//!
//! - **Discovery**: hosts find each other within 100 ms and a delay of the link, and each other's ends within as much
//!   again: publishers in the order in which they came and went, and subscriptions likewise; servers and clients are
//!   both. What leaves is forgotten as fast. Losses take longer. Afterwards a host gives a sign of life every [8
//!   s](ANNOUNCEMENT), and whatever else comes from it is one, too, acknowledgements included. A host is forgotten with
//!   all its ends 10 s after the last one, because its path is cut or it was [killed](SimulatedNetwork::kill): 2 to 10
//!   s after that if it was idle. If the path heals and a sign of life comes before, nobody notices. Else its next one
//!   brings it back, if the link does not lose it, and is answered.
//! - **Reliable** messages are sent again, every 100 ms, until they have arrived, and are received in the order of
//!   their publisher. That takes a way back: through a path that is cut one way nothing is asked for again. A publisher
//!   that keeps last has a history of that depth for each subscription: what it displaces before it could arrive is
//!   lost. One that keeps all has room for 8192 messages, and is refused then. What a subscription that keeps all has
//!   no room for stays with its publisher.
//! - **Best effort** messages are sent once. What overtakes others on the way makes those be dropped.
//! - One **packet** goes to each host, for all of its subscriptions: they get it at the same time, or none of them
//!   does. Those that are sent again go to one subscription.
//! - **Duplicates** of packets are recognized by their numbers. So nothing arrives twice, with one exception: after the
//!   lease, hosts meet as strangers, and subscriptions that are transient local get the kept messages again.
//! - **Transient local**: a publisher sends what it keeps to each subscription that it is matched with and that asks
//!   for it, after the lease as well. **Volatile** messages of the time between are lost.
//! - **Services**: requests and responses are reliable, and none displaces another one on its way. A request goes to
//!   all servers that its client sees, and the first response counts. If the last server that a request was sent to is
//!   forgotten, the call fails; a request that the server's queue displaces, or whose callback panics, is never
//!   answered. So calls need a [timeout](rospin_node::Node::timeout).
//! - **Lifespan** begins with the arrival. **Deadlines** are counted at both ends.
//!
//! It does not behave as DDS does in these:
//!
//! - Messages have numbers, and losses are counted by them, as over Zenoh: from the first message that a subscription
//!   hears of a publisher, across times at which they have forgotten each other. Over DDS messages have no numbers, and
//!   what was sent while the two were not matched is not counted.
//! - A reliable publisher that keeps last never waits. Cyclone DDS holds one back whose unacknowledged messages have
//!   more than 500 kB, and then the publisher fails.
//! - A publisher of automatic liveliness is alive for as long as its host is seen, also if it has promised a shorter
//!   lease. Manual liveliness is not simulated.
//! - A link that loses some of its packets ends no lease: only one that loses all does, as a cut.
//! - The lifespan does not end in a publisher's history.
//! - Packets that are not reordered come in their order, so those that follow a slow one wait for it.
//!
//! Nor are these simulated: the time that acknowledgements take, bandwidth, fragments of large messages, security, and
//! clocks that differ between hosts.
//!
//! ```
//! use rospin::msgs::std_msgs::msg::UInt32;
//! use rospin::testing::{Harness, LinkOptions, SimulatedNetwork};
//! use std::time::Duration;
//!
//! let network = SimulatedNetwork::new(7);
//! let mut test = Harness::on_network(&network, "station");
//! let robot = test.host("robot");
//! network.set_link("robot", "station", LinkOptions::new().loss(0.1));
//! let publisher = robot.create_node("odometer")?.create_publisher::<UInt32>("meters")?;
//! let meters = test.node().create_subscription("meters", |_: UInt32| ())?;
//! test.run_until(|| publisher.subscription_count() > 0 && meters.publisher_count() > 0, Duration::from_secs(1))?;
//!
//! // The network is away for 2 s, and nobody forgets anybody.
//! network.cut("robot", "station");
//! publisher.publish(UInt32 { data: 1 })?;
//! test.run_for(Duration::from_secs(2))?;
//! assert_eq!(network.counts().delivered, 0);
//! network.heal("robot", "station");
//! test.run_for(Duration::from_secs(2))?;
//! assert_eq!(network.counts().delivered, 1);
//! # Ok::<(), rospin::Error>(())
//! ```

mod channel;
mod discovery;
mod ends;
mod rng;
mod server;
mod state;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rospin_engine::{Context, Instant};
use rospin_node::{Graph, Ros};

use ends::HostMiddleware;
use state::{Host, HostId, Place, State};

/// The time between the signs of life that a host gives by itself. It is the longest time, besides that of discovery,
/// after which a host that was forgotten is found again.
pub const ANNOUNCEMENT: Duration = Duration::from_secs(8);

/// What the packets between two hosts go through. By default they take 1 ms, and all arrive in order.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkOptions {
    delay_min: Duration,
    delay_max: Duration,
    loss: f64,
    duplicates: f64,
    reordering: f64,
}

impl LinkOptions {
    /// Returns a link on which packets take 1 ms, and all arrive in order.
    #[must_use]
    pub const fn new() -> Self {
        let delay = Duration::from_millis(1);
        Self { delay_min: delay, delay_max: delay, loss: 0.0, duplicates: 0.0, reordering: 0.0 }
    }

    /// Sets the least and the most time that a packet takes.
    #[must_use]
    pub const fn delay(self, min: Duration, max: Duration) -> Self {
        Self { delay_min: min, delay_max: max, ..self }
    }

    /// Sets the part of the packets that is lost, from 0 to 1. If it is 1, the path is as good as
    /// [cut](SimulatedNetwork::cut).
    #[must_use]
    pub const fn loss(self, part: f64) -> Self {
        Self { loss: part, ..self }
    }

    /// Sets the part of the packets that arrives twice, from 0 to 1.
    #[must_use]
    pub const fn duplicates(self, part: f64) -> Self {
        Self { duplicates: part, ..self }
    }

    /// Sets the part of the packets that may overtake earlier ones, from 0 to 1, where the delay varies. The others
    /// stay in their order: those that follow a slow one wait for it.
    #[must_use]
    pub const fn reordering(self, part: f64) -> Self {
        Self { reordering: part, ..self }
    }
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Samples by what became of them: messages, requests and responses, one for each reader. Each that was sent is in one
/// of the other numbers, or [waits](SimulatedNetwork::waiting).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct NetworkCounts {
    /// Samples that were sent.
    pub sent: u64,
    /// Those that were delivered.
    pub delivered: u64,
    /// Those of best effort that the link lost.
    pub lost: u64,
    /// Those of best effort that later ones overtook.
    pub overtaken: u64,
    /// Reliable ones that newer ones displaced from their writer's history before they arrived.
    pub displaced: u64,
    /// Those whose writer or reader went, or forgot the other one, before they arrived.
    pub unmatched: u64,
    /// The responses among those. A client that still sees the server waits for one as long as it likes.
    pub unmatched_responses: u64,
    /// Packets that were sent again. These are not samples.
    pub resent: u64,
    /// Packets that arrived although their sample had arrived. These are not samples.
    pub duplicates: u64,
}

/// A network between hosts of one process, decided by a seed. Cheap to clone; clones are the same network. The
/// [module](self) says how it behaves.
#[derive(Clone)]
pub struct SimulatedNetwork(Arc<Mutex<State>>);

impl SimulatedNetwork {
    /// Creates a network without hosts, on which chance is decided by that seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(State::new(seed))))
    }

    /// Changes the state, and does what that brings about once it is unlocked.
    fn with<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        // A panic under the lock is one of this module. What the test says of it is of no use any more.
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut state);
        let effects = std::mem::take(&mut state.effects);
        drop(state);
        for effect in effects {
            effect();
        }
        result
    }

    /// Adds a host of that name, and returns what creates its nodes. Its callbacks run on executors of `context`, which
    /// the caller spins, and the host is there from the network's [time](Self::advance_to) on. With a
    /// [`Harness`](super::Harness), use [`Harness::host`](super::Harness::host), which sees to both.
    ///
    /// A host leaves when the result and its nodes are dropped. Several hosts may have one name: they are processes of
    /// one machine, between which the paths are as between machines.
    #[must_use]
    pub fn join(&self, context: &Context, name: &str) -> Ros {
        let graph = Graph::new();
        let host = self.with(|state| {
            let host = HostId::try_from(state.next_id()).unwrap_or(HostId::MAX);
            let place = state.place(name);
            let added = Host { place, is_up: true, graph: Arc::clone(&graph), sights: BTreeMap::new() };
            state.hosts.insert(host, added);
            state.introduce(host);
            host
        });
        let clock = context.clock().clone();
        Ros::over(context, HostMiddleware { network: self.clone(), host, graph, clock })
    }

    /// Sets what all packets between hosts go through, unless [`set_link`](Self::set_link) says otherwise.
    pub fn set_links(&self, options: LinkOptions) {
        self.with(|state| state.change_paths(|state| state.all_links = options));
    }

    /// Sets what packets between these two hosts go through, both ways.
    ///
    /// # Panics
    /// If there never was a host of one of these names.
    #[track_caller]
    pub fn set_link(&self, one: &str, other: &str, options: LinkOptions) {
        self.between(one, other, |state, from, to| {
            state.links.insert((from, to), options);
        });
    }

    /// Returns the number of the name of a host that is there, or was.
    #[track_caller]
    fn place(&self, name: &str) -> Place {
        let (place, names) = self.with(|state| {
            let names: Vec<String> = state.places.keys().cloned().collect();
            (state.places.get(name).copied(), names)
        });
        place.unwrap_or_else(|| panic!("there never was a host '{name}', but these: {names:?}"))
    }

    /// Does something for both ways between two hosts.
    #[track_caller]
    fn between(&self, one: &str, other: &str, mut act: impl FnMut(&mut State, Place, Place)) {
        let (one, other) = (self.place(one), self.place(other));
        self.with(|state| {
            state.change_paths(|state| {
                act(state, one, other);
                act(state, other, one);
            });
        });
    }

    /// Cuts the path between two hosts, both ways. Packets that are on their way are lost, too, unless the path heals
    /// before they are due. A host that starts again under its name is behind the same cut. Hosts of one name are never
    /// cut off from each other.
    ///
    /// # Panics
    /// If there never was a host of one of these names.
    #[track_caller]
    pub fn cut(&self, one: &str, other: &str) {
        self.between(one, other, cut);
    }

    /// Cuts the path from one host to the other, and leaves the way back open.
    ///
    /// # Panics
    /// If there never was a host of one of these names.
    #[track_caller]
    pub fn cut_one_way(&self, from: &str, to: &str) {
        let (from, to) = (self.place(from), self.place(to));
        self.with(|state| state.change_paths(|state| cut(state, from, to)));
    }

    /// Cuts a host from all others that there have been so far.
    ///
    /// # Panics
    /// If there never was a host of that name.
    #[track_caller]
    pub fn isolate(&self, name: &str) {
        let place = self.place(name);
        self.with(|state| {
            state.change_paths(|state| {
                for other in state.places.values().copied().collect::<Vec<_>>() {
                    cut(state, place, other);
                    cut(state, other, place);
                }
            });
        });
    }

    /// Heals the path between two hosts, both ways. A [link](Self::set_link) that loses all packets goes on doing so.
    ///
    /// # Panics
    /// If there never was a host of one of these names.
    #[track_caller]
    pub fn heal(&self, one: &str, other: &str) {
        self.between(one, other, |state, from, to| _ = state.cuts.remove(&(from, to)));
    }

    /// Heals all paths that were cut.
    pub fn heal_all(&self) {
        self.with(|state| state.change_paths(|state| state.cuts.clear()));
    }

    /// Ends the hosts of that name as a power cut does: nothing that they send from now on arrives, nothing reaches
    /// them, and the others notice when the lease ends. The caller drops their nodes, and then may
    /// [add](Self::join) the host again.
    ///
    /// # Panics
    /// If there never was a host of that name.
    #[track_caller]
    pub fn kill(&self, name: &str) {
        let place = self.place(name);
        self.with(|state| {
            let hosts = state.hosts.iter().filter(|(_, host)| host.place == place && host.is_up);
            for host in hosts.map(|(id, _)| *id).collect::<Vec<_>>() {
                state.end_host(host, false);
            }
        });
    }

    pub(super) fn now(&self) -> Instant {
        self.with(|state| state.now)
    }

    /// Returns the time of the next thing that happens on the network; `None` if nothing will.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.with(|state| state.next_due())
    }

    /// Moves the network's time to `now`, and makes everything happen that is due by then. Returns true if that was
    /// anything. A [`Harness`](super::Harness) does it.
    pub fn advance_to(&self, now: Instant) -> bool {
        let mut is_any = false;
        while self.with(|state| state.step(now)) {
            is_any = true;
        }
        is_any
    }

    /// Returns what became of all samples so far.
    #[must_use]
    pub fn counts(&self) -> NetworkCounts {
        self.with(|state| state.counts)
    }

    /// Returns the number of samples whose fate is open: they are on their way, or wait for a path to heal.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.with(|state| state.waiting())
    }

    /// Returns the number of hosts, and the number of ends, that the network remembers. Both are those that are there
    /// once all leases have ended.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        self.with(|state| (state.hosts.len(), state.ends.len()))
    }

    /// Returns a number that two runs have in common if the same things happened in both, at the same times.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.with(|state| state.fingerprint)
    }
}

/// Cuts one direction, unless it is between hosts of one name.
fn cut(state: &mut State, from: Place, to: Place) {
    if from != to {
        state.cuts.insert((from, to));
    }
}

impl fmt::Debug for SimulatedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hosts, ends) = self.size();
        f.debug_struct("SimulatedNetwork").field("hosts", &hosts).field("ends", &ends).finish_non_exhaustive()
    }
}
