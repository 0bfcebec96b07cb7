//! Topics: queue depths, displaced messages, and messages for late subscriptions.

use rospin_engine::{ContextOptions, Deployment, LossCause};
use rospin_node::{PublishError, Publisher, PublisherOptions, Qos, Subscription, SubscriptionOptions};

use super::fixture::Fixture;
use super::messages::{Number, number};
use super::seen::{Gate, Seen};
use super::world::{Listener, World};

/// A subscription whose callback blocks in its first message, and another one that receives everything meanwhile.
struct HeldUp {
    publisher: Publisher<Number>,
    subscription: Subscription,
    heard: Seen<i64>,
    gate: Gate,
    witness: Listener,
}

/// The number of the message in which the callback blocks.
const FIRST: i64 = -1;

impl HeldUp {
    fn new<F: Fixture>(world: &World<F>, main: &rospin_engine::Executor, options: SubscriptionOptions) -> Self {
        let publisher = world.here.create_publisher(PublisherOptions::new("numbers").keep_last(200)).unwrap();
        let group = main.create_group("slow", ());
        let heard = Seen::new();
        let gate = world.gate();
        let log = heard.clone();
        let wait = gate.clone();
        let subscription = world.there.on(&group).create_subscription(options, move |Number { data }: Number| {
            log.push(data);
            wait.pass();
        });
        let subscription = subscription.unwrap();
        let options = SubscriptionOptions::new("numbers").keep_last(200);
        let witness = world.listen(&world.there, world.helper(), options);
        world.matched(&publisher, &[&subscription, &witness.subscription]);
        Self { publisher, subscription, heard, gate, witness }
    }

    /// Publishes while the callback blocks, until everything has arrived. Then unblocks it, until it has run with the
    /// last message. The witness tells what has arrived at another subscription, so the number of messages that are
    /// `displaced` is waited for as well.
    fn overflow<F: Fixture>(&self, world: &World<F>, main: &rospin_engine::Executor, numbers: i64, displaced: u64) {
        world.spinning(&[main], || {
            world.publish(&self.publisher, number(FIRST));
            world.wait("the first one is heard", self.heard.until_count(1));
            world.publish_all(&self.publisher, 0..numbers);
            world.wait("all have arrived", self.witness.heard.until_has(numbers - 1));
            world.until("those that have no room are counted", || self.subscription.missed() >= displaced);
            self.gate.open();
            world.wait("the last one is heard", self.heard.until_has(numbers - 1));
        });
    }
}

/// A subscription keeps the newest messages, as many as its depth. Each other one is counted, by the subscription and
/// by the context under its name. The callback runs once for each message that is kept.
pub fn the_newest_are_kept_and_the_rest_is_counted<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let held = HeldUp::new(&world, &main, SubscriptionOptions::new("numbers").keep_last(4));
    held.overflow(&world, &main, 20, 16);
    assert_eq!(held.heard.all(), [FIRST, 16, 17, 18, 19]);
    assert_eq!(held.subscription.missed(), 16);
    let losses = world.context.losses();
    let losses: Vec<_> = losses.iter().map(|loss| (loss.entity.as_str(), loss.cause, loss.count)).collect();
    assert_eq!(losses, [("slow/numbers", LossCause::QueueFull, 16)]);
}

/// However late a subscription is, received and missed messages are all messages, and the newest are received last.
pub fn far_behind_nothing_is_lost_uncounted<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let held = HeldUp::new(&world, &main, SubscriptionOptions::new("numbers").keep_last(1));
    held.overflow(&world, &main, 150, 0);
    let heard = held.heard.all();
    assert!(heard.is_sorted_by(|one, next| one < next), "{heard:?}");
    assert_eq!(heard.len() as u64 + held.subscription.missed(), 151, "{heard:?}");
    // A middleware may keep more than the depth until it is taken from; the bound shows that it is not much more.
    assert!(heard.len() <= 25, "{heard:?}");
}

