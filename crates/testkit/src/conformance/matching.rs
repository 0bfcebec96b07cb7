//! Topics: matching of publishers and subscriptions.

use rospin_node::PublisherOptions;

use super::fixture::Fixture;
use super::messages::{Number, Text, number};
use super::world::World;

/// The counts of matches follow publishers and subscriptions that come and go.
pub fn counts_follow_who_comes_and_goes<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher::<Number>("numbers").unwrap();
    assert_eq!(publisher.subscription_count(), 0);
    let one = world.listen(&world.there, &main, "numbers");
    world.until("one has come", || publisher.subscription_count() == 1);
    let two = world.listen(&world.there, &main, "numbers");
    world.until("another one has come", || publisher.subscription_count() == 2);
    let another = world.here.create_publisher::<Number>("numbers").unwrap();
    for listener in [&one, &two] {
        world.until("both publishers are known", || listener.subscription.publisher_count() == 2);
    }
    drop(one);
    world.until("one has gone", || publisher.subscription_count() == 1);
    drop(publisher);
    world.until("a publisher has gone", || two.subscription.publisher_count() == 1);
    drop(another);
    world.until("both are gone", || two.subscription.publisher_count() == 0);
}

/// A future of a match resolves when the other end appears, or at once if it exists. A dropped future leaves nothing
/// behind.
pub fn a_waiter_for_the_other_end_is_told<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher::<Number>("numbers").unwrap();
    let waiting = publisher.wait_for_subscription();
    let given_up = publisher.wait_for_subscription();
    drop(given_up);
    let listener = world.listen(&world.there, &main, "numbers");
    world.wait("the subscription is there", waiting);
    world.wait("it is still there", publisher.wait_for_subscription());
    world.wait("the publisher is there", listener.subscription.wait_for_publisher());
    // A future that outlives its entity is harmless.
    let lost = publisher.wait_for_subscription();
    drop((publisher, listener));
    drop(lost);
}

/// Endpoints of different topics do not match.
pub fn other_topics_do_not_match<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let numbers = world.here.create_publisher::<Number>("numbers").unwrap();
    let texts = world.here.create_publisher::<Text>("texts").unwrap();
    let listener = world.listen(&world.there, &main, "numbers");
    world.matched(&numbers, &[&listener.subscription]);
    assert_eq!((listener.subscription.publisher_count(), texts.subscription_count()), (1, 0));
}

/// A publisher without subscriptions may publish any number of messages.
pub fn nobody_need_listen<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher(PublisherOptions::new("numbers").keep_last(1)).unwrap();
    for data in 0..500 {
        publisher.publish(number(data)).unwrap();
    }
    // A later message on another topic was received, so nothing is on its way any more.
    let others = world.here.create_publisher("others").unwrap();
    let witness = world.listen(&world.there, world.helper(), "others");
    world.matched(&others, &[&witness.subscription]);
    world.publish(&others, number(0));
    world.wait("what follows is heard", witness.heard.until_count(1));
    let listener = world.listen(&world.there, &main, "numbers");
    world.matched(&publisher, &[&listener.subscription]);
    world.spinning(&[&main], || {
        world.publish(&publisher, number(500));
        world.wait("the next one is heard", listener.heard.until_has(500));
    });
    assert_eq!((listener.heard.all(), listener.subscription.missed()), (vec![500], 0));
}
