//! Topics: kinds of callbacks and groups, and panics of callbacks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rospin_engine::{ClockKind, ExecutorOptions, GroupOptions, IncidentKind, OnPanic, Payload, SpinError, SpinOptions};
use rospin_node::SubscriptionOptions;
use std::time::Duration;

use super::fixture::Fixture;
use super::messages::{Number, number};
use super::seen::Seen;
use super::world::World;

/// An asynchronous callback holds its group from start to end, across all awaits.
pub fn asynchronous_callbacks_hold_their_group<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let group = main.create_group("group", Vec::new());
    let log = Seen::new();
    let handle = main.handle();
    let told = log.clone();
    let subscription =
        world.there.on(&group).create_subscription("numbers", move |payload: Payload<Vec<i64>>, number: Number| {
            let log = told.clone();
            let pause = handle.sleep(ClockKind::Steady, Duration::from_millis(2));
            async move {
                log.push(("begin", number.data));
                assert!(pause.await.is_ok());
                payload.with(|numbers: &mut Vec<i64>| numbers.push(number.data));
                log.push(("end", number.data));
            }
        });
    let subscription = subscription.unwrap();
    world.matched(&publisher, &[&subscription]);
    world.spinning(&[&main], || {
        world.publish_all(&publisher, 0..5);
        world.wait("all have ended", log.until_count(10));
    });
    let expected: Vec<_> = (0..5).flat_map(|n| [("begin", n), ("end", n)]).collect();
    assert_eq!(log.all(), expected);
    assert_eq!(group.into_payload().unwrap(), [0, 1, 2, 3, 4]);
}

/// A callback that was registered with `releases_group_at_await` releases its group at awaits, so the next one starts
/// meanwhile.
pub fn a_group_can_be_released_at_await<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let group = main.create_group("group", ());
    let begun = Seen::new();
    let ended = Seen::new();
    let begins = begun.clone();
    let ends = ended.clone();
    let options = SubscriptionOptions::new("numbers").releases_group_at_await();
    let subscription = world.there.on(&group).create_subscription(options, move |_, number: Number| {
        let begins = begins.clone();
        let ends = ends.clone();
        async move {
            begins.push(number.data);
            // No callback ends before all have started.
            begins.until_count(5).await;
            ends.push(number.data);
        }
    });
    let subscription = subscription.unwrap();
    world.matched(&publisher, &[&subscription]);
    world.spinning(&[&main], || {
        world.publish_all(&publisher, 0..5);
        world.wait("all have ended", ended.until_count(5));
    });
    assert_eq!(begun.all(), [0, 1, 2, 3, 4]);
}

/// Callbacks of one subscription on a reentrant group run in parallel, on as many threads as there are.
pub fn reentrant_callbacks_run_at_once<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.context.create_executor(ExecutorOptions::new("main").threads(2));
    let publisher = world.here.create_publisher("numbers").unwrap();
    let group = main.create_reentrant_group("group");
    let begun = Seen::new();
    let gate = world.gate();
    let log = begun.clone();
    let open = gate.clone();
    let subscription = world.there.on(&group).create_subscription("numbers", move |number: Number| {
        log.push(number.data);
        // The first callback continues when the second one has started.
        if log.count() >= 2 {
            open.open();
        }
        open.pass();
    });
    let subscription = subscription.unwrap();
    world.matched(&publisher, &[&subscription]);
    world.spinning(&[&main], || {
        world.publish_all(&publisher, 0..6);
        world.wait("all have begun", begun.until_count(6));
    });
    let mut numbers = begun.all();
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
    assert_eq!(world.panics(), 0);
}

/// Asynchronous callbacks on a reentrant group overlap on one thread.
pub fn reentrant_asynchronous_callbacks_are_under_way_at_once<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let group = main.create_reentrant_group("group");
    let begun = Seen::new();
    let ended = Seen::new();
    let begins = begun.clone();
    let ends = ended.clone();
    let subscription = world.there.on(&group).create_subscription("numbers", move |number: Number| {
        let begins = begins.clone();
        let ends = ends.clone();
        async move {
            begins.push(number.data);
            begins.until_count(8).await;
            ends.push(number.data);
        }
    });
    let subscription = subscription.unwrap();
    world.matched(&publisher, &[&subscription]);
    world.spinning(&[&main], || {
        world.publish_all(&publisher, 0..8);
        world.wait("all have ended", ended.until_count(8));
    });
    assert_eq!(begun.all(), (0..8).collect::<Vec<_>>());
}

