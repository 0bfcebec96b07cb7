//! Late subscriptions get what publishers of several Rust types have kept for them.

use std::cell::RefCell;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::time::Duration;

use rospin_engine::{Context, ContextOptions, ExecutorOptions, LossCause, ManualClock, SpinOptions};
use rospin_node::{Message, MessageInfo, Publisher, PublisherOptions, Qos, Ros};
use serde::{Deserialize, Serialize, Serializer};

use crate::one_queue::{Number, Other, World, hear, keep_last};

/// Checks what a subscription of numbers hears that comes after a publication and keeps so many messages.
fn late_hears(world: &World, depth: usize, expected: &[i64]) {
    let group = world.executor.create_group("late", Vec::new());
    let late = world.node.on(&group).create_subscription(keep_last(depth).transient_local(), hear).unwrap();
    assert_eq!(late.missed(), 0, "nothing was promised that it did not get");
    world.spin_all();
    assert_eq!(late.missed(), 0, "nothing was lost");
    drop(late);
    assert_eq!(group.into_payload().unwrap(), expected, "{depth}");
}

#[test]
fn a_late_subscription_has_the_newest_kept_messages_of_all_types_in_their_order() {
    for passes in [false, true] {
        let world = World::new();
        let options = || PublisherOptions::new("numbers").keep_last(2).transient_local();
        let publisher = world.node.create_publisher::<Number>(options()).unwrap();
        let other = world.node.create_publisher::<Other>(options()).unwrap();
        let second = world.node.create_publisher::<Other>(options()).unwrap();
        let pass = || world.clock.advance(Duration::from_millis(u64::from(passes)));
        for round in 0..3 {
            second.publish(Other { data: 3 * round + 1 }).unwrap();
            pass();
            publisher.publish(world.number(3 * round + 2)).unwrap();
            pass();
            other.publish(Other { data: 3 * round + 3 }).unwrap();
            pass();
        }
        late_hears(&world, 9, &[4, 5, 6, 7, 8, 9]);
        late_hears(&world, 4, &[6, 7, 8, 9]);
        late_hears(&world, 1, &[9]);
        publisher.publish(world.number(10)).unwrap();
        late_hears(&world, 2, &[9, 10]);
        late_hears(&world, 1, &[10]);
        drop(publisher);
        assert_eq!(world.waiting(), 0, "the others keep nothing of it");
    }
}

/// A number that runs a hook once, when it is encoded.
#[derive(Clone, Debug, Deserialize)]
struct Hooked {
    data: i64,
}

impl Message for Hooked {
    const TYPE: &str = "std_msgs/msg/Int64";
}

type Hook = Box<dyn FnOnce()>;

thread_local! {
    static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
}

fn set_hook(hook: impl FnOnce() + 'static) {
    HOOK.set(Some(Box::new(hook)));
}

impl Serialize for Hooked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let hook = HOOK.take();
        if let Some(hook) = hook {
            hook();
        }
        Other { data: self.data }.serialize(serializer)
    }
}

#[test]
fn what_is_published_while_kept_messages_are_encoded_comes_after_them() {
    // Which of both types publishes first meanwhile, the depth, what is heard, and how many are lost.
    let cases = [
        (true, 9, vec![1, 2, 3, 4], 0),
        (false, 9, vec![1, 2, 3, 4], 0),
        (true, 2, vec![3, 4], 0),
        (false, 1, vec![4], 1),
        (true, 1, vec![4], 1),
    ];
    for (is_hooked_first, depth, expected, lost) in cases {
        let world = World::new();
        let options = || PublisherOptions::new("numbers").keep_last(9).transient_local();
        let publisher = world.node.create_publisher::<Number>(options()).unwrap();
        let hooked = world.node.create_publisher::<Hooked>(options()).unwrap();
        hooked.publish(Hooked { data: 1 }).unwrap();
        publisher.publish(world.number(2)).unwrap();
        let (publisher, hooked) = (Arc::new(publisher), Arc::new(hooked));
        let (number, hooked_too) = (world.number(if is_hooked_first { 4 } else { 3 }), Arc::clone(&hooked));
        let publisher_too = Arc::clone(&publisher);
        set_hook(move || {
            if is_hooked_first {
                hooked_too.publish(Hooked { data: 3 }).unwrap();
                publisher_too.publish(number).unwrap();
            } else {
                publisher_too.publish(number).unwrap();
                hooked_too.publish(Hooked { data: 4 }).unwrap();
            }
        });
        let group = world.executor.create_group("late", Vec::new());
        let late = world.node.on(&group).create_subscription(keep_last(depth).transient_local(), hear).unwrap();
        assert!(HOOK.take().is_none(), "it was encoded");
        assert_eq!(late.missed(), lost, "those that were published since it came");
        world.spin_all();
        drop(late);
        assert_eq!(group.into_payload().unwrap(), expected, "{is_hooked_first} {depth}");
    }
}

#[test]
fn the_lifespan_of_a_kept_message_runs_from_its_publication_on() {
    let world = World::new();
    let qos = Qos::default().with_lifespan(Duration::from_millis(10));
    let options = PublisherOptions::new("numbers").qos(qos).transient_local();
    let publisher = world.node.create_publisher::<Hooked>(options).unwrap();
    publisher.publish(Hooked { data: 1 }).unwrap();
    world.clock.advance(Duration::from_millis(6));
    publisher.publish(Hooked { data: 2 }).unwrap();
    let clock = world.clock.clone();
    // Encoding takes so long.
    set_hook(move || clock.advance(Duration::from_millis(3)));
    let group = world.executor.create_group("late", Vec::new());
    let late = world.node.on(&group).create_subscription(keep_last(9).transient_local(), hear).unwrap();
    world.clock.advance(Duration::from_millis(2));
    world.spin_all();
    drop(late);
    assert_eq!(group.into_payload().unwrap(), [2], "the first one is 11 ms old");
}

