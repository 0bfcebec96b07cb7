//! The simulated network of the harness: what it promises of delays, losses, cuts and discovery.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use rospin::errors::CallError;
use rospin::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};
use rospin::msgs::std_msgs::msg::UInt32;
use rospin::testing::{Harness, LinkOptions, NetworkCounts, SimulatedNetwork};
use rospin::{Node, Publisher, PublisherOptions, Ros, Subscription, SubscriptionOptions};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

/// Two hosts, and what one of them hears.
struct World {
    network: SimulatedNetwork,
    test: Harness,
    robot: Ros,
    talker: Node,
    heard: Arc<Mutex<Vec<u32>>>,
}

impl World {
    fn new(seed: u64) -> Self {
        let network = SimulatedNetwork::new(seed);
        let mut test = Harness::on_network(&network, "station");
        let robot = test.host("robot");
        let talker = robot.create_node("talker").unwrap();
        Self { network, test, robot, talker, heard: Arc::default() }
    }

    /// Returns a world in which the robot publishes `numbers` and the station has heard of it.
    fn with_topic(seed: u64) -> (Self, Publisher<UInt32>, Subscription) {
        let mut world = Self::new(seed);
        let publisher = world.publisher(PublisherOptions::new("numbers"));
        let subscription = world.listen(SubscriptionOptions::new("numbers"));
        world.matched(&publisher, &subscription);
        (world, publisher, subscription)
    }

    fn publisher(&self, options: PublisherOptions) -> Publisher<UInt32> {
        self.talker.create_publisher(options).unwrap()
    }

    fn listen(&self, options: SubscriptionOptions) -> Subscription {
        let heard = Arc::clone(&self.heard);
        let hear = move |number: UInt32| heard.lock().unwrap().push(number.data);
        self.test.node().create_subscription(options, hear).unwrap()
    }

    fn matched(&mut self, publisher: &Publisher<UInt32>, subscription: &Subscription) {
        let are_matched = || publisher.subscription_count() == 1 && subscription.publisher_count() == 1;
        self.test.run_until(are_matched, 5 * SECOND).unwrap();
    }

    fn heard(&self) -> Vec<u32> {
        std::mem::take(&mut self.heard.lock().unwrap())
    }

    fn run(&mut self, duration: Duration) {
        self.test.run_for(duration).unwrap();
    }

    /// Checks that every sample has one fate.
    fn balance(&self) -> NetworkCounts {
        let counts = self.network.counts();
        let NetworkCounts { sent, delivered, lost, overtaken, displaced, unmatched, .. } = counts;
        assert_eq!(sent, delivered + lost + overtaken + displaced + unmatched + self.network.waiting(), "{counts:?}");
        counts
    }
}

fn publish(publisher: &Publisher<UInt32>, numbers: std::ops::Range<u32>) {
    for data in numbers {
        publisher.publish(UInt32 { data }).unwrap();
    }
}

#[test]
fn reliable_messages_come_in_order_over_a_bad_link() {
    for seed in 0..20 {
        let mut world = World::new(seed);
        let link = LinkOptions::new().delay(MS, 50 * MS).loss(0.3).duplicates(0.3).reordering(0.5);
        world.network.set_link("robot", "station", link);
        let publisher = world.publisher(PublisherOptions::new("numbers").keep_last(100));
        let subscription = world.listen(SubscriptionOptions::new("numbers").keep_last(100));
        world.matched(&publisher, &subscription);
        publish(&publisher, 0..100);
        world.run(10 * SECOND);
        assert_eq!((world.heard(), subscription.missed()), ((0..100).collect(), 0), "seed {seed}");
        let counts = world.balance();
        assert!(counts.resent > 0 && counts.duplicates > 0, "{counts:?}");
    }
}

#[test]
fn a_message_that_a_history_displaces_while_the_path_is_cut_is_counted() {
    let mut world = World::new(1);
    let publisher = world.publisher(PublisherOptions::new("numbers").keep_last(3));
    let subscription = world.listen(SubscriptionOptions::new("numbers").keep_last(10));
    world.matched(&publisher, &subscription);
    publish(&publisher, 0..1);
    world.run(SECOND);
    world.network.cut("robot", "station");
    publish(&publisher, 1..8);
    world.run(2 * SECOND);
    assert_eq!(world.heard(), [0]);
    world.network.heal("robot", "station");
    world.run(SECOND);
    assert_eq!((world.heard(), subscription.missed()), (vec![5, 6, 7], 4));
    assert_eq!(world.balance().displaced, 4);
}

