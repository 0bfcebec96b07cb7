//! ROS topics in this process: their publishers and subscriptions, and the way of messages from one Rust type to
//! another.
//!
//! Ends of one [form](Form), such as one Rust type, share messages through a topic of the engine. A ROS type may have
//! several forms, because it may have several Rust types, that of dynamic messages among them. Between these, messages
//! cross encoded.
//!
//! A message is encoded only if somebody else may hear it, and once. Middlewares leave out what their own process
//! published. Ends of this process are matched by quality of service as the middleware matches them.

use std::collections::{BTreeMap, VecDeque};
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use rospin_engine::{Guarantees, Mutex, MutexGuard, Pushed, Topics, Waiters};

use crate::address::{Address, Form};
use crate::events::{EndEvents, QosPolicy};
use crate::info::Packet;
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
}

struct End {
    id: u64,
    form: Form,
    kind: EndKind,
    events: EndEvents,
    /// Messages that were published while those that publishers kept for this late subscription are being encoded; else
    /// `None`.
    meanwhile: Option<Meanwhile>,
}

/// Messages for a late subscription that has not got its kept messages yet: the newest ones, as many as its depth says,
/// and the number of older ones that these displaced.
#[derive(Default)]
struct Meanwhile {
    messages: VecDeque<Packet>,
    lost: u64,
}

/// Function that encodes the messages that a publisher kept for late subscriptions at one moment.
pub(crate) type Kept = Box<dyn FnOnce() -> Vec<Packet> + Send>;

/// Side of the topic that an end is on: its quality of service, and the way of encoded messages.
pub(crate) enum EndKind {
    Publisher { offered: Terms, kept: Box<dyn Fn() -> Kept + Send + Sync> },
    Subscription { requested: Terms, inlet: Inlet },
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
    /// Adds an end to its topic, and creates the topic for its first end.
    pub(crate) fn enter(self: &Arc<Self>, address: Address, kind: EndKind, events: EndEvents) -> LocalEnd {
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
        // Made before `join`, so that the end is removed again if encoding panics.
        let end = LocalEnd { topics: Arc::clone(self), topic, id, form };
        end.join(kind, events);
        end
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

    /// Returns the number of ends that match the one with that id.
    fn matched_with(&self, id: u64) -> usize {
        let own = self.ends.iter().find(|end| end.id == id);
        own.map_or(0, |own| self.ends.iter().filter(|end| end.kind.matches(&own.kind)).count())
    }
}

impl End {
    /// Passes the subscription an encoded message of a publisher of another form, if the two match. The message waits
    /// if older ones are still being encoded. Drop the result after the unlock.
    fn push(&mut self, offered: Terms, packet: &Packet) -> Option<Pushed> {
        let EndKind::Subscription { requested, inlet } = &self.kind else { return None };
        if offered.meet(requested).is_err() {
            return None;
        }
        let Some(Meanwhile { messages, lost }) = &mut self.meanwhile else {
            let pushed = inlet.begin(packet.clone(), 0);
            return if pushed.is_done() { None } else { Some(pushed) };
        };
        if messages.len() == inlet.depth() {
            messages.pop_front();
            *lost += 1;
        }
        messages.push_back(packet.clone());
        None
    }

    /// Passes the subscription the messages that were kept for it, and then those that were published meanwhile. Drop
    /// the result after the unlock.
    fn catch_up(&mut self, kept: Vec<Packet>) -> Vec<Pushed> {
        let mut pushed = Vec::new();
        let Some(Meanwhile { messages, mut lost }) = self.meanwhile.take() else { return pushed };
        if let EndKind::Subscription { inlet, .. } = &self.kind {
            for message in kept {
                pushed.push(inlet.begin(message, 0));
            }
            for message in messages {
                pushed.push(inlet.begin(message, std::mem::take(&mut lost)));
            }
        }
        pushed
    }
}

impl LocalEnd {
    fn join(&self, kind: EndKind, events: EndEvents) {
        let mut state = self.topic.lock();
        for other in &state.ends {
            tell_both(&other.kind, &other.events, &kind, &events);
        }
        // The lock separates messages that were kept from those that are published from now on, so none is delivered
        // twice or not at all.
        let kept = state.kept_by_others(&self.form, &kind);
        let depth = if let EndKind::Subscription { inlet, .. } = &kind { inlet.depth() } else { 0 };
        let meanwhile = (!kept.is_empty()).then(Meanwhile::default);
        let is_late = meanwhile.is_some();
        state.ends.push(End { id: self.id, form: self.form.clone(), kind, events, meanwhile });
        self.topic.has_several_forms.store(state.has_several_forms(), Ordering::Release);
        let waiters = state.waiters.take();
        drop(state);
        waiters.wake();
        if is_late {
            // Encoding is code of the message's type, so it is done without the lock.
            let mut messages: Vec<_> = kept.into_iter().flat_map(|kept| kept()).collect();
            // Kept messages beyond the depth are no loss: they were never this subscription's.
            messages.drain(..messages.len().saturating_sub(depth));
            let mut state = self.topic.lock();
            let end = state.ends.iter_mut().find(|end| end.id == self.id);
            let pushed = end.map(|end| end.catch_up(messages));
            drop(state);
            drop(pushed);
        }
    }

    /// Returns true if there may be ends of other forms, which get messages encoded. Neither blocks nor locks.
    pub(crate) fn has_several_forms(&self) -> bool {
        self.topic.has_several_forms.load(Ordering::Acquire)
    }

    /// Publishes a message: `publish` passes it to ends of the same form, and subscriptions of other forms get it
    /// encoded. `packet` is the encoded message. If it is `None` and there is an end of another form, `encode` encodes
    /// it.
    ///
    /// Locks, so that a subscription that is being added gets the message once. The result of `publish` is dropped
    /// after the unlock.
    pub(crate) fn publish<R>(
        &self,
        mut packet: Option<Packet>,
        encode: impl FnOnce() -> Option<Packet>,
        publish: impl FnOnce() -> R,
    ) {
        let mut state = self.topic.lock();
        if packet.is_none() && state.has_several_forms() {
            // An end of another form came meanwhile. Encoding is code of the message's type, so it is done without the
            // lock.
            drop(state);
            packet = encode();
            state = self.topic.lock();
        }
        let published = publish();
        let mut pushed = Vec::new();
        let own = state.ends.iter().find(|end| end.id == self.id).map(|end| &end.kind);
        if let (Some(packet), Some(&EndKind::Publisher { offered, .. })) = (packet, own) {
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
