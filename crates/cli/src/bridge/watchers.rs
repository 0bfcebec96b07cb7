//! The programs that watch: which of them may change something, and the messages that wait for each.
//!
//! The SDK bounds what waits for a watcher by a number of messages, which is no bound on memory: a thousand pictures
//! are gigabytes. So messages are admitted here, by their bytes, before the SDK gets them. The [door](super::door) sees
//! each message pass on its way to the watcher, and makes room for the next.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use foxglove::websocket::{Client, ClientId};
use foxglove::{PartialMetadata, RawChannel};

/// Messages that may wait for a watcher, whatever their size. Below the SDK's own limit, so that it drops none.
pub(super) const MESSAGES_MAX: u64 = 4096;

/// The number of messages that the SDK lets wait for a watcher, and the number of its answers and announcements. A
/// watcher for which more of the latter wait is disconnected.
pub(super) const BACKLOG: usize = 8192;

/// The bytes that the protocol adds to a message: kind, subscription and time.
const HEADER: u64 = 1 + 4 + 8;

/// The number of programs that may watch at a time.
const WATCHERS_MAX: usize = 64;

/// Messages that wait for a watcher.
#[derive(Default)]
struct Waiting {
    messages: u64,
    bytes: u64,
}

/// A program that watches.
pub(super) struct Watcher {
    /// The number of its connection.
    pub(super) number: u64,
    /// True if it may publish, call services and set parameters.
    may_change: AtomicBool,
    bytes_max: u64,
    waiting: Mutex<Waiting>,
    /// Bytes that it has taken.
    taken: AtomicU64,
    /// Messages that found no room, by topic, since the last time they were told.
    lost: Mutex<BTreeMap<String, u64>>,
    /// Its session in the SDK, once that is known.
    client: OnceLock<Client>,
}

impl Watcher {
    /// Sends a message of a channel, or counts it as lost if too much waits already. One message may always wait, so
    /// that messages above the limit reach watchers that are fast enough.
    pub(super) fn send(&self, channel: &RawChannel, message: &[u8], log_time: u64) {
        let Some(sink) = self.client.get().and_then(Client::sink_id) else { return };
        if !self.admit(message.len() as u64 + HEADER) {
            *lock(&self.lost).entry(channel.topic().to_owned()).or_default() += 1;
            return;
        }
        channel.log_with_meta_to_sink(message, PartialMetadata::with_log_time(log_time), Some(sink));
    }

    /// Lets the watcher publish, call services and set parameters.
    pub(super) fn allow_changes(&self) {
        self.may_change.store(true, Ordering::Relaxed);
    }

    pub(super) fn may_change(&self) -> bool {
        self.may_change.load(Ordering::Relaxed)
    }

    fn admit(&self, bytes: u64) -> bool {
        let mut waiting = lock(&self.waiting);
        let has_room = waiting.messages < MESSAGES_MAX && waiting.bytes.saturating_add(bytes) <= self.bytes_max;
        if waiting.messages > 0 && !has_room {
            return false;
        }
        waiting.messages += 1;
        waiting.bytes += bytes;
        true
    }

    /// Returns true if the watcher has that session in the SDK.
    pub(super) fn is_client(&self, id: ClientId) -> bool {
        self.client.get().is_some_and(|client| client.id() == id)
    }

    /// Counts a message of so many bytes that has reached the watcher's connection.
    pub(super) fn took_message(&self, bytes: u64) {
        let mut waiting = lock(&self.waiting);
        waiting.messages = waiting.messages.saturating_sub(1);
        waiting.bytes = waiting.bytes.saturating_sub(bytes);
    }

    /// Counts bytes of any kind that the watcher's connection has taken.
    pub(super) fn took_bytes(&self, bytes: u64) {
        self.taken.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Forgets what waits: nothing has come from the SDK for a while, so nothing does. A message that was admitted just
    /// before the watcher ended its subscription never comes, and would take room for ever.
    pub(super) fn has_nothing_waiting(&self) {
        *lock(&self.waiting) = Waiting::default();
    }

    /// Tells the watcher of a problem. `id` replaces what it was told by that id before.
    pub(super) fn warn(&self, id: &str, sentence: &str) {
        if let Some(client) = self.client.get() {
            client.send_status(foxglove::websocket::Status::warning(sentence).with_id(id));
        }
    }

    /// Returns the messages that were lost since the last call, by topic; `None` while the watcher reads nothing, so
    /// that what it is told does not pile up.
    fn take_lost(&self) -> Option<BTreeMap<String, u64>> {
        if self.taken.swap(0, Ordering::Relaxed) == 0 {
            return None;
        }
        let lost = std::mem::take(&mut *lock(&self.lost));
        (!lost.is_empty()).then_some(lost)
    }

    /// Returns the number of bytes that wait.
    #[cfg(test)]
    pub(super) fn waiting_bytes(&self) -> u64 {
        lock(&self.waiting).bytes
    }
}

#[derive(Default)]
struct Entered {
    next: u64,
    by_number: HashMap<u64, Arc<Watcher>>,
    by_client: HashMap<ClientId, Arc<Watcher>>,
}

/// All programs that watch.
pub(super) struct Watchers {
    /// Text with which the door greets the SDK in a watcher's name. Nobody else knows it, so a program that reaches the
    /// SDK in another way is no watcher: it gets no messages and may change nothing.
    secret: String,
    bytes_max: u64,
    entered: Mutex<Entered>,
}

impl Watchers {
    /// `bytes_max` is the number of bytes of messages that may wait for each.
    pub(super) fn new(bytes_max: u64) -> Self {
        let secret = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        Self { secret, bytes_max, entered: Mutex::default() }
    }

