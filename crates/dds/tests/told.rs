//! Ends that do not fit: the log says so, once, with what helps.

mod common;

use std::time::Duration;

use common::stranger::Stranger;
use common::{
    AddRequest, AddResponse, AddTwoInts, Text, context, cyclonedds, domain_id, executor, join, wait, wait_until,
};
use rospin_dds::{CallError, Node, PublisherOptions, Qos, Reliability, SubscriptionOptions};
use rospin_engine::Executor;
use rospin_testkit::conformance::messages::Number;
use rospin_testkit::kept_log::{keep_warnings, warnings_with};

#[test]
fn a_topic_of_two_types_is_told_of() {
    keep_warnings();
    let id = domain_id();
    let (context, _) = context();
    let executor = executor(&context, "main");
    let here = join(id).ros(&context);
    let there = join(id).ros(&context);
    let talker = here.create_node("talker").unwrap();
    let listener = there.create_node("listener").unwrap();
    let publishers = [(); 2].map(|()| talker.create_publisher::<Text>("two_types").unwrap());
    let group = executor.create_group("listener", ());
    let _subscription = listener.on(&group).create_subscription("two_types", |_: Number| ()).unwrap();
    let told = || {
        let types = "topic `/two_types` has type `std_msgs/msg/Int64` in ";
        warnings_with(&[types, " and `std_msgs/msg/String` in ", "give both the same type"])
    };
    // Each of the two participants reports the mismatch, as two processes would.
    wait_until(&executor, "both are told", || told().len() >= 2);
    assert_eq!((told().len(), publishers.len()), (2, 2));
}

#[test]
fn quality_of_service_that_does_not_fit_is_told_of() {
    keep_warnings();
    let id = domain_id();
    let (context, _) = context();
    let executor = executor(&context, "main");
    let here = join(id).ros(&context);
    let there = join(id).ros(&context);
    let talker = here.create_node("talker").unwrap();
    let listener = there.create_node("listener").unwrap();
    let mut qos = Qos::keep_last(1);
    qos.reliability = Reliability::BestEffort;
    let publisher = talker.create_publisher::<Text>(PublisherOptions::new("unsure").qos(qos)).unwrap();
    let group = executor.create_group("listener", ());
    let options = SubscriptionOptions::new("unsure").qos(Qos::keep_last(1));
    let _subscription = listener.on(&group).create_subscription(options, |_: Text| ()).unwrap();
    let told =
        |end: &str| warnings_with(&[end, "topic `/unsure`", "their reliability differs", "only reliable publishers"]);
    wait_until(&executor, "both are told", || !told("a publisher").is_empty() && !told("a subscription").is_empty());
    assert_eq!((told("a publisher").len(), told("a subscription").len(), publisher.subscription_count()), (1, 1, 0));
}

/// Messages that fill the receiver's socket many times over, with a history of two, and without the wait for those that
/// are on their way.
#[test]
fn a_publisher_that_outruns_its_subscriptions_is_told_of_once() {
    keep_warnings();
    let id = domain_id();
    let (context, _) = context();
    let executor = executor(&context, "main");
    let talker = join(id).ros(&context).create_node("talker").unwrap();
    let listener = join(id).ros(&context).create_node("listener").unwrap();
    let options = PublisherOptions::new("fast").keep_last(2).max_blocking_time(Duration::ZERO);
    let publisher = talker.create_publisher::<Text>(options).unwrap();
    let group = executor.create_group("listener", ());
    let options = SubscriptionOptions::new("fast").keep_last(2);
    let _subscription = listener.on(&group).create_subscription(options, |_: Text| ()).unwrap();
    wait(&executor, "it is matched", publisher.wait_for_subscription());
    let told = || warnings_with(&["topic `/fast`", "keeps the last 2", "greater depth", "keep all"]).len();
    let data = "x".repeat(1 << 20);
    let begin = std::time::Instant::now();
    while told() == 0 && begin.elapsed() < common::PATIENCE {
        // There may be no room at the moment.
        let _ = publisher.publish(Text { data: data.clone() });
    }
    for _ in 0..100 {
        let _ = publisher.publish(Text { data: String::new() });
    }
    assert_eq!(told(), 1);
}

/// Creates the ends of a server on another DDS, which reads requests without a header.
fn stranger(executor: &Executor, domain_id: u16, service: &str) -> impl Sized + use<> {
    let stranger = Stranger::new(domain_id);
    let dds_type = "example_interfaces::srv::dds_::AddTwoInts";
    let requests = stranger.reader::<(i64, i64)>(&format!("rq/{service}Request"), &format!("{dds_type}_Request_"));
    let responses = stranger.writer(executor, &format!("rr/{service}Reply"), &format!("{dds_type}_Response_"));
    (stranger, requests, responses)
}

/// Requests reach all servers, and have one form: each kind of server would take the other form for another request.
#[test]
fn servers_of_both_forms_are_told_of_and_not_called() {
    keep_warnings();
    let id = domain_id();
    let (context, _) = context();
    let executor = executor(&context, "main");
    let caller = join(id).ros(&context).create_node("caller").unwrap();
    let client = caller.create_client::<AddTwoInts>("add_two_ints").unwrap();
    let Some(_peer) = cyclonedds("cyclonedds_peer.py", "add", id) else { return };
    wait_until(&executor, "the server on Cyclone DDS is ready", || client.service_is_ready());
    let told = || {
        warnings_with(&["service `/add_two_ints` is not called", "on Cyclone DDS and on another DDS", "stop one kind"])
    };
    assert_eq!(told().len(), 0);
    let _stranger = stranger(&executor, id, "add_two_ints");
    wait_until(&executor, "it is told", || !told().is_empty());
    assert_eq!(told().len(), 1);
    let response = wait(&executor, "the call fails", client.call(AddRequest { a: 1, b: 2 }));
    assert!(matches!(response, Err(CallError::NotSent { .. })), "{response:?}");
}

/// A server of ours reads both forms, beside whichever other server.
#[test]
fn a_server_of_ours_is_called_beside_one_on_another_dds() {
    keep_warnings();
    let id = domain_id();
    let (context, _) = context();
    let executor = executor(&context, "main");
    let here = join(id).ros(&context);
    let there = join(id).ros(&context);
    let caller = here.create_node("caller").unwrap();
    let adder = there.create_node("adder").unwrap();
    let group = executor.create_group("server", ());
    let serve = |node: &Node| node.on(&group).create_service::<AddTwoInts, _>("ours", AddRequest::add).unwrap();
    let _far = serve(&adder);
    let client = caller.create_client::<AddTwoInts>("ours").unwrap();
    wait(&executor, "the server is ready", client.wait_for_service());
    let call = |n| wait(&executor, "the answer", client.call(AddRequest { a: n, b: 2 }));
    assert_eq!(call(1), Ok(AddResponse { sum: 3 }));
    let _stranger = stranger(&executor, id, "ours");
    for n in 0..5 {
        assert_eq!(call(n), Ok(AddResponse { sum: n + 2 }));
    }
    drop(_far);
    // A server in the client's own process, which has no numbers of the network.
    let _near = serve(&caller);
    for n in 0..5 {
        assert_eq!(call(n), Ok(AddResponse { sum: n + 2 }));
    }
    assert_eq!(warnings_with(&["service `/ours`"]).len(), 0);
}
