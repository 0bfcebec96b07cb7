//! Servers that go without a word to those who wait for their responses.

use std::sync::mpsc;

use rospin_zenoh::zenoh::liveliness::LivelinessToken;
use rospin_zenoh::zenoh::query::{Query, Queryable};
use rospin_zenoh::zenoh::{self, Wait};
use rospin_zenoh::{CallError, ServiceInterface};

use crate::common::{AddRequest, AddTwoInts, Place, context, executor, wait, wait_until};

const TYPE: &str = "example_interfaces::srv::dds_::AddTwoInts_";

/// A server that keeps its requests, and answers when the test says so.
struct Silent {
    requests: mpsc::Receiver<Query>,
    token: LivelinessToken,
    _queryable: Queryable<()>,
}

impl Silent {
    fn start(session: &zenoh::Session, number: u32) -> Self {
        let (sender, requests) = mpsc::channel();
        let hash = AddTwoInts::TYPE_HASH.unwrap();
        let queryable = session.declare_queryable(format!("0/add_two_ints/{TYPE}/{hash}")).complete(true);
        let queryable = queryable.callback(move |query| _ = sender.send(query)).wait().unwrap();
        let zid = session.zid();
        let token = format!("@ros2_lv/0/{zid}/{number}/{number}/SS/%/%/adder/%add_two_ints/{TYPE}/{hash}/::,10:,:,:,,");
        let token = session.liveliness().declare_token(token).wait().unwrap();
        Self { requests, token, _queryable: queryable }
    }
}

/// Zenoh 1.10 may forget a query that is routed to a session while that session dies: only the token tells.
#[test]
fn a_call_ends_when_its_last_server_goes() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let (host, guest) = Place::new().both();
    let caller = host.ros(&context).create_node("caller").unwrap();
    let client = caller.create_client::<AddTwoInts>("add_two_ints").unwrap();
    let first = Silent::start(guest.zenoh(), 1);
    wait(&executor, "the server is matched", client.wait_for_service());
    let call = client.call(AddRequest { a: 1, b: 2 });
    let kept = first.requests.recv().unwrap();
    // A server that starts later does not get the first call's request.
    let second = Silent::start(guest.zenoh(), 2);
    let seen = || caller.count_servers("add_two_ints").unwrap();
    wait_until(&executor, "the second one is there", || seen() == 2);
    let asks_both = client.call(AddRequest { a: 3, b: 4 });
    first.token.undeclare().wait().unwrap();
    let outcome = wait(&executor, "the first call ends", call);
    let Err(CallError::Unanswered { reason, .. }) = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains("gone"), "{reason}");
    // The second call asked both servers, of which one is left.
    let also_kept = second.requests.recv().unwrap();
    second.token.undeclare().wait().unwrap();
    let outcome = wait(&executor, "the second call ends", asks_both);
    assert!(matches!(outcome, Err(CallError::Unanswered { .. })), "{outcome:?}");
    drop((kept, also_kept));
}
