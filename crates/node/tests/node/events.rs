//! Events of publishers and subscriptions, in the time of a manual clock.

use std::time::Duration;

use rospin_engine::{Context, ContextOptions, Executor, ExecutorOptions, LossCause, ManualClock, SpinOptions};
use rospin_node::{
    DeadlineMissed, DynamicPublisher, Eventful, LifecyclePublisher, Liveliness, LivelinessChanged, LivelinessLost,
    MatchedStatus, Message, MessageLost, Node, PublisherOptions, PublisherSide, Qos, Ros, SubscriptionOptions,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Number {
    data: i64,
}

impl Message for Number {
    const TYPE: &str = "std_msgs/msg/Int64";
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn set_up() -> (ManualClock, Executor, Node) {
    let clock = ManualClock::new();
    let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let node = Ros::in_process(&context).create_node("node").unwrap();
    (clock, executor, node)
}

fn spin_all(executor: &Executor) {
    executor.spin(SpinOptions::spin_all()).unwrap();
}

fn timed(qos: Qos) -> (PublisherOptions, SubscriptionOptions) {
    (PublisherOptions::new("numbers").qos(qos), SubscriptionOptions::new("numbers").qos(qos))
}

#[test]
fn a_deadline_is_missed_once_a_period() {
    let (clock, executor, node) = set_up();
    let (publisher, subscription) = timed(Qos::default().with_deadline(ms(10)));
    let publisher = node.create_publisher::<Number>(publisher).unwrap();
    let group = executor.create_group("group", Vec::new());
    let on = node.on(&group);
    let subscription = on.create_subscription(subscription, |_: &mut Vec<_>, _: &Number| ()).unwrap();
    let told =
        |end| move |seen: &mut Vec<_>, missed: DeadlineMissed| seen.push((end, missed.total, missed.total_change));
    let _offered = on.create_event_callback(&publisher, told("offered")).unwrap();
    let _requested = on.create_event_callback(&subscription, told("requested")).unwrap();
    clock.advance(ms(100));
    spin_all(&executor);
    publisher.publish(Number { data: 1 }).unwrap();
    spin_all(&executor);
    // A message that comes when the period ends is in time.
    clock.advance(ms(10));
    publisher.publish(Number { data: 2 }).unwrap();
    spin_all(&executor);
    clock.advance(ms(11));
    spin_all(&executor);
    // Periods that end while nothing spins are told together.
    clock.advance(ms(25));
    spin_all(&executor);
    drop((subscription, publisher));
    spin_all(&executor);
    let seen = group.into_payload().unwrap();
    let of =
        |end| seen.iter().filter(|(of, ..)| *of == end).map(|(_, total, change)| (*total, *change)).collect::<Vec<_>>();
    assert_eq!((of("offered"), of("requested")), (vec![(1, 1), (3, 2)], vec![(1, 1), (3, 2)]));
}

#[test]
fn a_callback_wakes_up_for_the_end_of_a_period() {
    let (clock, executor, node) = set_up();
    let (options, _) = timed(Qos::default().with_deadline(ms(10)));
    let publisher = node.create_publisher::<Number>(options).unwrap();
    let group = executor.create_group("group", 0);
    let on = node.on(&group);
    let _missed = on.create_event_callback(&publisher, |count: &mut u64, missed: DeadlineMissed| *count = missed.total);
    spin_all(&executor);
    assert_eq!(executor.next_due(), None, "nothing runs for a deadline before the first message");
    publisher.publish(Number { data: 1 }).unwrap();
    spin_all(&executor);
    assert!(executor.next_due().is_some());
    clock.advance(ms(35));
    spin_all(&executor);
    drop(publisher);
    spin_all(&executor);
    assert_eq!(executor.next_due(), None, "a publisher that has gone misses nothing");
    clock.advance(ms(35));
    spin_all(&executor);
    assert_eq!(group.into_payload().unwrap(), 3);
}

#[test]
fn a_lease_ends_and_begins_again() {
    let (clock, executor, node) = set_up();
    let (publisher, subscription) = timed(Qos::default().with_liveliness(Liveliness::ManualByTopic, ms(10)));
    let publisher = node.create_publisher::<Number>(publisher).unwrap();
    let group = executor.create_group("group", Vec::new());
    let on = node.on(&group);
    let subscription = on.create_subscription(subscription, |_: &mut Vec<_>, _: &Number| ()).unwrap();
    let lost = |seen: &mut Vec<_>, lost: LivelinessLost| seen.push(("lost", lost.total, lost.total_change));
    let _lost = on.create_event_callback(&publisher, lost).unwrap();
    let changed = |seen: &mut Vec<_>, changed: LivelinessChanged| {
        seen.push(("alive", changed.alive as u64, changed.not_alive as u64));
    };
    let _changed = on.create_event_callback(&subscription, changed).unwrap();
    let after = |ms: u64| {
        clock.advance(Duration::from_millis(ms));
        spin_all(&executor);
    };
    after(0);
    after(10);
    after(1);
    after(100);
    publisher.assert_liveliness();
    after(10);
    publisher.publish(Number { data: 1 }).unwrap();
    after(10);
    after(1);
    drop(publisher);
    after(0);
    drop(subscription);
    let seen = group.into_payload().unwrap();
    let alive = seen.iter().filter(|(what, ..)| *what == "alive").map(|(_, alive, not)| (*alive, *not));
    assert_eq!(alive.collect::<Vec<_>>(), [(1, 0), (0, 1), (1, 0), (0, 1), (0, 0)]);
    let lost = seen.iter().filter(|(what, ..)| *what == "lost").map(|(_, total, change)| (*total, *change));
    assert_eq!(lost.collect::<Vec<_>>(), [(1, 1), (2, 1)]);
}

#[test]
fn a_lifespan_ends_in_the_queue() {
    let (clock, executor, node) = set_up();
    let (options, _) = timed(Qos::default().with_lifespan(ms(10)));
    let publisher = node.create_publisher::<Number>(options.transient_local()).unwrap();
    let group = executor.create_group("group", Vec::new());
    let hear = |heard: &mut Vec<i64>, number: &Number| heard.push(number.data);
    let options = || SubscriptionOptions::new("numbers").transient_local();
    let early = node.on(&group).create_subscription(options(), hear).unwrap();
    publisher.publish(Number { data: 1 }).unwrap();
    clock.advance(ms(6));
    publisher.publish(Number { data: 2 }).unwrap();
    clock.advance(ms(5));
    spin_all(&executor);
    // A late subscription gets those of the kept messages whose lifespan is not over, and they expire when that is
    // over.
    let late = node.on(&group).create_subscription(options(), hear).unwrap();
    let too_late = node.on(&group).create_subscription(options(), |heard: &mut Vec<i64>, _: &Number| heard.push(-1));
    let too_late = too_late.unwrap();
    drop(late);
    clock.advance(ms(5));
    spin_all(&executor);
    let lost = [&early, &too_late].map(|subscription| subscription.lost(LossCause::Expired));
    drop((early, too_late, publisher));
    assert_eq!((group.into_payload().unwrap(), lost), (vec![2], [1, 1]));
}

/// Messages wait encoded, and beside shared ones.
#[test]
fn in_a_full_queue_the_oldest_makes_room_also_if_a_later_one_has_expired() {
    let (clock, executor, node) = set_up();
    let with = |qos| node.create_publisher::<Number>(PublisherOptions::new("numbers").qos(qos)).unwrap();
    let [short, long] = [ms(5), ms(500)].map(|lifespan| with(Qos::default().with_lifespan(lifespan)));
    let plain = with(Qos::default());
    let group = executor.create_group("group", Vec::new());
    let on = node.on(&group);
    let options = SubscriptionOptions::new("numbers").keep_last(2);
    let heard = on.create_subscription(options, |heard: &mut Vec<_>, number: &Number| heard.push(number.data)).unwrap();
    for (first, last) in [(&long, &long), (&plain, &long), (&long, &plain), (&plain, &plain)] {
        first.publish(Number { data: 1 }).unwrap();
        short.publish(Number { data: 2 }).unwrap();
        clock.advance(ms(6));
        last.publish(Number { data: 3 }).unwrap();
        spin_all(&executor);
    }
    let lost = [LossCause::Expired, LossCause::QueueFull].map(|cause| heard.lost(cause));
    drop(heard);
    assert_eq!((group.into_payload().unwrap(), lost), ([3].repeat(4), [4, 4]));
}

/// A message that was kept is in the subscription's queue before the subscription has a callback.
#[test]
fn a_kept_message_starts_the_first_period() {
    let (clock, executor, node) = set_up();
    let (publisher, subscription) = timed(Qos::default().with_deadline(ms(10)));
    let publisher = node.create_publisher::<Number>(publisher.transient_local()).unwrap();
    publisher.publish(Number { data: 1 }).unwrap();
    let group = executor.create_group("group", 0);
    let on = node.on(&group);
    let subscription = on.create_subscription(subscription.transient_local(), |_: &mut u64, _: &Number| ()).unwrap();
    let missed = |count: &mut u64, missed: DeadlineMissed| *count = missed.total;
    let _missed = on.create_event_callback(&subscription, missed).unwrap();
    clock.advance(ms(35));
    spin_all(&executor);
    drop(subscription);
    assert_eq!(group.into_payload().unwrap(), 3);
}

/// The messages are lost before the subscription goes, and the callback could run only afterwards.
#[test]
fn a_subscription_that_has_gone_has_no_events() {
    let (clock, executor, node) = set_up();
    let (publisher, subscription) = timed(Qos::default().with_deadline(ms(10)));
    let publisher = node.create_publisher::<Number>(publisher).unwrap();
    let group = executor.create_group("group", 0);
    let on = node.on(&group);
    let subscription = on.create_subscription(subscription.keep_last(1), |_: &mut u64, _: &Number| ()).unwrap();
    let _callbacks = [
        on.create_event_callback(&subscription, |runs: &mut u64, _: MessageLost| *runs += 1).unwrap(),
        on.create_event_callback(&subscription, |runs: &mut u64, _: MatchedStatus| *runs += 1).unwrap(),
        on.create_event_callback(&subscription, |runs: &mut u64, _: DeadlineMissed| *runs += 1).unwrap(),
        on.create_event_callback(&subscription, |runs: &mut u64, _: LivelinessChanged| *runs += 1).unwrap(),
    ];
    for data in 0..3 {
        publisher.publish(Number { data }).unwrap();
    }
    clock.advance(ms(35));
    assert_eq!(subscription.missed(), 2);
    drop(subscription);
    spin_all(&executor);
    assert_eq!(group.into_payload().unwrap(), 0);
}

#[test]
fn publishers_of_every_kind_have_events() {
    fn has_events<T: Eventful<Side = PublisherSide>>() {}
    has_events::<LifecyclePublisher<Number>>();
    has_events::<DynamicPublisher>();
}

#[test]
fn callbacks_of_every_form_and_group_are_told() {
    let (_clock, executor, node) = set_up();
    let publisher = node.create_publisher::<Number>("numbers").unwrap();
    let (sender, told) = std::sync::mpsc::channel();
    let reentrant = executor.create_reentrant_group("reentrant");
    let group = executor.create_group("group", 0_usize);
    let (one, two, three) = (sender.clone(), sender.clone(), sender);
    let _callbacks = [
        node.on(&reentrant)
            .create_event_callback(&publisher, move |status: MatchedStatus| _ = one.send(status.current)),
        node.on(&group).create_event_callback(&publisher, move |status: MatchedStatus| {
            let two = two.clone();
            async move { _ = two.send(status.current) }
        }),
        node.on(&group).create_event_callback(&publisher, move |_: &mut usize, status: MatchedStatus| {
            three.send(status.current).map_err(|_| "nobody listens")
        }),
    ];
    let _subscription = node.on(&group).create_subscription("numbers", |_: &mut usize, _: &Number| ()).unwrap();
    spin_all(&executor);
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [1, 1, 1]);
}
