//! A process's participation in a DDS domain.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rospin_engine::Context;
use rospin_node::Ros;

use crate::cyclone::{Discovery, Participant};
use crate::feed::Feed;
use crate::nodes::Announced;
use crate::options::{DomainOptions, JoinError};
use crate::ready::{Ready, Watch};
use crate::security::{Missing, Security};
use crate::user_data;

/// Participation of a process in a DDS domain: one participant with its sockets and threads, which its nodes share.
///
/// Cheap to clone. The process leaves the domain when the last clone and the last node are dropped.
#[derive(Clone)]
pub struct Domain(Arc<Inner>);

struct Inner {
    domain_id: u16,
    /// True with DDS Security.
    is_secured: bool,
    feed: Arc<Feed>,
    // Fields are dropped in this order: others learn that the process has no nodes, its thread ends, discovery ends,
    // and then the process leaves the domain.
    announced: Announced,
    ready: Ready,
    _discovery: Discovery<Feed>,
    participant: Participant,
    _number: Number,
    /// Number of the last pair of ends of a service or client.
    pairs: AtomicU32,
}

/// Number of a domain in this process, until this value is dropped: the domain's own id, unless that number is taken
/// already.
struct Number(u32);

/// Locks the numbers of domains that are taken in this process.
fn numbers() -> MutexGuard<'static, BTreeSet<u32>> {
    static TAKEN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Number {
    /// Takes a number for the domain with this id: the id itself, or from 1000 on if that is taken.
    fn take(domain_id: u16) -> Self {
        let mut taken = numbers();
        let free = |number: &u32| !taken.contains(number);
        // Numbers from 1000 on are no ids of domains.
        let number = [u32::from(domain_id)].into_iter().chain(1000..).find(free).unwrap_or_default();
        taken.insert(number);
        Self(number)
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        numbers().remove(&self.0);
    }
}

impl Domain {
    /// Joins the domain. A program usually does that once. A second participant appears to others as another process,
    /// and is not possible with security.
    ///
    /// Cyclone DDS starts its threads here. They get the scheduling and the cores of the calling thread, see
    /// [`Context::start_threads`](rospin_engine::Context::start_threads). Blocks for a moment.
    ///
    /// # Errors
    /// If the domain's number or a static peer is invalid, if Cyclone DDS cannot open its sockets or rejects its
    /// configuration, or if security is asked for and cannot be set up.
    pub fn join(options: DomainOptions) -> Result<Self, JoinError> {
        let domain_id = options.domain_id;
        let number = Number::take(domain_id);
        if options.security != Security::Off && number.0 != u32::from(domain_id) {
            let reason =
                "this process is in that domain already, and Cyclone DDS has no rules for a second participant";
            return Err(JoinError::Security { domain_id, reason: reason.to_owned() });
        }
        let shown = if number.0 != u32::from(domain_id) { Some(domain_id) } else { None };
        let config = options.xml(shown)?;
        let failed = |error: crate::cyclone::Code| JoinError::Participant { domain_id, reason: error.to_string() };
        let user_data = user_data::of_participant(options.enclave_name());
        let properties = options.security.properties(options.enclave_name());
        let properties = properties.map_err(|Missing(reason)| JoinError::Security { domain_id, reason })?;
        let participant = Participant::start(number.0, &config, user_data.as_bytes(), &properties).map_err(failed)?;
        let feed = Arc::<Feed>::default();
        feed.set_own_participant(&participant.guid());
        let discovery = Discovery::start(&participant, &feed).map_err(failed)?;
        let announced = Announced::new(&participant, &feed).map_err(failed)?;
        let (pairs, is_secured) = (AtomicU32::new(0), options.security != Security::Off);
        let ready = Ready::start().map_err(|error| JoinError::Participant { domain_id, reason: error.to_string() })?;
        Ok(Self(Arc::new(Inner {
            domain_id,
            is_secured,
            feed,
            announced,
            ready,
            _discovery: discovery,
            participant,
            _number: number,
            pairs,
        })))
    }

    /// Returns a [`Ros`] that creates nodes of this domain, whose callbacks run on executors of `context`.
    #[must_use]
    pub fn ros(&self, context: &Context) -> Ros {
        Ros::over(context, self.clone())
    }

    /// Returns the domain's number.
    #[must_use]
    pub fn domain_id(&self) -> u16 {
        self.0.domain_id
    }

    pub(crate) fn is_secured(&self) -> bool {
        self.0.is_secured
    }

    pub(crate) fn feed(&self) -> &Arc<Feed> {
        &self.0.feed
    }

    pub(crate) fn participant(&self) -> &Participant {
        &self.0.participant
    }

    pub(crate) fn announced(&self) -> &Announced {
        &self.0.announced
    }

    pub(crate) fn watch(&self) -> Watch {
        self.0.ready.watch()
    }

    /// Returns a name for the pair of ends of a service or client.
    pub(crate) fn next_pair(&self) -> String {
        user_data::Pair::name(&self.participant().guid(), self.0.pairs.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

impl fmt::Debug for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Domain").field("domain_id", &self.domain_id()).finish_non_exhaustive()
    }
}
