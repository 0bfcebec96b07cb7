//! Sessions that meet through a router, as those of ROS 2 do.

use rospin_zenoh::{Mode, OpenError, PublisherOptions, Session, SubscriptionOptions};

use crate::common::{
    AddRequest, AddResponse, AddTwoInts, Place, Text, context, executor, guest_options, isolated, process_of, spin,
    text, wait,
};

fn router(place: &Place) -> Session {
    Session::open(isolated().setting("mode", "\"router\"").listen([place.endpoint.as_str()])).unwrap()
}

#[test]
fn peers_and_clients_meet_through_a_router() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let place = Place::new();
    // A peer continues without its router, and connects when the router is there.
    let early = Session::open(guest_options(&place.endpoint).listen(["tcp/127.0.0.1:0"])).unwrap();
    let _router = router(&place);
    let client = Session::open(guest_options(&place.endpoint).mode(Mode::Client)).unwrap();
    let late = Session::open(guest_options(&place.endpoint).listen(["tcp/127.0.0.1:0"])).unwrap();
    for (one, other) in [(&early, &late), (&early, &client), (&client, &late)] {
        let one = one.ros(&context).create_node("one").unwrap();
        let other = other.ros(&context).create_node("other").unwrap();
        let publisher =
            one.create_publisher::<Text>(PublisherOptions::new("map").keep_last(1).transient_local()).unwrap();
        publisher.publish(text("kept")).unwrap();
        let group = executor.create_group("listener", Vec::new());
        let handle = executor.handle();
        let options = SubscriptionOptions::new("map").keep_last(1).transient_local();
        let subscription =
            other.on(&group).create_subscription(options, move |heard: &mut Vec<String>, message: Text| {
                heard.push(message.data);
                handle.halt();
            });
        let subscription = subscription.unwrap();
        spin(&executor, "what was kept is heard");
        wait(&executor, "the publisher is matched", publisher.wait_for_subscription());
        publisher.publish(text("new")).unwrap();
        spin(&executor, "the new one is heard");
        drop(subscription);
        assert_eq!(group.into_payload().unwrap(), ["kept", "new"]);

        let group = executor.create_group("server", ());
        let server = one
            .on(&group)
            .create_service::<AddTwoInts, _>("add_two_ints", |AddRequest { a, b }| AddResponse { sum: a + b });
        let server = server.unwrap();
        let client = other.create_client::<AddTwoInts>("add_two_ints").unwrap();
        wait(&executor, "the server is matched", client.wait_for_service());
        assert_eq!(wait(&executor, "the response comes", client.call(AddRequest { a: 1, b: 2 })).unwrap().sum, 3);
        drop(server);
    }
}

#[test]
fn a_session_that_cannot_begin_says_why() {
    let place = Place::new();
    let unreachable = guest_options(&place.endpoint).mode(Mode::Client);
    let Err(OpenError::Zenoh { reason }) = Session::open(unreachable) else { panic!("nobody is there") };
    assert!(reason.contains(&place.endpoint), "{reason}");
    let _host = place.host();
    let taken = isolated().listen([place.endpoint.as_str()]);
    let Err(OpenError::Zenoh { reason }) = Session::open(taken) else { panic!("somebody is there") };
    assert!(reason.contains(&place.endpoint), "{reason}");
}

/// Variable with the endpoint that another process should connect to.
const ENDPOINT: &str = "ROSPIN_TEST_ENDPOINT";

#[test]
fn a_session_without_a_router_is_told_how_to_start_one() {
    let place = Place::new();
    let complaint = || {
        let mut alone = process_of(module_path!(), "the_lonely_process");
        alone.env(ENDPOINT, &place.endpoint);
        String::from_utf8(alone.output().unwrap().stderr).unwrap()
    };
    let told = complaint();
    assert_eq!(told.matches("rmw_zenohd").count(), 1, "{told}");
    assert!(told.contains(&place.endpoint), "{told}");
    let _router = router(&place);
    assert_eq!(complaint(), "");
}

/// The other process; without an endpoint, nothing.
#[test]
fn the_lonely_process() {
    let Ok(endpoint) = std::env::var(ENDPOINT) else { return };
    // A long delay, as a busy machine may need.
    let options = guest_options(&endpoint).setting("scouting/delay", "2000");
    let session = Session::open(options).unwrap();
    let (context, _) = context();
    let _nodes = ["one", "two"].map(|name| session.ros(&context).create_node(name).unwrap());
}