    /// Lets a watcher in; `None` if there are too many.
    pub(super) fn enter(&self) -> Option<Arc<Watcher>> {
        let mut entered = lock(&self.entered);
        if entered.by_number.len() >= WATCHERS_MAX {
            return None;
        }
        entered.next += 1;
        let watcher = Arc::new(Watcher {
            number: entered.next,
            may_change: AtomicBool::new(false),
            bytes_max: self.bytes_max,
            waiting: Mutex::default(),
            taken: AtomicU64::new(0),
            lost: Mutex::default(),
            client: OnceLock::new(),
        });
        entered.by_number.insert(watcher.number, Arc::clone(&watcher));
        Some(watcher)
    }

    /// Returns the topic by which the SDK learns whose session it is.
    pub(super) fn greeting(&self, watcher: &Watcher) -> String {
        format!("{}/{}", self.secret, watcher.number)
    }

    /// If the topic is a greeting, returns the watcher whose session this is.
    pub(super) fn greeted(&self, client: &Client, topic: &str) -> Option<Arc<Watcher>> {
        let number = topic.strip_prefix(&self.secret)?.strip_prefix('/')?.parse().ok()?;
        let mut entered = lock(&self.entered);
        let watcher = Arc::clone(entered.by_number.get(&number)?);
        // Each greeting counts once.
        watcher.client.set(client.clone()).ok()?;
        entered.by_client.insert(client.id(), Arc::clone(&watcher));
        Some(watcher)
    }

    /// Returns true if the topic is that of a greeting.
    pub(super) fn is_greeting(&self, topic: &str) -> bool {
        topic.starts_with(&self.secret)
    }

    pub(super) fn leave(&self, number: u64) {
        let mut entered = lock(&self.entered);
        entered.by_number.remove(&number);
        entered.by_client.retain(|_, watcher| watcher.number != number);
    }

    /// Returns the watcher with that session.
    pub(super) fn of(&self, client: ClientId) -> Option<Arc<Watcher>> {
        lock(&self.entered).by_client.get(&client).cloned()
    }

    /// Returns true if the program with that session may change something.
    pub(super) fn may_change(&self, client: ClientId) -> bool {
        self.of(client).is_some_and(|watcher| watcher.may_change())
    }

    /// Tells each watcher what it has lost since the last call. Returns the messages that all of them have lost.
    pub(super) fn tell_lost(&self) -> BTreeMap<String, u64> {
        let watchers: Vec<_> = lock(&self.entered).by_number.values().cloned().collect();
        let mut all: BTreeMap<String, u64> = BTreeMap::new();
        for watcher in watchers {
            let Some(lost) = watcher.take_lost() else { continue };
            let texts: Vec<_> = lost.iter().map(|(topic, count)| format!("{count} of {topic}")).collect();
            watcher.warn("lost", &format!("Messages were lost, because you read too slowly: {}", texts.join(", ")));
            for (topic, count) in lost {
                *all.entry(topic).or_default() += count;
            }
        }
        all
    }
}

/// Locks. Under these locks values are only moved and counted, so a panic there leaves nothing half changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_admitted_by_their_bytes_and_one_always() {
        let watchers = Watchers::new(1000);
        let watcher = watchers.enter().unwrap();
        assert!(watcher.admit(5000));
        assert!(!watcher.admit(1));
        watcher.took_message(5000);
        assert!(watcher.admit(600) && watcher.admit(400) && !watcher.admit(1));
        watcher.has_nothing_waiting();
        assert_eq!(watcher.waiting_bytes(), 0);
        for _ in 0..MESSAGES_MAX {
            assert!(watcher.admit(0));
        }
        assert!(!watcher.admit(0));
    }

    #[test]
    fn so_many_may_watch_and_no_more() {
        let watchers = Watchers::new(1);
        for _ in 0..WATCHERS_MAX {
            assert!(watchers.enter().is_some());
        }
        assert!(watchers.enter().is_none());
        watchers.leave(7);
        assert!(watchers.enter().is_some());
    }
}
