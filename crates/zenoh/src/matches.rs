//! Matches: the other ends of a topic or service, which are known by their tokens in the graph.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rospin_engine::Waiters;
use rospin_node::{Awaited, EndEvents, Matches, Refused};
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
    /// Keys of the tokens of matched ends.
    tokens: BTreeSet<String>,
    /// Tasks that wait for the first match.
    waiters: Waiters,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // Every change under the lock is complete before anything can panic, so its poison is ignored.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Matched {
    /// Follows the tokens of the ends that `endpoint` is matched with. For each token that comes or goes, Zenoh's
    /// threads call `observe` before the match counts.
    pub(crate) fn observe(
        session: &Session,
        endpoint: &Endpoint,
        observe: impl Fn(&Sample) + Send + Sync + 'static,
    ) -> Result<Self, Refused> {
        Self::observe_except(session, endpoint, None, None, observe)
    }

    /// Follows the tokens of other sessions, and records in `events` who comes and goes.
    pub(crate) fn follow_others(session: &Session, endpoint: &Endpoint, events: &EndEvents) -> Result<Self, Refused> {
        let own = session.zenoh().zid().to_string();
        Self::observe_except(session, endpoint, Some(own), Some(events.clone()), |_| ())
    }

    /// Follows the tokens of all sessions but `except`.
    fn observe_except(
        session: &Session,
        endpoint: &Endpoint,
        except: Option<String>,
        events: Option<EndEvents>,
        observe: impl Fn(&Sample) + Send + Sync + 'static,
    ) -> Result<Self, Refused> {
        let state = Arc::<Mutex<State>>::default();
        let is_any = Arc::<AtomicBool>::default();
        let seen = Arc::clone(&state);
        let any_seen = Arc::clone(&is_any);
        let subscriber = session.zenoh().liveliness().declare_subscriber(&endpoint.others).history(true);
        let hear = move |token: Sample| {
            // The third part of a token is its session.
            let session = token.key_expr().as_str().split('/').nth(2);
            if except.is_none() || session != except.as_deref() {
                observe(&token);
                note(&seen, &any_seen, events.as_ref(), &token);
            }
        };
        let subscriber = subscriber.callback(hear).wait().map_err(refused)?;
        Ok(Self { state, is_any, _tokens: subscriber })
    }
}

/// Enters a token that came or went, records the event, and wakes those who wait for a match.
fn note(state: &Mutex<State>, is_any: &AtomicBool, events: Option<&EndEvents>, token: &Sample) {
    let key = token.key_expr().as_str();
    let mut state = lock(state);
    match token.kind() {
        // Under the lock, so that events are recorded in order.
        SampleKind::Put if state.tokens.insert(key.to_owned()) => {
            if let Some(events) = events {
                events.match_came();
            }
        }
        SampleKind::Delete if state.tokens.remove(key) => {
            if let Some(events) = events {
                events.match_went();
            }
        }
        _ => {}
    }
    // A process that dies takes its tokens along, so a publisher with a token is alive.
    if let Some(events) = events {
        events.liveliness(state.tokens.len(), 0);
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
