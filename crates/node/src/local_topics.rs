//! ROS topics in this process: their publishers and subscriptions, and the way of messages from one Rust type to
//! another.
//!
//! Ends of one [form](Form), such as one Rust type, share messages through a topic of the engine. A ROS type may have
//! several forms, because it may have several Rust types, that of dynamic messages among them. Between these, messages
//! cross encoded.
//!
//! A message is encoded only if somebody else may hear it, and once. Middlewares leave out what their own process
//! published. Ends of this process are matched by quality of service as the middleware matches them.
//!
//! A late subscription gets the newest messages that publishers of all forms have kept, in the order of their
//! publication. Encoding those of other forms is user code, so it is done without the lock, between two steps under it:
//!
//! 1. The subscription joins its topic. It learns what publishers of other forms have kept until now. What they publish
//!    from now on waits for it.
//! 2. Its queue is created, with what was kept and what waited. Messages of its own form need no waiting: until now
//!    their publishers have kept them, and from now on these put them into the queue.
//!
//! Messages that publishers keep, and those that cross from one form to another, are published and numbered under the
//! lock, so that the order of both is known.

use std::collections::{BTreeMap, VecDeque};
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use rospin_engine::{Guarantees, Mutex, MutexGuard, Pushed, Topics, Waiters};

use crate::address::{Address, Form};
use crate::events::{EndEvents, QosPolicy};
use crate::info::{Origin, Packet};
use crate::inlet::Inlet;
use crate::matches::{Awaited, Matches};
use crate::terms::Terms;

/// The topics of one [graph](crate::Graph) that have ends in this process.
#[derive(Default)]
pub(crate) struct LocalTopics {
    /// The engine's topics, through which ends of one form share messages.
    pub(crate) engine: Topics,
    /// Topics by name, and then by type.
    known: Mutex<BTreeMap<String, BTreeMap<String, Known>>>,
}

/// A topic with the number of its ends. An end that is being added is counted already.
struct Known {
    topic: Arc<LocalTopic>,
    ends: usize,
}

/// A topic of one ROS type.
struct LocalTopic {
    name: String,
    /// The part of the ROS type by which ends are matched.
    type_key: String,
    state: Mutex<TopicEnds>,
    /// True while there are ends of more than one form.
    has_several_forms: AtomicBool,
}

#[derive(Default)]
struct TopicEnds {
    last_id: u64,
    ends: Vec<End>,
    waiters: Waiters,
    /// The number of messages that were published under the lock.
    published: u64,
}

/// What a new end learns when it joins.
struct Joined {
    /// What publishers of other forms have kept for it.
    kept: Vec<Kept>,
    /// The number of the last message that was published before.
    since: u64,
}

struct End {
    id: u64,
    form: Form,
    kind: EndKind,
    events: EndEvents,
}

/// Messages that came for a subscription while those are encoded that publishers kept for it: the newest ones, as many
/// as its depth says, and the number of older ones that these displaced.
struct Meanwhile {
    depth: usize,
    messages: VecDeque<Packet>,
    lost: u64,
}

/// Function that encodes the messages that a publisher kept for late subscriptions at one moment.
pub(crate) type Kept = Box<dyn FnOnce() -> Vec<Packet> + Send>;

/// Side of the topic that an end is on: its quality of service, and the way of encoded messages.
enum EndKind {
    Publisher { offered: Terms, kept: Box<dyn Fn() -> Kept + Send + Sync> },
    Subscription { requested: Terms, entry: Entry },
}

/// The way of encoded messages to a subscription.
enum Entry {
    /// They wait until the subscription has its queue.
    Waits(Meanwhile),
    Queue(Inlet),
}

/// The end of a subscription that has joined its topic.
pub(crate) struct Entered<R> {
    pub(crate) end: LocalEnd,
    pub(crate) inlet: Inlet,
    /// What was created with the inlet.
    pub(crate) with: R,
    /// The number of the last message that was published before the subscription joined. Later ones are its own.
    pub(crate) since: u64,
    /// The number of messages that came meanwhile, and were displaced.
    pub(crate) lost: u64,
}

