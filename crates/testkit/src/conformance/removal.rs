//! Topics: entities that end while messages are on their way to them.

use std::sync::{Arc, Mutex, PoisonError};

use rospin_node::{Blob, PublisherOptions, SubscriptionOptions};

use super::fixture::Fixture;
use super::messages::{Image, Number, image, number};
use super::seen::Seen;
use super::world::World;

/// A subscription is dropped while its callback runs. That run ends as usual, and no other one starts.
pub fn a_subscription_is_dropped_while_its_callback_runs<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let group = main.create_group("group", ());
    let begun = Seen::new();
    let ended = Seen::new();
    let gate = world.gate();
    let begins = begun.clone();
    let ends = ended.clone();
    let wait = gate.clone();
    let subscription = world.there.on(&group).create_subscription("numbers", move |number: Number| {
        begins.push(number.data);
        wait.pass();
        ends.push(number.data);
    });
    let subscription = subscription.unwrap();
    // On the same executor: when the witness has received the message, the other subscription had its turn.
    let witness = world.listen(&world.there, &main, "numbers");
    world.matched(&publisher, &[&subscription, &witness.subscription]);
    world.spinning(&[&main], || {
        world.publish_all(&publisher, [1, 2]);
        world.wait("the callback runs", begun.until_count(1));
        drop(subscription);
        gate.open();
        world.publish(&publisher, number(3));
        world.wait("what follows is heard by others", witness.heard.until_has(3));
    });
    assert_eq!((begun.all(), ended.all(), witness.heard.all()), (vec![1], vec![1], vec![1, 2, 3]));
    world.until("the publisher knows", || publisher.subscription_count() == 1);
}

/// A subscription is dropped while messages wait for its callback, which then never runs.
pub fn a_subscription_is_dropped_while_messages_wait<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let listener = world.listen(&world.there, &main, "numbers");
    let heard = listener.heard.clone();
    let witness = world.listen(&world.there, &main, "numbers");
    let arrival = world.listen(&world.there, world.helper(), "numbers");
    world.matched(&publisher, &[&listener.subscription, &witness.subscription, &arrival.subscription]);
    world.publish_all(&publisher, 0..5);
    world.wait("they have arrived", arrival.heard.until_count(5));
    drop(listener);
    world.spin_until(&main, "others hear them", witness.heard.until_count(5));
    assert_eq!(heard.count(), 0);
    world.until("the publisher knows", || publisher.subscription_count() == 2);
}

/// A callback drops its own subscription, and does not run again.
pub fn a_subscription_is_dropped_by_its_own_callback<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let group = main.create_group("group", ());
    let heard = Seen::new();
    let own = Arc::new(Mutex::new(None));
    let log = heard.clone();
    let handle = Arc::clone(&own);
    let subscription = world.there.on(&group).create_subscription("numbers", move |Number { data }: Number| {
        log.push(data);
        if data == 2 {
            let subscription = handle.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(subscription);
        }
    });
    let witness = world.listen(&world.there, &main, "numbers");
    let subscription = subscription.unwrap();
    world.matched(&publisher, &[&subscription, &witness.subscription]);
    *own.lock().unwrap() = Some(subscription);
    world.spinning(&[&main], || {
        world.publish_all(&publisher, 0..8);
        world.wait("others hear all", witness.heard.until_count(8));
    });
    assert_eq!(heard.all(), [0, 1, 2]);
    world.until("the publisher knows", || publisher.subscription_count() == 1);
}

