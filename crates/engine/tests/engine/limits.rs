//! Sizes, counts and times at and beyond their limits.

use std::sync::Arc;
use std::task::{Context as TaskContext, Wake, Waker};
use std::time::Duration;

use rospin_engine::{
    ClockKind, DEPTH_MAX, ExecutorOptions, Instant, Overrun, PublisherOptions, ServiceOptions, SubscriptionOptions,
    Time, TimerOptions, TopicError,
};

use crate::common::{Count, manual, manual_executor, ms, spin_all, watchdog};

/// Each way of creating a queue with a depth above the limit, by the error's text.
fn errors(depth: usize) -> Vec<String> {
    let (_, context, executor) = manual_executor();
    let group = executor.create_group("group", ());
    let reentrant = executor.create_reentrant_group("reentrant");
    let last = || SubscriptionOptions::new("topic").name("ear").keep_last(depth);
    let all = || SubscriptionOptions::new("topic").name("ear").keep_all(depth);
    let service = || ServiceOptions::new("service").name("server").keep_last(depth);
    let hear = |_: &mut (), _: Arc<u32>| {};
    let kept = PublisherOptions::new("topic").transient_local(depth);
    vec![
        group.create_local_subscription(last(), hear).unwrap_err().to_string(),
        group.create_local_subscription(all(), hear).unwrap_err().to_string(),
        reentrant.create_local_subscription(last(), |_: Arc<u32>| {}).unwrap_err().to_string(),
        context.create_local_queue::<u32>(last()).unwrap_err().to_string(),
        context.create_local_queue::<u32>(all()).unwrap_err().to_string(),
        group.create_local_service(service(), |_, n: u32| n).unwrap_err().to_string(),
        reentrant.create_local_service(service(), |n: u32| n).unwrap_err().to_string(),
        context.create_local_request_queue::<u32, u32>(service()).unwrap_err().to_string(),
        context.create_local_publisher::<u32>(kept).unwrap_err().to_string(),
    ]
}

#[test]
fn a_depth_above_the_limit_is_an_error_that_names_the_entity_the_depth_and_the_limit() {
    watchdog(|| {
        for depth in [DEPTH_MAX + 1, usize::MAX / 2 + 2, usize::MAX] {
            let error = |entity: &str| {
                let limit = "a queue keeps at most 1000000 messages or requests, so give it a smaller depth";
                format!("`{entity}` has a depth of {depth}; {limit}")
            };
            let expected = ["ear", "ear", "ear", "ear", "ear", "server", "server", "server", "topic"].map(error);
            assert_eq!(errors(depth), expected);
        }
    });
}

#[test]
fn a_queue_of_the_largest_depth_works() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", 0);
        let options = SubscriptionOptions::new("topic").keep_last(DEPTH_MAX);
        let _subscription = group.create_local_subscription(options, |sum, n: Arc<u32>| *sum += *n).unwrap();
        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
        for n in 1..=3 {
            publisher.publish(n);
        }
        spin_all(&executor);
        assert_eq!(group.into_payload().unwrap(), 6);
    });
}

#[test]
fn a_refused_subscription_leaves_nothing_behind() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", ());
        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
        let options = SubscriptionOptions::new("topic").keep_last(usize::MAX);
        let refused = group.create_local_subscription(options, |_, _: Arc<u32>| {});
        assert!(matches!(refused, Err(TopicError::DepthTooLarge(error)) if error.depth == usize::MAX));
        assert_eq!(publisher.publish(1).queued, 0);
    });
}

/// Activations in flight, and threads: the largest numbers that their types have are cut down, or are allocated for.
#[test]
fn the_largest_counts_work() {
    watchdog(|| {
        let (_, context) = manual();
        let executor = context.create_executor(ExecutorOptions::new("main").threads(u16::MAX));
        let group = executor.create_reentrant_group("group");
        let (heard, count) = (Count::default(), 3);
        let subscriptions: Vec<_> = [1, u32::MAX]
            .map(|in_flight| {
                let (options, heard) = (SubscriptionOptions::new("topic").max_in_flight(in_flight), heard.clone());
                group
                    .create_local_subscription(options, move |_: Arc<u32>| {
                        heard.up();
                    })
                    .unwrap()
            })
            .into();
        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
        for n in 0..count {
            publisher.publish(n);
        }
        spin_all(&executor);
        assert_eq!(heard.get(), subscriptions.len() * count as usize);
    });
}

