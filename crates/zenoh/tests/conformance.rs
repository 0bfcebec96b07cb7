//! The conformance suite over Zenoh, on the loopback interface: in one session, between two, and between two that share
//! memory, as two processes of a machine may do.

mod common;

use std::sync::{Mutex, PoisonError};

use common::{Place, guest_options, isolated};
use rospin_engine::{Context, ExecutorHandle};
use rospin_local::{Local, LocalOptions};
use rospin_testkit::conformance::Fixture;
use rospin_zenoh::{OpenError, Ros, Session};

/// An address of its own. Whoever joins first is found there by the others.
struct Loopback<const APART: bool, const SHARES: bool>(Mutex<Option<Place>>);

impl<const APART: bool, const SHARES: bool> Fixture for Loopback<APART, SHARES> {
    const APART: bool = APART;

    fn deviation(case: &str) -> Option<&'static str> {
        match case {
            "a_successor_hears_only_what_follows" if APART => {
                Some("Zenoh delivers by topic, to whoever listens when a message arrives, and not to whom it was sent")
            }
            "incompatible_ends_are_told" | "times_that_do_not_fit_are_told" => {
                Some("Zenoh connects ends of any quality of service")
            }
            "expired_messages_are_not_heard" | "expired_messages_are_not_kept" if APART => {
                Some("Zenoh tells subscriptions in other processes nothing of a publisher's lifespan")
            }
            "what_has_no_room_is_returned" if APART => {
                Some("Zenoh does not tell publishers if there is room in other processes")
            }
            "a_silent_publisher_is_not_alive" if APART => {
                Some("Zenoh tells subscriptions in other processes nothing of manual liveliness")
            }
            _ => None,
        }
    }

    fn new() -> Self {
        Self(Mutex::new(None))
    }

    fn join(&self, context: &Context, _executor: &ExecutorHandle) -> Ros {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let session = match &*place {
            Some(place) => Session::open(guest_options(&place.endpoint)).expect("a session"),
            None => {
                let (found, session) = host();
                *place = Some(found);
                session
            }
        };
        if SHARES {
            let options = LocalOptions::new().with_all_types();
            return Local::over(session, options).expect("shared memory").ros(context);
        }
        session.ros(context)
    }
}

/// A session at a place where nobody else is. Other tests look for one at the same time: somebody may be quicker.
fn host() -> (Place, Session) {
    let open = |_| {
        let place = Place::new();
        match Session::open(isolated().listen([place.endpoint.as_str()])) {
            Ok(session) => Some((place, session)),
            Err(OpenError::Zenoh { .. }) => None,
            Err(error) => panic!("{error}"),
        }
    };
    (0..10).find_map(open).expect("a session")
}

mod in_one_session {
    rospin_testkit::conformance!(crate::Loopback<false, false>);
}

mod between_two_sessions {
    rospin_testkit::conformance!(crate::Loopback<true, false>);
}

mod between_two_that_share_memory {
    rospin_testkit::conformance!(crate::Loopback<true, true>);
}
