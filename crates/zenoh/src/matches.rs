//! Matches: the other ends of a topic or service, which are known by their tokens in the graph.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rospin_engine::Waiters;
use rospin_node::{Awaited, Matches, Refused};
use zenoh::Wait;
use zenoh::pubsub::Subscriber;
use zenoh::sample::{Sample, SampleKind};

use crate::names::{Endpoint, refused};
use crate::session::Session;

/// Matches of a publisher, subscription or client.
pub(crate) struct Matched {
    state: Arc<Mutex<State>>,
    /// True while there is a match. It is read without the lock.
    is_any: Arc<AtomicBool>,
    _tokens: Subscriber<()>,
}

#[derive(Default)]
struct State {
    tokens: BTreeSet<String>,
    /// Tasks that wait for the first match.
    waiters: Waiters,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // Every change under the lock is complete before anything can panic, so its poison is ignored.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Matched {
    /// Follows the tokens. Zenoh's threads call `observe` with each token first.
    pub(crate) fn observe(
        session: &Session,
        endpoint: &Endpoint,
        observe: impl Fn(&Sample) + Send + Sync + 'static,
    ) -> Result<Self, Refused> {
        Self::observe_except(session, endpoint, None, observe)
    }

    /// Follows the tokens of other sessions.
    pub(crate) fn follow_others(session: &Session, endpoint: &Endpoint) -> Result<Self, Refused> {
        Self::observe_except(session, endpoint, Some(session.zenoh().zid().to_string()), |_| ())
    }

    fn observe_except(
        session: &Session,
        endpoint: &Endpoint,
        except: Option<String>,
        observe: impl Fn(&Sample) + Send + Sync + 'static,
    ) -> Result<Self, Refused> {
        let (state, is_any) = (Arc::<Mutex<State>>::default(), Arc::<AtomicBool>::default());
        let (seen, any_seen) = (Arc::clone(&state), Arc::clone(&is_any));
        let subscriber = session.zenoh().liveliness().declare_subscriber(&endpoint.others).history(true);
        let hear = move |token: Sample| {
            // The third part of a token is its session.
            let session = token.key_expr().as_str().split('/').nth(2);
            if except.is_none() || session != except.as_deref() {
                observe(&token);
                note(&seen, &any_seen, &token);
            }
        };
        let subscriber = subscriber.callback(hear).wait().map_err(refused)?;
        Ok(Self { state, is_any, _tokens: subscriber })
    }
}

fn note(state: &Mutex<State>, is_any: &AtomicBool, token: &Sample) {
    let key = token.key_expr().as_str();
    let mut state = lock(state);
    match token.kind() {
        SampleKind::Put => _ = state.tokens.insert(key.to_owned()),
        SampleKind::Delete => _ = state.tokens.remove(key),
    }
    is_any.store(!state.tokens.is_empty(), Ordering::Release);
    if !state.tokens.is_empty() {
        let waiters = state.waiters.take();
        drop(state);
        waiters.wake();
    }
}

impl Matched {
    /// Returns true if there is a match. Neither blocks nor locks.
    pub(crate) fn is_any(&self) -> bool {
        self.is_any.load(Ordering::Acquire)
    }
}

impl Matches for Matched {
    fn count(&self) -> usize {
        lock(&self.state).tokens.len()
    }

    fn wait(&self) -> Awaited<()> {
        let state = Arc::clone(&self.state);
        Box::pin(async move {
            loop {
                let changed = {
                    let mut state = lock(&state);
                    if !state.tokens.is_empty() {
                        return;
                    }
                    state.waiters.wait()
                };
                changed.await;
            }
        })
    }
}