/// Publishes a number as soon as there is a subscription.
struct AtOnce(Publisher<Other>);

impl Wake for AtOnce {
    fn wake(self: Arc<Self>) {
        assert_eq!(self.0.subscription_count(), 1);
        self.0.publish(Other { data: 2 }).unwrap();
    }
}

#[test]
fn a_subscription_gets_what_is_published_as_soon_as_it_counts() {
    // True if the publishers keep messages, and whether the callback asks for infos.
    for (is_latched, is_informed) in [(false, false), (false, true), (true, false), (true, true)] {
        let context = Context::new(ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let node = Ros::in_process(&context).create_node("node").unwrap();
        let options = || {
            let options = PublisherOptions::new("numbers");
            if is_latched { options.transient_local() } else { options }
        };
        let publisher = node.create_publisher::<Other>(options()).unwrap();
        let hooked = node.create_publisher::<Hooked>(options()).unwrap();
        hooked.publish(Hooked { data: 1 }).unwrap();
        if is_latched {
            let early = publisher.clone();
            set_hook(move || assert_eq!(early.subscription_count(), 0, "it has no queue yet"));
        }
        let waker = Waker::from(Arc::new(AtOnce(publisher.clone())));
        let mut waiting = pin!(publisher.wait_for_subscription());
        assert_eq!(waiting.as_mut().poll(&mut TaskContext::from_waker(&waker)), Poll::Pending);
        let group = executor.create_group("late", Vec::new());
        let options = if is_latched { keep_last(9).transient_local() } else { keep_last(9) };
        let late = if is_informed {
            let hear = |heard: &mut Vec<i64>, number: &Other, _: MessageInfo| heard.push(number.data);
            node.on(&group).create_subscription(options, hear).unwrap()
        } else {
            let hear = |heard: &mut Vec<i64>, number: &Other| heard.push(number.data);
            node.on(&group).create_subscription(options, hear).unwrap()
        };
        executor.spin(SpinOptions::spin_all()).unwrap();
        assert_eq!(late.missed(), 0);
        drop(late);
        let expected: &[i64] = if is_latched { &[1, 2] } else { &[2] };
        assert_eq!(group.into_payload().unwrap(), expected, "{is_latched} {is_informed}");
    }
}

#[test]
fn messages_of_the_own_type_are_not_lost_while_those_of_another_are_encoded() {
    // The depth, what is heard, and how many are lost of those that were published since the subscription came.
    let cases = [(9, vec![1, 2, 3, 4, 5], 0), (4, vec![2, 3, 4, 5], 0), (2, vec![4, 5], 1), (1, vec![5], 2)];
    for (depth, expected, lost) in cases {
        let world = World::new();
        let options = || PublisherOptions::new("numbers").keep_last(1).transient_local();
        let publisher = world.node.create_publisher::<Number>(options()).unwrap();
        let hooked = world.node.create_publisher::<Hooked>(options()).unwrap();
        hooked.publish(Hooked { data: 1 }).unwrap();
        publisher.publish(world.number(2)).unwrap();
        let (numbers, publisher_too) = ([3, 4, 5].map(|data| world.number(data)), publisher.clone());
        set_hook(move || numbers.into_iter().for_each(|number| publisher_too.publish(number).unwrap()));
        let group = world.executor.create_group("late", Vec::new());
        let late = world.node.on(&group).create_subscription(keep_last(depth).transient_local(), hear).unwrap();
        assert!(HOOK.take().is_none(), "it was encoded");
        assert_eq!(late.missed(), lost, "{depth}");
        world.spin_all();
        assert_eq!(late.missed(), lost, "{depth}");
        assert_eq!(world.waiting(), 1, "the publisher keeps the last one");
        drop(late);
        assert_eq!(group.into_payload().unwrap(), expected, "{depth}");
    }
}

#[test]
fn messages_that_expired_and_were_displaced_before_there_was_a_queue_count_as_expired() {
    // The number of messages that are published after the first two have expired.
    for further in [1, 2] {
        let clock = ManualClock::new();
        let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let node = Ros::in_process(&context).create_node("node").unwrap();
        let qos = Qos::default().with_lifespan(Duration::from_millis(10));
        let options = || PublisherOptions::new("numbers").qos(qos).transient_local();
        let publisher = node.create_publisher::<Hooked>(options()).unwrap();
        publisher.publish(Hooked { data: 1 }).unwrap();
        let other = node.create_publisher::<Other>(PublisherOptions::new("numbers").transient_local()).unwrap();
        set_hook(move || {
            publisher.publish(Hooked { data: 2 }).unwrap();
            clock.advance(Duration::from_millis(10));
            // One displaces the expired one, and the next one displaces that one.
            for data in 0..further {
                other.publish(Other { data: 3 + data }).unwrap();
            }
        });
        let group = executor.create_group("late", Vec::new());
        let options = keep_last(1).transient_local().name("late");
        let late = node.on(&group).create_subscription(options, hear).unwrap();
        let losses = context.losses().into_iter().filter(|loss| loss.entity == "late");
        let losses: Vec<_> = losses.map(|loss| (loss.cause, loss.count)).collect();
        let mut expected = vec![(LossCause::Expired, 1)];
        if further > 1 {
            expected.insert(0, (LossCause::QueueFull, 1));
        }
        assert_eq!(losses, expected);
        drop(late);
    }
}
