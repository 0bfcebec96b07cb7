//! Callback groups: mutual exclusion, and the life of a payload.

use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;

use crate::common::{Count, expect, manual_executor, ms, spin_all, spin_in_background, threads, watchdog};
use rospin_engine::{
    CallbackGroup, Context, ContextOptions, ExecutorOptions, GroupOptions, SpinOptions, SubscriptionOptions,
};

#[derive(Default)]
struct Tally {
    inside: bool,
    sum: u64,
    runs: u64,
}

impl Tally {
    /// Adds to both numbers. It is not atomic on purpose, and slow enough to be seen in the middle.
    fn add(&mut self, n: u64) {
        assert!(!self.inside, "somebody else is in here");
        self.inside = true;
        let (sum, runs) = (self.sum, self.runs);
        thread::yield_now();
        self.sum = sum + n;
        self.runs = runs + 1;
        self.inside = false;
    }
}

#[test]
fn a_mutually_exclusive_group_runs_one_callback_at_a_time() {
    const SUBSCRIPTIONS: u64 = 8;
    const MESSAGES: u64 = 250;
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = Arc::new(context.create_executor(ExecutorOptions::new("pool").threads(threads(4))));
        let publisher = context.create_local_publisher::<u64>("topic").unwrap();
        let (ended, runs) = mpsc::channel();
        let groups: Vec<CallbackGroup<Tally>> =
            (0..2).map(|n| executor.create_group(format!("group {n}"), Tally::default())).collect();
        let mut subscriptions = Vec::new();
        for group in &groups {
            for _ in 0..SUBSCRIPTIONS {
                let ended = ended.clone();
                let options = SubscriptionOptions::new("topic").keep_last(MESSAGES as usize);
                let callback = move |tally: &mut Tally, n: Arc<u64>| {
                    tally.add(*n);
                    ended.send(()).unwrap();
                };
                subscriptions.push(group.create_local_subscription(options, callback).unwrap());
            }
        }
        let spin = spin_in_background(&executor);
        for n in 0..MESSAGES {
            publisher.publish(n);
        }
        for _ in 0..2 * SUBSCRIPTIONS * MESSAGES {
            expect(&runs);
        }
        executor.halt();
        spin.join().unwrap().unwrap();
        for group in groups {
            let tally = group.into_payload().unwrap();
            assert_eq!(tally.runs, SUBSCRIPTIONS * MESSAGES);
            assert_eq!(tally.sum, SUBSCRIPTIONS * MESSAGES * (MESSAGES - 1) / 2);
        }
    });
}

#[test]
fn different_groups_run_in_parallel() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("pool").threads(threads(3)));
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let meeting = Arc::new(Barrier::new(3));
        let subscriptions: Vec<_> = (0..3)
            .map(|_| {
                let (meeting, handle) = (Arc::clone(&meeting), executor.handle());
                let group = executor.create_group("group", ());
                let callback = move |(): &mut (), _: Arc<u8>| {
                    meeting.wait();
                    handle.halt();
                };
                group.create_local_subscription("topic", callback).unwrap()
            })
            .collect();
        publisher.publish(1);
        executor.spin(SpinOptions::new()).unwrap();
        assert_eq!(subscriptions.len(), 3);
    });
}

/// Returns the most activations at once of a reentrant subscription on 4 threads. Each activation waits for `meet`
/// others.
fn most_at_once(options: SubscriptionOptions, meet: usize) -> usize {
    const MESSAGES: usize = 60;
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("pool").threads(threads(4)));
    let group = executor.create_reentrant_group("group");
    let publisher = context.create_local_publisher::<u8>("topic").unwrap();
    let (inside, most, ended) = (Count::new(), Arc::new(Mutex::new(0)), Count::new());
    let (most_seen, meeting, handle) = (Arc::clone(&most), Barrier::new(meet), executor.handle());
    let callback = move |_: Arc<u8>| {
        let now = inside.up();
        let mut most = most_seen.lock().unwrap();
        *most = now.max(*most);
        drop(most);
        meeting.wait();
        // Yielding gives a second thread the time to enter, if exclusion fails.
        (0..50).for_each(|_| thread::yield_now());
        inside.down();
        if ended.up() == MESSAGES {
            handle.halt();
        }
    };
    let _subscription = group.create_local_subscription(options.keep_last(MESSAGES), callback).unwrap();
    for _ in 0..MESSAGES {
        publisher.publish(0);
    }
    executor.spin(SpinOptions::new()).unwrap();
    *most.lock().unwrap()
}

#[test]
fn a_reentrant_callback_runs_on_all_threads_at_once() {
    watchdog(|| assert_eq!(most_at_once(SubscriptionOptions::new("topic"), 4), 4));
}

#[test]
fn max_in_flight_bounds_a_reentrant_callback() {
    watchdog(|| {
        assert_eq!(most_at_once(SubscriptionOptions::new("topic").max_in_flight(2), 2), 2);
        assert_eq!(most_at_once(SubscriptionOptions::new("topic").max_in_flight(1), 1), 1);
    });
}

