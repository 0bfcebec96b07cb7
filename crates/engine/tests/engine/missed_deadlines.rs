//! Missed deadlines: counted under every policy, and told at once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{spin_all, watchdog};
use rospin_engine::policy::POLICIES;
use rospin_engine::{
    ClockKind, Context, ContextOptions, ExecutorOptions, ManualClock, MissedDeadline, Payload, SubscriptionOptions,
    TimerOptions,
};

const MS: Duration = Duration::from_millis(1);

/// Due times are counted from the creation, and the program needs 300 ms until it spins. Only what takes too long from
/// then on is late.
#[test]
fn nothing_is_missed_because_the_program_did_not_spin_yet() {
    for policy in POLICIES {
        watchdog(move || {
            let clock = ManualClock::new();
            let told = Arc::new(Mutex::new(Vec::new()));
            let push = Arc::clone(&told);
            let report = move |missed: &MissedDeadline| push.lock().unwrap().push(missed.lateness);
            let context = Context::new(ContextOptions::new().manual_clock(clock.clone()).on_missed_deadline(report));
            let executor = context.create_executor(ExecutorOptions::new("main").boxed_policy((policy.build)()));
            let group = executor.create_group("group", ());
            let (work, mut runs) = (clock.clone(), 0);
            let timer = group.create_timer(TimerOptions::periodic(20 * MS).name("timer"), move |(), _| {
                runs += 1;
                work.advance(if runs == 2 { 25 * MS } else { 5 * MS });
            });
            let timer = timer.unwrap();
            let publisher = context.create_local_publisher::<u32>("work").unwrap();
            let options = SubscriptionOptions::new("work").name("worker").deadline(3 * MS);
            let worker = group.create_local_subscription(options, |(), _: Arc<u32>| {}).unwrap();
            clock.advance(300 * MS);
            publisher.publish(1);
            clock.advance(10 * MS);
            spin_all(&executor);
            // The timer ran first under every policy but those that look at deadlines or arrivals first.
            assert!(worker.missed_deadlines() <= 1, "{}", policy.name);
            assert_eq!(timer.missed_deadlines(), 0, "{}: {:?}", policy.name, told.lock().unwrap());
            // The second run takes longer than the period, and so makes itself and the third one late.
            clock.advance(20 * MS);
            spin_all(&executor);
            assert_eq!(timer.missed_deadlines(), 2, "{}", policy.name);
        });
    }
}

/// A subscription with a deadline of 3 ms whose callback takes as many milliseconds as its message says, and a timer
/// whose callback takes longer than its period once.
#[test]
fn they_are_counted_under_every_policy() {
    for policy in POLICIES {
        watchdog(move || {
            let clock = ManualClock::new();
            let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
            let executor = context.create_executor(ExecutorOptions::new("main").boxed_policy((policy.build)()));
            let group = executor.create_group("group", ());
            let publisher = context.create_local_publisher::<u32>("work").unwrap();
            let work = clock.clone();
            let options = SubscriptionOptions::new("work").name("worker").deadline(3 * MS);
            let worker =
                group.create_local_subscription(options, move |(), ms: Arc<u32>| work.advance(MS * *ms)).unwrap();
            let free = SubscriptionOptions::new("work").name("free");
            let free = group.create_local_subscription(free, |(), _: Arc<u32>| {}).unwrap();
            // One after the other, and several at once.
            for ms in [3, 4] {
                publisher.publish(ms);
                spin_all(&executor);
            }
            assert_eq!(worker.missed_deadlines(), 1, "{}", policy.name);
            [1, 1, 2, 1].into_iter().for_each(|ms| _ = publisher.publish(ms));
            spin_all(&executor);
            assert_eq!(worker.missed_deadlines(), 3, "{}: after 1, 2, 4 and 5 ms", policy.name);
            let late = clock.clone();
            let mut runs = 0;
            let timer = TimerOptions::periodic(10 * MS).name("timer");
            let timer = group
                .create_timer(timer, move |(), _| {
                    runs += 1;
                    late.advance(if runs == 1 { 11 * MS } else { MS });
                })
                .unwrap();
            for _ in 0..3 {
                clock.advance(10 * MS);
                spin_all(&executor);
            }
            assert_eq!((timer.missed_deadlines(), free.missed_deadlines()), (1, 0), "{}", policy.name);
            drop(worker);
            spin_all(&executor);
            let all: Vec<_> = context.missed_deadlines().iter().map(|of| (of.entity.clone(), of.count)).collect();
            assert_eq!(all, [("timer".to_owned(), 1), ("worker".to_owned(), 3)], "{}", policy.name);
        });
    }
}

