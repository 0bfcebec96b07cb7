//! Queues of subscriptions and of sources: when the entity counts as released.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::{Log, manual, ms, spin_all, spin_in_background, threads, watchdog};
use rospin_engine::policy::{Edf, Fifo};
use rospin_engine::{
    CallbackGroup, Context, ContextOptions, EntityKind, EntityOptions, Executor, ExecutorOptions, Instant, ManualClock,
    Notifier, Pending, Queue, ServiceOptions, Source, SubscriptionOptions, TakeError,
};

/// A source of the messages of a queue, which a test decides about.
struct Wrapped {
    context: Context,
    queue: Option<Queue<u32>>,
    notifier: Option<Notifier>,
    /// The number of takes that return nothing, and notify of themselves.
    closed_for: Arc<AtomicU32>,
    clock: ManualClock,
}

impl Source for Wrapped {
    type Item = Arc<u32>;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        if let Some(queue) = &mut self.queue {
            queue.attach(notifier.clone())?;
        }
        self.notifier = Some(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Arc<u32>>, TakeError> {
        let notifier = self.notifier.clone().expect("it is attached");
        if self.queue.is_none() {
            let mut queue =
                self.context.create_local_queue("wrapped").map_err(|error| TakeError::Failed(error.into()))?;
            queue.attach(notifier)?;
            self.queue = Some(queue);
        } else if self.closed_for.load(Ordering::Relaxed) > 0 {
            self.closed_for.fetch_sub(1, Ordering::Relaxed);
            self.clock.advance(ms(1));
            notifier.notify();
            return Ok(None);
        }
        self.queue.as_mut().map_or(Ok(None), Source::try_take)
    }
}

fn executor() -> (ManualClock, Context, Executor) {
    let clock = ManualClock::new();
    let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
    let executor = context.create_executor(ExecutorOptions::new("main").policy(Fifo::new()));
    (clock, context, executor)
}

/// Runs an executor with a [`Wrapped`] source, whose callback notes 1, and a subscription of the topic `other`, whose
/// callback notes 2. With `has_queue`, the source has its queue from the beginning. `publish` is called while all is
/// idle, with the number of takes that return nothing. Returns what is noted after that.
fn order(has_queue: bool, publish: impl FnOnce(&ManualClock, &Context, &AtomicU32)) -> Vec<u32> {
    let (clock, context, executor) = executor();
    let (log, group) = (Log::new(), executor.create_group("group", ()));
    let queue = has_queue.then(|| context.create_local_queue("wrapped").unwrap());
    let closed_for = Arc::new(AtomicU32::new(0));
    let source = Wrapped {
        context: context.clone(),
        queue,
        notifier: None,
        closed_for: Arc::clone(&closed_for),
        clock: clock.clone(),
    };
    let (wrapped, other) = (log.clone(), log.clone());
    let _wrapped = group.create_source(EntityKind::Waitable, "w", source, move |(), _| wrapped.push(1)).unwrap();
    let _other = group.create_local_subscription("other", move |(), _: Arc<u32>| other.push(2)).unwrap();
    spin_all(&executor);
    publish(&clock, &context, &closed_for);
    spin_all(&executor);
    log.take()
}

fn publish_on(context: &Context, topic: &str) {
    context.create_local_publisher::<u32>(topic).unwrap().publish(0);
}

/// An old message waits in the queue. It is not the reason of the notifications.
#[test]
fn a_source_that_notifies_of_itself_lets_others_run_first() {
    watchdog(|| {
        let noted = order(true, |clock, context, closed_for| {
            closed_for.store(5, Ordering::Relaxed);
            publish_on(context, "wrapped");
            clock.advance(ms(1));
            publish_on(context, "other");
        });
        assert_eq!(noted, [2, 1]);
    });
}

/// The executor does not know of a queue that comes after its entity. So publishers must say when their messages
/// arrived.
#[test]
fn a_queue_that_is_attached_late_keeps_the_order_of_arrival() {
    watchdog(|| {
        let noted = order(false, |clock, context, _| {
            publish_on(context, "wrapped");
            clock.advance(ms(1));
            publish_on(context, "other");
            clock.advance(ms(1));
        });
        assert_eq!(noted, [1, 2]);
    });
}

/// The executor learns of both messages at once, and the first one is gone by then.
#[test]
fn an_entity_is_ready_since_a_message_arrived_that_was_displaced() {
    watchdog(|| {
        let (clock, context, executor) = executor();
        let (log, group) = (Log::new(), executor.create_group("group", ()));
        let (late, early) = (log.clone(), log.clone());
        let _other = group.create_local_subscription("other", move |(), _: Arc<u32>| late.push(2)).unwrap();
        let options = SubscriptionOptions::new("displaced").keep_last(1);
        let _displaced = group.create_local_subscription(options, move |(), _: Arc<u32>| early.push(1)).unwrap();
        spin_all(&executor);
        for topic in ["displaced", "other", "displaced"] {
            publish_on(&context, topic);
            clock.advance(ms(1));
        }
        spin_all(&executor);
        assert_eq!(log.take(), [1, 2]);
    });
}

/// While the callback runs, its publishers need not notify. The executor learns of the messages when it asks after the
/// callback, and the first one is gone by then.
#[test]
fn an_entity_is_ready_since_a_message_arrived_that_was_displaced_while_it_ran() {
    watchdog(|| {
        for count in [1, 2] {
            let (clock, context) = manual();
            let executor = Arc::new(context.create_executor(ExecutorOptions::new("main").threads(threads(count))));
            let group = executor.create_group("group", 0);
            let log = Log::new();
            let (late, early) = (log.clone(), log.clone());
            let _other = group.create_local_subscription("other", move |_, _: Arc<u32>| late.push(2)).unwrap();
            let options = SubscriptionOptions::new("displaced").keep_last(1);
            let (inner, handle) = (context.clone(), executor.handle());
            let callback = move |runs: &mut u32, _: Arc<u32>| {
                *runs += 1;
                early.push(1);
                // After the first run, the publishers are muted. During the second one, a message is displaced.
                let topics: &[_] = match runs {
                    1 => &["displaced"],
                    2 => &["displaced", "other", "displaced"],
                    _ => &[],
                };
                for topic in topics {
                    publish_on(&inner, topic);
                    clock.advance(ms(1));
                }
                if *runs == 3 {
                    handle.halt();
                }
            };
            let _displaced = group.create_local_subscription(options, callback).unwrap();
            publish_on(&context, "displaced");
            spin_in_background(&executor).join().unwrap().unwrap();
            assert_eq!(log.take(), [1, 1, 1], "on {count} threads, the other one is next");
        }
    });
}

/// Reports a run: the callback's name and its message. Takes the time of the run.
type Report = Box<dyn FnMut(u32) + Send>;

/// The schedule of [`a_displaced_message_leaves_its_place_and_deadline_to_the_newer_one`]: `create` creates A, which is
/// due 100 ms after it is ready and keeps one message, and returns a function that sends it one. Returns the runs and
/// the deadlines that A and B missed.
fn displaced_under_edf<H>(
    count: u16,
    create: impl FnOnce(&Context, &CallbackGroup<()>, Report) -> (H, Box<dyn FnMut(u32) + Send>),
) -> (Vec<(&'static str, u32)>, [u64; 2]) {
    let (clock, context) = manual();
    let options = ExecutorOptions::new("main").policy(Edf::new()).threads(threads(count));
    let executor = context.create_executor(options);
    let (log, group) = (Log::new(), executor.create_group("group", ()));
    let report = |name: &'static str, run_ms: u64| {
        let (log, clock) = (log.clone(), clock.clone());
        move |message: u32| {
            log.push((name, message));
            clock.advance(ms(run_ms));
        }
    };
    let (a, mut send) = create(&context, &group, Box::new(report("A", 58)));
    let run_b = report("B", 10);
    let options = SubscriptionOptions::new("b").name("B").deadline(ms(60));
    let b = group.create_local_subscription(options, move |(), n: Arc<u32>| run_b(*n)).unwrap();
    send(0);
    let (inner, time) = (context.clone(), clock.clone());
    let options = SubscriptionOptions::new("blocker").deadline(ms(1));
    let blocker = group.create_local_subscription(options, move |(), _: Arc<u32>| {
        time.advance(ms(90));
        send(90);
        time.advance(ms(1));
        publish_on(&inner, "b");
        time.advance(ms(4));
    });
    publish_on(&context, "blocker");
    spin_all(&executor);
    drop((a, blocker));
    let missed = |name: &str| context.missed_deadlines().iter().filter(|of| of.entity == name).map(|of| of.count).sum();
    let missed = [missed("A"), missed("B")];
    drop(b);
    (log.take(), missed)
}

/// A was ready at 0 ms, so it is due at 100 ms, before B, which is due at 151 ms, although the message that it takes is
/// of 90 ms.
#[test]
fn a_displaced_message_leaves_its_place_and_deadline_to_the_newer_one() {
    watchdog(|| {
        for count in [1, 2] {
            let subscription = displaced_under_edf(count, |context, group, mut report| {
                let options = SubscriptionOptions::new("a").name("A").keep_last(1).deadline(ms(100));
                let publisher = context.create_local_publisher::<u32>("a").unwrap();
                let a = group.create_local_subscription(options, move |(), n: Arc<u32>| report(*n)).unwrap();
                (a, Box::new(move |n| _ = publisher.publish(n)))
            });
            let service = displaced_under_edf(count, |context, group, mut report| {
                let options = ServiceOptions::new("a").name("A").keep_last(1).deadline(ms(100));
                let client = context.create_local_client::<u32, ()>("a").unwrap();
                let a = group.create_local_service(options, move |(), n: u32| report(n)).unwrap();
                (a, Box::new(move |n| drop(client.call(n))))
            });
            let expected = (vec![("A", 90), ("B", 0)], [1, 1]);
            assert_eq!((&subscription, &service), (&expected, &expected), "{count} threads");
        }
    });
}

/// A source that knows when its items arrived. They are all there from the beginning.
struct Dated(VecDeque<(Instant, u32)>);

impl Source for Dated {
    type Item = u32;
    type Attachment = ();

