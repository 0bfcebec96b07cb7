//! Who is matched with whom: what discovery found, as an entity of a callback group.
//!
//! RustDDS tells of matches on one queue a participant. Whoever reads it takes the events from everybody else, so there is
//! one reader, for all nodes of the domain.

use std::collections::{BTreeSet, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, ready};

use futures_core::Stream;
use ros2_client::dds::rustdds::{
    DomainParticipantStatusEvent, DomainParticipantStatusListener, GUID, LostReason, StatusEvented,
};
use rospin_engine::{TakeError, Waiters};

use crate::graph::Feed;
use crate::listener::Listen;
use crate::owed::{Debt, Owed, Remotes, ServerEnds};

/// How many that said goodbye are remembered: more than can be on the middleware's queue of events.
const GONE_MAX: usize = 4096;

/// The matches of a participant's own readers and writers.
#[derive(Default)]
pub(crate) struct Matches(Mutex<State>);

#[derive(Default)]
struct State {
    /// An entry for each reader and writer of ours that is there.
    remotes: Remotes,
    /// Who waits for the next change.
    waiters: Waiters,
    owed: Owed,
    gone: Gone<GUID>,
}

/// Remote readers and writers that said goodbye, or participants, the latest of them. Readers and writers do not come back:
/// others have other ids.
///
/// One thread of the middleware tells of goodbyes and another one of matches, so that a match may be told of after the end of
/// who came and went in a moment.
pub(crate) struct Gone<I> {
    ids: BTreeSet<I>,
    in_order: VecDeque<I>,
}

impl<I> Default for Gone<I> {
    fn default() -> Self {
        Self { ids: BTreeSet::new(), in_order: VecDeque::new() }
    }
}

impl<I: Ord + Copy> Gone<I> {
    pub(crate) fn note(&mut self, id: I) {
        if self.ids.insert(id) {
            self.in_order.push_back(id);
        }
        if self.in_order.len() > GONE_MAX
            && let Some(oldest) = self.in_order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }

    pub(crate) fn has(&self, id: I) -> bool {
        self.ids.contains(&id)
    }

    /// It is back.
    pub(crate) fn forget(&mut self, id: I) {
        if self.ids.remove(&id) {
            self.in_order.retain(|other| *other != id);
        }
    }
}

impl Matches {
    /// Creates a reader or writer that is told of from the beginning.
    pub(crate) fn register<T, E>(
        self: &Arc<Self>,
        create: impl FnOnce() -> Result<T, E>,
        id_of: impl FnOnce(&T) -> GUID,
    ) -> Result<(T, Matched), E> {
        // Its first match may be on the queue before we know its id; under the lock nobody reads the queue.
        let mut state = self.lock();
        let created = create()?;
        let local = id_of(&created);
        state.remotes.insert(local, BTreeSet::new());
        Ok((created, Matched { matches: Arc::clone(self), local }))
    }

    /// Notes an event. Events for what is gone change nothing, so that there is never more to remember than there is.
    fn apply(&self, event: DomainParticipantStatusEvent) {
        let mut state = self.lock();
        // What they hold is the user's: dropped without the lock.
        let mut hopeless = Vec::new();
        match event {
            DomainParticipantStatusEvent::RemoteReaderMatched { local_writer: local, remote_reader: remote }
            | DomainParticipantStatusEvent::RemoteWriterMatched { local_reader: local, remote_writer: remote } => {
                let State { remotes, gone, .. } = &mut *state;
                if let Some(remotes) = remotes.get_mut(&local).filter(|_| !gone.has(remote)) {
                    remotes.insert(remote);
                }
            }
            DomainParticipantStatusEvent::ReaderLost { guid, reason }
            | DomainParticipantStatusEvent::WriterLost { guid, reason } => {
                // Who was merely not heard of may be back.
                if matches!(reason, LostReason::Disposed) {
                    state.gone.note(guid);
                }
                state.remotes.values_mut().for_each(|remotes| _ = remotes.remove(&guid));
            }
            DomainParticipantStatusEvent::ParticipantLost { id, .. } => {
                state.remotes.values_mut().for_each(|remotes| remotes.retain(|remote| remote.prefix != id));
                hopeless = state.owed.forget(|debt| debt.requester.prefix == id);
            }
            _ => return,
        }
        let waiters = state.waiters.take();
        let State { owed, remotes, .. } = &mut *state;
        let due = owed.due(remotes);
        drop(state);
        drop(hopeless);
        waiters.wake();
        due.into_iter().for_each(|debt| (debt.pay)());
    }