impl EndKind {
    /// Compares the quality of service of a publisher and a subscription. Returns `Ok` if they are matched, otherwise
    /// the first policy that keeps them apart, and `None` if both are publishers or both subscriptions.
    fn fit(&self, other: &Self) -> Option<Result<(), QosPolicy>> {
        match (self, other) {
            (Self::Publisher { offered, .. }, Self::Subscription { requested, .. })
            | (Self::Subscription { requested, .. }, Self::Publisher { offered, .. }) => Some(offered.meet(requested)),
            _ => None,
        }
    }

    /// Returns true if one is a publisher, and the other one a subscription that gets its messages.
    fn matches(&self, other: &Self) -> bool {
        self.fit(other) == Some(Ok(()))
    }
}

/// Records in the events of two ends that they are matched, or which policy keeps them apart.
fn tell_both(one: &EndKind, of_one: &EndEvents, other: &EndKind, of_other: &EndEvents) {
    let Some(fit) = one.fit(other) else { return };
    for events in [of_one, of_other] {
        match fit {
            Ok(()) => events.match_came(),
            Err(policy) => events.incompatible(policy),
        }
    }
    match (one, fit) {
        (EndKind::Subscription { .. }, Ok(())) => of_one.follow(of_other),
        (EndKind::Publisher { .. }, Ok(())) => of_other.follow(of_one),
        (_, Err(_)) => {}
    }
}

/// Guard of an end of a topic, which leaves the topic when this is dropped.
pub(crate) struct LocalEnd {
    topics: Arc<LocalTopics>,
    topic: Arc<LocalTopic>,
    id: u64,
    form: Form,
}

impl LocalTopics {
    /// Adds a publisher to its topic, and creates the topic for its first end. `kept` returns what it keeps for late
    /// subscriptions.
    pub(crate) fn enter_publisher(
        self: &Arc<Self>,
        address: Address,
        offered: Terms,
        events: EndEvents,
        kept: Box<dyn Fn() -> Kept + Send + Sync>,
    ) -> LocalEnd {
        let end = self.end(address);
        end.join(EndKind::Publisher { offered, kept }, events);
        end
    }

    /// Adds a subscription of that depth to its topic, and creates the topic for its first end. `create` creates its
    /// queue, with messages that others have kept for it, or published since it joined. It is called under the topic's
    /// lock.
    ///
    /// # Errors
    /// Those of `create`.
    pub(crate) fn enter_subscription<R, E>(
        self: &Arc<Self>,
        address: Address,
        requested: Terms,
        events: EndEvents,
        depth: usize,
        create: impl FnOnce(Vec<Packet>) -> Result<(Inlet, R), E>,
    ) -> Result<Entered<R>, E> {
        // If encoding panics, or the queue is not created, the drop of the end removes it again.
        let end = self.end(address);
        let meanwhile = Meanwhile { depth, messages: VecDeque::new(), lost: 0 };
        let kind = EndKind::Subscription { requested, entry: Entry::Waits(meanwhile) };
        let Joined { kept, since } = end.join(kind, events);
        let mut messages = Vec::new();
        for kept in kept {
            messages.extend(kept());
        }
        let mut state = end.topic.lock();
        let meanwhile = state.take_meanwhile(end.id);
        let lost = meanwhile.as_ref().map_or(0, |meanwhile| meanwhile.lost);
        messages.extend(meanwhile.into_iter().flat_map(|meanwhile| meanwhile.messages));
        let (inlet, with) = match create(messages) {
            Ok(created) => created,
            Err(error) => {
                // The drop of the end locks.
                drop(state);
                return Err(error);
            }
        };
        state.open(end.id, &inlet);
        drop(state);
        Ok(Entered { end, inlet, with, since, lost })
    }

    /// Returns a new end, which has not joined its topic yet.
    fn end(self: &Arc<Self>, address: Address) -> LocalEnd {
        let Address { name, type_key, form } = address;
        let mut topics = self.known.lock();
        let types = topics.entry(name.clone()).or_default();
        let known = types.entry(type_key.clone()).or_insert_with(|| {
            let (state, has_several_forms) = (Mutex::default(), AtomicBool::new(false));
            Known { topic: Arc::new(LocalTopic { name, type_key, state, has_several_forms }), ends: 0 }
        });
        known.ends += 1;
        let topic = Arc::clone(&known.topic);
        drop(topics);
        let id = topic.lock().next_id();
        LocalEnd { topics: Arc::clone(self), topic, id, form }
    }

