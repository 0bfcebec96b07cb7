//! Topics: what callbacks can ask of their messages.

use std::sync::Arc;
use std::time::Duration;

use rospin_engine::{ClockKind, Payload};
use rospin_node::{MessageInfo, PublisherOptions, SubscriptionOptions};

use super::fixture::Fixture;
use super::messages::{Number, number};
use super::seen::Seen;
use super::world::World;

/// Largest error of a message's time that passes: the system clock may be set a little while a case runs, and the times
/// of messages are calculated.
const TOLERANCE: Duration = Duration::from_secs(1);

/// A message comes with the times when it was sent and received, in this order, on the system clock.
pub fn a_message_tells_when_it_was_sent_and_received<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let group = main.create_group("group", ());
    let heard = Seen::new();
    let clock = world.context.clock().clone();
    let log = heard.clone();
    let subscription = world.there.on(&group).create_subscription("numbers", move |_: Number, info: MessageInfo| {
        log.push((info, clock.time_of_day()));
    });
    let subscription = subscription.unwrap();
    world.matched(&publisher, &[&subscription]);
    let before = world.context.clock().time_of_day();
    world.spinning(&[&main], || {
        for data in 0..3 {
            world.publish(&publisher, number(data));
            world.wait("it is heard", heard.until_count(data as usize + 1));
        }
    });
    let mut last = before - TOLERANCE;
    for (info, taken) in heard.all() {
        let sent = info.source_timestamp.expect("a publisher of ROS 2 tells");
        assert!(last <= sent, "sent after the one before: {info:?}");
        assert!(sent <= info.received_timestamp + TOLERANCE, "received after it was sent: {info:?}");
        assert!(info.received_timestamp <= taken + TOLERANCE, "taken after it was received: {info:?}, {taken:?}");
        assert_eq!(info.is_in_process, !F::APART, "{info:?}");
        last = sent;
    }
}

/// Messages of one publisher have its id, and numbers that begin with 1 if the middleware has numbers. Each publisher
/// has an id of its own, which is the same for all subscriptions.
pub fn a_message_tells_its_publisher_and_its_number<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publishers = [(); 2].map(|()| world.here.create_publisher("numbers").unwrap());
    let group = main.create_group("group", ());
    let heard = Seen::new();
    let subscriptions = [&world.here, &world.there].map(|node| {
        let log = heard.clone();
        let hear = move |number: Number, info: MessageInfo| log.push((number.data, info));
        node.on(&group).create_subscription("numbers", hear).unwrap()
    });
    for publisher in &publishers {
        world.matched(publisher, &[&subscriptions[0], &subscriptions[1]]);
    }
    for subscription in &subscriptions {
        world.until("both publishers are known", || subscription.publisher_count() == 2);
    }
    world.spinning(&[&main], || {
        for data in 0..3 {
            world.publish(&publishers[0], number(data));
            world.publish(&publishers[1], number(10 + data));
        }
        world.wait("all is heard by both", heard.until_count(12));
    });
    let of = |first: i64| {
        let all: Vec<_> = heard.all().into_iter().filter(|(data, _)| (*data >= 10) == (first >= 10)).collect();
        assert_eq!(all.len(), 6);
        for (data, info) in &all {
            if let Some(number) = info.publication_sequence_number {
                assert_eq!(i64::try_from(number).unwrap(), data - first + 1, "{info:?}");
            }
            assert_eq!(info.publisher_gid, all[0].1.publisher_gid, "{info:?}");
            assert!(!info.is_in_process || info.publication_sequence_number.is_some(), "{info:?}");
        }
        all[0].1.publisher_gid.expect("a publisher of ROS 2 has an id")
    };
    assert_ne!(of(0), of(10));
}

/// A message that was kept for late subscriptions tells when it was sent, not when it was handed to a late one.
pub fn a_message_that_was_kept_tells_when_it_was_sent<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher(PublisherOptions::new("numbers").transient_local()).unwrap();
    world.publish(&publisher, number(0));
    let pause = main.handle().sleep(ClockKind::Steady, Duration::from_millis(20));
    world.spin_until(&main, "time has passed", pause).unwrap();
    let late = world.context.clock().time_of_day();
    let group = main.create_group("group", ());
    let heard = Seen::new();
    let log = heard.clone();
    let options = SubscriptionOptions::new("numbers").transient_local();
    let hear = move |_: &Number, info: MessageInfo| log.push(info);
    let subscription = world.there.on(&group).create_subscription(options, hear).unwrap();
    world.spin_until(&main, "it is heard", heard.until_count(1));
    let info = heard.all()[0];
    let sent = info.source_timestamp.expect("a publisher of ROS 2 tells");
    assert!(
        sent + Duration::from_millis(10) < late && late < info.received_timestamp + Duration::from_millis(5),
        "{info:?}"
    );
    drop(subscription);
}

/// Callbacks of every form, on every kind of group, can get the information about their message.
pub fn callbacks_of_every_form_can_ask<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let group = main.create_group("group", 0_usize);
    let reentrant = main.create_reentrant_group("reentrant");
    let heard = Seen::new();
    let log = heard.clone();
    let note = move |info: MessageInfo| log.push(info.publisher_gid);
    let [a, b, c, d, e, f, g] = std::array::from_fn(|_| note.clone());
    let on = world.there.on(&group);
    let free = world.there.on(&reentrant);
    let subscriptions = [
        on.create_subscription("numbers", move |_: Number, info: MessageInfo| a(info)),
        on.create_subscription("numbers", move |_: &Number, info: MessageInfo| b(info)),
        on.create_subscription("numbers", move |count: &mut usize, _: Arc<Number>, info: MessageInfo| {
            *count += 1;
            c(info);
        }),
        on.create_subscription("numbers", move |count: &mut usize, _: &Number, info: MessageInfo| {
            *count += 1;
            d(info);
        }),
        on.create_subscription("numbers", move |count: Payload<usize>, _: Number, info: MessageInfo| {
            e(info);
            async move { count.with(|count| *count += 1) }
        }),
        free.create_subscription("numbers", move |_: Arc<Number>, info: MessageInfo| f(info)),
        free.create_subscription("numbers", move |_: Number, info: MessageInfo| {
            g(info);
            async {}
        }),
    ]
    .map(Result::unwrap);
    world.matched(&publisher, &subscriptions.each_ref());
    world.spinning(&[&main], || {
        world.publish(&publisher, number(0));
        world.wait("all have asked", heard.until_count(subscriptions.len()));
    });
    assert!(heard.all().iter().all(|gid| gid.is_some() && *gid == heard.all()[0]));
    assert_eq!((group.into_payload().unwrap(), world.panics()), (3, 0));
}