/// A subscription that keeps all is stuck, and its publisher keeps all, too. Each message is heard in the end, or is
/// counted as missed, or its publisher was told that there is no room for it.
pub fn nothing_kept_without_limit_is_lost_uncounted<F: Fixture>() {
    // A few more than a queue without a limit has room for.
    const SENT: i64 = 8192 + 20;
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher(PublisherOptions::new("numbers").qos(Qos::keep_all())).unwrap();
    let group = main.create_group("slow", ());
    let heard = Seen::new();
    let gate = world.gate();
    let log = heard.clone();
    let wait = gate.clone();
    let options = SubscriptionOptions::new("numbers").qos(Qos::keep_all());
    let subscription = world.there.on(&group).create_subscription(options, move |Number { data }: Number| {
        log.push(data);
        wait.pass();
    });
    let subscription = subscription.unwrap();
    world.matched(&publisher, &[&subscription]);
    world.spinning(&[&main], || {
        world.publish(&publisher, number(FIRST));
        world.wait("the first one is heard", heard.until_count(1));
        let mut refused = 0;
        for data in 0..SENT {
            match publisher.publish(number(data)) {
                Ok(()) => {}
                Err(PublishError::Full { .. }) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        gate.open();
        let expected = (1 + SENT - refused).unsigned_abs();
        world.until("each one is heard or counted", || heard.count() as u64 + subscription.missed() >= expected);
        assert_eq!(heard.count() as u64 + subscription.missed(), expected);
    });
    assert!(heard.all().is_sorted_by(|one, next| one < next));
}

/// A subscription that keeps all is stuck. Its publisher sees that there is no room: a message is returned and not
/// published, and waiting for room ends without any. Once the subscription goes on, there is room again. Everything that
/// was accepted is heard, and nothing else.
pub fn what_has_no_room_is_returned<F: Fixture>() {
    // More than both queues together have room for.
    const SENT_MAX: i64 = 20_000;
    let world = World::<F>::new();
    let main = world.executor("main");
    let options = PublisherOptions::new("numbers").qos(Qos::keep_all());
    let publisher = world.here.create_publisher(options).unwrap();
    let group = main.create_group("slow", ());
    let heard = Seen::new();
    let gate = world.gate();
    let log = heard.clone();
    let wait = gate.clone();
    let options = SubscriptionOptions::new("numbers").qos(Qos::keep_all());
    let subscription = world.there.on(&group).create_subscription(options, move |Number { data }: Number| {
        log.push(data);
        wait.pass();
    });
    let subscription = subscription.unwrap();
    world.matched(&publisher, &[&subscription]);
    world.spinning(&[&main], || {
        let mut sent = 0;
        while publisher.wait_for_room().is_ok() {
            match publisher.publish_if_room(number(sent)) {
                Ok(()) => sent += 1,
                Err(refused) => {
                    assert!(matches!(refused.reason, PublishError::Full { .. }), "{refused}");
                    assert_eq!(refused.message.data, sent);
                }
            }
            assert!(sent < SENT_MAX, "there is room without end");
        }
        let refused = publisher.publish_if_room(number(sent)).unwrap_err();
        assert!(matches!(refused.reason, PublishError::Full { .. }), "{refused}");
        gate.open();
        world.until("there is room", || publisher.wait_for_room().is_ok());
        world.until("the message has room", || publisher.publish_if_room(number(sent)).is_ok());
        world.wait("it is heard", heard.until_has(sent));
        assert_eq!(heard.all(), (0..=sent).collect::<Vec<_>>());
        assert_eq!(subscription.missed(), 0);
    });
}

/// The depth of a deployment file takes precedence over the program's.
pub fn the_deployment_file_says_the_depth<F: Fixture>() {
    let deployment = Deployment::parse("callback = [{ name = \"slow/numbers\", depth = 3 }]").unwrap();
    let world = World::<F>::with(ContextOptions::new().deployment(deployment));
    let main = world.executor("main");
    let held = HeldUp::new(&world, &main, SubscriptionOptions::new("numbers").keep_last(100));
    held.overflow(&world, &main, 15, 12);
    assert_eq!((held.heard.all(), held.subscription.missed()), (vec![FIRST, 12, 13, 14], 12));
}

/// A late subscription gets no messages that were published before.
pub fn a_late_subscription_hears_only_what_follows<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    // An early subscription receives them, which shows that they were sent.
    let early = world.listen(&world.there, world.helper(), "numbers");
    world.matched(&publisher, &[&early.subscription]);
    world.publish_all(&publisher, 0..3);
    world.wait("the early ones are heard", early.heard.until_count(3));
    let late = world.listen(&world.there, &main, "numbers");
    world.matched(&publisher, &[&early.subscription, &late.subscription]);
    world.spinning(&[&main], || {
        world.publish(&publisher, number(3));
        world.wait("the late one is heard", late.heard.until_has(3));
    });
    assert_eq!((late.heard.all(), late.subscription.missed()), (vec![3], 0));
}

/// A new subscription in place of an old one starts empty: it gets no message that the old one had or was about to
/// get.
pub fn a_successor_hears_only_what_follows<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    for round in 0..4 {
        let listener = world.listen(&world.there, &main, "numbers");
        world.matched(&publisher, &[&listener.subscription]);
        world.spinning(&[&main], || {
            world.publish_all(&publisher, [10 * round, 10 * round + 1]);
            world.wait("both are heard", listener.heard.until_has(10 * round + 1));
        });
        // Nobody waits for this message to be received.
        world.publish(&publisher, number(10 * round + 2));
        assert_eq!(listener.heard.all(), [10 * round, 10 * round + 1]);
        drop(listener);
        world.spin_all(&main);
        world.until("it is known to be gone", || publisher.subscription_count() == 0);
    }
}

