//! The next item of an entity, right after the one before.

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Poll;

use crate::common::{expect, spin_all, watchdog};
use rospin_engine::{
    Context, ContextOptions, EntityKind, EntityOptions, ExecutorOptions, Notifier, Payload, Pending, Priority,
    PublisherOptions, Queue, Source, SpinOptions, SubscriptionOptions, TakeError, TimerOptions,
};

#[test]
fn the_waker_of_an_earlier_activation_does_not_wake_the_next_one() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("pool").threads(2));
        let others = context.create_local_publisher::<usize>("others").unwrap();
        let (ran, has_run) = mpsc::channel();
        let polls = Arc::new(AtomicUsize::new(0));

        let group = executor.create_group("group", has_run);
        let counted = Arc::clone(&polls);
        let callback = move |has_run: Payload<mpsc::Receiver<()>>, number: Arc<usize>| {
            let (others, counted) = (others.clone(), Arc::clone(&counted));
            poll_fn(move |cx| {
                if *number == 1 {
                    // The other thread sees this wake-up and runs its callback before this one ends.
                    cx.waker().wake_by_ref();
                    others.publish(1);
                    has_run.with(|has_run| expect(has_run));
                    return Poll::Ready(());
                }
                if counted.fetch_add(1, Ordering::SeqCst) == 0 {
                    others.publish(2);
                }
                Poll::Pending
            })
        };
        let _entity = group.create_local_subscription_async(SubscriptionOptions::new("numbers"), callback).unwrap();
        let handle = executor.handle();
        let listener = executor.create_reentrant_group("listener");
        let _listener = listener.create_local_subscription("others", move |number: Arc<usize>| match *number {
            1 => ran.send(()).unwrap(),
            _ => handle.halt(),
        });
        let numbers = context.create_local_publisher::<usize>("numbers").unwrap();
        numbers.publish(1);
        numbers.publish(2);
        executor.spin(SpinOptions::new()).unwrap();
        spin_all(&executor);
        assert_eq!(polls.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_timer_that_falls_due_meanwhile_comes_before_the_next_item() {
    watchdog(|| {
        // The kernel's clock: a manual clock tells executors when it is moved, so that they look around.
        let context = Context::new(ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let numbers = context.create_local_publisher::<u32>("numbers").unwrap();
        let group = executor.create_group("group", Vec::new());
        let begin = std::time::Instant::now();
        let due = std::time::Duration::from_millis(5);
        let options = TimerOptions::one_shot(due).priority(Priority(2));
        let _timer = group.create_timer(options, |order, _| order.push("timer")).unwrap();
        let options = SubscriptionOptions::new("numbers").priority(Priority(1));
        let callback = move |order: &mut Vec<_>, _: Arc<u32>| {
            order.push("number");
            while begin.elapsed() < 2 * due {}
        };
        let _subscription = group.create_local_subscription(options, callback).unwrap();
        for number in 0..3 {
            numbers.publish(number);
        }
        spin_all(&executor);
        let order = group.into_payload().unwrap();
        // A machine that stood still before the spin has the timer run first.
        let at = order.iter().position(|callback| *callback == "timer").unwrap();
        assert!(at <= 1, "{order:?}");
    });
}

/// A wrapper of a queue as the source of an entity, with only the required methods of a source.
struct Wrapped(Queue<u32>);

impl Source for Wrapped {
    type Item = Arc<u32>;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.0.attach(notifier)
    }

    fn try_take(&mut self) -> Result<Option<Arc<u32>>, TakeError> {
        Source::try_take(&mut self.0)
    }

    fn pending(&self) -> Pending {
        self.0.pending()
    }
}

#[test]
fn publishers_notify_again_after_a_burst_whatever_wraps_the_queue() {
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let group = executor.create_group("group", Vec::new());
    let publisher = context.create_local_publisher::<u32>(PublisherOptions::new("numbers").transient_local(2)).unwrap();
    publisher.publish(1);
    publisher.publish(2);
    let latched = SubscriptionOptions::new("numbers").keep_last(4).transient_local();
    let queue = Wrapped(context.create_local_queue(latched).unwrap());
    let hear = |heard: &mut Vec<u32>, number: Arc<u32>| heard.push(*number);
    let _entity = group.create_source(EntityKind::Subscription, EntityOptions::new("queue"), queue, hear).unwrap();
    spin_all(&executor);
    for burst in [[3, 4], [5, 6]] {
        burst.into_iter().for_each(|number| _ = publisher.publish(number));
        spin_all(&executor);
    }
    assert_eq!(group.into_payload().unwrap(), [1, 2, 3, 4, 5, 6]);
}