/// On two threads, callbacks of a mutually exclusive group never overlap, whatever their topics.
pub fn exclusive_callbacks_never_overlap<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.context.create_executor(ExecutorOptions::new("main").threads(2));
    let group = main.create_group("group", ());
    let heard = Seen::new();
    let inside = Arc::new(AtomicU32::new(0));
    let ends = ["one", "two"].map(|topic| {
        let publisher = world.here.create_publisher(topic).unwrap();
        let log = heard.clone();
        let inside = Arc::clone(&inside);
        let options = SubscriptionOptions::new(topic).keep_last(50);
        let subscription = world.there.on(&group).create_subscription(options, move |number: Number| {
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two at once");
            std::thread::yield_now();
            inside.fetch_sub(1, Ordering::SeqCst);
            log.push(number.data);
        });
        (publisher, subscription.unwrap())
    });
    for (publisher, subscription) in &ends {
        world.matched(publisher, &[subscription]);
    }
    world.spinning(&[&main], || {
        for data in 0..50 {
            for (publisher, _) in &ends {
                world.publish(publisher, number(data));
            }
        }
        world.wait("all is heard", heard.until_count(100));
    });
    assert_eq!(world.panics(), 0);
}

/// A panic of a callback is reported once, with entity and group. The callback runs again for the next message.
pub fn a_panic_is_reported_and_the_next_message_is_heard<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let group = main.create_group("group", ());
    let heard = Seen::new();
    let log = heard.clone();
    let subscription = world.there.on(&group).create_subscription("numbers", move |Number { data }: Number| {
        assert_ne!(data, 1, "on purpose");
        log.push(data);
    });
    let subscription = subscription.unwrap();
    world.matched(&publisher, &[&subscription]);
    world.spinning(&[&main], || {
        world.publish_all(&publisher, 0..4);
        world.wait("the others are heard", heard.until_has(3));
    });
    assert_eq!((heard.all(), world.panics()), (vec![0, 2, 3], 1));
    let incident = &world.incidents.all()[0];
    assert_eq!((incident.entity.as_str(), incident.group.as_str()), ("group/numbers", "group"));
    assert!(matches!(&incident.kind, IncidentKind::Panicked(why) if why.contains("on purpose")), "{incident}");
}

/// In a group with `OnPanic::Remove`, a panic removes the subscription. The publisher notices that, and other callbacks
/// of the group continue.
pub fn a_panic_removes_the_subscription_where_its_group_says_so<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let options = GroupOptions::new("group").on_panic(OnPanic::Remove);
    let group = main.create_group(options, ());
    let begun = Seen::new();
    let heard = Seen::new();
    let log = begun.clone();
    let panics = world.there.on(&group).create_subscription("numbers", move |number: Number| -> () {
        log.push(number.data);
        panic!("on purpose");
    });
    let log = heard.clone();
    let hears = world.there.on(&group).create_subscription("numbers", move |number: Number| log.push(number.data));
    let panics = panics.unwrap();
    let hears = hears.unwrap();
    world.matched(&publisher, &[&panics, &hears]);
    world.spinning(&[&main], || {
        world.publish_all(&publisher, 0..4);
        world.wait("the other one hears all", heard.until_count(4));
        world.until("the publisher knows", || publisher.subscription_count() == 1);
    });
    assert_eq!((begun.all(), world.panics()), (vec![0], 1));
}

/// In a group with `OnPanic::Halt`, a panic ends the spin with an error. The next spin gets the messages that arrived
/// meanwhile.
pub fn a_panic_halts_the_executor_where_its_group_says_so<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let options = GroupOptions::new("group").on_panic(OnPanic::Halt);
    let group = main.create_group(options, ());
    let heard = Seen::new();
    let log = heard.clone();
    let subscription = world.there.on(&group).create_subscription("numbers", move |Number { data }: Number| {
        assert_ne!(data, 0, "on purpose");
        log.push(data);
    });
    let subscription = subscription.unwrap();
    world.matched(&publisher, &[&subscription]);
    world.publish_all(&publisher, 0..2);
    let error = main.spin(SpinOptions::new().timeout(F::PATIENCE)).unwrap_err();
    assert!(matches!(&error, SpinError::Panicked(incident) if incident.entity == "group/numbers"), "{error}");
    assert_eq!(heard.count(), 0);
    world.spin_until(&main, "the next one is heard", heard.until_has(1));
}
