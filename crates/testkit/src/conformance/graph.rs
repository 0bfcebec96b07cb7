//! The graph: nodes and their endpoints.

use std::collections::BTreeSet;

use rospin_node::{Durability, EndpointKind, GraphChange, PublisherOptions, Reliability, SubscriptionOptions};

use super::fixture::Fixture;
use super::messages::{AddTwoInts, Number, Summands};
use super::seen::Seen;
use super::world::World;

/// Nodes see each other, and each other's topics and services by their full names, until they are gone.
pub fn nodes_see_each_other_and_what_they_have<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    for node in [&world.here, &world.there] {
        world.until("both nodes are known", || node.node_names() == ["/here", "/there"]);
    }
    let latched = PublisherOptions::new("numbers").best_effort().transient_local();
    let publisher = world.there.create_publisher::<Number>(latched).unwrap();
    let listener = world.listen(&world.there, &main, SubscriptionOptions::new("~/numbers"));
    let group = main.create_group("server", ());
    let server = world.there.on(&group).create_service("double", |both: Summands| both.add()).unwrap();
    let client = world.there.create_client::<AddTwoInts>("triple").unwrap();

    let number: BTreeSet<_> = ["std_msgs/msg/Int64".to_owned()].into();
    let of_service: BTreeSet<_> = ["example_interfaces/srv/AddTwoInts".to_owned()].into();
    for node in [&world.here, &world.there] {
        // The middleware may have topics of its own.
        world.until("the topics are known", || {
            let topics = node.topic_names_and_types();
            ["/numbers", "/there/numbers"].iter().all(|topic| topics.get(*topic) == Some(&number))
        });
        world.until("the services are known", || {
            let services = node.service_names_and_types();
            ["/double", "/triple"].iter().all(|service| services.get(*service) == Some(&of_service))
        });
        let counts = [node.count_publishers("numbers"), node.count_subscriptions("/there/numbers")];
        assert_eq!(counts, [Ok(1), Ok(1)]);
        assert_eq!([node.count_publishers("/there/numbers"), node.count_subscriptions("numbers")], [Ok(0), Ok(0)]);
        assert_eq!([node.count_servers("double"), node.count_clients("triple")], [Ok(1), Ok(1)]);
        assert_eq!([node.count_servers("triple"), node.count_clients("double")], [Ok(0), Ok(0)]);
        assert!(node.count_publishers("no name").is_err());
        world.until("who publishes is known", || {
            let info = node.publishers_info_by_topic("numbers").unwrap();
            info.len() == 1 && info[0].node.as_deref() == Some("/there")
        });
        let info = node.publishers_info_by_topic("numbers").unwrap().remove(0);
        assert_eq!((info.kind, info.name.as_str()), (EndpointKind::Publisher, "/numbers"));
        assert_eq!(info.type_name, "std_msgs/msg/Int64");
        assert_eq!(info.reliability, Some(Reliability::BestEffort));
        assert_eq!(info.durability, Some(Durability::TransientLocal));
        let info = node.subscriptions_info_by_topic("there/numbers").unwrap().remove(0);
        assert_eq!((info.kind, info.reliability), (EndpointKind::Subscription, Some(Reliability::Reliable)));
    }

    drop((publisher, listener, server, client));
    for node in [&world.here, &world.there] {
        world.until("all have gone", || {
            let topics = node.topic_names_and_types();
            let services = node.service_names_and_types();
            let gone =
                |names: [&str; 2]| !names.iter().any(|name| topics.contains_key(*name) || services.contains_key(*name));
            gone(["/numbers", "/there/numbers"]) && gone(["/double", "/triple"])
        });
    }
    let third = world.ros_there.create_node("third").unwrap();
    world.until("the third node is known", || world.here.node_names() == ["/here", "/there", "/third"]);
    drop(third);
    world.until("it has gone", || world.here.node_names() == ["/here", "/there"]);
}

