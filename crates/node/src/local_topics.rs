//! Topics of this process: their publishers and subscriptions, and the way of messages from one Rust type to another.
//!
//! Ends of one Rust type share messages through a topic of the engine. A ROS type may have several Rust types, that of dynamic
//! messages among them; between these, messages cross encoded.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use bytes::Bytes;
use rospin_engine::{Guarantees, Mutex, MutexGuard, Topics, Waiters};

use crate::inbox::Delivery;
use crate::matches::{Awaited, Matches};
use crate::names::FullName;

/// The topics of one [graph](crate::Graph), as far as this process has ends of them.
#[derive(Default)]
pub(crate) struct LocalTopics {
    /// The engine's topics behind them.
    pub(crate) engine: Topics,
    /// By name, and then by type.
    known: Mutex<BTreeMap<String, BTreeMap<String, Arc<LocalTopic>>>>,
}

/// A topic of one ROS type.
struct LocalTopic {
    name: String,
    /// The ROS type, as its ends are matched by it.
    type_key: String,
    state: Mutex<Ends>,
    /// True while there are ends of more than one Rust type.
    is_mixed: AtomicBool,
}

#[derive(Default)]
struct Ends {
    last_id: u64,
    ends: Vec<End>,
    /// The number of messages published so far that are kept for late subscriptions.
    latched: u64,
    waiters: Waiters,
}

struct End {
    id: u64,
    rust_type: TypeId,
    kind: EndKind,
}

/// Returns the encoded messages that a publisher keeps for late subscriptions.
pub(crate) type Kept = Arc<dyn Fn() -> Vec<Bytes> + Send + Sync>;

pub(crate) enum EndKind {
    Publisher { promises: Guarantees, kept: Kept },
    Subscription { demands: Guarantees, delivery: Delivery<Bytes> },
}

impl EndKind {
    /// True if one is a publisher, and the other one a subscription that gets its messages.
    fn matches(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Publisher { promises, .. }, Self::Subscription { demands, .. })
            | (Self::Subscription { demands, .. }, Self::Publisher { promises, .. }) => promises.include(*demands),
            _ => false,
        }
    }
}

/// An end of a topic, which is there until this is dropped.
pub(crate) struct LocalEnd {
    topics: Arc<LocalTopics>,
    topic: Arc<LocalTopic>,
    id: u64,
    rust_type: TypeId,
}

/// Returns the engine's name of the topic that ends of one Rust type share.
pub(crate) fn engine_name<M: 'static>(topic: &FullName, type_key: &str) -> String {
    format!("{topic} {type_key} {:?}", TypeId::of::<M>())
}

impl LocalTopics {
    /// Enters an end of Rust type `M`.
    pub(crate) fn enter<M: 'static>(self: &Arc<Self>, topic: &FullName, type_key: &str, kind: EndKind) -> LocalEnd {
        let mut known = self.known.lock();
        let types = known.entry(topic.to_string()).or_default();
        let topic = Arc::clone(types.entry(type_key.to_owned()).or_insert_with(|| {
            let (state, is_mixed) = (Mutex::default(), AtomicBool::new(false));
            Arc::new(LocalTopic { name: topic.to_string(), type_key: type_key.to_owned(), state, is_mixed })
        }));
        drop(known);
        let rust_type = TypeId::of::<M>();
        let id = topic.enter(rust_type, kind);
        LocalEnd { topics: Arc::clone(self), topic, id, rust_type }
    }
}

impl LocalTopic {
    fn lock(&self) -> MutexGuard<'_, Ends> {
        self.state.lock()
    }

    fn enter(&self, rust_type: TypeId, kind: EndKind) -> u64 {
        let late = match &kind {
            EndKind::Subscription { demands, delivery } if demands.include(Guarantees::TRANSIENT_LOCAL) => {
                Some((*demands, delivery.clone()))
            }
            _ => None,
        };
        let mut state = self.lock();
        if let Some((demands, delivery)) = late {
            // Encoding is code of the message's type, so it is done without the lock; then nothing may have been published.
            loop {
                let kept: Vec<_> = state.kept_by_others(rust_type, demands).collect();
                let latched = state.latched;
                drop(state);
                let messages: Vec<_> = kept.iter().flat_map(|kept| kept()).collect();
                state = self.lock();
                if state.latched == latched {
                    messages.into_iter().for_each(|message| delivery.push(message, 0));
                    break;
                }
            }
        }
        state.last_id += 1;
        let id = state.last_id;
        state.ends.push(End { id, rust_type, kind });
        self.is_mixed.store(state.is_mixed(), Ordering::Release);
        let waiters = state.waiters.take();
        drop(state);
        waiters.wake();
        id
    }
}

