//! Asynchronous callbacks without Tokio: suspending, waking, ending.

use std::future::{pending, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;

use crate::common::{Count, Log, manual_executor, spin_all, threads, watchdog};
use futures::StreamExt;
use futures::channel::{mpsc, oneshot};
use rospin_engine::{
    Context, ContextOptions, EntityOptions, Executor, ExecutorOptions, Payload, Priority, Publisher, SpinOptions,
    SubscriptionOptions,
};

/// The gates that callbacks wait at, by the number in their message.
#[derive(Clone, Default)]
struct Gates(Arc<Mutex<Vec<Option<oneshot::Receiver<()>>>>>);

impl Gates {
    fn new(count: usize) -> (Self, Vec<Option<oneshot::Sender<()>>>) {
        let (senders, receivers): (Vec<_>, _) = (0..count).map(|_| oneshot::channel()).unzip();
        let gates = Self(Arc::new(Mutex::new(Vec::from_iter(Vec::into_iter(receivers).map(Some)))));
        (gates, senders.into_iter().map(Some).collect())
    }

    fn wait(&self, n: usize) -> oneshot::Receiver<()> {
        self.0.lock().unwrap()[n].take().expect("one waits at a gate")
    }
}

fn open(gates: &mut [Option<oneshot::Sender<()>>], n: usize) {
    gates[n].take().expect("it is open already").send(()).expect("somebody waits");
}

fn publisher(context: &Context, count: usize) -> Publisher<usize> {
    let publisher = context.create_local_publisher::<usize>("topic").unwrap();
    (0..count).for_each(|n| _ = publisher.publish(n));
    publisher
}

#[test]
fn a_suspended_callback_holds_its_group_over_several_spins() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let (gates, mut keys) = Gates::new(1);
        let group = executor.create_group("group", Vec::new());
        let _slow = group.create_local_subscription_async("topic", move |log: Payload<Vec<_>>, n: Arc<usize>| {
            let gate = gates.wait(*n);
            async move {
                log.with(|log| log.push("begins"));
                gate.await.unwrap();
                log.with(|log| log.push("ends"));
            }
        });
        let _other = group.create_local_subscription("topic", |log, _: Arc<usize>| log.push("other"));
        let bystander = executor.create_group("bystander", 0);
        let _bystander = bystander.create_local_subscription("topic", |ran, _: Arc<usize>| *ran += 1);
        let _publisher = publisher(&context, 1);
        spin_all(&executor);
        spin_all(&executor);
        assert_eq!(bystander.into_payload().ok(), Some(1), "another group runs meanwhile");
        open(&mut keys, 0);
        spin_all(&executor);
        assert_eq!(group.into_payload().unwrap(), ["begins", "ends", "other"]);
    });
}

#[test]
fn a_callback_that_releases_its_group_lets_others_run() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let (gates, mut keys) = Gates::new(2);
        let group = executor.create_group("group", Vec::new());
        let options = SubscriptionOptions::new("topic").releases_group_at_await();
        let _slow = group.create_local_subscription_async(options, move |log: Payload<Vec<_>>, n: Arc<usize>| {
            let gate = gates.wait(*n);
            async move {
                log.with(|log| log.push(format!("begins {n}")));
                gate.await.unwrap();
                log.with(|log| log.push(format!("ends {n}")));
            }
        });
        let _other = group.create_local_subscription("topic", |log, n: Arc<usize>| log.push(format!("other {n}")));
        let _publisher = publisher(&context, 2);
        spin_all(&executor);
        open(&mut keys, 1);
        spin_all(&executor);
        open(&mut keys, 0);
        spin_all(&executor);
        let mut log = group.into_payload().unwrap();
        assert_eq!(log.split_off(4), ["ends 1", "ends 0"]);
        log.sort();
        assert_eq!(log, ["begins 0", "begins 1", "other 0", "other 1"]);
    });
}

#[test]
fn while_a_releasing_callback_is_polled_nobody_else_has_the_payload() {
    const MESSAGES: usize = 200;
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("pool").threads(threads(4)));
        let group = executor.create_group("group", (false, 0));
        let options = SubscriptionOptions::new("topic").releases_group_at_await().keep_last(MESSAGES);
        let handle = executor.handle();
        let _ear =
            group.create_local_subscription_async(options, move |payload: Payload<(bool, usize)>, _: Arc<usize>| {
                let handle = handle.clone();
                async move {
                    for _ in 0..3 {
                        payload.with(|(inside, segments)| {
                            assert!(!std::mem::replace(inside, true));
                            thread::yield_now();
                            *segments += 1;
                            *inside = false;
                            if *segments == 3 * MESSAGES {
                                handle.halt();
                            }
                        });
                        yield_now().await;
                    }
                }
            });
        let _publisher = publisher(&context, MESSAGES);
        executor.spin(SpinOptions::new()).unwrap();
        assert_eq!(group.into_payload().ok(), Some((false, 3 * MESSAGES)));
    });
}