/// Changes run a callback of a group, in order and without duplicates.
pub fn changes_are_a_callback<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    world.until("both nodes are known", || world.here.node_names().len() == 2);
    let group = main.create_group("watch", 0_u32);
    let seen = Seen::new();
    let log = seen.clone();
    let callback = world.here.create_graph_callback(&group, move |count: &mut u32, change| {
        *count += 1;
        log.push(change);
    });
    let callback = callback.unwrap();
    assert_eq!((callback.name(), callback.missed()), ("watch/graph", 0));
    let publisher = world.there.create_publisher::<Number>("numbers").unwrap();
    let other = world.ros_there.create_node("other").unwrap();
    world.until("they have come", || {
        world.here.count_publishers("numbers") == Ok(1) && world.here.node_names().len() == 3
    });
    drop(publisher);
    drop(other);
    world.until("they have gone", || {
        world.here.count_publishers("numbers") == Ok(0) && world.here.node_names().len() == 2
    });
    assert!(seen.all().is_empty(), "nothing runs before the executor spins");
    world.spin_all(&main);
    let name = |change: GraphChange| match change {
        GraphChange::NodeCame(name) => Some(format!("{name} came")),
        GraphChange::NodeWent(name) => Some(format!("{name} went")),
        // The middleware may have topics of its own.
        GraphChange::EndpointCame(endpoint) => {
            if endpoint.name == "/numbers" {
                Some("numbers came".to_owned())
            } else {
                None
            }
        }
        GraphChange::EndpointWent(endpoint) => {
            if endpoint.name == "/numbers" {
                Some("numbers went".to_owned())
            } else {
                None
            }
        }
        _ => None,
    };
    let changes: Vec<_> = seen.all().into_iter().filter_map(name).collect();
    let of = |what: &str| changes.iter().filter(|change| change.contains(what)).cloned().collect::<Vec<_>>();
    assert_eq!(
        (of("numbers"), of("/other")),
        (
            vec!["numbers came".to_owned(), "numbers went".to_owned()],
            vec!["/other came".to_owned(), "/other went".to_owned()],
        )
    );
    assert_eq!(changes.len(), 4, "{changes:?}");

    drop(callback);
    let _publisher = world.there.create_publisher::<Number>("numbers").unwrap();
    world.until("it has come", || world.here.count_publishers("numbers") == Ok(1));
    let before = seen.all().len();
    world.spin_all(&main);
    assert_eq!(seen.all().len(), before, "nobody is told any more");
}

/// A future of a change resolves with the next change, not with an earlier one.
pub fn a_waiter_for_a_change_is_told<F: Fixture>() {
    let world = World::<F>::new();
    drop(world.here.wait_for_graph_change());
    // The future is created before the graph is read, so no change is missed.
    world.wait("the other node is known", async {
        loop {
            let change = world.here.wait_for_graph_change();
            if world.here.node_names().len() == 2 {
                break;
            }
            change.await;
        }
    });
    let change = world.here.wait_for_graph_change();
    let _publisher = world.there.create_publisher::<Number>("numbers").unwrap();
    world.wait("the graph has changed", change);
    // The change may be the middleware's own; then there is another one.
    world.wait("the publisher is known", async {
        loop {
            let change = world.here.wait_for_graph_change();
            if world.here.count_publishers("numbers") == Ok(1) {
                break;
            }
            change.await;
        }
    });
}

/// Nodes may share a name. It is listed once, until the last of them is gone.
pub fn a_shared_name_is_there_until_its_last_node_goes<F: Fixture>() {
    let world = World::<F>::new();
    let twin = world.ros_there.create_node("here").unwrap();
    let marker = world.ros_there.create_node("marker").unwrap();
    for node in [&world.here, &world.there] {
        world.until("all are known", || node.node_names() == ["/here", "/marker", "/there"]);
    }
    drop(twin);
    drop(marker);
    for node in [&world.here, &world.there] {
        world.until("one has gone", || node.node_names() == ["/here", "/there"]);
    }
}