    /// Counts one end of the topic less, and removes the topic with its last end.
    fn forget(&self, topic: &LocalTopic) {
        let mut topics = self.known.lock();
        let Some(types) = topics.get_mut(&topic.name) else { return };
        let Some(known) = types.get_mut(&topic.type_key) else { return };
        known.ends -= 1;
        if known.ends > 0 {
            return;
        }
        let gone = types.remove(&topic.type_key);
        if types.is_empty() {
            topics.remove(&topic.name);
        }
        drop(topics);
        drop(gone);
    }
}

impl LocalTopic {
    fn lock(&self) -> MutexGuard<'_, TopicEnds> {
        self.state.lock()
    }
}

impl TopicEnds {
    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn has_several_forms(&self) -> bool {
        self.ends.windows(2).any(|ends| ends[0].form != ends[1].form)
    }

    /// Returns the messages that publishers of other forms have kept for a late subscription, still to be encoded.
    fn kept_by_others(&self, form: &Form, kind: &EndKind) -> Vec<Kept> {
        let EndKind::Subscription { requested, .. } = kind else { return Vec::new() };
        if !requested.guarantees.include(Guarantees::TRANSIENT_LOCAL) {
            return Vec::new();
        }
        let kept = self.ends.iter().filter(|end| end.form != *form).filter_map(|end| match &end.kind {
            EndKind::Publisher { offered, kept } if offered.meet(requested).is_ok() => Some(kept()),
            _ => None,
        });
        kept.collect()
    }

    /// Takes the messages that came for a subscription which has no queue yet.
    fn take_meanwhile(&mut self, id: u64) -> Option<Meanwhile> {
        let end = self.ends.iter_mut().find(|end| end.id == id)?;
        match &mut end.kind {
            EndKind::Subscription { entry: Entry::Waits(meanwhile), .. } => {
                let depth = meanwhile.depth;
                Some(std::mem::replace(meanwhile, Meanwhile { depth, messages: VecDeque::new(), lost: 0 }))
            }
            _ => None,
        }
    }

    /// Passes the messages for that subscription to the inlet from now on.
    fn open(&mut self, id: u64, inlet: &Inlet) {
        for end in &mut self.ends {
            if let EndKind::Subscription { entry, .. } = &mut end.kind
                && end.id == id
            {
                *entry = Entry::Queue(inlet.clone());
            }
        }
    }

    /// Returns the number of ends that match the one with that id.
    fn matched_with(&self, id: u64) -> usize {
        let own = self.ends.iter().find(|end| end.id == id);
        own.map_or(0, |own| self.ends.iter().filter(|end| end.kind.matches(&own.kind)).count())
    }
}

impl End {
    /// Passes the subscription an encoded message of a publisher of another form, if the two match. Drop the result
    /// after the unlock.
    fn push(&mut self, offered: Terms, packet: &Packet) -> Option<Pushed> {
        let EndKind::Subscription { requested, entry } = &mut self.kind else { return None };
        if offered.meet(requested).is_err() {
            return None;
        }
        match entry {
            Entry::Queue(inlet) => {
                let pushed = inlet.begin(packet.clone(), 0);
                if pushed.is_done() { None } else { Some(pushed) }
            }
            Entry::Waits(meanwhile) => {
                meanwhile.push(packet.clone());
                None
            }
        }
    }
}

impl Meanwhile {
    fn push(&mut self, packet: Packet) {
        if self.messages.len() == self.depth {
            self.messages.pop_front();
            self.lost += 1;
        }
        self.messages.push_back(packet);
    }
}

impl LocalEnd {
    /// Adds the end to its topic. The lock separates messages that were kept from those that are published from now on,
    /// so that none is delivered twice or not at all.
    fn join(&self, kind: EndKind, events: EndEvents) -> Joined {
        let mut state = self.topic.lock();
        for other in &state.ends {
            tell_both(&other.kind, &other.events, &kind, &events);
        }
        let kept = state.kept_by_others(&self.form, &kind);
        let since = state.published;
        state.ends.push(End { id: self.id, form: self.form.clone(), kind, events });
        self.topic.has_several_forms.store(state.has_several_forms(), Ordering::Release);
        let waiters = state.waiters.take();
        drop(state);
        waiters.wake();
        Joined { kept, since }
    }

