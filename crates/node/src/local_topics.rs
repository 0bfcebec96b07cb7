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
//! 1. The subscription learns what publishers have kept until now. What they publish from now on waits for it.
//! 2. Its queue is created, with what was kept and what waited, and it joins its topic.
//!
//! If publishers of other forms have kept nothing, both are one step. A subscription has its queue before it is matched
//! with a publisher, so that whoever waits for a match may publish at once.
//!
//! Messages that publishers keep, and those that cross from one form to another, are published and numbered under the
//! lock, so that the order of both is known.

use std::collections::{BTreeMap, VecDeque};
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use rospin_engine::{Guarantees, Instant, Mutex, MutexGuard, Pushed, Topics, Waiters};

use crate::address::{Address, Form};
use crate::envelope::Envelope;
use crate::events::{EndEvents, QosPolicy};
use crate::info::{Origin, Packet};
use crate::inlet::Inlet;
use crate::matches::{Awaited, Matches};
use crate::sync::atomic::{AtomicBool, Ordering};
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
}

#[derive(Default)]
struct TopicEnds {
    last_id: u64,
    ends: Vec<End>,
    /// Subscriptions that are no ends yet.
    coming: Vec<Coming>,
    waiters: Waiters,
    /// The number of messages that were published under the lock.
    published: u64,
}

struct End {
    id: u64,
    form: Form,
    kind: EndKind,
    events: EndEvents,
}

/// Side of the topic that an end is on, with its quality of service.
enum EndKind {
    Publisher {
        offered: Terms,
        keeper: Keeper,
        /// True while there are subscriptions of another form that it matches. Shared with its [`LocalEnd`].
        crosses: Arc<AtomicBool>,
    },
    /// Encoded messages take the inlet.
    Subscription { requested: Terms, inlet: Inlet },
}

/// Functions of a publisher that keeps messages for late subscriptions.
pub(crate) struct Keeper {
    /// Returns the messages that it keeps at this moment, the oldest first.
    pub(crate) kept: Box<dyn Fn() -> Vec<Arc<Envelope>> + Send + Sync>,
    /// Encodes one of them, unless its lifespan is over.
    pub(crate) encode: EncodeKept,
}

/// Function that encodes a message that a publisher has kept.
pub(crate) type EncodeKept = Arc<dyn Fn(&Envelope) -> Option<Envelope> + Send + Sync>;

/// A late subscription that is to join its topic, while those messages are encoded that publishers kept for it.
struct Coming {
    id: u64,
    form: Form,
    requested: Terms,
    depth: usize,
    /// The newest messages that were published meanwhile, as many as its depth says.
    messages: VecDeque<Envelope>,
    lost: Lost,
}

/// The numbers of messages that were published for a subscription before it had its queue, and displaced by newer ones.
#[derive(Clone, Copy, Default)]
pub(crate) struct Lost {
    /// Those whose lifespan was over.
    pub(crate) expired: u64,
    pub(crate) others: u64,
}

impl Lost {
    /// Counts a message that makes room at that time.
    pub(crate) fn count(&mut self, is_expired: bool) {
        if is_expired {
            self.expired += 1;
        } else {
            self.others += 1;
        }
    }
}

/// The end of a subscription that has joined its topic.
pub(crate) struct Entered<R> {
    pub(crate) end: LocalEnd,
    pub(crate) inlet: Inlet,
    /// The value that was created together with the inlet.
    pub(crate) with: R,
    /// The number of the last message that was published before the subscription came. Later ones are its own.
    pub(crate) since: u64,
    pub(crate) lost: Lost,
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
    /// On a publisher's end, the flag that [`EndKind::Publisher`] has; on other ends it is not used.
    crosses: Arc<AtomicBool>,
}

impl LocalTopics {
    /// Adds a publisher to its topic, and creates the topic for its first end.
    pub(crate) fn enter_publisher(
        self: &Arc<Self>,
        address: Address,
        offered: Terms,
        events: EndEvents,
        keeper: Keeper,
    ) -> LocalEnd {
        let end = self.end(address);
        let crosses = Arc::clone(&end.crosses);
        end.join(end.topic.lock(), EndKind::Publisher { offered, keeper, crosses }, events);
        end
    }

