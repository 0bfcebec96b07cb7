//! Queues of subscriptions and of sources: when the entity counts as released.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::{Log, manual, ms, spin_all, spin_in_background, threads, watchdog};
use rospin_engine::policy::Fifo;
use rospin_engine::{
    Context, ContextOptions, EntityKind, Executor, ExecutorOptions, ManualClock, Notifier, Queue, Source,
    SubscriptionOptions, TakeError,
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
            let mut queue = self.context.create_queue("wrapped").map_err(|error| TakeError::Failed(error.into()))?;
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

/// Runs an executor with a [`Wrapped`] source, whose callback notes 1, and a subscription of the topic `other`, whose callback notes 2.
/// With `has_queue`, the source has its queue from the beginning. `publish` is called while all is idle, with the number of takes that
/// return nothing. Returns what is noted after that.
fn order(has_queue: bool, publish: impl FnOnce(&ManualClock, &Context, &AtomicU32)) -> Vec<u32> {
    let (clock, context, executor) = executor();
    let (log, group) = (Log::new(), executor.create_group("group", ()));
    let queue = has_queue.then(|| context.create_queue("wrapped").unwrap());
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
    let _other = group.create_subscription("other", move |(), _: Arc<u32>| other.push(2)).unwrap();
    spin_all(&executor);
    publish(&clock, &context, &closed_for);
    spin_all(&executor);
    log.take()
}

fn publish_on(context: &Context, topic: &str) {
    context.create_publisher::<u32>(topic).unwrap().publish(0);
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

/// The executor does not know of a queue that comes after its entity. So publishers must say when their messages arrived.
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
        let _other = group.create_subscription("other", move |(), _: Arc<u32>| late.push(2)).unwrap();
        let options = SubscriptionOptions::new("displaced").keep_last(1);
        let _displaced = group.create_subscription(options, move |(), _: Arc<u32>| early.push(1)).unwrap();
        spin_all(&executor);
        for topic in ["displaced", "other", "displaced"] {
            publish_on(&context, topic);
            clock.advance(ms(1));
        }
        spin_all(&executor);
        assert_eq!(log.take(), [1, 2]);
    });
}

/// While the callback runs, its publishers need not notify. The executor learns of the messages when it asks after the callback, and the
/// first one is gone by then.
#[test]
fn an_entity_is_ready_since_a_message_arrived_that_was_displaced_while_it_ran() {
    watchdog(|| {
        for count in [1, 2] {
            let (clock, context) = manual();
            let executor = Arc::new(context.create_executor(ExecutorOptions::new("main").threads(threads(count))));
            let group = executor.create_group("group", 0);
            let log = Log::new();
            let (late, early) = (log.clone(), log.clone());
            let _other = group.create_subscription("other", move |_, _: Arc<u32>| late.push(2)).unwrap();
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
            let _displaced = group.create_subscription(options, callback).unwrap();
            publish_on(&context, "displaced");
            spin_in_background(&executor).join().unwrap().unwrap();
            assert_eq!(log.take(), [1, 1, 1], "on {count} threads, the other one is next");
        }
    });
}