#[test]
fn messages_of_best_effort_are_lost_overtaken_or_heard_in_order() {
    let mut world = World::new(3);
    let link = LinkOptions::new().delay(MS, 50 * MS).loss(0.2).duplicates(0.3).reordering(1.0);
    world.network.set_links(link);
    let publisher = world.publisher(PublisherOptions::new("numbers").best_effort());
    let subscription = world.listen(SubscriptionOptions::new("numbers").best_effort().keep_last(1000));
    world.matched(&publisher, &subscription);
    publish(&publisher, 0..500);
    world.run(SECOND);
    let heard = world.heard();
    assert!(heard.is_sorted_by(|one, next| one < next), "{heard:?}");
    let (first, last) = (heard[0], heard[heard.len() - 1]);
    assert_eq!(heard.len() as u64 + subscription.missed(), u64::from(last - first) + 1, "no gap is uncounted");
    let counts = world.balance();
    assert!(counts.lost > 50 && counts.overtaken > 50 && world.network.waiting() == 0, "{counts:?}");
}

#[test]
fn a_cut_that_is_shorter_than_the_lease_is_noticed_by_nobody() {
    let (mut world, publisher, subscription) = World::with_topic(4);
    world.network.cut("robot", "station");
    publish(&publisher, 0..5);
    for _ in 0..19 {
        world.run(100 * MS);
        assert_eq!((publisher.subscription_count(), subscription.publisher_count()), (1, 1));
    }
    world.network.heal("robot", "station");
    world.run(SECOND);
    assert_eq!(world.heard(), [0, 1, 2, 3, 4]);
    world.run(20 * SECOND);
    assert_eq!((publisher.subscription_count(), subscription.publisher_count()), (1, 1), "the lease has begun anew");
}

#[test]
fn after_the_lease_hosts_are_forgotten_and_a_healed_path_brings_them_back() {
    for seed in 0..20 {
        let (mut world, publisher, subscription) = World::with_topic(seed);
        let names = |world: &World| world.test.node().node_names();
        world.run(300 * MS);
        assert_eq!(names(&world), ["/talker", "/test"]);
        world.network.isolate("robot");
        world.run(10 * SECOND);
        assert_eq!((publisher.subscription_count(), subscription.publisher_count()), (0, 0));
        assert_eq!(names(&world), ["/test"]);
        publish(&publisher, 0..3);
        world.network.heal_all();
        world.run(8300 * MS);
        assert_eq!((publisher.subscription_count(), subscription.publisher_count()), (1, 1), "seed {seed}");
        assert_eq!(names(&world), ["/talker", "/test"]);
        publish(&publisher, 3..4);
        world.run(SECOND);
        assert_eq!(world.heard(), [3], "volatile messages of the time between are lost");
        world.balance();
    }
}

#[test]
fn late_and_healed_readers_get_the_last_values() {
    let mut world = World::new(6);
    let publisher = world.publisher(PublisherOptions::new("map").keep_last(2).transient_local());
    publish(&publisher, 0..4);
    let subscription = world.listen(SubscriptionOptions::new("map").keep_last(2).transient_local());
    world.matched(&publisher, &subscription);
    world.run(SECOND);
    assert_eq!(world.heard(), [2, 3]);
    world.network.cut("robot", "station");
    publish(&publisher, 4..5);
    world.run(12 * SECOND);
    assert_eq!((world.heard(), subscription.publisher_count()), (vec![], 0));
    world.network.heal("robot", "station");
    world.run(9 * SECOND);
    assert_eq!(world.heard(), [3, 4], "strangers hear all that is kept, once more");
    assert_eq!(subscription.missed(), 0);
}

fn add(ros: &Ros, calls: &Arc<AtomicU32>) -> (Node, rospin::Service) {
    let node = ros.create_node("calculator").unwrap();
    let calls = Arc::clone(calls);
    let service = node.create_service("add", move |request: AddTwoIntsRequest| {
        calls.fetch_add(1, Ordering::Relaxed);
        AddTwoIntsResponse { sum: request.a + request.b }
    });
    let service = service.unwrap();
    (node, service)
}