    /// Adds a subscription of that depth to its topic, and creates the topic for its first end. `create` creates its
    /// queue, with messages that publishers have kept for it, or published since it came. If it may get any, this is
    /// called under the topic's lock.
    ///
    /// # Errors
    /// Those of `create`.
    pub(crate) fn enter_subscription<R, E>(
        self: &Arc<Self>,
        address: Address,
        requested: Terms,
        events: EndEvents,
        depth: usize,
        create: impl FnOnce(Vec<Envelope>) -> Result<(Inlet, R), E>,
    ) -> Result<Entered<R>, E> {
        // If encoding panics, or the queue is not created, the drop of the end removes what there is of it.
        let end = self.end(address);
        if !requested.guarantees.include(Guarantees::TRANSIENT_LOCAL) {
            let (inlet, with) = create(Vec::new())?;
            end.join(end.topic.lock(), EndKind::Subscription { requested, inlet: inlet.clone() }, events);
            return Ok(Entered { end, inlet, with, since: 0, lost: Lost::default() });
        }
        let mut state = end.topic.lock();
        let since = state.published;
        let (mut messages, of_others) = state.kept_for(&end.form, &requested);
        let mut lost = Lost::default();
        if !of_others.is_empty() {
            state.coming.push(Coming {
                id: end.id,
                form: end.form.clone(),
                requested,
                depth,
                messages: VecDeque::new(),
                lost,
            });
            state.note_crossings();
            drop(state);
            messages.extend(encode_kept(of_others));
            state = end.topic.lock();
            if let Some(coming) = state.take_coming(end.id) {
                messages.extend(coming.messages);
                lost = coming.lost;
            }
        }
        let (inlet, with) = match create(messages) {
            Ok(created) => created,
            Err(error) => {
                // The drop of the end locks.
                drop(state);
                return Err(error);
            }
        };
        end.join(state, EndKind::Subscription { requested, inlet: inlet.clone() }, events);
        Ok(Entered { end, inlet, with, since, lost })
    }

