//! Topics: deadlines, lifespans and liveliness.

use std::time::{Duration, Instant};

use rospin_engine::LossCause;
use rospin_node::{
    DeadlineMissed, EventCallback, IncompatibleQos, Liveliness, LivelinessChanged, LivelinessLost, PublisherOptions,
    Qos, QosPolicy, SubscriptionOptions,
};

use super::fixture::Fixture;
use super::messages::{Number, number};
use super::seen::Seen;
use super::world::World;

/// A time that no case takes.
const FOREVER: Duration = Duration::from_secs(3600);
/// A time that is over before anything has happened.
const AT_ONCE: Duration = Duration::from_nanos(1);

fn publisher(qos: Qos) -> PublisherOptions {
    PublisherOptions::new("numbers").qos(qos)
}

fn subscription(qos: Qos) -> SubscriptionOptions {
    SubscriptionOptions::new("numbers").qos(qos)
}

/// Both ends are told of each period without a message, from the first message on. They are told when the period ends,
/// not when another message comes.
pub fn missed_deadlines_are_told<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let short = Qos::default().with_deadline(Duration::from_millis(20));
    let numbers = world.here.create_publisher::<Number>(publisher(short)).unwrap();
    let listener = world.listen(&world.there, &main, subscription(short));
    let patient = world.listen(&world.there, &main, subscription(Qos::default().with_deadline(FOREVER)));
    world.matched(&numbers, &[&listener.subscription, &patient.subscription]);
    let group = main.create_group("told", ());
    let offered = Seen::new();
    let requested = Seen::new();
    let never = Seen::new();
    let told = |log: &Seen<(u64, u64)>| {
        let log = log.clone();
        move |missed: DeadlineMissed| log.push((missed.total, missed.total_change))
    };
    let _callbacks: [EventCallback; 3] = [
        world.here.on(&group).create_event_callback(&numbers, told(&offered)).unwrap(),
        world.there.on(&group).create_event_callback(&listener.subscription, told(&requested)).unwrap(),
        world.there.on(&group).create_event_callback(&patient.subscription, told(&never)).unwrap(),
    ];
    world.spin_all(&main);
    assert_eq!((offered.count(), requested.count()), (0, 0), "the first message starts the first period");
    world.spinning(&[&main], || {
        world.publish(&numbers, number(1));
        for log in [&offered, &requested] {
            world.wait("several periods are told", log.until(|told| told.last().is_some_and(|(total, _)| *total >= 3)));
        }
        world.publish(&numbers, number(2));
        world.wait("it is heard", listener.heard.until_has(2));
        let (before, _) = *requested.all().last().unwrap();
        let more = move |told: &[(u64, u64)]| told.last().is_some_and(|(total, _)| *total > before + 1);
        world.wait("later periods are told", requested.until(more));
    });
    for log in [offered, requested] {
        let told = log.all();
        let sums = told.iter().scan(0, |sum, (_, change)| {
            *sum += change;
            Some(*sum)
        });
        assert!(sums.eq(told.iter().map(|(total, _)| *total)), "{told:?}");
    }
    assert_eq!(never.all(), []);
}

/// A deadline is measured without a callback. An event callback that is created later is told of all that was missed.
pub fn deadlines_that_were_missed_before_are_told<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let numbers = world.here.create_publisher(publisher(Qos::default().with_deadline(AT_ONCE))).unwrap();
    let listener = world.listen(&world.there, &main, "numbers");
    world.matched(&numbers, &[&listener.subscription]);
    world.publish_all(&numbers, [1, 2]);
    let group = main.create_group("told", ());
    let told = Seen::new();
    let log = told.clone();
    let missed = move |missed: DeadlineMissed| log.push(missed.total);
    let callback = world.here.on(&group).create_event_callback(&numbers, missed).unwrap();
    world.spin_until(&main, "it is told", told.until_count(1));
    drop(callback);
}