#[test]
fn a_call_waits_for_a_path_that_heals_and_fails_when_the_lease_ends() {
    let mut world = World::new(7);
    let calls = Arc::default();
    let _server = add(&world.robot, &calls);
    let client = world.test.node().create_client::<AddTwoInts>("add").unwrap();
    assert!(matches!(
        world.test.wait(client.call(AddTwoIntsRequest { a: 1, b: 2 }), SECOND).unwrap(),
        Err(CallError::Unavailable { .. })
    ));
    world.test.wait(client.wait_for_service(), SECOND).unwrap();
    world.network.cut("robot", "station");
    let call = client.call(AddTwoIntsRequest { a: 1, b: 2 });
    world.run(3 * SECOND);
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    world.network.heal("robot", "station");
    assert_eq!(world.test.wait(call, SECOND).unwrap().unwrap().sum, 3);
    world.network.cut_one_way("robot", "station");
    let call = client.call(AddTwoIntsRequest { a: 1, b: 2 });
    let outcome = world.test.wait(call, 11 * SECOND).unwrap();
    assert!(matches!(outcome, Err(CallError::Unanswered { .. })), "{outcome:?}");
    assert_eq!(calls.load(Ordering::Relaxed), 2, "the request arrived, and its response did not");
}

#[test]
fn a_killed_host_is_noticed_after_the_lease_and_its_successor_at_once() {
    let mut world = World::new(8);
    let calls = Arc::default();
    let server = add(&world.robot, &calls);
    let client = world.test.node().create_client::<AddTwoInts>("add").unwrap();
    world.test.wait(client.wait_for_service(), SECOND).unwrap();
    world.test.kill("robot");
    drop(server);
    let World { network, mut test, robot, talker, .. } = world;
    drop((talker, robot));
    let first = client.call(AddTwoIntsRequest { a: 1, b: 2 });
    let robot = test.host("robot");
    let _server = add(&robot, &calls);
    test.run_for(SECOND).unwrap();
    assert_eq!(test.node().service_names_and_types().keys().filter(|name| *name == "/add").count(), 1);
    let second = client.call(AddTwoIntsRequest { a: 2, b: 3 });
    assert_eq!(test.wait(second, SECOND).unwrap().unwrap().sum, 5, "the successor answers");
    assert!(matches!(test.wait(first, 10 * SECOND).unwrap(), Err(CallError::Unanswered { .. })));
    test.run_for(10 * SECOND).unwrap();
    let (hosts, ends) = network.size();
    drop((_server, robot, client));
    assert_eq!(hosts, 2, "the dead one is forgotten");
    assert!(ends > 0);
}

#[test]
fn what_is_dropped_is_forgotten() {
    let mut world = World::new(9);
    world.run(SECOND);
    let before = world.network.size();
    for _ in 0..3 {
        let publisher = world.publisher(PublisherOptions::new("numbers").transient_local());
        let subscription = world.listen(SubscriptionOptions::new("numbers").transient_local());
        let server = add(&world.robot, &Arc::default());
        let client = world.test.node().create_client::<AddTwoInts>("add").unwrap();
        world.matched(&publisher, &subscription);
        publish(&publisher, 0..10);
        drop((server, client, publisher, subscription));
        world.run(SECOND);
        assert_eq!(world.network.size(), before);
        world.balance();
    }
}

fn noisy(seed: u64) -> (u64, NetworkCounts, Vec<u32>) {
    let mut world = World::new(seed);
    world.network.set_links(LinkOptions::new().delay(MS, 90 * MS).loss(0.2).duplicates(0.1).reordering(0.5));
    let publisher = world.publisher(PublisherOptions::new("numbers").keep_last(5));
    let _subscription = world.listen(SubscriptionOptions::new("numbers"));
    for round in 0..20 {
        publish(&publisher, 10 * round..10 * round + 10);
        world.run(300 * MS);
        if round % 5 == 1 {
            world.network.cut("robot", "station");
        }
        if round % 5 == 3 {
            world.network.heal_all();
        }
    }
    let counts = world.balance();
    (world.network.fingerprint(), counts, world.heard())
}

#[test]
fn the_same_seed_makes_the_same_happen() {
    assert_eq!(noisy(10), noisy(10));
    assert_ne!(noisy(10).0, noisy(11).0);
}

/// The six services of its parameters went before those of its successor came.
#[test]
fn a_node_that_is_created_anew_is_seen_as_a_whole() {
    for seed in 0..40 {
        let mut world = World::new(seed);
        let first = world.robot.create_node("arm").unwrap();
        let client = world.test.node().create_parameter_client("/arm").unwrap();
        world.test.wait(client.wait_for_service(), SECOND).unwrap();
        drop(first);
        let second = world.robot.create_node("arm").unwrap();
        let _speed = second.declare_parameter("speed", 1).unwrap();
        // If all come in the moment in which all went, nobody sees a change.
        _ = world.test.run_until(|| !client.service_is_ready(), 300 * MS);
        world.test.wait(client.wait_for_service(), SECOND).unwrap();
        let speed = world.test.wait(client.get_one::<i64>("speed"), SECOND).unwrap();
        assert_eq!(speed, Ok(1), "seed {seed}");
    }
}

