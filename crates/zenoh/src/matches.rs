//! Matches: the other ends of a topic or service, as their tokens in the graph tell.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rospin_engine::Waiters;
use rospin_node::{Awaited, Matches, Refused};
use zenoh::Wait;
use zenoh::pubsub::Subscriber;
use zenoh::sample::{Sample, SampleKind};

use crate::names::{Endpoint, refused};
use crate::session::Session;

/// The other ends that a publisher, subscription or client is matched with.
pub(crate) struct Matched {
    state: Arc<Mutex<State>>,
    _tokens: Subscriber<()>,
}

#[derive(Default)]
struct State {
    tokens: BTreeSet<String>,
    /// Those that wait for the first match.
    waiters: Waiters,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // Every change under the lock is complete before anything can panic.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Matched {
    /// Follows the tokens of those that the endpoint can be matched with.
    pub(crate) fn follow(session: &Session, endpoint: &Endpoint) -> Result<Self, Refused> {
        Self::observe(session, endpoint, |_| ())
    }

    /// Follows the tokens, and tells `observe` of each first, on Zenoh's threads.
    pub(crate) fn observe(
        session: &Session,
        endpoint: &Endpoint,
        observe: impl Fn(&Sample) + Send + Sync + 'static,
    ) -> Result<Self, Refused> {
        let state = Arc::<Mutex<State>>::default();
        let seen = Arc::clone(&state);
        let subscriber = session.zenoh().liveliness().declare_subscriber(&endpoint.others).history(true);
        let hear = move |token: Sample| {
            observe(&token);
            note(&seen, &token);
        };
        let subscriber = subscriber.callback(hear).wait().map_err(refused)?;
        Ok(Self { state, _tokens: subscriber })
    }
}

fn note(state: &Mutex<State>, token: &Sample) {
    let key = token.key_expr().as_str();
    let mut state = lock(state);
    match token.kind() {
        SampleKind::Put => _ = state.tokens.insert(key.to_owned()),
        SampleKind::Delete => _ = state.tokens.remove(key),
    }
    if !state.tokens.is_empty() {
        let waiters = state.waiters.take();
        drop(state);
        waiters.wake();
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