    /// Returns a new end, which has not joined its topic yet.
    fn end(self: &Arc<Self>, address: Address) -> LocalEnd {
        let Address { name, type_key, form } = address;
        let mut topics = self.known.lock();
        let types = topics.entry(name.clone()).or_default();
        let known = types.entry(type_key.clone()).or_insert_with(|| Known {
            topic: Arc::new(LocalTopic { name, type_key, state: Mutex::default() }),
            ends: 0,
        });
        known.ends += 1;
        let topic = Arc::clone(&known.topic);
        drop(topics);
        let id = topic.lock().next_id();
        LocalEnd { topics: Arc::clone(self), topic, id, form, crosses: Arc::default() }
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

/// Messages that one publisher has kept, with the function that encodes them.
type ToEncode = (Vec<Arc<Envelope>>, EncodeKept);

/// Encodes messages that publishers have kept for a subscription of another form.
fn encode_kept(of_others: Vec<ToEncode>) -> Vec<Envelope> {
    let mut messages = Vec::new();
    for (kept, encode) in of_others {
        for envelope in kept {
            messages.extend(encode(&envelope));
        }
    }
    messages
}

impl TopicEnds {
    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Notes for each publisher if its messages cross to another form, after an end has come or gone.
    fn note_crossings(&self) {
        for end in &self.ends {
            if let EndKind::Publisher { offered, crosses, .. } = &end.kind {
                crosses.store(self.has_others(&end.form, offered), Ordering::Release);
            }
        }
    }

    /// Returns true if messages of that publisher cross to another form.
    fn crosses(&self, publisher: &LocalEnd) -> bool {
        let own = self.ends.iter().find(|end| end.id == publisher.id).map(|end| &end.kind);
        matches!(own, Some(EndKind::Publisher { offered, .. }) if self.has_others(&publisher.form, offered))
    }

    /// Returns true if there are subscriptions, or some that are to join, that match those terms and have another form.
    fn has_others(&self, form: &Form, offered: &Terms) -> bool {
        let ends = self.ends.iter().filter(|end| end.form != *form);
        let requests = ends.filter_map(|end| match &end.kind {
            EndKind::Subscription { requested, .. } => Some(requested),
            EndKind::Publisher { .. } => None,
        });
        let coming = self.coming.iter().filter(|coming| coming.form != *form).map(|coming| &coming.requested);
        requests.chain(coming).any(|requested| offered.meet(requested).is_ok())
    }

    /// Returns the messages that publishers have kept for a late subscription: those of its form, and those of others,
    /// still to be encoded.
    fn kept_for(&self, form: &Form, requested: &Terms) -> (Vec<Envelope>, Vec<ToEncode>) {
        let (mut own, mut of_others) = (Vec::new(), Vec::new());
        for end in &self.ends {
            let EndKind::Publisher { offered, keeper, .. } = &end.kind else { continue };
            if offered.meet(requested).is_err() {
                continue;
            }
            let kept = (keeper.kept)();
            if end.form == *form {
                own.extend(kept.iter().filter_map(|envelope| envelope.share()));
            } else if !kept.is_empty() {
                of_others.push((kept, Arc::clone(&keeper.encode)));
            }
        }
        (own, of_others)
    }

    /// Passes a message of that publisher, which is published now, to subscriptions that it matches: encoded to those
    /// of other forms, and shared to those of its form that are to join. Drop the result after the unlock.
    fn pass_on(
        &mut self,
        publisher: &LocalEnd,
        packet: Option<Packet>,
        share: &dyn Fn() -> Envelope,
        now: Instant,
    ) -> (Vec<Pushed>, Vec<Envelope>) {
        let (mut pushed, mut displaced) = (Vec::new(), Vec::new());
        let own = self.ends.iter().find(|end| end.id == publisher.id).map(|end| &end.kind);
        let Some(&EndKind::Publisher { offered, .. }) = own else { return (pushed, displaced) };
        if let Some(packet) = &packet {
            for end in self.ends.iter().filter(|end| end.form != publisher.form) {
                pushed.extend(end.push(offered, packet));
            }
        }
        for coming in self.coming.iter_mut().filter(|coming| offered.meet(&coming.requested).is_ok()) {
            let envelope = if coming.form == publisher.form {
                share()
            } else if let Some(packet) = &packet {
                Envelope::encoded(packet.clone(), now)
            } else {
                continue;
            };
            displaced.extend(coming.push(envelope, now));
        }
        (pushed, displaced)
    }

    /// Removes a subscription that is to join the topic.
    fn take_coming(&mut self, id: u64) -> Option<Coming> {
        let at = self.coming.iter().position(|coming| coming.id == id)?;
        Some(self.coming.swap_remove(at))
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
    fn push(&self, offered: Terms, packet: &Packet) -> Option<Pushed> {
        let EndKind::Subscription { requested, inlet } = &self.kind else { return None };
        if offered.meet(requested).is_err() {
            return None;
        }
        let pushed = inlet.begin(packet.clone(), 0);
        if pushed.is_done() { None } else { Some(pushed) }
    }
}

impl Coming {
    /// Adds a message that was published at that time. Returns the one that it has displaced. Drop it after the unlock.
    fn push(&mut self, envelope: Envelope, now: Instant) -> Option<Envelope> {
        let oldest = if self.messages.len() == self.depth { self.messages.pop_front() } else { None };
        if let Some(oldest) = &oldest {
            self.lost.count(rospin_engine::Envelope::is_expired(oldest, now));
        }
        self.messages.push_back(envelope);
        oldest
    }
}

impl LocalEnd {
    /// Adds the end to its topic, which is locked. The lock separates messages that were kept from those that are
    /// published from now on, so that none is delivered twice or not at all.
    fn join(&self, mut state: MutexGuard<'_, TopicEnds>, kind: EndKind, events: EndEvents) {
        for other in &state.ends {
            tell_both(&other.kind, &other.events, &kind, &events);
        }
        state.ends.push(End { id: self.id, form: self.form.clone(), kind, events });
        state.note_crossings();
        let waiters = state.waiters.take();
        drop(state);
        waiters.wake();
    }

    /// Returns true if there are subscriptions of other forms, which get the messages of this publisher encoded.
    /// Neither blocks nor locks.
    pub(crate) fn crosses(&self) -> bool {
        self.crosses.load(Ordering::Acquire)
    }

    /// Returns true if each subscription of another form that gets the messages of this publisher has room for one.
    /// Locks for a moment, if there are any.
    pub(crate) fn has_room(&self) -> bool {
        if !self.crosses() {
            return true;
        }
        let state = self.topic.lock();
        let own = state.ends.iter().find(|end| end.id == self.id).map(|end| &end.kind);
        let Some(EndKind::Publisher { offered, .. }) = own else { return true };
        let others = state.ends.iter().filter(|end| end.form != self.form);
        !others.into_iter().any(|end| match &end.kind {
            EndKind::Subscription { requested, inlet } => offered.meet(requested).is_ok() && inlet.is_full(),
            EndKind::Publisher { .. } => false,
        })
    }

    /// Publishes a message: `publish` passes it to ends of the same form, with its place in the order of publication,
    /// and returns its origin. `share` shares it with subscriptions of that form that are to join. Subscriptions of
    /// other forms get it encoded, as `payload`. If that is `None` and there is such a subscription, `encode` encodes
    /// it.
    ///
    /// Locks, so that a subscription that is being added gets the message once. What `publish` returns besides the
    /// origin is dropped after the unlock.
    pub(crate) fn publish<R>(
        &self,
        mut payload: Option<Bytes>,
        encode: impl FnOnce() -> Option<Bytes>,
        lifespan: Option<Duration>,
        share: impl Fn(Origin) -> Envelope,
        publish: impl FnOnce(u64) -> (Origin, R),
    ) {
        let mut state = self.topic.lock();
        if payload.is_none() && state.crosses(self) {
            // A subscription of another form came meanwhile. Encoding is code of the message's type, so it is done
            // without the lock.
            drop(state);
            payload = encode();
            state = self.topic.lock();
        }
        state.published += 1;
        let (origin, published) = publish(state.published);
        let packet = payload.map(|payload| Packet::of_here(payload, origin).with_lifespan(lifespan));
        let left = state.pass_on(self, packet, &|| share(origin), origin.published);
        drop(state);
        drop((published, left));
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
        let coming = state.take_coming(self.id);
        if let Some(end) = &end {
            for other in state.ends.iter().filter(|other| other.kind.matches(&end.kind)) {
                other.events.match_went();
                match &end.kind {
                    EndKind::Publisher { .. } => other.events.unfollow(&end.events),
                    EndKind::Subscription { .. } => end.events.unfollow(&other.events),
                }
            }
        }
        state.note_crossings();
        drop(state);
        drop(coming);
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