/// Suspends once, so that the executor picks anew.
async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[test]
fn spin_once_ends_where_the_callback_first_waits() {
    watchdog(|| {
        let (_, _context, executor) = manual_executor();
        let group = executor.create_group("group", 0);
        let _entity =
            group.create_stream_async("start", futures::stream::iter([1]), |polls: Payload<i32>, _| async move {
                for _ in 0..3 {
                    polls.with(|polls| *polls += 1);
                    yield_now().await;
                }
            });
        executor.spin(SpinOptions::spin_once()).unwrap();
        assert_eq!(group.into_payload().ok(), Some(1));
    });
}

#[test]
fn resumed_segments_run_in_the_order_of_their_priority() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let (gates, mut keys) = Gates::new(5);
        let log = Log::new();
        let mut ears = Vec::new();
        for (n, priority) in [2, 5, 1, 5, 3].into_iter().enumerate() {
            let (gates, log) = (gates.clone(), log.clone());
            let options = SubscriptionOptions::new("topic").priority(Priority(priority));
            let callback = move |_, _: Arc<usize>| {
                let (gate, log) = (gates.wait(n), log.clone());
                async move {
                    gate.await.unwrap();
                    log.push(n);
                }
            };
            ears.push(executor.create_group("group", ()).create_local_subscription_async(options, callback).unwrap());
        }
        let _publisher = publisher(&context, 1);
        spin_all(&executor);
        assert_eq!(log.len(), 0);
        (0..5).rev().for_each(|n| open(&mut keys, n));
        // An activation that has not begun, with a priority in between.
        let options = EntityOptions::new("new").priority(Priority(4));
        let new = log.clone();
        let group = executor.create_group("new", ());
        let _new = group.create_stream(options, futures::stream::iter([99]), move |(), n| new.push(n));
        spin_all(&executor);
        assert_eq!(log.take(), [1, 3, 99, 4, 0, 2], "equal ones in the order of registration");
    });
}

#[test]
fn a_callback_that_yields_all_the_time_does_not_keep_others_from_running() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let handle = executor.handle();
        let busy = executor.create_group("busy", ());
        let _busy = busy.create_stream_async("busy", futures::stream::iter([1]), |_, _| async {
            loop {
                yield_now().await;
            }
        });
        let other = executor.create_group("other", 0);
        let publisher = context.create_local_publisher::<usize>("topic").unwrap();
        let forward = publisher.clone();
        let _other = other.create_local_subscription("topic", move |ran, _: Arc<usize>| {
            *ran += 1;
            forward.publish(0);
            if *ran == 100 {
                handle.halt();
            }
        });
        publisher.publish(0);
        executor.spin(SpinOptions::new()).unwrap();
        assert_eq!(other.into_payload().ok(), Some(100));
    });
}

#[test]
fn sixteen_are_under_way_at_most_and_nothing_is_lost() {
    const MESSAGES: usize = 50;
    let run = |executor: &Executor, context: &Context, options: SubscriptionOptions, bound: usize| {
        let (gates, mut keys) = Gates::new(MESSAGES);
        let (begun, ended) = (Count::new(), Count::new());
        let group = executor.create_reentrant_group("group");
        let (up, done) = (begun.clone(), ended.clone());
        let ear = group.create_local_subscription_async(options.keep_last(MESSAGES), move |n: Arc<usize>| {
            up.up();
            let (gate, done) = (gates.wait(*n), done.clone());
            async move {
                gate.await.unwrap();
                done.up();
            }
        });
        let _publisher = publisher(context, MESSAGES);
        spin_all(executor);
        assert_eq!((begun.get(), ended.get()), (bound, 0));
        // The callback that began last ends first.
        (bound - 4..bound).rev().for_each(|n| open(&mut keys, n));
        spin_all(executor);
        assert_eq!((begun.get(), ended.get()), (bound + 4, 4));
        while ended.get() < MESSAGES {
            let now = begun.get();
            (0..now).filter(|n| keys[*n].is_some()).collect::<Vec<_>>().into_iter().for_each(|n| open(&mut keys, n));
            spin_all(executor);
        }
        assert_eq!(begun.get(), MESSAGES);
        drop(ear);
    };
    watchdog(move || {
        let (_, context, executor) = manual_executor();
        run(&executor, &context, SubscriptionOptions::new("topic"), 16);
        run(&executor, &context, SubscriptionOptions::new("topic").max_in_flight(5), 5);
        run(&executor, &context, SubscriptionOptions::new("topic").max_in_flight(40), 40);
        assert_eq!(context.losses(), []);
    });
}