/// Messages that arrived for a subscription and were not taken before its drop do not go to its successor.
pub fn a_successor_hears_nothing_that_was_left<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("numbers").unwrap();
    let witness = world.listen(&world.there, world.helper(), "numbers");
    for round in 0..4 {
        let listener = world.listen(&world.there, &main, "numbers");
        world.matched(&publisher, &[&witness.subscription, &listener.subscription]);
        world.spinning(&[&main], || {
            world.publish(&publisher, number(10 * round));
            world.wait("it is heard", listener.heard.until_has(10 * round));
        });
        world.publish_all(&publisher, [10 * round + 1, 10 * round + 2]);
        world.wait("others hear what follows", witness.heard.until_has(10 * round + 2));
        assert_eq!(listener.heard.all(), [10 * round]);
        drop(listener);
        world.spin_all(&main);
        world.until("it is known to be gone", || publisher.subscription_count() == 1);
    }
}

/// Publishes `early` on a transient local publisher with a depth of three. With `is_heard`, a subscription receives
/// these messages; otherwise there is none. Then publishes one more to a late transient local subscription, which must
/// receive exactly `expected`.
fn latched<F: Fixture>(early: std::ops::Range<i64>, is_heard: bool, expected: &[i64]) {
    let world = World::<F>::new();
    let main = world.executor("main");
    let options = PublisherOptions::new("numbers").keep_last(3).transient_local();
    let publisher = world.here.create_publisher(options).unwrap();
    let witness = if is_heard { Some(world.listen(&world.there, world.helper(), "numbers")) } else { None };
    let next = early.end;
    if let Some(witness) = &witness {
        world.matched(&publisher, &[&witness.subscription]);
    }
    world.publish_all(&publisher, early);
    if let Some(witness) = &witness {
        world.wait("the early ones are heard", witness.heard.until_has(next - 1));
    }
    let late = world.listen(&world.there, &main, SubscriptionOptions::new("numbers").transient_local());
    world.spinning(&[&main], || {
        world.wait("the latched ones are heard", late.heard.until_has(next - 1));
        world.publish(&publisher, number(next));
        world.wait("the next one is heard", late.heard.until_has(next));
    });
    assert_eq!((late.heard.all(), late.subscription.missed()), (expected.to_vec(), 0));
}

/// A transient local publisher keeps its last messages for late transient local subscriptions.
pub fn a_late_subscription_hears_what_was_latched<F: Fixture>() {
    latched::<F>(0..3, false, &[0, 1, 2, 3]);
}

/// A transient local publisher keeps no more messages than its depth. Older ones are neither received nor counted as
/// missed.
pub fn no_more_is_latched_than_the_depth_says<F: Fixture>() {
    latched::<F>(0..5, true, &[2, 3, 4, 5]);
}

/// Two late subscriptions both get the kept messages, and later messages once.
pub fn latched_messages_are_there_for_everyone<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let options = PublisherOptions::new("numbers").keep_last(2).transient_local();
    let publisher = world.here.create_publisher(options).unwrap();
    world.publish_all(&publisher, [1, 2]);
    world.spinning(&[&main], || {
        let options = || SubscriptionOptions::new("numbers").transient_local();
        let first = world.listen(&world.there, &main, options());
        world.wait("the first hears them", first.heard.until_count(2));
        let second = world.listen(&world.there, &main, options());
        world.wait("the second hears them", second.heard.until_count(2));
        world.publish(&publisher, number(3));
        for listener in [&first, &second] {
            world.wait("what follows is heard", listener.heard.until_has(3));
            assert_eq!(listener.heard.all(), [1, 2, 3]);
        }
    });
}

/// A late volatile subscription does not get the kept messages.
pub fn latched_messages_are_only_for_those_that_ask<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let options = PublisherOptions::new("numbers").keep_last(3).transient_local();
    let publisher = world.here.create_publisher(options).unwrap();
    // An early subscription receives them, so they are not on their way any more when the late one comes.
    let early = world.listen(&world.there, world.helper(), "numbers");
    world.matched(&publisher, &[&early.subscription]);
    world.publish_all(&publisher, 0..3);
    world.wait("the early ones are heard", early.heard.until_count(3));
    let late = world.listen(&world.there, &main, "numbers");
    world.matched(&publisher, &[&early.subscription, &late.subscription]);
    world.spinning(&[&main], || {
        world.publish(&publisher, number(3));
        world.wait("what follows is heard", late.heard.until_has(3));
    });
    assert_eq!(late.heard.all(), [3]);
}
