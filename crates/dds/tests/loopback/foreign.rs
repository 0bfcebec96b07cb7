//! Implementations that say in another way which request is whose, as Fast DDS and RustDDS do: refused, never misunderstood.

use std::time::Duration;

use crate::common::{AddRequest, AddResponse, AddTwoInts, context, domain_id, executor, join, take_failures, wait};
use rospin_dds::{CallError, ServiceOptions};
use rospin_engine::{ClockKind, LossCause};

use crate::common::stranger::Stranger;

const REQUEST: &str = "example_interfaces::srv::dds_::AddTwoInts_Request_";
const RESPONSE: &str = "example_interfaces::srv::dds_::AddTwoInts_Response_";

/// A request as Fast DDS sends it: the two numbers, and nothing before them.
#[test]
fn a_request_without_a_header_is_refused() {
    let (context, incidents) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let node = join(id).ros(&context).create_node("adder").unwrap();
    let group = executor.create_group("server", Vec::new());
    let server = node.on(&group).create_service::<AddTwoInts, _, _>(
        ServiceOptions::new("add"),
        |served: &mut Vec<AddRequest>, request: AddRequest| {
            served.push(request);
            AddResponse { sum: 0 }
        },
    );
    let server = server.unwrap();
    let client = node.create_client::<AddTwoInts>("add").unwrap();
    let stranger = Stranger::new(id);
    let requests = stranger.writer(&executor, "rq/addRequest", REQUEST);
    // The second request is as long as if it had a header.
    let pair = [2_i64.to_le_bytes(), 3_i64.to_le_bytes()].concat();
    let twice = [pair.clone(), pair.clone()].concat();
    // The first requests may arrive before their sender is known, and are ignored then.
    wait(&executor, "both are refused", async {
        while server.lost(LossCause::TakeFailed) < 4 {
            requests.write(pair.clone(), None).unwrap();
            requests.write(twice.clone(), None).unwrap();
            let _ = executor.handle().sleep(ClockKind::Steady, Duration::from_millis(50)).await;
        }
    });
    let said = incidents.lock().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert!(said.iter().all(|said| said.contains("RMW_IMPLEMENTATION=rmw_cyclonedds_cpp")), "{said:?}");
    assert!(take_failures(&incidents) >= 4);
    // A client with a correct header is answered.
    wait(&executor, "the server is matched", client.wait_for_service());
    let response = wait(&executor, "it answers", client.call(AddRequest { a: 5, b: 6 }));
    assert_eq!(response, Ok(AddResponse { sum: 0 }));
    drop((client, server));
    assert_eq!(group.into_payload().unwrap(), [AddRequest { a: 5, b: 6 }]);
}

#[test]
fn a_server_that_would_misunderstand_requests_is_none() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let node = join(id).ros(&context).create_node("caller").unwrap();
    let client = node.create_client::<AddTwoInts>("add").unwrap();
    let stranger = Stranger::new(id);
    let _requests = stranger.reader("rq/addRequest", REQUEST);
    let _responses = stranger.writer(&executor, "rr/addReply", RESPONSE);
    wait(&executor, "it is seen", async {
        while node.count_servers("/add") != Ok(1) {
            let _ = executor.handle().sleep(ClockKind::Steady, Duration::from_millis(1)).await;
        }
        // The server is in the graph, and even 300 ms later it does not count as ready.
        let _ = executor.handle().sleep(ClockKind::Steady, Duration::from_millis(300)).await;
    });
    assert!(!client.service_is_ready());
    let response = wait(&executor, "the call fails", client.call(AddRequest { a: 5, b: 6 }));
    assert!(matches!(response, Err(CallError::Unavailable { .. })), "{response:?}");
}
