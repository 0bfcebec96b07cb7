//! Reliable publishers and subscriptions that keep all: nothing is lost, and a publisher is told when there is no room.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rospin_dds::{Durability, Node, PublishError, Publisher, PublisherOptions, Qos, Subscription, SubscriptionOptions};
use rospin_engine::{CallbackGroup, Executor, SpinOptions};

use crate::common::{PATIENCE, Text, context, domain_id, executor, join, text, wait};

/// A subscription that keeps all, and whose callback blocks while it is told to.
struct Slow {
    subscription: Subscription,
    heard: Arc<AtomicUsize>,
    is_stuck: Arc<AtomicBool>,
    group: CallbackGroup<Vec<String>>,
}

impl Slow {
    fn new(node: &Node, executor: &Executor) -> Self {
        Self::with(node, executor, Qos::keep_all())
    }

    fn with(node: &Node, executor: &Executor, qos: Qos) -> Self {
        let group = executor.create_group("slow", Vec::new());
        let heard = Arc::<AtomicUsize>::default();
        let is_stuck = Arc::new(AtomicBool::new(true));
        let count = Arc::clone(&heard);
        let stuck = Arc::clone(&is_stuck);
        let options = SubscriptionOptions::new("chatter").qos(qos);
        let subscription =
            node.on(&group).create_subscription(options, move |heard: &mut Vec<String>, message: Text| {
                while stuck.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(1));
                }
                heard.push(message.data);
                count.fetch_add(1, Ordering::Relaxed);
            });
        Self { subscription: subscription.unwrap(), heard, is_stuck, group }
    }

    fn go_on(&self) {
        self.is_stuck.store(false, Ordering::Relaxed);
    }

    fn until_heard(&self, count: usize) {
        let begin = Instant::now();
        while self.heard.load(Ordering::Relaxed) < count {
            let heard = self.heard.load(Ordering::Relaxed);
            assert!(begin.elapsed() < PATIENCE, "{heard} of {count} heard");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn keeps_all(node: &Node) -> Publisher<Text> {
    node.create_publisher(PublisherOptions::new("chatter").qos(Qos::keep_all())).unwrap()
}

/// Publishes numbers, each at the end of so many spaces, until so many of them were refused. Returns those that were
/// accepted.
fn publish_until_refused(publisher: &Publisher<Text>, name: &str, spaces: usize, refusals: usize) -> Vec<String> {
    let padding = " ".repeat(spaces);
    let mut accepted = Vec::new();
    let mut refused = 0;
    for number in 0..1_000_000 {
        let data = format!("{padding}{name}{number}");
        match publisher.publish(text(data.clone())) {
            Ok(()) => accepted.push(data),
            Err(PublishError::Full { .. }) => {
                refused += 1;
                if refused == refusals {
                    return accepted;
                }
            }
            Err(error) => panic!("{error}"),
        }
    }
    panic!("there is room without end");
}

/// Spins the executor on a thread of its own meanwhile.
fn spinning<R>(executor: &Executor, body: impl FnOnce() -> R) -> R {
    struct Halt<'a>(&'a Executor);
    impl Drop for Halt<'_> {
        fn drop(&mut self) {
            self.0.halt();
        }
    }
    thread::scope(|scope| {
        scope.spawn(|| executor.spin(SpinOptions::new()).unwrap());
        let _halt = Halt(executor);
        body()
    })
}

fn nothing_is_lost(spaces: usize) {
    let (context, _) = context();
    let main = executor(&context, "main");
    let id = domain_id();
    let (here, there) = (join(id), join(id));
    let publisher = keeps_all(&here.ros(&context).create_node("talker").unwrap());
    let slow = Slow::new(&there.ros(&context).create_node("listener").unwrap(), &main);
    wait(&main, "the publisher is matched", publisher.wait_for_subscription());
    wait(&main, "the subscription is matched", slow.subscription.wait_for_publisher());
    let accepted = spinning(&main, || {
        let accepted = publish_until_refused(&publisher, "", spaces, 3);
        slow.go_on();
        slow.until_heard(accepted.len());
        accepted
    });
    assert_eq!(slow.subscription.missed(), 0);
    drop(slow.subscription);
    assert!(slow.group.into_payload().unwrap() == accepted, "all is heard, once and in order");
}

#[test]
fn a_stuck_subscription_pushes_back_and_loses_nothing() {
    nothing_is_lost(0);
}