    fn attach(&mut self, _: Notifier) -> Result<(), TakeError> {
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<u32>, TakeError> {
        Ok(self.0.pop_front().map(|(_, item)| item))
    }

    fn pending(&self) -> Pending {
        self.0.front().map_or(Pending::Empty, |(arrival, _)| Pending::Since(*arrival))
    }
}

#[test]
fn an_item_behind_one_that_a_reentrant_callback_took_is_as_old_as_its_arrival() {
    watchdog(|| {
        let (clock, context, executor) = executor();
        let (log, group) = (Log::new(), executor.create_reentrant_group("group"));
        let note = |log: &Log<u32>| {
            let log = log.clone();
            move |item| log.push(item)
        };
        let begin = context.clock().now();
        let items = [(begin + ms(1), 1), (begin + ms(2), 2)];
        let options = EntityOptions::new("dated").max_in_flight(2);
        let _dated = group.create_source(EntityKind::Waitable, options, Dated(items.into()), note(&log)).unwrap();
        let heard = note(&log);
        let _other = group.create_local_subscription("other", move |item: Arc<u32>| heard(*item)).unwrap();
        clock.advance(ms(3));
        context.create_local_publisher("other").unwrap().publish(3_u32);
        clock.advance(ms(1));
        spin_all(&executor);
        assert_eq!(log.take(), [1, 2, 3]);
    });
}
