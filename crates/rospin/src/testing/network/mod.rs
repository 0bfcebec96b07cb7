//! A network under the nodes of a test, which delays, loses, reorders and duplicates packets, and which the test cuts
//! and heals.
//!
//! Each host is a process of its own on a [`SimulatedNetwork`]: nodes of one host reach each other as nodes of one
//! process do, and those of different hosts through the network. Time is that of the [`Harness`](super::Harness). A seed
//! decides everything that happens by chance, so a failure comes again with its seed, in a debugger as well.
//!
//! It behaves as DDS does in kind; where its times or counts differ, the end of this text says so:
//!
//! - **Discovery**: hosts find each other, and each other's ends, within 100 ms and one delay of the link, each end by
//!   itself and in any order. What leaves is forgotten as fast. A host that is silent, because its path is cut or it was
//!   [killed](SimulatedNetwork::kill), is forgotten with all its ends between 8 and 10 s later: that is the lease. After
//!   that, a path that heals brings it back within [1.1 s](ANNOUNCEMENT). If the path heals earlier, nobody notices.
//! - **Reliable** messages are sent again, every 100 ms, until they have arrived, and are received in the order of
//!   their publisher. A publisher that keeps last has a history of that depth for each subscription: what it displaces
//!   before it could arrive is lost, and the subscription counts it. One that keeps all has room for 8192 messages, and
//!   is refused then.
//! - **Best effort** messages are sent once. What overtakes others on the way makes those be dropped.
//! - **Duplicates** of packets are recognized by their numbers. So nothing arrives twice, with one exception: after the
//!   lease, hosts meet as strangers, and subscriptions that are transient local get the kept messages again.
//! - **Transient local**: a publisher sends what it keeps to each subscription that it is matched with and that asks
//!   for it, after the lease as well. **Volatile** messages of the time between are lost, and counted with the next
//!   one that arrives.
//! - **Services**: requests and responses are reliable, and none displaces another one on its way. A request goes to all
//!   servers that its client sees, and the first response counts. If the last server that a request was sent to is
//!   forgotten, the call fails; a request that the server's queue displaces, or whose callback panics, is never
//!   answered. So calls need a [timeout](rospin_node::Node::timeout).
//! - **Lifespan** begins with the arrival. **Deadlines** are counted at both ends.
//!
//! It is friendlier than real networks in some ways, so a test that passes here does not prove that a robot does:
//!
//! - A silent host is forgotten 8 to 10 s after its last packet, and found again within 1.1 s. Cyclone DDS forgets an
//!   idle one after 2 to 10 s, and may take 8 s to find it again. Endpoints that are created before the first run are
//!   matched when it begins.
//! - Announcements, farewells and acknowledgements are not lost, whatever the loss of the link is, and acknowledgements
//!   pass a path that is cut in their direction only.
//! - A reliable publisher that keeps last is never refused for want of room. Over DDS, one that is 500 kB ahead of a
//!   subscription waits for a tenth of a second, and fails.
//! - Losses are counted across the lease, and messages have numbers, as over Zenoh. Over DDS they have none, and a
//!   subscription does not learn what it lost while it was forgotten.
//! - A call ends when the servers that were there have gone. Over DDS it ends when no server is there any more, so that
//!   it may hang if another one was started within the lease.
//!
//! Not simulated: liveliness with a lease of its own (a publisher is alive for as long as its host is seen), the
//! lifespan of what waits at the publisher, the time that acknowledgements take, bandwidth, fragments of large messages,
//! security, and clocks that differ between hosts.
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

/// The longest time, besides that of discovery, after which a host that was forgotten is found again.
pub const ANNOUNCEMENT: Duration = Duration::from_secs(1);

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

    /// Sets the part of the packets that is lost, from 0 to 1.
    #[must_use]
    pub const fn loss(self, part: f64) -> Self {
        Self { loss: part, ..self }
    }

    /// Sets the part of the packets that arrives twice, from 0 to 1.
    #[must_use]
    pub const fn duplicates(self, part: f64) -> Self {
        Self { duplicates: part, ..self }
    }

    /// Sets the part of the packets that may overtake earlier ones, from 0 to 1, where the delay varies.
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
    /// the caller spins. With a [`Harness`](super::Harness), use [`Harness::host`](super::Harness::host), which spins
    /// them.
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
        self.with(|state| state.all_links = options);
    }

    /// Sets what packets between these two hosts go through, both ways.
    pub fn set_link(&self, one: &str, other: &str, options: LinkOptions) {
        self.between(one, other, |state, from, to| {
            state.links.insert((from, to), options);
        });
    }

    /// Does something for both ways between two hosts.
    fn between(&self, one: &str, other: &str, mut act: impl FnMut(&mut State, Place, Place)) {
        self.with(|state| {
            let (one, other) = (state.place(one), state.place(other));
            act(state, one, other);
            act(state, other, one);
        });
    }

    /// Cuts the path between two hosts, both ways. Packets that are on their way are lost, too. A host that starts
    /// again under its name is behind the same cut.
    pub fn cut(&self, one: &str, other: &str) {
        self.between(one, other, State::cut);
    }

    /// Cuts the path from one host to the other, and leaves the way back open.
    pub fn cut_one_way(&self, from: &str, to: &str) {
        self.with(|state| {
            let (from, to) = (state.place(from), state.place(to));
            state.cut(from, to);
        });
    }

    /// Cuts a host from all others that there have been so far.
    pub fn isolate(&self, name: &str) {
        self.with(|state| {
            let place = state.place(name);
            for other in state.places.values().copied().collect::<Vec<_>>() {
                state.cut(place, other);
                state.cut(other, place);
            }
        });
    }

    /// Heals the path between two hosts, both ways.
    pub fn heal(&self, one: &str, other: &str) {
        self.between(one, other, State::heal);
    }

    /// Heals all paths.
    pub fn heal_all(&self) {
        self.with(|state| {
            for (from, to) in state.cuts.clone() {
                state.heal(from, to);
            }
        });
    }

    /// Ends the hosts of that name as a power cut does: nothing that they send from now on arrives, nothing reaches
    /// them, and the others notice when the lease ends. The caller drops their nodes, and then may
    /// [add](Self::join) the host again.
    pub fn kill(&self, name: &str) {
        self.with(|state| {
            let place = state.place(name);
            let hosts = state.hosts.iter().filter(|(_, host)| host.place == place && host.is_up);
            for host in hosts.map(|(id, _)| *id).collect::<Vec<_>>() {
                state.end_host(host, false);
            }
        });
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

impl fmt::Debug for SimulatedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hosts, ends) = self.size();
        f.debug_struct("SimulatedNetwork").field("hosts", &hosts).field("ends", &ends).finish_non_exhaustive()
    }
}
