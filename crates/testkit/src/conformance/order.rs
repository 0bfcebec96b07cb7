//! Topics: completeness and order of messages.

use rospin_node::{NodeOptions, PublisherOptions, SubscriptionOptions};

use super::fixture::Fixture;
use super::messages::{Number, Text, number};
use super::seen::Seen;
use super::world::World;

/// A reliable subscription receives everything that a reliable publisher sends, in order.
pub fn reliable_messages_come_complete_and_in_order<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher(PublisherOptions::new("numbers").keep_last(300)).unwrap();
    let listener = world.listen(&world.there, &main, SubscriptionOptions::new("numbers").keep_last(300));
    world.matched(&publisher, &[&listener.subscription]);
    world.spinning(&[&main], || {
        world.publish_all(&publisher, 0..300);
        world.wait("all is heard", listener.heard.until_count(300));
    });
    assert_eq!(listener.heard.all(), (0..300).collect::<Vec<_>>());
    assert_eq!(listener.subscription.missed(), 0);
    assert_eq!(world.panics(), 0);
}

/// With an unlimited history nothing is displaced, however late the executor is.
pub fn messages_kept_without_limit_are_heard_completely<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let mut qos = rospin_node::Qos::default();
    qos.history = rospin_node::History::KeepAll;
    let publisher = world.here.create_publisher(PublisherOptions::new("numbers").qos(qos)).unwrap();
    let listener = world.listen(&world.there, &main, SubscriptionOptions::new("numbers").qos(qos));
    world.matched(&publisher, &[&listener.subscription]);
    world.publish_all(&publisher, 0..200);
    world.spinning(&[&main], || world.wait("all is heard", listener.heard.until_count(200)));
    assert_eq!(listener.heard.all(), (0..200).collect::<Vec<_>>());
    assert_eq!(listener.subscription.missed(), 0);
}

/// Messages of several publishers may interleave. Those of each publisher stay in order.
pub fn each_publisher_keeps_its_order<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let options = || PublisherOptions::new("numbers").keep_last(100);
    let publishers = [
        world.here.create_publisher(options()).unwrap(),
        world.here.create_publisher(options()).unwrap(),
        world.here.create_publisher(options()).unwrap(),
    ];
    let listener = world.listen(&world.there, &main, SubscriptionOptions::new("numbers").keep_last(300));
    for publisher in &publishers {
        world.matched(publisher, &[&listener.subscription]);
    }
    world.until("the subscription knows all publishers", || listener.subscription.publisher_count() == 3);
    world.spinning(&[&main], || {
        for n in 0..100 {
            for (of, publisher) in (0..).zip(&publishers) {
                world.publish(publisher, number(1000 * of + n));
            }
        }
        world.wait("all is heard", listener.heard.until_count(300));
    });
    let heard = listener.heard.all();
    for of in 0..3 {
        let own: Vec<_> = heard.iter().filter(|n| *n / 1000 == of).map(|n| n % 1000).collect();
        assert_eq!(own, (0..100).collect::<Vec<_>>(), "of publisher {of}");
    }
}

/// Every subscription receives every message, on any node and executor.
pub fn every_subscription_hears_everything<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let other = world.executor("other");
    let publisher = world.here.create_publisher(PublisherOptions::new("numbers").keep_last(50)).unwrap();
    let more = world.ros_there.create_node("more").unwrap();
    let options = || SubscriptionOptions::new("numbers").keep_last(50);
    let listeners = [
        world.listen(&world.here, &main, options()),
        world.listen(&world.there, &main, options()),
        world.listen(&world.there, &other, options()),
        world.listen(&more, &other, options()),
    ];
    let subscriptions = listeners.each_ref().map(|listener| &listener.subscription);
    world.matched(&publisher, &subscriptions);
    world.spinning(&[&main, &other], || {
        world.publish_all(&publisher, 0..50);
        for listener in &listeners {
            world.wait("all is heard", listener.heard.until_count(50));
        }
    });
    for listener in &listeners {
        assert_eq!(listener.heard.all(), (0..50).collect::<Vec<_>>());
    }
}

/// A callback may publish to its own topic, and receives that message next.
pub fn a_callback_publishes_to_its_own_topic<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let group = main.create_group("echo", ());
    let heard = Seen::new();
    let again = publisher.clone();
    let log = heard.clone();
    let subscription = world.here.on(&group).create_subscription("numbers", move |Number { data }: Number| {
        log.push(data);
        if data < 50 {
            again.publish(number(data + 1)).unwrap();
        }
    });
    let subscription = subscription.unwrap();
    world.matched(&publisher, &[&subscription]);
    world.spinning(&[&main], || {
        world.publish(&publisher, number(0));
        world.wait("all is heard", heard.until_has(50));
    });
    assert_eq!(heard.all(), (0..=50).collect::<Vec<_>>());
}

/// On one thread, two nodes answer each other from inside their callbacks.
pub fn two_nodes_answer_each_other_from_inside_callbacks<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let to_there = world.here.create_publisher::<Number>("to_there").unwrap();
    let to_here = world.there.create_publisher::<Number>("to_here").unwrap();
    let group = main.create_group("here", ());
    let heard = Seen::new();
    let log = heard.clone();
    let next = to_there.clone();
    let back = world.here.on(&group).create_subscription("to_here", move |Number { data }: Number| {
        log.push(data);
        if data < 50 {
            next.publish(number(data + 1)).unwrap();
        }
    });
    let group = main.create_group("there", ());
    let answer = to_here.clone();
    let forth = world.there.on(&group).create_subscription("to_there", move |message: Number| {
        answer.publish(message).unwrap();
    });
    let back = back.unwrap();
    let forth = forth.unwrap();
    world.matched(&to_there, &[&forth]);
    world.matched(&to_here, &[&back]);
    world.spinning(&[&main], || {
        world.publish(&to_there, number(0));
        world.wait("all is heard", heard.until_has(50));
    });
    assert_eq!(heard.all(), (0..=50).collect::<Vec<_>>());
}

