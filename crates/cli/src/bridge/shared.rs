//! State that the parts of the bridge share.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use foxglove::websocket::{ClientId, Status};
use foxglove::{ChannelId, WebSocketServerHandle};
use rospin::{ExecutorHandle, Node};
use tokio::sync::Notify;

use super::choice::Choice;
use super::watchers::{Watcher, Watchers, lock};
use crate::bag::places;
use crate::ros::Session;

/// The sentence for a watcher that may change nothing.
pub(super) const REFUSED: &str = "this connection may only watch; begin `rospin bridge` with --token, and connect with \
                                  the token in the address, as in ws://robot:8765/?token=...";

/// Receiver of sentences for the user.
pub(super) type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// State that the parts of the bridge share.
pub(super) struct Shared {
    pub(super) node: Node,
    pub(super) executor: ExecutorHandle,
    pub(super) choice: Choice,
    /// Places where packages with message definitions are installed.
    pub(super) places: Vec<PathBuf>,
    /// True if messages are stamped with ROS time.
    pub(super) is_sim_time: bool,
    pub(super) context: Arc<foxglove::Context>,
    pub(super) watchers: Arc<Watchers>,
    /// The SDK's server, once it runs.
    pub(super) server: OnceLock<WebSocketServerHandle>,
    /// The channels that are watched, and by whom.
    wanted: Mutex<HashMap<ChannelId, Vec<Arc<Watcher>>>>,
    /// Problems that watchers are told, by an id.
    problems: Mutex<BTreeMap<String, String>>,
    /// Parameters whose changes are watched.
    pub(super) parameters: Mutex<HashSet<String>>,
    /// True while somebody watches the graph.
    pub(super) is_graph_watched: AtomicBool,
    /// True if the graph has to be looked at again although it has not changed: a type is known now.
    pub(super) is_news: AtomicBool,
    /// Wakes the bridge when watchers want something else, or there is news.
    pub(super) changed: Notify,
    pub(super) tell: Tell,
}

impl Shared {
    /// `bytes_max` is the number of bytes of messages that may wait for each watcher.
    pub(super) fn new(session: &Session, choice: Choice, bytes_max: u64, is_sim_time: bool, tell: Tell) -> Self {
        Self {
            node: session.node().clone(),
            executor: session.ros().executor().handle(),
            choice,
            places: places(),
            is_sim_time,
            context: foxglove::Context::new(),
            watchers: Arc::new(Watchers::new(bytes_max)),
            server: OnceLock::new(),
            wanted: Mutex::default(),
            problems: Mutex::default(),
            parameters: Mutex::default(),
            is_graph_watched: AtomicBool::new(false),
            is_news: AtomicBool::new(true),
            changed: Notify::new(),
            tell,
        }
    }

    /// Has the bridge look at the graph again.
    pub(super) fn look_again(&self) {
        self.is_news.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    /// Notes that a watcher wants a channel.
    pub(super) fn watch(&self, channel: ChannelId, watcher: Arc<Watcher>) {
        lock(&self.wanted).entry(channel).or_default().push(watcher);
        self.changed.notify_one();
    }

    /// Notes that a watcher does not want a channel any more.
    pub(super) fn unwatch(&self, channel: ChannelId, client: ClientId) {
        let mut wanted = lock(&self.wanted);
        if let Some(watchers) = wanted.get_mut(&channel) {
            watchers.retain(|watcher| !watcher.is_client(client));
            if watchers.is_empty() {
                wanted.remove(&channel);
            }
        }
        drop(wanted);
        self.changed.notify_one();
    }

    /// Returns the programs that watch a channel.
    pub(super) fn watchers_of(&self, channel: ChannelId) -> Vec<Arc<Watcher>> {
        lock(&self.wanted).get(&channel).cloned().unwrap_or_default()
    }

    /// Tells the user and all watchers, also those that come later, of a problem that lasts. Does nothing if they know.
    pub(super) fn complain(&self, id: &str, sentence: &str) {
        let before = lock(&self.problems).insert(id.to_owned(), sentence.to_owned());
        if before.as_deref() == Some(sentence) {
            return;
        }
        (self.tell)(sentence);
        if let Some(server) = self.server.get() {
            server.publish_status(Status::warning(sentence).with_id(id));
        }
    }

    /// Takes back a problem.
    pub(super) fn solved(&self, id: &str) {
        if lock(&self.problems).remove(id).is_some()
            && let Some(server) = self.server.get()
        {
            server.remove_status(vec![id.to_owned()]);
        }
    }

    /// Tells a watcher that has just come of all problems.
    pub(super) fn greet(&self, watcher: &Watcher) {
        let problems = lock(&self.problems).clone();
        for (id, sentence) in problems {
            watcher.warn(&id, &sentence);
        }
    }

    /// Returns the time with which messages that come now are stamped.
    pub(super) fn now_ns(&self) -> u64 {
        if self.is_sim_time { self.node.now().as_nanos() } else { nanoseconds(SystemTime::now()) }
    }
}

/// Returns a time in nanoseconds since 1970.
pub(super) fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
