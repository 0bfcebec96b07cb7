//! Matches: the other ends of a topic or service, which are known by their tokens in the graph.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rospin_engine::Waiters;
use rospin_node::{Awaited, EndEvents, Matches};

use crate::names::Endpoint;
use crate::session::Session;
use crate::tokens::{Follower, Tokens};

/// Matches of a publisher, subscription or client.
pub(crate) struct Matched(Arc<Followed>);

/// Function that is called before a token is counted: with the token's key, and true if it has come, false if it has
/// gone.
type Observe = Box<dyn Fn(&str, bool) + Send + Sync>;

/// The tokens that are followed. The session's tokens know of it while there is a [`Matched`].
struct Followed {
    tokens: Arc<Tokens>,
    /// The ends that it can be matched with.
    others: String,
    /// The session whose tokens do not count.
    except: Option<String>,
    events: Option<EndEvents>,
    observe: Observe,
    state: Mutex<State>,
    /// True while there is a match. It is read without the lock.
    is_any: AtomicBool,
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
    /// Follows the tokens of the ends that `endpoint` is matched with. `observe` gets the key of each token that comes,
    /// with true, or goes, before the match counts. It must neither block nor ask for matches.
    pub(crate) fn observe(
        session: &Session,
        endpoint: &Endpoint,
        observe: impl Fn(&str, bool) + Send + Sync + 'static,
    ) -> Self {
        Self::begin(session, endpoint, None, None, Box::new(observe))
    }

    /// Follows the tokens of other sessions, and records in `events` who comes and goes.
    pub(crate) fn follow_others(session: &Session, endpoint: &Endpoint, events: &EndEvents) -> Self {
        let own = session.zenoh().zid().to_string();
        Self::begin(session, endpoint, Some(own), Some(events.clone()), Box::new(|_, _| ()))
    }

    fn begin(
        session: &Session,
        endpoint: &Endpoint,
        except: Option<String>,
        events: Option<EndEvents>,
        observe: Observe,
    ) -> Self {
        let followed = Arc::new(Followed {
            tokens: Arc::clone(session.tokens()),
            others: endpoint.others.clone(),
            except,
            events,
            observe,
            state: Mutex::default(),
            is_any: AtomicBool::new(false),
        });
        session.tokens().add(&endpoint.others, &followed);
        Self(followed)
    }
}

impl Follower for Followed {
    /// Enters a token that came or went, records the event, and wakes those who wait for a match.
    fn look(&self, key: &str) {
        // The third part of a token is its session.
        if self.except.is_some() && key.split('/').nth(2) == self.except.as_deref() {
            return;
        }
        // Under the lock, so that the last one to look at a token leaves what is so, and events are recorded in order.
        let mut state = lock(&self.state);
        let is_there = self.tokens.has(&self.others, key);
        let is_new = if is_there { state.tokens.insert(key.to_owned()) } else { state.tokens.remove(key) };
        if !is_new {
            return;
        }
        (self.observe)(key, is_there);
        if let Some(events) = &self.events {
            if is_there {
                events.match_came();
            } else {
                events.match_went();
            }
            // A process that dies takes its tokens along, so a publisher with a token is alive.
            events.liveliness(state.tokens.len(), 0);
        }
        self.is_any.store(!state.tokens.is_empty(), Ordering::Release);
        if !state.tokens.is_empty() {
            let waiters = state.waiters.take();
            drop(state);
            waiters.wake();
        }
    }
}

impl Matched {
    /// Returns true if there is a match. Neither blocks nor locks.
    pub(crate) fn is_any(&self) -> bool {
        self.0.is_any.load(Ordering::Acquire)
    }
}

impl Matches for Matched {
    fn count(&self) -> usize {
        lock(&self.0.state).tokens.len()
    }

    fn wait(&self) -> Awaited<()> {
        let followed = Arc::clone(&self.0);
        Box::pin(async move {
            loop {
                let changed = {
                    let mut state = lock(&followed.state);
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
