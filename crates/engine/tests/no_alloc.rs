//! The engine's dispatch path does not allocate in steady state, for synchronous callbacks.
//!
//! Allocations of executor threads are counted from their first callback on. Taking, running, completing, picking and
//! parking all happen between two callbacks. The test needs a process of its own.

mod common;

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use common::counting::Counting;
use common::{Count, threads, watchdog};
use rospin_engine::{
    ClockKind, Context, ContextOptions, EntityKind, EntityOptions, Executor, ExecutorOptions, LossCause, Notifier,
    Pending, Priority, Publisher, Source, SpinOptions, SubscriptionOptions, TakeError, Tick, Time, TimerOptions,
    policy,
};

thread_local! {
    /// True if the allocations of this thread are counted, from its first callback on. Reading it does not allocate,
    /// since its initial value is constant and it has no destructor.
    static COUNTED: Cell<bool> = const { Cell::new(false) };
}

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static COUNTING: Counting = Counting { count };

fn count() {
    if COUNTED.get() {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

/// A preallocated source that the timer's callback feeds.
struct Ring {
    left: Count,
    notifier: Arc<std::sync::OnceLock<Notifier>>,
}

impl Source for Ring {
    type Item = [u64; 4];
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        let _ = self.notifier.set(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<[u64; 4]>, TakeError> {
        if self.left.get() == 0 {
            return Ok(None);
        }
        self.left.down();
        Ok(Some([1; 4]))
    }

    fn pending(&self) -> Pending {
        if self.left.get() == 0 { Pending::Empty } else { Pending::Unknown }
    }
}

/// Returns the number of allocations, on all counted threads, from tick 200 to tick 1200 of a small busy system.
fn allocations(executor: &Executor, context: &Context, also: fn()) -> u64 {
    const WARM: usize = 200;
    const TICKS: usize = WARM + 1000;
    let messages: Vec<Arc<u64>> = (0..64).map(Arc::new).collect();
    let publisher: Publisher<u64> = context.create_local_publisher("numbers").unwrap();
    let echo: Publisher<u64> = context.create_local_publisher("echo").unwrap();
    let (fed, notifier, heard) = (Count::new(), Arc::new(std::sync::OnceLock::<Notifier>::new()), Count::new());

    let driver = executor.create_group("driver", (0, 0));
    let (feed, ring, handle) = (fed.clone(), Arc::clone(&notifier), executor.handle());
    let timer = driver.create_timer(Duration::from_micros(200), move |(ticks, before), _: Tick| {
        COUNTED.set(true);
        *ticks += 1;
        also();
        for message in &messages[*ticks % 60..][..3] {
            publisher.publish(Arc::clone(message));
        }
        feed.up();
        ring.get().unwrap().notify();
        if *ticks == WARM {
            *before = ALLOCATIONS.load(Ordering::Relaxed);
        }
        if *ticks == TICKS {
            *before = ALLOCATIONS.load(Ordering::Relaxed) - *before;
            handle.halt();
        }
    });
    // ROS time passes and a timer on it fires. The executor's threads must not allocate; the thread that drives time
    // may.
    let time = context.ros_time();
    time.set_active(true);
    let counter = heard.clone();
    let options = TimerOptions::periodic(Duration::from_micros(300)).clock(ClockKind::Ros);
    let _ros = executor.create_group("ros", ()).create_timer(options, move |(), _| {
        COUNTED.set(true);
        counter.up();
    });
    let ears = executor.create_group("ears", 0_u64);
    let counter = heard.clone();
    let options = SubscriptionOptions::new("numbers").keep_last(2).priority(Priority(3));
    let _ear = ears.create_local_subscription(options, move |sum, n: Arc<u64>| {
        COUNTED.set(true);
        counter.up();
        *sum += *n;
        echo.publish(n);
    });
    let _echo = ears.create_local_subscription("echo", |sum, n: Arc<u64>| {
        COUNTED.set(true);
        *sum += *n;
    });
    let reentrant = executor.create_reentrant_group("reentrant");
    let counter = heard.clone();
    let _reentrant = reentrant.create_local_subscription("numbers", move |n: Arc<u64>| {
        COUNTED.set(true);
        counter.up();
        drop(n);
    });
    let source = Ring { left: fed, notifier };
    let counter = heard.clone();
    let _source = ears.create_source(EntityKind::Waitable, EntityOptions::new("ring"), source, move |sum, item| {
        COUNTED.set(true);
        counter.up();
        *sum += item[0];
    });
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let steady = context.clock().now();
            while !over.load(Ordering::Relaxed) {
                time.set(Time::ZERO + context.clock().now().saturating_since(steady));
                std::thread::yield_now();
            }
        });
        executor.spin(SpinOptions::new()).unwrap();
        over.store(true, Ordering::Relaxed);
    });
    COUNTED.set(false);
    assert_eq!(timer.unwrap().lost(LossCause::QueueFull), 0);
    assert!(heard.get() >= 5 * TICKS, "it did work: {heard:?}");
    driver.into_payload().unwrap().1
}

// There is one test only, since the count is of the whole process.
#[test]
fn nothing_is_allocated_an_activation() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let boxed = |name| ExecutorOptions::new("main").boxed_policy(policy::by_name(name).unwrap());
        for entry in policy::POLICIES {
            for count in [1, 2] {
                let executor = context.create_executor(boxed(entry.name).threads(threads(count)));
                let found = allocations(&executor, &context, || {});
                assert_eq!(found, 0, "{} with {count} threads", entry.name);
            }
        }
        let executor = context.create_executor(boxed("fifo"));
        let found = allocations(&executor, &context, || drop(std::hint::black_box(Box::new(1))));
        assert_eq!(found, 1000, "this test can fail");
    });
}