/// The first server of its types goes while it is asked, and another one takes its place.
#[test]
fn a_node_is_asked_again_for_a_type_if_its_server_is_exchanged() {
    for seed in 0..20 {
        let mut world = World::new(seed);
        world.network.set_links(LinkOptions::new().delay(50 * MS, 50 * MS));
        let _publisher = world.publisher(PublisherOptions::new("numbers"));
        let executor = world.test.ros().executor().handle();
        let mut learned = Box::pin(world.test.node().message_type_of(&executor, "numbers"));
        let mut server = None;
        let mut outcome = None;
        for _ in 0..300 {
            world.run(10 * MS);
            outcome = outcome.or_else(|| learned.as_mut().now_or_never());
            let is_asked = world.talker.count_clients("talker/get_type_description").unwrap() == 1;
            if is_asked && server.is_none() {
                server = Some(world.talker.serve_type_descriptions(&executor).unwrap());
            }
            if outcome.is_some() {
                break;
            }
        }
        let name = outcome.expect("it ends").unwrap().name().to_owned();
        assert_eq!(name, "std_msgs/msg/UInt32", "seed {seed}");
    }
}

/// Nodes that are there before the first run are found over the link as well.
#[test]
fn what_is_published_at_the_start_is_published_before_discovery() {
    let mut world = World::new(12);
    world.network.set_links(LinkOptions::new().delay(400 * MS, 400 * MS));
    let publisher = world.publisher(PublisherOptions::new("numbers"));
    let subscription = world.listen(SubscriptionOptions::new("numbers"));
    world.test.run().unwrap();
    assert_eq!((publisher.subscription_count(), subscription.publisher_count()), (0, 0));
    world.matched(&publisher, &subscription);
    assert!(world.test.elapsed() >= 400 * MS, "{:?}", world.test.elapsed());
}

#[test]
fn a_second_harness_goes_on_with_the_network_of_the_first() {
    let mut world = World::new(13);
    world.run(30 * SECOND);
    let World { network, test, robot, talker, .. } = world;
    drop((test, robot, talker));
    let mut test = Harness::on_network(&network, "station");
    let robot = test.host("robot");
    let talker = robot.create_node("talker").unwrap();
    let publisher = talker.create_publisher::<UInt32>("numbers").unwrap();
    let _subscription = test.node().create_subscription("numbers", |_: UInt32| ()).unwrap();
    test.run_until(|| publisher.subscription_count() == 1, SECOND).unwrap();
    assert!(test.elapsed() <= SECOND);
}

/// It does not get another lease by dying, or by leaving, where nobody sees it.
#[test]
fn a_host_that_ends_behind_a_cut_is_forgotten_with_the_cut() {
    for (seed, is_killed) in (0..20).zip([true, false].into_iter().cycle()) {
        let mut world = World::new(seed);
        let other = world.network.join(world.test.ros().context(), "other");
        let talker = other.create_node("other").unwrap();
        let publisher = talker.create_publisher::<UInt32>("numbers").unwrap();
        let subscription = world.listen(SubscriptionOptions::new("numbers"));
        world.matched(&publisher, &subscription);
        world.network.isolate("other");
        world.run(SECOND);
        if is_killed {
            world.network.kill("other");
        }
        drop((publisher, talker, other));
        world.run(9 * SECOND);
        assert_eq!((subscription.publisher_count(), world.network.size().0), (0, 2), "seed {seed}");
    }
}

#[test]
fn a_host_that_never_was_cannot_be_cut_healed_or_killed() {
    let world = World::new(15);
    let network = &world.network;
    let acts: [&dyn Fn(); 6] = [
        &|| network.cut("robto", "station"),
        &|| network.cut_one_way("station", "robto"),
        &|| network.isolate("robto"),
        &|| network.heal("station", "robto"),
        &|| network.set_link("robto", "station", LinkOptions::new()),
        &|| network.kill("robto"),
    ];
    for act in acts {
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)).unwrap_err();
        let text = panic.downcast_ref::<String>().unwrap();
        assert_eq!(text, "there never was a host 'robto', but these: [\"robot\", \"station\"]");
    }
    network.cut("robot", "station");
}

#[test]
fn a_harness_whose_own_host_is_killed_runs_none_of_its_callbacks() {
    let mut world = World::new(16);
    let ticks = Arc::<AtomicU32>::default();
    let counted = Arc::clone(&ticks);
    let tick = move || _ = counted.fetch_add(1, Ordering::Relaxed);
    let _timer = world.test.node().create_timer(SECOND, tick).unwrap();
    world.run(3 * SECOND);
    assert_eq!(ticks.load(Ordering::Relaxed), 3);
    world.test.kill("station");
    world.run(3 * SECOND);
    assert_eq!(ticks.load(Ordering::Relaxed), 3);
}