impl Ends {
    fn is_mixed(&self) -> bool {
        self.ends.windows(2).any(|ends| ends[0].rust_type != ends[1].rust_type)
    }

    fn kept_by_others(&self, rust_type: TypeId, demands: Guarantees) -> impl Iterator<Item = Kept> {
        self.ends.iter().filter(move |end| end.rust_type != rust_type).filter_map(move |end| match &end.kind {
            EndKind::Publisher { promises, kept } if promises.include(demands) => Some(Arc::clone(kept)),
            _ => None,
        })
    }

    /// Returns how many ends match that one.
    fn matched_with(&self, id: u64) -> usize {
        let own = self.ends.iter().find(|end| end.id == id);
        own.map_or(0, |own| self.ends.iter().filter(|end| end.kind.matches(&own.kind)).count())
    }
}

impl LocalEnd {
    /// True if there may be ends of other Rust types, which get messages encoded. Neither blocks nor locks.
    pub(crate) fn is_mixed(&self) -> bool {
        self.topic.is_mixed.load(Ordering::Acquire)
    }

    /// Publishes through `publish`, and hands what `encode` makes of the message to subscriptions of other Rust types. `payload` is what it
    /// has made already.
    ///
    /// A publisher whose messages are `latched` takes turns with subscriptions that come just then.
    pub(crate) fn publish(
        &self,
        latched: bool,
        mut payload: Option<Bytes>,
        encode: impl FnOnce() -> Option<Bytes>,
        publish: impl FnOnce(),
    ) {
        let mut state = self.topic.lock();
        if payload.is_none() && state.is_mixed() {
            // An end of another Rust type came meanwhile. Encoding is code of the message's type, so it is done without the lock.
            drop(state);
            payload = encode();
            state = self.topic.lock();
        }
        state.latched += u64::from(latched);
        publish();
        let Some(payload) = payload else { return };
        let own = state.ends.iter().find(|end| end.id == self.id);
        let Some(EndKind::Publisher { promises, .. }) = own.map(|own| &own.kind) else { return };
        for end in state.ends.iter().filter(|end| end.rust_type != self.rust_type) {
            match &end.kind {
                EndKind::Subscription { demands, delivery } if promises.include(*demands) => {
                    delivery.push(payload.clone(), 0);
                }
                _ => {}
            }
        }
    }

    /// Returns with how many ends of this process it is matched.
    pub(crate) fn count(&self) -> usize {
        self.topic.lock().matched_with(self.id)
    }

    /// Waits until it is matched with an end of this process, or until `outside` is there.
    pub(crate) fn wait(&self, outside: Option<Awaited<()>>) -> Awaited<()> {
        // Not owned: a future that is kept for long does not keep the topic.
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
    /// Leaves the topic: it is matched with nobody any more, and gets nothing that others encode.
    pub(crate) fn leave(&self) {
        let mut state = self.topic.lock();
        let at = state.ends.iter().position(|end| end.id == self.id);
        let end = at.map(|at| state.ends.remove(at));
        self.topic.is_mixed.store(state.is_mixed(), Ordering::Release);
        drop(state);
        drop(end);
    }
}

impl Drop for LocalEnd {
    fn drop(&mut self) {
        self.leave();
        let mut known = self.topics.known.lock();
        // The list's own, and this one.
        if Arc::strong_count(&self.topic) == 2
            && let Some(types) = known.get_mut(&self.topic.name)
        {
            let gone = types.remove(&self.topic.type_key);
            if types.is_empty() {
                known.remove(&self.topic.name);
            }
            drop(known);
            drop(gone);
        }
    }
}

/// Ends that one of this process is matched with: those here, and those that the middleware knows of.
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