/// The clock of the kernel: items that are ready together.
#[test]
fn they_are_counted_for_items_that_are_ready_together() {
    for policy in POLICIES {
        watchdog(move || {
            let context = Context::new(ContextOptions::new());
            let executor = context.create_executor(ExecutorOptions::new("main").boxed_policy((policy.build)()));
            let group = executor.create_group("group", ());
            let publisher = context.create_local_publisher::<u32>("work").unwrap();
            let options = SubscriptionOptions::new("work").deadline(Duration::from_nanos(1)).keep_last(50);
            let worker = group.create_local_subscription(options, |(), _: Arc<u32>| {}).unwrap();
            (0..50).for_each(|number| _ = publisher.publish(number));
            spin_all(&executor);
            assert_eq!(worker.missed_deadlines(), 50, "{}", policy.name);
        });
    }
}

#[test]
fn the_program_is_told_before_the_next_callback() {
    watchdog(|| {
        let clock = ManualClock::new();
        let told = Arc::new(Mutex::new(Vec::new()));
        let (tell, log) = (Arc::clone(&told), Arc::clone(&told));
        let options = ContextOptions::new().manual_clock(clock.clone());
        let options = options.on_missed_deadline(move |missed: &MissedDeadline| {
            tell.lock().unwrap().push(missed.to_string());
            panic!("a panic of this function ends here");
        });
        let context = Context::new(options);
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("arm", ());
        let publisher = context.create_local_publisher::<u32>("work").unwrap();
        let work = clock;
        let options = SubscriptionOptions::new("work").name("grip").deadline(MS);
        let _grip = group.create_local_subscription(options, move |(), ms: Arc<u32>| {
            work.advance(MS * *ms);
            log.lock().unwrap().push(format!("ran {ms}"));
        });
        [2, 0].into_iter().for_each(|ms| _ = publisher.publish(ms));
        spin_all(&executor);
        let miss = |ms, number| {
            format!(
                "callback `grip` ended {ms}ms after its deadline, its miss number {number} (group `arm`, executor `main`)"
            )
        };
        assert_eq!(*told.lock().unwrap(), ["ran 2", &miss(1, 1), "ran 0", &miss(1, 2)]);
    });
}

/// An asynchronous callback ends after its last await, and the time that it waits counts.
#[test]
fn the_end_of_an_asynchronous_callback_is_after_its_last_await() {
    watchdog(|| {
        let clock = ManualClock::new();
        let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("group", ());
        let publisher = context.create_local_publisher::<u64>("work").unwrap();
        let handle = executor.handle();
        let options = SubscriptionOptions::new("work").name("worker").deadline(3 * MS);
        let callback = move |_: Payload<()>, ms: Arc<u64>| {
            let handle = handle.clone();
            async move { handle.sleep(ClockKind::Steady, MS * u32::try_from(*ms).unwrap()).await.unwrap() }
        };
        let worker = group.create_local_subscription_async(options, callback).unwrap();
        for ms in [2, 4] {
            publisher.publish(ms);
            spin_all(&executor);
            assert_eq!(worker.missed_deadlines(), 0, "it has not ended");
            clock.advance(MS * u32::try_from(ms).unwrap());
            spin_all(&executor);
        }
        assert_eq!(worker.missed_deadlines(), 1);
    });
}