/// A link that loses everything is a path that is cut.
#[test]
fn hosts_do_not_find_each_other_through_a_link_that_loses_all() {
    let mut world = World::new(17);
    world.network.set_links(LinkOptions::new().loss(1.0));
    let publisher = world.publisher(PublisherOptions::new("numbers"));
    let subscription = world.listen(SubscriptionOptions::new("numbers"));
    world.run(30 * SECOND);
    assert_eq!((publisher.subscription_count(), subscription.publisher_count()), (0, 0));
    world.network.set_links(LinkOptions::new());
    world.test.run_until(|| subscription.publisher_count() == 1, 10 * SECOND).unwrap();
    world.network.set_link("robot", "station", LinkOptions::new().loss(1.0));
    world.run(11 * SECOND);
    assert_eq!((publisher.subscription_count(), subscription.publisher_count()), (0, 0));
}

/// Nothing is sent again without an answer of the subscription.
#[test]
fn acknowledgements_do_not_pass_a_cut() {
    let mut world = World::new(18);
    let publisher = world.publisher(PublisherOptions::new("numbers").keep_last(10_000));
    let subscription = world.listen(SubscriptionOptions::new("numbers").keep_last(10_000));
    world.matched(&publisher, &subscription);
    world.network.cut_one_way("station", "robot");
    world.network.set_link("robot", "station", LinkOptions::new().loss(0.5));
    publish(&publisher, 0..100);
    world.run(SECOND);
    let first = world.heard();
    assert!(first.len() < 30 && world.network.counts().resent == 0, "{first:?}");
    world.network.heal("robot", "station");
    world.run(SECOND);
    assert_eq!([first, world.heard()].concat(), (0..100).collect::<Vec<_>>());
    world.network.set_link("robot", "station", LinkOptions::new());
    // The publisher's history still has what has arrived, but does not send it a second time.
    world.network.cut_one_way("station", "robot");
    publish(&publisher, 0..500);
    world.run(SECOND);
    assert_eq!(world.heard(), (0..500).collect::<Vec<_>>());
    world.network.heal("robot", "station");
    let resent = world.network.counts().resent;
    world.run(SECOND);
    assert_eq!((world.heard().len(), world.network.counts().resent), (0, resent));
    world.balance();
}

/// An idle host gives a sign of life every 8 s, and is forgotten 10 s after the last one that arrived.
#[test]
fn an_idle_host_is_forgotten_between_2_and_10_seconds_after_its_path_is_cut() {
    let mut times = Vec::new();
    for seed in 0..40 {
        let (mut world, _publisher, subscription) = World::with_topic(seed);
        world.run(20 * SECOND);
        let begin = world.test.elapsed();
        world.network.cut("robot", "station");
        world.test.run_until(|| subscription.publisher_count() == 0, 11 * SECOND).unwrap();
        times.push(world.test.elapsed() - begin);
    }
    times.sort();
    assert!(times[0] >= 2 * SECOND && times[39] <= 10 * SECOND, "{times:?}");
    assert!(times[5] < 5 * SECOND && times[35] > 7 * SECOND, "{times:?}");
}

/// What one hears, and its acknowledgement, are signs of life as well.
#[test]
fn a_host_that_talked_is_forgotten_ten_seconds_later() {
    for seed in 0..20 {
        let (mut world, publisher, subscription) = World::with_topic(seed);
        world.run(20 * SECOND);
        publish(&publisher, 0..1);
        world.run(MS);
        world.network.cut("robot", "station");
        world.run(9990 * MS);
        assert_eq!((publisher.subscription_count(), subscription.publisher_count()), (1, 1), "seed {seed}");
        world.run(10 * MS);
        assert_eq!((publisher.subscription_count(), subscription.publisher_count()), (0, 0), "seed {seed}");
    }
}

/// The path is open only while nobody says anything.
#[test]
fn a_moment_on_an_open_path_does_not_make_the_lease_longer() {
    for seed in 0..20 {
        let (mut world, publisher, subscription) = World::with_topic(seed);
        world.run(20 * SECOND);
        world.network.cut("robot", "station");
        world.run(SECOND);
        world.network.heal_all();
        world.network.cut("robot", "station");
        world.run(9 * SECOND);
        assert_eq!((publisher.subscription_count(), subscription.publisher_count()), (0, 0), "seed {seed}");
    }
}