/// A subscription that requests more than a publisher offers is not matched, and both are told which policy it is.
pub fn times_that_do_not_fit_are_told<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let group = main.create_group("told", ());
    let offers = Qos::default().with_deadline(FOREVER / 2).with_liveliness(Liveliness::Automatic, FOREVER / 2);
    let numbers = world.here.create_publisher::<Number>(publisher(offers)).unwrap();
    let offered = Seen::new();
    let log = offered.clone();
    let told = move |event: IncompatibleQos| log.push((event.policy, event.total));
    let _offered = world.here.on(&group).create_event_callback(&numbers, told).unwrap();
    world.spinning(&[&main], || {
        let requests = [
            (Qos::default().with_deadline(FOREVER / 3), QosPolicy::Deadline),
            (Qos::default().with_liveliness(Liveliness::Automatic, FOREVER / 3), QosPolicy::Liveliness),
            (Qos::default().with_liveliness(Liveliness::ManualByTopic, FOREVER), QosPolicy::Liveliness),
        ];
        for (count, (qos, policy)) in (1..).zip(requests) {
            let listener = world.listen(&world.there, &main, subscription(qos));
            let requested = Seen::new();
            let log = requested.clone();
            let told = move |event: IncompatibleQos| log.push(event.policy);
            let _requested = world.there.on(&group).create_event_callback(&listener.subscription, told).unwrap();
            world.wait("the subscription is told", requested.until_has(policy));
            world.wait("the publisher is told", offered.until_has((policy, count)));
            assert_eq!(listener.subscription.publisher_count(), 0);
        }
        let less = Qos::default().with_deadline(FOREVER).with_liveliness(Liveliness::Automatic, FOREVER);
        let fits = world.listen(&world.there, &main, subscription(less));
        world.matched(&numbers, &[&fits.subscription]);
        world.publish(&numbers, number(1));
        world.wait("it is heard", fits.heard.until_has(1));
    });
    assert_eq!(offered.count(), 3);
}

/// A message whose lifespan is over is not heard, but counted.
pub fn expired_messages_are_not_heard<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let [short, long] = [AT_ONCE, FOREVER].map(|lifespan| {
        world.here.create_publisher::<Number>(publisher(Qos::default().with_lifespan(lifespan))).unwrap()
    });
    let listener = world.listen(&world.there, &main, "numbers");
    world.until("both are matched", || listener.subscription.publisher_count() == 2);
    for numbers in [&short, &long] {
        world.matched(numbers, &[&listener.subscription]);
    }
    world.spinning(&[&main], || {
        world.publish_all(&short, 0..3);
        world.publish_all(&long, 3..5);
        world.until("those that have expired are counted", || listener.subscription.lost(LossCause::Expired) == 3);
        world.wait("the others are heard", listener.heard.until_has(4));
    });
    assert_eq!((listener.heard.all(), listener.subscription.missed()), (vec![3, 4], 0));
}

/// A publisher keeps no message for late subscriptions whose lifespan is over.
pub fn expired_messages_are_not_kept<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let latched = |lifespan| publisher(Qos::default().with_lifespan(lifespan)).transient_local();
    let [short, long] = [AT_ONCE, FOREVER].map(|lifespan| world.here.create_publisher(latched(lifespan)).unwrap());
    world.publish_all(&short, 0..3);
    world.publish_all(&long, 3..5);
    let late = world.listen(&world.there, &main, SubscriptionOptions::new("numbers").transient_local());
    world.matched(&short, &[&late.subscription]);
    world.spinning(&[&main], || world.wait("those that have not expired are heard", late.heard.until_has(4)));
    assert_eq!((late.heard.all(), late.subscription.missed()), (vec![3, 4], 0));
}

/// Publishers with automatic liveliness are alive for as long as they exist.
pub fn publishers_are_alive_while_they_exist<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let listener = world.listen(&world.there, &main, "numbers");
    let group = main.create_group("told", ());
    let told = Seen::new();
    let log = told.clone();
    let changed = move |changed: LivelinessChanged| log.push((changed.alive, changed.not_alive));
    let _changed = world.there.on(&group).create_event_callback(&listener.subscription, changed).unwrap();
    world.spinning(&[&main], || {
        let one = world.here.create_publisher::<Number>("numbers").unwrap();
        world.wait("one is alive", told.until_has((1, 0)));
        let two = world.here.create_publisher::<Number>("numbers").unwrap();
        world.wait("two are alive", told.until_has((2, 0)));
        drop((one, two));
        world.wait("none is alive", told.until_has((0, 0)));
    });
}

