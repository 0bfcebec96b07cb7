//! Agenda of future events from outside, in order: messages, and ends of waits.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

use rospin_engine::{Instant, Notifier, Pending, Publisher, Source, TakeError};
use rospin_scenario::draw::Arrivals;

use super::{lock, nanos};

/// Receiver of a message.
#[derive(Clone)]
pub(super) enum Outlet {
    /// The subscriptions of an in-process topic.
    Topic(Publisher<Message>),
    /// A service, a client or a waitable.
    Mailbox(Arc<Mailbox>),
}

impl Outlet {
    /// Sends a message that is published at `now`.
    pub(super) fn send(&self, now: Instant) {
        match self {
            Self::Topic(publisher) => {
                publisher.publish(Message { published: now });
            }
            Self::Mailbox(mailbox) => mailbox.put(now),
        }
    }
}

/// Message that callbacks get. It has no content but the time of its publication, on the engine's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) published: Instant,
}

/// Bounded queue that notifies an entity of new messages. The oldest message makes room for a new one.
pub(super) struct Mailbox {
    depth: usize,
    content: Mutex<Content>,
}

#[derive(Default)]
struct Content {
    queue: std::collections::VecDeque<Instant>,
    notifier: Option<Notifier>,
}

impl Mailbox {
    pub(super) fn new(depth: usize) -> Self {
        Self { depth, content: Mutex::default() }
    }

    /// Puts in a message that is published at `now`, and notifies the entity.
    fn put(&self, now: Instant) {
        let mut content = lock(&self.content);
        if content.queue.len() == self.depth {
            content.queue.pop_front();
        }
        content.queue.push_back(now);
        let notifier = content.notifier.clone();
        drop(content);
        if let Some(notifier) = notifier {
            notifier.notify_at(now);
        }
    }
}

/// The executor's end of a mailbox.
pub(super) struct MailboxSource(pub(super) Arc<Mailbox>);

impl Source for MailboxSource {
    type Item = Message;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        lock(&self.0.content).notifier = Some(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Message>, TakeError> {
        Ok(lock(&self.0.content).queue.pop_front().map(|published| Message { published }))
    }

    fn pending(&self) -> Pending {
        lock(&self.0.content).queue.front().map_or(Pending::Empty, |oldest| Pending::Since(*oldest))
    }
}

/// Messages of a release of the scenario: their destinations, and the times of those that are still to come.
pub(super) struct Messages {
    arrivals: Arrivals,
    outlets: Arc<[Outlet]>,
}

enum Entry {
    /// The next message of the release with this number.
    Message(usize),
    /// End of a callback's wait.
    Wake(Waker),
}

/// Events from outside by time, those of one time in the order in which they were entered. Times are nanoseconds of the
/// scenario.
pub(super) struct Agenda {
    entries: BTreeMap<(u64, u64), Entry>,
    entered: u64,
    releases: Vec<Messages>,
    end_ns: u64,
}

/// Entry that is due, taken out of the agenda. It is handled without the agenda's lock.
pub(super) enum Due {
    Message(Arc<[Outlet]>),
    Wake(Waker),
}

impl Agenda {
    pub(super) fn new(end_ns: u64) -> Self {
        Self { entries: BTreeMap::new(), entered: 0, releases: Vec::new(), end_ns }
    }

    /// Enters the messages of a release. Each message is followed by the next one, until the scenario's end.
    pub(super) fn enter_release(&mut self, arrivals: Arrivals, outlets: Vec<Outlet>) {
        self.releases.push(Messages { arrivals, outlets: outlets.into() });
        self.plan(self.releases.len() - 1, 0);
    }

    /// Enters the end of a callback's wait.
    pub(super) fn enter_wake(&mut self, at_ns: u64, waker: Waker) {
        self.enter(at_ns, Entry::Wake(waker));
    }

    /// Returns the time of the first entry; `None` if the agenda is empty.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.entries.first_key_value().map(|((at_ns, _), _)| *at_ns)
    }

    /// Removes and returns the next entry that is due by `now_ns`. Returns `None` if no entry is.
    pub(super) fn pop(&mut self, now_ns: u64) -> Option<Due> {
        let entry = self.entries.first_entry()?;
        let at_ns = entry.key().0;
        if at_ns > now_ns {
            return None;
        }
        match entry.remove() {
            Entry::Wake(waker) => Some(Due::Wake(waker)),
            Entry::Message(release) => {
                self.plan(release, at_ns);
                Some(Due::Message(Arc::clone(&self.releases[release].outlets)))
            }
        }
    }

    /// Enters the next message of a release, at `not_before_ns` if its own time is earlier. As in the simulator, a
    /// release ends with its first message at or after the scenario's end.
    fn plan(&mut self, release: usize, not_before_ns: u64) {
        let next: Option<Duration> = self.releases[release].arrivals.next();
        if let Some(at_ns) = next.map(nanos).filter(|at_ns| *at_ns < self.end_ns) {
            self.enter(at_ns.max(not_before_ns), Entry::Message(release));
        }
    }

    fn enter(&mut self, at_ns: u64, entry: Entry) {
        self.entries.insert((at_ns, self.entered), entry);
        self.entered += 1;
    }
}