#[test]
fn large_messages_push_back_and_are_not_lost() {
    nothing_is_lost(64 << 10);
}

#[test]
fn huge_messages_push_back_and_are_not_lost() {
    nothing_is_lost(1 << 20);
}

#[test]
fn many_publishers_push_back_to_one_slow_subscription() {
    let (context, _) = context();
    let main = executor(&context, "main");
    let id = domain_id();
    let (here, elsewhere, there) = (join(id), join(id), join(id));
    let slow = Slow::new(&there.ros(&context).create_node("listener").unwrap(), &main);
    let talkers = [&here, &elsewhere].map(|domain| domain.ros(&context).create_node("talker").unwrap());
    let publishers = [0, 1, 0, 1].map(|at: usize| keeps_all(&talkers[at]));
    for publisher in &publishers {
        wait(&main, "the publisher is matched", publisher.wait_for_subscription());
    }
    let accepted: Vec<Vec<String>> = spinning(&main, || {
        thread::scope(|scope| {
            let publish = |(name, publisher)| {
                let name = char::from(name).to_string();
                scope.spawn(move || publish_until_refused(publisher, &name, 4000, 3))
            };
            let threads: Vec<_> = (b'a'..).zip(&publishers).map(publish).collect();
            // The callback goes on before all are refused, so some messages are refused while others are taken.
            thread::sleep(Duration::from_millis(300));
            slow.go_on();
            thread::sleep(Duration::from_millis(20));
            slow.is_stuck.store(true, Ordering::Relaxed);
            let accepted: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
            slow.go_on();
            slow.until_heard(accepted.iter().map(Vec::len).sum());
            accepted
        })
    });
    assert_eq!(slow.subscription.missed(), 0);
    drop(slow.subscription);
    let heard = slow.group.into_payload().unwrap();
    for (name, accepted) in (b'a'..).zip(accepted) {
        let name = char::from(name);
        let of_it: Vec<_> = heard.iter().filter(|data| data.trim_start().starts_with(name)).cloned().collect();
        assert!(of_it == accepted, "all of `{name}` is heard, once and in order");
    }
}

#[test]
fn a_late_subscription_that_is_stuck_gets_everything_that_was_kept() {
    const KEPT: usize = 1500;
    let (context, _) = context();
    let main = executor(&context, "main");
    let id = domain_id();
    let (here, there) = (join(id), join(id));
    let talker = here.ros(&context).create_node("talker").unwrap();
    let mut qos = Qos::keep_all();
    qos.durability = Durability::TransientLocal;
    let publisher = talker.create_publisher::<Text>(PublisherOptions::new("chatter").qos(qos)).unwrap();
    // Together more than a subscription has room for.
    let padding = " ".repeat(64 << 10);
    let published: Vec<String> = (0..KEPT).map(|number| format!("{padding}{number}")).collect();
    for data in &published {
        publisher.publish(text(data.clone())).unwrap();
    }
    let slow = Slow::with(&there.ros(&context).create_node("listener").unwrap(), &main, qos);
    wait(&main, "the subscription is matched", slow.subscription.wait_for_publisher());
    spinning(&main, || {
        thread::sleep(Duration::from_millis(500));
        slow.go_on();
        slow.until_heard(KEPT);
    });
    assert_eq!(slow.subscription.missed(), 0);
    drop(slow.subscription);
    assert!(slow.group.into_payload().unwrap() == published, "all is heard, once and in order");
}

/// Nor does one that keeps the last few, if it publishes only where there is room.
#[test]
fn a_publisher_with_room_overwrites_nothing() {
    const COUNT: usize = 300;
    let (context, _) = context();
    let main = executor(&context, "main");
    let id = domain_id();
    let (here, there) = (join(id), join(id));
    let talker = here.ros(&context).create_node("talker").unwrap();
    let options = PublisherOptions::new("chatter").keep_last(3);
    let publisher = talker.create_publisher::<Text>(options).unwrap();
    let listener = there.ros(&context).create_node("listener").unwrap();
    let slow = Slow::with(&listener, &main, Qos::keep_last(COUNT));
    slow.go_on();
    wait(&main, "the publisher is matched", publisher.wait_for_subscription());
    wait(&main, "the subscription is matched", slow.subscription.wait_for_publisher());
    let padding = " ".repeat(64 << 10);
    spinning(&main, || {
        let begin = Instant::now();
        for number in 0..COUNT {
            let mut message = Arc::new(text(format!("{padding}{number}")));
            while let Err(refused) = publisher.publish_if_room(message) {
                assert!(begin.elapsed() < PATIENCE, "{refused}");
                message = refused.message;
                let _ = publisher.wait_for_room();
            }
        }
        slow.until_heard(COUNT);
    });
    assert_eq!(slow.subscription.missed(), 0);
}