/// A publisher that gives no sign of life is told so, and so are its subscriptions, until its next message.
pub fn a_silent_publisher_is_not_alive<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let manual = Qos::default().with_liveliness(Liveliness::ManualByTopic, Duration::from_millis(500));
    let numbers = world.here.create_publisher::<Number>(publisher(manual)).unwrap();
    let listener = world.listen(&world.there, &main, subscription(manual));
    let group = main.create_group("told", ());
    let lost = Seen::new();
    let changed = Seen::new();
    let log = lost.clone();
    let told = move |lost: LivelinessLost| log.push(lost.total);
    let _lost = world.here.on(&group).create_event_callback(&numbers, told).unwrap();
    let log = changed.clone();
    let told = move |changed: LivelinessChanged| log.push((changed.alive, changed.not_alive));
    let _changed = world.there.on(&group).create_event_callback(&listener.subscription, told).unwrap();
    world.matched(&numbers, &[&listener.subscription]);
    world.spinning(&[&main], || {
        world.wait("silence is told to the publisher", lost.until_count(1));
        world.until("silence is told to the subscription", || changed.all().last() == Some(&(0, 1)));
        for round in 0..2 {
            let before = lost.count();
            let count = changed.count();
            world.publish(&numbers, number(round));
            let is_alive = move |told: &[(usize, usize)]| told[count..].contains(&(1, 0));
            world.wait("the sign of life is told", changed.until(is_alive));
            world.wait("silence is told again", lost.until_count(before + 1));
            world.until("silence is told to the subscription again", || changed.all().last() == Some(&(0, 1)));
        }
        world.wait("the messages are heard", listener.heard.until_has(1));
    });
    assert!(lost.all().is_sorted_by(|one, next| one + 1 == *next), "{:?}", lost.all());
}

/// A publisher that asserts in time that it is alive needs no messages for it.
///
/// # Panics
/// If such a publisher or its subscription was told that it gives no sign of life, or if the machine never let it
/// assert in time.
pub fn a_publisher_that_asserts_to_be_alive_is_alive<F: Fixture>() {
    let lease = Duration::from_secs(2);
    // On a busy machine, the thread that asserts may not run for as long as the lease.
    let told = (0..10).map(|_| assert_to_be_alive::<F>(lease)).find(|(gap, ..)| *gap < lease / 2);
    let (_, lost, changed) = told.expect("the asserting thread never ran in time");
    assert_eq!((lost, changed), (vec![], vec![(1, 0)]));
}

/// Asserts to be alive for longer than `lease`. Returns the longest time between two assertions, and what the publisher
/// and the subscription were told.
fn assert_to_be_alive<F: Fixture>(lease: Duration) -> (Duration, Vec<u64>, Vec<(usize, usize)>) {
    let world = World::<F>::new();
    let main = world.executor("main");
    let manual = Qos::default().with_liveliness(Liveliness::ManualByTopic, lease);
    let numbers = world.here.create_publisher::<Number>(publisher(manual)).unwrap();
    let listener = world.listen(&world.there, &main, subscription(manual));
    let group = main.create_group("told", ());
    let lost = Seen::new();
    let changed = Seen::new();
    let log = lost.clone();
    let told = move |lost: LivelinessLost| log.push(lost.total);
    let _lost = world.here.on(&group).create_event_callback(&numbers, told).unwrap();
    let log = changed.clone();
    let told = move |changed: LivelinessChanged| log.push((changed.alive, changed.not_alive));
    let _changed = world.there.on(&group).create_event_callback(&listener.subscription, told).unwrap();
    let mut gap = Duration::ZERO;
    world.spinning(&[&main], || {
        let begin = Instant::now();
        let mut last = begin;
        world.until("it was silent for longer than its lease", || {
            numbers.assert_liveliness();
            let now = Instant::now();
            gap = gap.max(now.duration_since(last));
            last = now;
            begin.elapsed() > lease * 3 / 2
        });
    });
    (gap, lost.all(), changed.all())
}

/// The graph has the times of other ends.
pub fn times_are_in_the_graph<F: Fixture>() {
    let world = World::<F>::new();
    let deadline = FOREVER / 8;
    let lifespan = Duration::from_millis(1234);
    let lease = FOREVER / 4;
    let times = Qos::default().with_deadline(deadline).with_lifespan(lifespan);
    let times = times.with_liveliness(Liveliness::Automatic, lease);
    let _numbers = world.here.create_publisher::<Number>(publisher(times)).unwrap();
    let _plain = world.here.create_publisher::<Number>("plain").unwrap();
    let found = |topic: &str| world.there.publishers_info_by_topic(topic).unwrap();
    world.until("both are known", || found("/numbers").len() + found("/plain").len() == 2);
    let timed = &found("/numbers")[0];
    let plain = &found("/plain")[0];
    assert_eq!((timed.deadline, timed.lifespan), (Some(deadline), Some(lifespan)));
    assert_eq!((timed.liveliness, timed.liveliness_lease_duration), (Some(Liveliness::Automatic), Some(lease)));
    assert_eq!((plain.deadline, plain.lifespan, plain.liveliness_lease_duration), (None, None, None));
}