#[test]
fn callbacks_create_groups_and_entities() {
    watchdog(|| {
        let (clock, context, executor) = manual_executor();
        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
        let root = executor.create_group("root", Vec::new());
        let (handle, forward, hand) = (executor.handle(), publisher.clone(), clock.clone());
        let sum = Arc::new(Mutex::new(0));
        let (total, sibling) = (Arc::clone(&sum), root.clone());
        let _start = root.create_stream("start", futures::stream::iter([1, 2]), move |kept, n| {
            let child = handle.create_group("child", n);
            let add = Arc::clone(&total);
            let callback = move |factor: &mut u32, n: Arc<u32>| *add.lock().unwrap() += *factor * *n;
            kept.push(child.create_local_subscription("topic", callback).unwrap());
            let add = Arc::clone(&total);
            let reentrant = handle.create_reentrant_group("reentrant");
            let callback = move |n: Arc<u32>| *add.lock().unwrap() += 10 * *n;
            kept.push(reentrant.create_local_subscription("topic", callback).unwrap());
            let add = Arc::clone(&total);
            sibling.create_timer(ms(1), move |_, _| *add.lock().unwrap() += 1000).unwrap().detach();
            if n == 2 {
                forward.publish(1);
                hand.advance(ms(1));
            }
        });
        spin_all(&executor);
        assert_eq!(*sum.lock().unwrap(), (1 + 2) + 2 * 10 + 2 * 1000);
        assert_eq!(publisher.subscription_count(), 4);
        assert_eq!(root.into_payload().unwrap().len(), 4);
    });
}

#[test]
fn threads_extend_an_executor_that_spins() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = Arc::new(context.create_executor(ExecutorOptions::new("pool").threads(threads(2))));
        let spin = spin_in_background(&executor);
        let publisher = context.create_local_publisher::<usize>("topic").unwrap();
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let (handle, publisher) = (executor.handle(), publisher.clone());
                thread::spawn(move || {
                    for round in 0..50 {
                        let group = handle.create_group("group", ());
                        let (heard, messages) = mpsc::channel();
                        let callback = move |(): &mut (), n: Arc<usize>| _ = heard.send(*n);
                        // The queue has room for everything that the other threads publish meanwhile.
                        let options = SubscriptionOptions::new("topic").keep_last(200);
                        let subscription = group.create_local_subscription(options, callback).unwrap();
                        publisher.publish(round);
                        while expect(&messages) != round {}
                        drop((subscription, group));
                        // The loop ends when the callback is dropped with the other end of the channel.
                        while messages.recv_timeout(crate::common::LIMIT).is_ok() {}
                        assert_eq!(messages.try_recv(), Err(mpsc::TryRecvError::Disconnected));
                    }
                })
            })
            .collect();
        for worker in workers {
            worker.join().unwrap();
        }
        executor.halt();
        spin.join().unwrap().unwrap();
        assert_eq!(publisher.subscription_count(), 0);
    });
}

#[test]
fn into_payload_returns_the_payload_once_and_removes_the_group() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let drops = Count::new();
        let group = executor.create_group("group", drops.on_drop());
        let twin = group.clone();
        let captured = drops.on_drop();
        let subscription = group.create_local_subscription("topic", move |_, _: Arc<u8>| captured.touch()).unwrap();
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        publisher.publish(1);
        let payload = group.into_payload().ok();
        assert!(payload.is_some());
        assert_eq!(drops.get(), 1, "the callback's");
        assert_eq!(publisher.subscription_count(), 0);
        assert!(twin.into_payload().is_err());
        spin_all(&executor);
        drop(subscription);
        assert_eq!(drops.get(), 1);
        drop((payload, executor));
        assert_eq!(drops.get(), 2);
    });
}

#[test]
fn into_payload_while_the_executor_spins_is_refused_and_drops_the_payload_once() {
    watchdog(|| {
        let (_, _context, executor) = manual_executor();
        let drops = Count::new();
        let refused = Count::new();
        let other = executor.create_group("other", ());
        let second = executor.create_group("second", drops.on_drop());
        let counter = refused.clone();
        let _other = other.create_stream("other", futures::stream::iter([second]), move |(), group| {
            if group.into_payload().is_err() {
                counter.up();
            }
        });
        spin_all(&executor);
        assert_eq!((refused.get(), drops.get()), (1, 1));
        drop(executor);
        assert_eq!(drops.get(), 1);
    });
}

#[test]
fn into_payload_from_a_callback_gives_the_group_back_unharmed() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let (drops, refused) = (Count::new(), Count::new());
        let group = executor.create_group("group", drops.on_drop());
        let _subscription = group.create_local_subscription("topic", |_, _: Arc<u8>| {}).unwrap();
        let counter = refused.clone();
        let _own =
            group.create_stream("own", futures::stream::iter([group.clone()]), move |_, own: CallbackGroup<_>| {
                if let Err(own) = own.into_payload() {
                    assert_eq!(own.name(), "group");
                    counter.up();
                }
            });
        spin_all(&executor);
        assert_eq!(refused.get(), 1);
        assert_eq!(context.create_local_publisher::<u8>("topic").unwrap().subscription_count(), 1);
        assert_eq!(drops.get(), 0);
        assert!(group.into_payload().is_ok(), "nothing spins any more");
    });
}