/// Names are resolved as in ROS 2. Relative, absolute and private names of one topic match; others do not.
pub fn names_meet_as_ros_resolves_them<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let arm = NodeOptions::new("arm").namespace("/robot");
    let arm = world.ros_there.create_node(arm).unwrap();
    let state = world.listen(&arm, &main, "state");
    let private = world.listen(&arm, &main, "~/state");
    let elsewhere = world.listen(&world.there, &main, "state");
    let to_state = world.here.create_publisher("/robot/state").unwrap();
    let to_private = world.here.create_publisher("robot/arm/state").unwrap();
    let to_elsewhere = world.here.create_publisher("/state").unwrap();
    world.matched(&to_state, &[&state.subscription]);
    world.matched(&to_private, &[&private.subscription]);
    world.matched(&to_elsewhere, &[&elsewhere.subscription]);
    world.spinning(&[&main], || {
        for (publisher, data) in
            [(&to_state, 1), (&to_private, 2), (&to_elsewhere, 3), (&to_state, 4), (&to_private, 5)]
        {
            world.publish(publisher, number(data));
        }
        world.publish(&to_elsewhere, number(6));
        world.wait("the first is heard", state.heard.until_has(4));
        world.wait("the second is heard", private.heard.until_has(5));
        world.wait("the third is heard", elsewhere.heard.until_has(6));
    });
    assert_eq!([state.heard.all(), private.heard.all(), elsewhere.heard.all()], [[1, 4], [2, 5], [3, 6]]);
}

/// A message larger than any packet of the network arrives unchanged, and so does an empty one.
pub fn large_and_empty_messages_come_as_they_were<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher::<Text>("texts").unwrap();
    let group = main.create_group("texts", ());
    let heard = Seen::new();
    let log = heard.clone();
    let subscription =
        world.there.on(&group).create_subscription("texts", move |text: Text| log.push(text.data)).unwrap();
    world.matched(&publisher, &[&subscription]);
    let large: String = (0..300_000_u32).map(|n| char::from(b'a' + (n % 23) as u8)).collect();
    let texts = [String::new(), large, "grüße".to_owned()];
    world.spinning(&[&main], || {
        for data in &texts {
            world.publish(&publisher, Text { data: data.clone() });
        }
        world.wait("all is heard", heard.until_count(3));
    });
    assert!(heard.all() == texts, "what was heard is not what was sent");
}

/// With best effort on both ends, the messages that the network does not lose arrive in order.
pub fn best_effort_ends_talk<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher(PublisherOptions::new("numbers").best_effort()).unwrap();
    let listener = world.listen(&world.there, &main, SubscriptionOptions::new("numbers").best_effort());
    world.matched(&publisher, &[&listener.subscription]);
    world.spinning(&[&main], || {
        let mut data = 0;
        world.until("ten are heard", || {
            world.publish(&publisher, number(data));
            data += 1;
            listener.heard.count() >= 10
        });
    });
    assert!(listener.heard.all().is_sorted_by(|one, next| one < next), "{:?}", listener.heard.all());
}

/// A best-effort subscription receives from a reliable publisher.
pub fn a_best_effort_subscription_hears_a_reliable_publisher<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let listener = world.listen(&world.there, &main, SubscriptionOptions::new("numbers").best_effort());
    world.matched(&publisher, &[&listener.subscription]);
    world.spinning(&[&main], || {
        world.until("it is heard", || {
            world.publish(&publisher, number(1));
            listener.heard.count() >= 1
        });
    });
}

/// One publisher, subscriptions in its own process and beyond it: each hears every message once, in order.
pub fn those_here_and_those_elsewhere_hear_everything_once<F: Fixture>() {
    for latched in [false, true] {
        let world = World::<F>::new();
        let main = world.executor("main");
        let options = PublisherOptions::new("numbers").keep_last(100);
        let publisher = world.here.create_publisher(if latched { options.transient_local() } else { options }).unwrap();
        let listen = |node| {
            let options = SubscriptionOptions::new("numbers").keep_last(100);
            world.listen(node, &main, if latched { options.transient_local() } else { options })
        };
        let listeners = [listen(&world.here), listen(&world.there), listen(&world.here)];
        world.matched(&publisher, &listeners.each_ref().map(|listener| &listener.subscription));
        world.spinning(&[&main], || {
            world.publish_all(&publisher, 0..50);
            // One that comes late gets what was latched from here and from elsewhere, and none of it twice.
            let late = if latched { Some([listen(&world.here), listen(&world.there)]) } else { None };
            for listener in late.iter().flatten() {
                world.wait("the latched ones are heard", listener.heard.until_has(49));
            }
            world.publish(&publisher, number(50));
            for listener in listeners.iter().chain(late.iter().flatten()) {
                world.wait("all is heard", listener.heard.until_has(50));
                assert_eq!((listener.heard.all(), listener.subscription.missed()), ((0..=50).collect(), 0));
            }
        });
    }
}
