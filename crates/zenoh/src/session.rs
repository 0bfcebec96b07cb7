//! Sessions: the connections of a process to a Zenoh network.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rospin_engine::Context;
use rospin_node::{Complaints, Graph, Refused, Ros};
use zenoh::Wait;
use zenoh::key_expr::KeyExpr;
use zenoh::pubsub::Subscriber;

use crate::attachment::Gid;
use crate::error::OpenError;
use crate::grace::Grace;
use crate::names::refused;
use crate::options::SessionOptions;
use crate::tokens::Tokens;

/// Connection of a process to a Zenoh network and to one ROS 2 domain in it, with sockets and threads. A process
/// usually has one session, which its nodes share. Cheap to clone; clones are the same session. It is closed when the
/// last clone and the last node are dropped, which blocks for a moment.
#[derive(Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    graph: Arc<Graph>,
    tokens: Arc<Tokens>,
    // This field is dropped before the session is closed.
    _subscriber: Subscriber<()>,
    zenoh: zenoh::Session,
    domain_id: usize,
    call_timeout: Duration,
    grace: Arc<Grace>,
    /// Number of the next node or entity.
    next_id: AtomicUsize,
    /// Keys of all services that this session has had.
    keys: Mutex<BTreeMap<String, KeyExpr<'static>>>,
    /// Transient local publishers of this session.
    latched: Mutex<BTreeSet<Gid>>,
}

impl Session {
    /// Opens a session.
    ///
    /// The first session of a process starts Zenoh's threads, which all sessions share. They have the scheduling and
    /// the cores of the calling thread, see [`Context::start_threads`](rospin_engine::Context::start_threads).
    ///
    /// Blocks until the session has reached the endpoints that it connects to, or half a second has passed. A peer then
    /// continues without them, and connects when they appear. A [client](crate::Mode::Client) fails at once if there is
    /// no router. If a peer reaches none of the endpoints that it should connect to, the log has a warning.
    ///
    /// # Errors
    /// If the configuration is invalid, an address to listen on is taken, or a client finds no router.
    ///
    /// # Panics
    /// In a Tokio runtime of the kind `current_thread`, which Zenoh does not work in.
    pub fn open(options: SessionOptions) -> Result<Self, OpenError> {
        let config = options.config()?;
        let zenoh = zenoh::open(config).wait().map_err(|error| OpenError::Zenoh { reason: error.to_string() })?;
        if let Some(complaint) = options.loneliness(&zenoh) {
            Complaints::default().tell("router", &complaint);
        }
        let graph = Graph::matched_by_hash();
        let followed = Tokens::follow(&zenoh, options.domain_id, &graph);
        let (tokens, subscriber) = followed.map_err(|error| OpenError::Zenoh { reason: error.to_string() })?;
        let domain_id = options.domain_id as usize;
        let call_timeout = options.call_timeout;
        Ok(Self(Arc::new(Inner {
            graph,
            tokens,
            _subscriber: subscriber,
            zenoh,
            domain_id,
            call_timeout,
            grace: Arc::default(),
            next_id: AtomicUsize::new(0),
            keys: Mutex::default(),
            latched: Mutex::default(),
        })))
    }

    /// Returns a [`Ros`] that creates nodes of this session, whose callbacks run on executors of `context`.
    #[must_use]
    pub fn ros(&self, context: &Context) -> Ros {
        Ros::over(context, self.clone())
    }

    /// Returns Zenoh's own session, for purposes beyond ROS 2. Executors have no part in it: Zenoh runs callbacks on
    /// its own threads, or on the thread that publishes. A callback that subscribes to a topic in this way and
    /// publishes on it through a node's publisher deadlocks.
    #[must_use]
    pub fn zenoh(&self) -> &zenoh::Session {
        &self.0.zenoh
    }

    pub(crate) fn graph(&self) -> &Arc<Graph> {
        &self.0.graph
    }

    pub(crate) fn tokens(&self) -> &Arc<Tokens> {
        &self.0.tokens
    }

    pub(crate) fn domain_id(&self) -> usize {
        self.0.domain_id
    }

    pub(crate) fn call_timeout(&self) -> Duration {
        self.0.call_timeout
    }

    pub(crate) fn grace(&self) -> &Arc<Grace> {
        &self.0.grace
    }

    fn latched(&self) -> MutexGuard<'_, BTreeSet<Gid>> {
        self.0.latched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a transient local publisher of this session.
    pub(crate) fn begins_to_publish(&self, gid: Gid) {
        self.latched().insert(gid);
    }

    /// Removes a transient local publisher of this session.
    pub(crate) fn ends_to_publish(&self, gid: Gid) {
        self.latched().remove(&gid);
    }

    /// Returns true if `gid` is that of a transient local publisher of this session.
    pub(crate) fn publishes(&self, gid: Gid) -> bool {
        self.latched().contains(&gid)
    }

    /// Returns the number of a new node or entity.
    pub(crate) fn next_id(&self) -> usize {
        self.0.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Declares a key until the session ends.
    ///
    /// Zenoh 1.10 forgets a key when its last server ends. A request that is being delivered at that moment is
    /// forgotten, too, and its client is not told. A key that stays declared is not forgotten.
    pub(crate) fn remembered(&self, key: KeyExpr<'static>) -> Result<KeyExpr<'static>, Refused> {
        let mut keys = self.0.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = keys.get(key.as_str()) {
            return Ok(known.clone());
        }
        let declared = self.0.zenoh.declare_keyexpr(key).wait().map_err(refused)?;
        keys.insert(declared.to_string(), declared.clone());
        Ok(declared)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("domain_id", &self.0.domain_id).finish_non_exhaustive()
    }
}