#[test]
fn detached_entities_live_as_long_as_their_executor() {
    watchdog(|| {
        let (clock, context, executor) = manual_executor();
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let (ran, drops) = (Count::new(), Count::new());
        let group = executor.create_group("group", drops.on_drop());
        let (counter, captured) = (ran.clone(), drops.on_drop());
        let callback = move |_: &mut _, _: Arc<u8>| {
            captured.touch();
            counter.up();
        };
        group.create_local_subscription("topic", callback).unwrap().detach();
        let counter = ran.clone();
        group.create_timer(ms(10), move |_, _| _ = counter.up()).unwrap().detach();
        drop(group);
        publisher.publish(1);
        clock.advance(ms(10));
        spin_all(&executor);
        assert_eq!((ran.get(), drops.get()), (2, 0));
        drop(executor);
        assert_eq!((ran.get(), drops.get()), (2, 2));
        assert_eq!(publisher.subscription_count(), 0);
    });
}

#[test]
fn handles_that_outlive_the_executor_do_nothing() {
    watchdog(|| {
        let (clock, context, executor) = manual_executor();
        let (ran, drops) = (Count::new(), Count::new());
        let group = executor.create_group("group", drops.on_drop());
        let counter = ran.clone();
        let timer = group.create_timer(ms(1), move |_, _| _ = counter.up()).unwrap();
        let counter = ran.clone();
        let subscription = group.create_local_subscription("topic", move |_, _: Arc<u8>| _ = counter.up()).unwrap();
        let _service = group.create_local_service("service", |_, n: u8| n).unwrap();
        let client = context.create_local_client::<u8, u8>("service").unwrap();
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        publisher.publish(0);
        let handle = executor.handle();
        drop(executor);
        assert_eq!(drops.get(), 1, "the payload went with the executor");
        assert_eq!(subscription.lost(rospin_engine::LossCause::EntityDropped), 1);

        assert!(publisher.try_publish(1).is_err());
        assert!(!client.service_is_ready());
        clock.advance(ms(10));
        timer.reset();
        timer.set_period(ms(2));
        timer.cancel();
        handle.halt();
        assert_eq!(handle.name(), "main");
        let refused = group.create_timer(ms(1), |_, _| {}).unwrap_err();
        assert!(matches!(&refused, rospin_engine::TimerError::GroupGone(gone) if gone.group == "group"), "{refused}");
        let late = handle.create_group("late", drops.on_drop());
        let captured = drops.on_drop();
        let orphan = late.create_local_subscription("topic", move |_, _: Arc<u8>| captured.touch());
        assert!(matches!(orphan, Err(rospin_engine::TopicError::GroupGone(_))));
        assert!(late.clone().into_payload().is_err());
        drop((late, orphan));
        assert_eq!(drops.get(), 3, "what is created too late is dropped, once");
        assert!(publisher.try_publish(1).is_err());
        subscription.detach();
        assert!(group.into_payload().is_err());
        assert_eq!(ran.get(), 0);
    });
}

#[test]
fn an_executor_whose_callbacks_own_its_handles_is_dropped_completely() {
    #[derive(Default)]
    struct Node {
        own_subscription: Option<rospin_engine::Subscription>,
        own_group: Option<CallbackGroup<Node>>,
        _drops: Option<crate::common::OnDrop>,
    }
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let drops = Count::new();
        let node = Node { _drops: Some(drops.on_drop()), ..Node::default() };
        let group = executor.create_group("node", node);
        let captured = drops.on_drop();
        let subscription = group.create_local_subscription("topic", move |_: &mut Node, _: Arc<u8>| captured.touch());
        let give = futures::stream::iter([(subscription.unwrap(), group.clone())]);
        let start = group.create_stream("start", give, |node: &mut Node, (subscription, group)| {
            (node.own_subscription, node.own_group) = (Some(subscription), Some(group));
        });
        start.unwrap().detach();
        // The callback captures a clone of the group and a handle of the executor.
        let (twin, handle) = (group.clone(), executor.handle());
        let timer = group.create_timer(ms(1), move |_, _| _ = (twin.name(), handle.name())).unwrap();
        timer.detach();
        drop(group);
        spin_all(&executor);
        assert_eq!(context.create_local_publisher::<u8>("topic").unwrap().subscription_count(), 1);
        drop(executor);
        assert_eq!(drops.get(), 2);
    });
}

#[test]
fn entities_are_called_after_their_node_and_group() {
    let executor = Context::new(ContextOptions::new()).create_executor(ExecutorOptions::new("main"));
    for (node, group, of, name) in [
        ("", "driver", "scan", "driver/scan"),
        ("/robot", "robot", "scan", "robot/scan"),
        ("/left/camera", "camera", "/clock", "left/camera/clock"),
        ("/left/camera", "driver", "scan", "left/camera/driver/scan"),
    ] {
        let group = executor.create_group(GroupOptions::new(group).node(node), ());
        assert_eq!(group.entity_name(of), name);
    }
}