    /// Whether the client's reader is known.
    pub(crate) fn know(&self, ends: ServerEnds, requester: GUID) -> bool {
        ends.know(&self.lock().remotes, requester)
    }

    /// Has it paid as soon as the client's reader is known.
    pub(crate) fn owe(&self, debt: Debt) {
        let forgotten = self.lock().owed.add(debt);
        drop(forgotten);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // What runs under the lock leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The matches of one reader or writer, which it has as long as this lives.
pub(crate) struct Matched {
    matches: Arc<Matches>,
    local: GUID,
}

impl Matched {
    /// Which reader or writer it is.
    pub(crate) const fn local(&self) -> GUID {
        self.local
    }

    /// Those of its participant.
    pub(crate) const fn all(&self) -> &Arc<Matches> {
        &self.matches
    }

    /// With how many readers or writers it is matched at this moment, as far as discovery was listened to.
    pub(crate) fn count(&self) -> usize {
        self.matches.lock().remotes.get(&self.local).map_or(0, BTreeSet::len)
    }

    /// Waits until it is matched with somebody.
    pub(crate) fn wait(&self) -> impl Future<Output = ()> + Send + use<> {
        let (matches, local) = (Arc::clone(&self.matches), self.local);
        async move {
            loop {
                let changed = {
                    let mut state = matches.lock();
                    if state.remotes.get(&local).is_some_and(|remotes| !remotes.is_empty()) {
                        return;
                    }
                    state.waiters.wait()
                };
                changed.await;
            }
        }
    }
}

impl Drop for Matched {
    fn drop(&mut self) {
        let mut state = self.matches.lock();
        state.remotes.remove(&self.local);
        let hopeless = state.owed.forget(|debt| debt.ends.responses == self.local);
        drop(state);
        drop(hopeless);
    }
}

/// The participant's events.
pub(crate) struct Events {
    listener: DomainParticipantStatusListener,
    matches: Arc<Matches>,
    /// One of the domain's participants tells of the graph.
    feed: Option<Arc<Feed>>,
}

impl Events {
    pub(crate) const fn new(
        listener: DomainParticipantStatusListener,
        matches: Arc<Matches>,
        feed: Option<Arc<Feed>>,
    ) -> Self {
        Self { listener, matches, feed }
    }
}

impl Listen for Events {
    const A_TAKE: usize = 64;

    fn poll_listen(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), TakeError>> {
        let mut stream = self.listener.as_async_status_stream();
        let event = ready!(Pin::new(&mut stream).poll_next(cx)).ok_or(TakeError::Closed)?;
        if let Some(feed) = &self.feed {
            feed.apply(&event);
        }
        self.matches.apply(event);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn id(number: u8) -> GUID {
        let mut bytes = [number; 16];
        // An entity kind that exists: a reader without key.
        bytes[15] = 0x04;
        GUID::from_bytes(bytes)
    }

    fn matched(matches: &Arc<Matches>, local: GUID) -> Matched {
        matches.register(|| Ok::<_, Infallible>(()), |()| local).unwrap().1
    }

    #[test]
    fn a_match_that_is_told_of_after_its_end_is_none() {
        let matches = Arc::<Matches>::default();
        let local = matched(&matches, id(1));
        let comes =
            |remote| DomainParticipantStatusEvent::RemoteReaderMatched { local_writer: id(1), remote_reader: remote };
        let goes = |remote, reason| DomainParticipantStatusEvent::ReaderLost { guid: remote, reason };
        matches.apply(comes(id(2)));
        matches.apply(goes(id(3), LostReason::Disposed));
        matches.apply(comes(id(3)));
        assert_eq!(local.count(), 1);
        matches.apply(goes(id(2), LostReason::Disposed));
        assert_eq!(local.count(), 0);
    }

    #[test]
    fn not_all_that_ever_went_is_remembered() {
        let mut gone = Gone::default();
        for number in 0..u32::try_from(GONE_MAX).unwrap() + 100 {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&number.to_be_bytes());
            gone.note(GUID::from_bytes(bytes));
        }
        assert_eq!((gone.ids.len(), gone.in_order.len()), (GONE_MAX, GONE_MAX));
    }
}