/// A publisher is dropped while its messages are on their way. Those that arrive are in order and without duplicates,
/// and its successor's messages arrive.
pub fn a_publisher_is_dropped_with_messages_on_their_way<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let options = || SubscriptionOptions::new("numbers").keep_last(100);
    let listener = world.listen(&world.there, &main, options());
    let mut sent = 0;
    for _ in 0..3 {
        let publisher = world.here.create_publisher(PublisherOptions::new("numbers").keep_last(100)).unwrap();
        world.matched(&publisher, &[&listener.subscription]);
        world.publish_all(&publisher, sent..sent + 50);
        sent += 50;
        drop(publisher);
        world.until("it is known to be gone", || listener.subscription.publisher_count() == 0);
    }
    let publisher = world.here.create_publisher("numbers").unwrap();
    world.matched(&publisher, &[&listener.subscription]);
    world.spinning(&[&main], || {
        world.publish(&publisher, number(sent));
        world.wait("the successor is heard", listener.heard.until_has(sent));
    });
    let heard = listener.heard.all();
    assert!(heard.is_sorted_by(|one, next| one < next), "{heard:?}");
    assert_eq!(world.panics(), 0);
}

/// Entities keep their node alive, even if the node's own handle is dropped.
pub fn entities_outlive_the_handle_of_their_node<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let talker = world.ros_here.create_node("talker").unwrap();
    let hearer = world.ros_there.create_node("hearer").unwrap();
    let publisher = talker.create_publisher("numbers").unwrap();
    let listener = world.listen(&hearer, &main, "numbers");
    drop((talker, hearer));
    world.matched(&publisher, &[&listener.subscription]);
    world.spinning(&[&main], || {
        world.publish(&publisher, number(1));
        world.wait("it is heard", listener.heard.until_has(1));
    });
}

/// Removing a group ends its subscriptions, even if their handles still exist.
pub fn a_group_is_removed_while_messages_wait<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let group = main.create_group("group", ());
    let heard = Seen::new();
    let log = heard.clone();
    let removed =
        world.there.on(&group).create_subscription("numbers", move |number: Number| log.push(number.data)).unwrap();
    let witness = world.listen(&world.there, &main, "numbers");
    world.matched(&publisher, &[&removed, &witness.subscription]);
    world.publish_all(&publisher, 0..3);
    group.remove();
    world.spin_until(&main, "others hear them", witness.heard.until_count(3));
    assert_eq!(heard.count(), 0);
}

/// Subscriptions come and go while messages arrive all the time. Each receives some, in order, and none after its
/// drop.
pub fn subscriptions_come_and_go_while_messages_pour_in<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let flood = super::world::Flood::start::<F>(&publisher);
    world.spinning(&[&main], || {
        for _ in 0..8 {
            let listener = world.listen(&world.there, &main, "numbers");
            world.wait("something is heard", listener.heard.until_count(5));
            let heard = listener.heard.clone();
            drop(listener);
            let numbers = heard.all();
            assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
        }
    });
    drop(flood);
    world.until("the publisher knows that all are gone", || publisher.subscription_count() == 0);
    assert_eq!(world.panics(), 0);
}

/// The bytes of received messages stay valid after the subscription, the nodes and the middleware have gone, on every
/// thread.
pub fn bytes_outlive_the_network_that_they_came_through<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("images").unwrap();
    let group = main.create_group("images", ());
    let heard = Seen::new();
    let log = heard.clone();
    let subscription = world.there.on(&group).create_subscription("images", move |image: Image| log.push(image));
    let subscription = subscription.unwrap();
    world.matched(&publisher, &[&subscription]);
    // Large ones may be a part of the payload, and small ones are not.
    let sent =
        [1 << 20, 100 << 10, 70 << 10, 1_000, 0].map(|length| image((0..length).map(|n| n as u8).collect::<Blob>()));
    world.spinning(&[&main], || {
        for image in &sent {
            world.publish(&publisher, image.clone());
        }
        world.wait("all are heard", heard.until_count(sent.len()));
    });
    drop((subscription, publisher, group, main, world));
    // Memory that was freed by mistake has another content now.
    let noise = [0xee; 32].map(|byte| vec![byte; 1 << 20]);
    let kept = heard.all();
    let mut written = heard.all();
    let overwrite = move || {
        for image in &mut written {
            image.data.fill(9);
        }
    };
    std::thread::spawn(overwrite).join().unwrap();
    assert!(kept == sent, "the bytes have changed");
    drop(noise);
}