#[test]
fn futures_of_a_removed_entity_are_dropped_once() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let (drops, wakers) = (Count::new(), Log::<Waker>::new());
        let start = || {
            let (drops, wakers) = (drops.clone(), wakers.clone());
            let group = executor.create_reentrant_group("group");
            let callback = move |_: Arc<usize>| {
                let (held, wakers) = (drops.on_drop(), wakers.clone());
                poll_fn(move |cx| {
                    held.touch();
                    wakers.push(cx.waker().clone());
                    Poll::<()>::Pending
                })
            };
            (group.create_local_subscription_async("topic", callback).unwrap(), group)
        };
        let (ear, group) = start();
        let _publisher = publisher(&context, 3);
        spin_all(&executor);
        assert_eq!((drops.get(), wakers.len()), (0, 3));
        drop(ear);
        spin_all(&executor);
        assert_eq!(drops.get(), 3);
        wakers.take().into_iter().for_each(Waker::wake);
        spin_all(&executor);
        assert_eq!(wakers.len(), 0, "nobody is polled any more");
        drop(group);

        let (ear, group) = start();
        let _more = publisher(&context, 2);
        spin_all(&executor);
        group.remove();
        spin_all(&executor);
        assert_eq!(drops.get(), 5, "with its group");
        drop(ear);

        let _kept = start();
        let _more = publisher(&context, 2);
        spin_all(&executor);
        drop(executor);
        assert_eq!(drops.get(), 7, "with its executor");
    });
}

#[test]
fn a_future_that_removes_its_own_entity_ends() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let (log, drops) = (Log::new(), Count::new());
        let slot = Arc::new(Mutex::new(None));
        let group = executor.create_group("group", ());
        let (own, ran, captured) = (Arc::clone(&slot), log.clone(), drops.on_drop());
        let ear = group.create_local_subscription_async("topic", move |_, n: Arc<usize>| {
            captured.touch();
            let (own, ran) = (Arc::clone(&own), ran.clone());
            async move {
                drop(own.lock().unwrap().take());
                ran.push(*n);
            }
        });
        *slot.lock().unwrap() = Some(ear.unwrap());
        let publisher = publisher(&context, 3);
        spin_all(&executor);
        assert_eq!((log.take(), drops.get(), publisher.subscription_count()), (vec![0], 1, 0));
    });
}

#[test]
fn the_payload_is_out_of_reach_outside_of_the_callback() {
    watchdog(|| {
        let (_, _context, executor) = manual_executor();
        let group = executor.create_group("group", 0);
        let (sender, results) = std::sync::mpsc::channel();
        let _entity =
            group.create_stream_async("start", futures::stream::iter([1]), move |payload: Payload<i32>, _| {
                let sender = sender.clone();
                async move {
                    payload.with(|payload| *payload += 1);
                    sender.send(payload).unwrap();
                    pending::<()>().await;
                }
            });
        spin_all(&executor);
        let payload = crate::common::expect(&results);
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| payload.with(|payload| *payload += 1)));
        assert!(refused.is_err());
        assert_eq!(group.into_payload().ok(), Some(1));
    });
}

#[test]
fn a_callback_awaits_what_other_callbacks_send() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let (sender, receiver) = mpsc::unbounded::<usize>();
        let group = executor.create_group("consumer", Vec::new());
        let options = EntityOptions::new("start");
        let _consumer = group.create_stream_async(
            options,
            futures::stream::iter([receiver]),
            |seen: Payload<Vec<_>>, mut receiver| async move {
                while let Some(n) = receiver.next().await {
                    seen.with(|seen| seen.push(n));
                }
            },
        );
        let producer = executor.create_group("producer", ());
        let options = SubscriptionOptions::new("topic").keep_last(100);
        let ear =
            producer.create_local_subscription(options, move |(), n: Arc<usize>| sender.unbounded_send(*n).unwrap());
        let _publisher = publisher(&context, 100);
        spin_all(&executor);
        drop(ear);
        spin_all(&executor);
        assert_eq!(group.into_payload().unwrap(), (0..100).collect::<Vec<_>>());
    });
}
