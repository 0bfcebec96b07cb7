//! Who is matched with whom: what discovery found, as an entity of a callback group.
//!
//! RustDDS tells of matches on one queue a participant. Whoever reads it takes the events from everybody else, so there is
//! one reader, for all nodes of the domain.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};

use futures_channel::oneshot;
use futures_core::Stream;
use ros2_client::dds::rustdds::{DomainParticipantStatusEvent, DomainParticipantStatusListener, GUID, StatusEvented};
use rospin::{Notifier, Pending, Source, TakeError};

/// How many events are dealt with before other callbacks have their turn.
const EVENTS_A_TAKE: usize = 64;

/// The matches of a participant's own readers and writers.
#[derive(Default)]
pub(crate) struct Matches(Mutex<State>);

#[derive(Default)]
struct State {
    /// An entry for each reader and writer of ours that is there.
    remotes: BTreeMap<GUID, BTreeSet<GUID>>,
    /// Who waits for the next change.
    waiting: Vec<oneshot::Sender<()>>,
}

impl Matches {
    /// Creates a reader or writer that is told of from the beginning.
    pub(crate) fn register<T, E>(
        self: &Arc<Self>,
        create: impl FnOnce() -> Result<(T, GUID), E>,
    ) -> Result<(T, Matched), E> {
        // Its first match may be on the queue before we know its id; under the lock nobody reads the queue.
        let mut state = self.lock();
        let (created, local) = create()?;
        state.remotes.insert(local, BTreeSet::new());
        Ok((created, Matched { matches: Arc::clone(self), local }))
    }

    /// Notes an event. Events for what is gone change nothing, so that there is never more to remember than there is.
    fn apply(&self, event: DomainParticipantStatusEvent) {
        let mut state = self.lock();
        match event {
            DomainParticipantStatusEvent::RemoteReaderMatched { local_writer: local, remote_reader: remote }
            | DomainParticipantStatusEvent::RemoteWriterMatched { local_reader: local, remote_writer: remote } => {
                if let Some(remotes) = state.remotes.get_mut(&local) {
                    remotes.insert(remote);
                }
            }
            DomainParticipantStatusEvent::ReaderLost { guid, .. }
            | DomainParticipantStatusEvent::WriterLost { guid, .. } => {
                state.remotes.values_mut().for_each(|remotes| _ = remotes.remove(&guid));
            }
            DomainParticipantStatusEvent::ParticipantLost { id, .. } => {
                state.remotes.values_mut().for_each(|remotes| remotes.retain(|remote| remote.prefix != id));
            }
            _ => return,
        }
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for waiting in waiting {
            let _ = waiting.send(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // What runs under the lock leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The matches of one reader or writer, which it has as long as this lives.
pub struct Matched {
    matches: Arc<Matches>,
    local: GUID,
}

impl Matched {
    /// Which reader or writer it is.
    pub(crate) const fn local(&self) -> GUID {
        self.local
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
                    let (sender, receiver) = oneshot::channel();
                    state.waiting.retain(|waiting| !waiting.is_canceled());
                    state.waiting.push(sender);
                    receiver
                };
                let _ = changed.await;
            }
        }
    }
}

impl Drop for Matched {
    fn drop(&mut self) {
        self.matches.lock().remotes.remove(&self.local);
    }
}

/// The participant's events as a source. Taking notes them; there is nothing for a callback.
pub(crate) struct Discovery {
    listener: DomainParticipantStatusListener,
    matches: Arc<Matches>,
    waker: Waker,
}

impl Discovery {
    pub(crate) fn new(listener: DomainParticipantStatusListener, matches: Arc<Matches>) -> Self {
        Self { listener, matches, waker: Waker::noop().clone() }
    }
}

impl Source for Discovery {
    type Item = Infallible;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.waker = notifier.into();
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Infallible>, TakeError> {
        for _ in 0..EVENTS_A_TAKE {
            let mut stream = self.listener.as_async_status_stream();
            match Pin::new(&mut stream).poll_next(&mut TaskContext::from_waker(&self.waker)) {
                Poll::Ready(Some(event)) => self.matches.apply(event),
                Poll::Ready(None) => return Err(TakeError::Closed),
                Poll::Pending => return Ok(None),
            }
        }
        // There may be more, after whatever is more urgent.
        self.waker.wake_by_ref();
        Ok(None)
    }

    fn pending(&self) -> Pending {
        Pending::Unknown
    }
}