/// The time for which a publisher waits is its own. With zero it never waits.
#[test]
fn a_publisher_waits_for_as_long_as_it_says() {
    let (context, _) = context();
    let main = executor(&context, "main");
    let id = domain_id();
    let (here, there) = (join(id), join(id));
    let talker = here.ros(&context).create_node("talker").unwrap();
    let slow = Slow::new(&there.ros(&context).create_node("listener").unwrap(), &main);
    let mut publishers = Vec::new();
    spinning(&main, || {
        for at_most in [Duration::ZERO, Duration::from_millis(200)] {
            let options = PublisherOptions::new("chatter").qos(Qos::keep_all()).max_blocking_time(at_most);
            let publisher = talker.create_publisher::<Text>(options).unwrap();
            let begin = Instant::now();
            while publisher.subscription_count() == 0 {
                assert!(begin.elapsed() < PATIENCE, "it is not matched");
                thread::sleep(Duration::from_millis(1));
            }
            // The subscription is stuck, and has room for 64 MiB. In the end nothing is accepted any more.
            let data = "x".repeat(1 << 20);
            let mut accepted = Instant::now();
            while accepted.elapsed() < Duration::from_millis(200) {
                if publisher.publish(text(data.clone())).is_ok() {
                    accepted = Instant::now();
                }
                assert!(begin.elapsed() < PATIENCE, "there is room without end");
                thread::sleep(Duration::from_millis(1));
            }
            let begin = Instant::now();
            assert!(matches!(publisher.publish(text("x")), Err(PublishError::Full { .. })));
            let published = begin.elapsed();
            assert!(matches!(publisher.wait_for_room(), Err(PublishError::Full { .. })));
            let waited = begin.elapsed() - published;
            // It is not much longer, unless the machine is busy.
            assert!(published >= at_most && waited >= at_most, "{published:?} {waited:?}");
            assert!(at_most > Duration::ZERO || published.min(waited) < Duration::from_millis(50), "{published:?}");
            publishers.push(publisher);
        }
        // Before they are dropped, which waits for what is not confirmed.
        slow.go_on();
        publishers.clear();
    });
}

/// What was published before the second one came is not for it. The first one has not got it yet.
#[test]
fn a_stuck_subscription_loses_nothing_to_one_that_comes() {
    let (context, _) = context();
    let main = executor(&context, "main");
    let id = domain_id();
    let (here, there) = (join(id), join(id));
    let publisher = keeps_all(&here.ros(&context).create_node("talker").unwrap());
    let node = there.ros(&context).create_node("listener").unwrap();
    let slow = Slow::new(&node, &main);
    wait(&main, "the publisher is matched", publisher.wait_for_subscription());
    wait(&main, "the subscription is matched", slow.subscription.wait_for_publisher());
    let (accepted, late) = spinning(&main, || {
        let mut accepted = publish_until_refused(&publisher, "", 4000, 1);
        let late = Slow::with(&node, &main, Qos::keep_last(1000));
        let begin = Instant::now();
        while publisher.subscription_count() < 2 {
            assert!(begin.elapsed() < PATIENCE, "the late subscription is not matched");
            thread::sleep(Duration::from_millis(1));
        }
        // It asks for messages meanwhile.
        thread::sleep(Duration::from_millis(500));
        slow.go_on();
        late.go_on();
        slow.until_heard(accepted.len());
        for number in 0..100 {
            let data = format!("late{number}");
            publisher.publish(text(data.clone())).unwrap();
            accepted.push(data);
        }
        slow.until_heard(accepted.len());
        late.until_heard(100);
        // It may have heard a few from before it came, too.
        thread::sleep(Duration::from_millis(200));
        (accepted, late)
    });
    assert_eq!(slow.subscription.missed(), 0);
    drop((slow.subscription, late.subscription));
    assert!(slow.group.into_payload().unwrap() == accepted, "the first one hears all, once and in order");
    let heard = late.group.into_payload().unwrap();
    assert!(heard.ends_with(&accepted[accepted.len() - 100..]), "the late one hears what is new");
}
