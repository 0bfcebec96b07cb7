//! Topics: callbacks of events.

use rospin_engine::LossCause;
use rospin_node::{IncompatibleQos, MatchedStatus, MessageLost, PublisherOptions, QosPolicy, SubscriptionOptions};

use super::fixture::Fixture;
use super::messages::Number;
use super::seen::Seen;
use super::world::World;

/// Matches are a callback of both ends, on the executor. What happened before the callback was created is told, too.
pub fn matches_are_told<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher::<Number>("numbers").unwrap();
    let one = world.listen(&world.there, &main, "numbers");
    world.matched(&publisher, &[&one.subscription]);
    let group = main.create_group("told", ());
    let told = Seen::new();
    let log = told.clone();
    let callback =
        world.here.on(&group).create_event_callback(&publisher, move |status: MatchedStatus| log.push(status));
    let callback = callback.unwrap();
    assert!(callback.name().ends_with("/numbers/matched"), "{}", callback.name());
    assert_eq!(told.all(), [], "no callback runs before the executor spins");
    world.spinning(&[&main], || {
        world.wait("the first match is told", told.until_count(1));
        let first = told.all()[0];
        let log = Seen::new();
        assert_eq!((first.current, first.current_change, first.total, first.total_change), (1, 1, 1, 1));
        let heard = log.clone();
        let of_one = move |status: MatchedStatus| heard.push(status.current);
        let _of_one = world.there.on(&group).create_event_callback(&one.subscription, of_one).unwrap();
        world.wait("the publisher's match is told", log.until_has(1));
        let two = world.listen(&world.there, &main, "numbers");
        world.until("the second match is told", || told.all().last().is_some_and(|status| status.current == 2));
        drop(two);
        world.until("the end of a match is told", || told.all().last().is_some_and(|status| status.current == 1));
        let last = *told.all().last().unwrap();
        assert_eq!((last.current_change, last.total, last.total_change), (-1, 2, 0));
        drop(publisher);
        world.wait("the end of the publisher is told", log.until_has(0));
    });
}

/// No event is told to a callback whose handle was dropped, and callbacks outlive their publisher.
pub fn a_dropped_event_callback_is_not_told<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher::<Number>("numbers").unwrap();
    let group = main.create_group("told", ());
    let told = Seen::new();
    let others = Seen::new();
    let create = |log: Seen<MatchedStatus>| {
        world.here.on(&group).create_event_callback(&publisher, move |status: MatchedStatus| log.push(status)).unwrap()
    };
    let callback = create(told.clone());
    let other = create(others.clone());
    drop(callback);
    let listener = world.listen(&world.there, &main, "numbers");
    world.spinning(&[&main], || world.wait("another one is told", others.until_count(1)));
    assert_eq!(told.all(), []);
    drop(publisher);
    world.spin_all(&main);
    drop((other, listener));
}

/// Ends that are not matched because of their quality of service are told so, on both sides, with the policy.
pub fn incompatible_ends_are_told<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let group = main.create_group("told", ());
    let publisher = world.here.create_publisher::<Number>(PublisherOptions::new("numbers").best_effort()).unwrap();
    let listener = world.listen(&world.there, &main, "numbers");
    let offered = Seen::new();
    let requested = Seen::new();
    let log = offered.clone();
    let told = move |event: IncompatibleQos| log.push((event.policy, event.total, event.total_change));
    let _offered = world.here.on(&group).create_event_callback(&publisher, told).unwrap();
    let log = requested.clone();
    let told = move |event: IncompatibleQos| log.push((event.policy, event.total, event.total_change));
    let _requested = world.there.on(&group).create_event_callback(&listener.subscription, told).unwrap();
    world.spinning(&[&main], || {
        world.wait("the publisher is told", offered.until(names(QosPolicy::Reliability)));
        world.wait("the subscription is told", requested.until(names(QosPolicy::Reliability)));
        let latched =
            world.listen(&world.there, &main, SubscriptionOptions::new("numbers").best_effort().transient_local());
        world.wait("another policy is told", offered.until(names(QosPolicy::Durability)));
        drop(latched);
        let fits = world.listen(&world.there, &main, SubscriptionOptions::new("numbers").best_effort());
        world.matched(&publisher, &[&fits.subscription]);
    });
    // Middlewares may count an end twice that they find while the other one is created.
    for (told, ends) in [(offered.all(), 2), (requested.all(), 1)] {
        let total = told.last().map_or(0, |last| last.1);
        assert!((ends..=2 * ends).contains(&total), "{told:?}");
        assert_eq!(told.iter().map(|event| event.2).sum::<u64>(), total, "{told:?}");
    }
}

/// Returns true if one of the events names that policy.
fn names(policy: QosPolicy) -> impl Fn(&[(QosPolicy, u64, u64)]) -> bool {
    move |events| events.iter().any(|event| event.0 == policy)
}

/// Lost messages are a callback, whose totals are those of the subscription.
pub fn lost_messages_are_told<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher::<Number>(PublisherOptions::new("numbers").keep_last(100)).unwrap();
    let late = world.listen(&world.there, &main, SubscriptionOptions::new("numbers").keep_last(4));
    let witness = world.listen(&world.there, world.helper(), SubscriptionOptions::new("numbers").keep_last(100));
    world.matched(&publisher, &[&late.subscription, &witness.subscription]);
    world.publish_all(&publisher, 0..10);
    world.wait("all have arrived", witness.heard.until_has(9));
    world.until("those that have no room are counted", || late.subscription.missed() >= 6);
    let group = main.create_group("told", ());
    let told = Seen::new();
    let log = told.clone();
    let lost = move |lost: MessageLost| log.push((lost.total, lost.total_change));
    let _lost = world.there.on(&group).create_event_callback(&late.subscription, lost).unwrap();
    world.spinning(&[&main], || {
        world.wait("the newest are heard", late.heard.until_has(9));
        world.wait("those that were lost before are told", told.until_has((6, 6)));
    });
    world.publish_all(&publisher, 10..30);
    world.wait("all have arrived", witness.heard.until_has(29));
    world.until("those that have no room are counted", || late.subscription.missed() >= 22);
    world.spinning(&[&main], || {
        world.wait("the newest are heard", late.heard.until_has(29));
        world.until("those that were lost then are told", || told.all().last().is_some_and(|(total, _)| *total == 22));
    });
    let told = told.all();
    assert_eq!(told.iter().map(|(_, change)| change).sum::<u64>(), 22, "{told:?}");
    assert_eq!((late.subscription.missed(), late.subscription.lost(LossCause::QueueFull)), (22, 22));
}