/// Timers, sleeps and deadlines of `Duration::MAX` lie beyond the end of time, and never come.
#[test]
fn the_longest_times_never_come() {
    watchdog(|| {
        let (clock, context) = manual();
        let executor = context.create_executor(ExecutorOptions::new("main").busy_poll(Duration::MAX));
        let group = executor.create_group("group", ());
        let fired = Count::default();
        let timers: Vec<_> = [ClockKind::Steady, ClockKind::System, ClockKind::Ros]
            .into_iter()
            .flat_map(|clock| {
                let late = TimerOptions::periodic(ms(1)).first_due(Instant::MAX).clock(clock);
                let shifted = TimerOptions::periodic(Duration::MAX).overrun(Overrun::CatchUp(u32::MAX)).clock(clock);
                [late, shifted, TimerOptions::one_shot(Duration::MAX).clock(clock)]
            })
            .map(|options| {
                let fired = fired.clone();
                group
                    .create_timer(options.deadline(Duration::MAX), move |_, _| {
                        fired.up();
                    })
                    .unwrap()
            })
            .collect();
        clock.advance(ms(1_000));
        spin_all(&executor);
        assert_eq!((fired.get(), timers.len()), (0, 9));
    });
}

/// A clock that is moved by all the time there is shows its last reading: a periodic timer has missed due times, and
/// fires once.
#[test]
fn a_clock_that_is_moved_by_all_time_releases_a_timer_once() {
    watchdog(|| {
        for period in [ms(1), Duration::from_secs(1 << 40)] {
            for (overrun, fires) in [(Overrun::Skip, 1), (Overrun::CatchUp(3), 4), (Overrun::ShiftPhase, 1)] {
                let (clock, context, executor) = manual_executor();
                let group = executor.create_group("group", 0);
                context.ros_time().set_active(true);
                let timers = [ClockKind::Steady, ClockKind::System, ClockKind::Ros].map(|clock| {
                    let options = TimerOptions::periodic(period).overrun(overrun).clock(clock);
                    group.create_timer(options, |fired, _| *fired += 1).unwrap()
                });
                spin_all(&executor);
                for _ in 0..2 {
                    clock.advance(Duration::MAX);
                    clock.set_system(std::time::SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::MAX));
                    context.ros_time().set(Time::MAX);
                    spin_all(&executor);
                }
                let is_beyond = period > ms(1);
                let expected = if is_beyond { 0 } else { timers.len() * fires };
                assert_eq!(group.into_payload().unwrap(), expected, "{period:?} {overrun:?}");
            }
        }
    });
}

/// Sleeps that end beyond the last reading do not end, and those until it do, once.
#[test]
fn a_clock_that_is_moved_by_all_time_wakes_sleepers_once() {
    watchdog(|| {
        let (clock, context, executor) = manual_executor();
        let group = executor.create_reentrant_group("group");
        let woken = Count::default();
        let handle = executor.handle();
        let ends = [ms(1), Duration::from_nanos(i64::MAX as u64), Duration::from_nanos(u64::MAX), Duration::MAX];
        let _sleepers: Vec<_> = ends
            .into_iter()
            .flat_map(|end| [ClockKind::Steady, ClockKind::System, ClockKind::Ros].map(|clock| (clock, end)))
            .map(|(clock, end)| {
                let (handle, woken) = (handle.clone(), woken.clone());
                let entity = group.create_timer_async(TimerOptions::one_shot(Duration::ZERO), move |_| {
                    let (sleep, woken) = (handle.sleep(clock, end), woken.clone());
                    async move {
                        sleep.await.unwrap();
                        woken.up();
                    }
                });
                entity.unwrap()
            })
            .collect();
        context.ros_time().set_active(true);
        spin_all(&executor);
        for _ in 0..2 {
            clock.advance(Duration::MAX);
            context.ros_time().set(Time::MAX);
            spin_all(&executor);
        }
        assert_eq!(woken.get(), 6);
    });
}

/// A waker that publishes the urgent message when it is called for the tenth time.
struct Tenth {
    woken: Count,
    urgent: rospin_engine::Publisher<u32>,
}

impl Wake for Tenth {
    fn wake(self: Arc<Self>) {
        if self.woken.up() == 10 {
            self.urgent.publish(1);
        }
    }
}

#[test]
fn a_message_waits_for_one_round_of_sleepers_and_not_for_all() {
    watchdog(|| {
        let (clock, context, executor) = manual_executor();
        let group = executor.create_group("group", None);
        let woken = Count::default();
        let counted = woken.clone();
        let _subscription = group
            .create_local_subscription("urgent", move |seen: &mut Option<usize>, _: Arc<u32>| {
                *seen = Some(counted.get())
            })
            .unwrap();
        let urgent = context.create_local_publisher::<u32>("urgent").unwrap();
        let waker = Waker::from(Arc::new(Tenth { woken: woken.clone(), urgent }));
        let handle = executor.handle();
        let mut sleeps: Vec<_> = (0..10_000).map(|_| Box::pin(handle.sleep(ClockKind::Steady, ms(1)))).collect();
        for sleep in &mut sleeps {
            assert!(sleep.as_mut().poll(&mut TaskContext::from_waker(&waker)).is_pending());
        }
        clock.advance(ms(1));
        spin_all(&executor);
        assert_eq!((group.into_payload().unwrap(), woken.get()), (Some(256), 10_000));
    });
}