    /// Returns true if there may be ends of other forms, which get messages encoded. Neither blocks nor locks.
    pub(crate) fn has_several_forms(&self) -> bool {
        self.topic.has_several_forms.load(Ordering::Acquire)
    }

    /// Publishes a message: `publish` passes it to ends of the same form, with its place in the order of publication, and
    /// returns its origin. Subscriptions of other forms get it encoded, as `payload`. If that is `None` and there is an
    /// end of another form, `encode` encodes it.
    ///
    /// Locks, so that a subscription that is being added gets the message once. What `publish` returns besides the
    /// origin is dropped after the unlock.
    pub(crate) fn publish<R>(
        &self,
        mut payload: Option<Bytes>,
        encode: impl FnOnce() -> Option<Bytes>,
        lifespan: Option<Duration>,
        publish: impl FnOnce(u64) -> (Origin, R),
    ) {
        let mut state = self.topic.lock();
        if payload.is_none() && state.has_several_forms() {
            // An end of another form came meanwhile. Encoding is code of the message's type, so it is done without the
            // lock.
            drop(state);
            payload = encode();
            state = self.topic.lock();
        }
        state.published += 1;
        let (origin, published) = publish(state.published);
        let mut pushed = Vec::new();
        let own = state.ends.iter().find(|end| end.id == self.id).map(|end| &end.kind);
        if let (Some(payload), Some(&EndKind::Publisher { offered, .. })) = (payload, own) {
            let packet = Packet::of_here(payload, origin).with_lifespan(lifespan);
            for end in state.ends.iter_mut().filter(|end| end.form != self.form) {
                pushed.extend(end.push(offered, &packet));
            }
        }
        drop(state);
        drop((published, pushed));
    }

    /// Returns the number of ends of this process that this end is matched with.
    pub(crate) fn count(&self) -> usize {
        self.topic.lock().matched_with(self.id)
    }

    /// Returns a future that resolves once this end is matched with an end of this process, or `outside` has resolved.
    pub(crate) fn wait(&self, outside: Option<Awaited<()>>) -> Awaited<()> {
        // Weak, so that a future that is kept for long does not keep the topic.
        let (topic, id) = (Arc::downgrade(&self.topic), self.id);
        let here = async move {
            loop {
                let changed = {
                    let Some(topic) = topic.upgrade() else { return pending().await };
                    let mut state = topic.lock();
                    if state.matched_with(id) > 0 {
                        return;
                    }
                    state.waiters.wait()
                };
                changed.await;
            }
        };
        let Some(mut outside) = outside else { return Box::pin(here) };
        Box::pin(async move {
            let mut here = pin!(here);
            poll_fn(|cx| match here.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(()),
                Poll::Pending => outside.as_mut().poll(cx),
            })
            .await;
        })
    }
}

impl LocalEnd {
    /// Removes the end from its topic. It has no matches any more, and gets no encoded messages.
    pub(crate) fn leave(&self) {
        let mut state = self.topic.lock();
        let at = state.ends.iter().position(|end| end.id == self.id);
        let end = at.map(|at| state.ends.remove(at));
        if let Some(end) = &end {
            for other in state.ends.iter().filter(|other| other.kind.matches(&end.kind)) {
                other.events.match_went();
                match &end.kind {
                    EndKind::Publisher { .. } => other.events.unfollow(&end.events),
                    EndKind::Subscription { .. } => end.events.unfollow(&other.events),
                }
            }
        }
        self.topic.has_several_forms.store(state.has_several_forms(), Ordering::Release);
        drop(state);
        if let Some(end) = end {
            end.events.end();
        }
    }
}

impl Drop for LocalEnd {
    fn drop(&mut self) {
        self.leave();
        self.topics.forget(&self.topic);
    }
}

/// Matches of an end of this process: ends of this process, and those that the middleware knows of.
pub(crate) struct AllMatches {
    pub(crate) here: Arc<LocalEnd>,
    pub(crate) outside: Option<Box<dyn Matches>>,
}

impl Matches for AllMatches {
    fn count(&self) -> usize {
        self.here.count() + self.outside.as_ref().map_or(0, |outside| outside.count())
    }

    fn wait(&self) -> Awaited<()> {
        self.here.wait(self.outside.as_ref().map(|outside| outside.wait()))
    }
}

#[cfg(test)]
mod tests;
