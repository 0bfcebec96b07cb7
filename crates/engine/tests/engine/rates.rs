//! Loops that await the ticks of a rate.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Waker};

use crate::common::jumps::ten_seconds;
use crate::common::timers::at;
use crate::common::{Log, block_on, manual, manual_executor, ms, spin_all, watchdog};
use futures::stream;
use rospin_engine::policy::FixedPriority;
use rospin_engine::{
    ClockKind, Context, Entity, Executor, ExecutorOptions, ManualClock, Payload, Priority, RateError, SleepError,
    SubscriptionOptions, TimerOptions,
};

/// A loop on a manual clock. Each tick is logged with the time in milliseconds and the tick's result.
struct Fixture {
    clock: ManualClock,
    context: Context,
    executor: Executor,
    ticks: Log<(u64, bool)>,
    _entity: Entity,
}

/// Begins a loop with a period of 10 ms whose rounds take that many milliseconds, and then no time.
fn begin<const N: usize>(kind: ClockKind, rounds_ms: [u64; N]) -> Fixture {
    let (clock, context, executor) = manual_executor();
    ten_seconds(&context);
    let ticks = Log::new();
    let rate = executor.handle().create_rate(kind, ms(10)).unwrap();
    let (log, now, mover) = (ticks.clone(), context.clock().clone(), clock.clone());
    let group = executor.create_group("loop", ());
    let entity = group.create_stream_async("loop", stream::iter([rate]), move |_: Payload<()>, mut rate| {
        let (log, now, mover) = (log.clone(), now.clone(), mover.clone());
        async move {
            let mut rounds = rounds_ms.into_iter();
            while let Ok(is_in_time) = rate.tick().await {
                log.push((now.read(kind).as_nanos() / 1_000_000, is_in_time));
                mover.advance(ms(rounds.next().unwrap_or(0)));
            }
        }
    });
    spin_all(&executor);
    Fixture { clock, context, executor, ticks, _entity: entity.unwrap() }
}

impl Fixture {
    /// Advances the clock in steps of a millisecond, and returns the ticks.
    fn after(&self, millis: u64) -> Vec<(u64, bool)> {
        for _ in 0..millis {
            self.clock.advance(ms(1));
            spin_all(&self.executor);
        }
        self.ticks.take()
    }

    /// Sets ROS time, and returns the ticks.
    fn at_ros(&self, millis: u64) -> Vec<(u64, bool)> {
        self.context.ros_time().set(at(millis));
        spin_all(&self.executor);
        self.ticks.take()
    }
}

#[test]
fn ticks_do_not_drift_whatever_their_rounds_take() {
    watchdog(|| {
        let ticks = begin(ClockKind::Steady, [3, 9, 0, 7]);
        assert_eq!(ticks.after(31), [(10, true), (20, true), (30, true), (40, true), (50, true)]);
    });
}

#[test]
fn a_loop_that_is_late_by_up_to_a_period_catches_up() {
    watchdog(|| {
        let ticks = begin(ClockKind::Steady, [15, 4, 20]);
        assert_eq!(ticks.after(10), [(10, true), (25, false)]);
        assert_eq!(ticks.after(1), [(30, true), (50, false), (50, false)]);
        assert_eq!(ticks.after(10), [(60, true)]);
    });
}

#[test]
fn a_loop_that_is_later_begins_anew_with_the_late_tick() {
    watchdog(|| {
        let ticks = begin(ClockKind::Steady, [25]);
        assert_eq!(ticks.after(10), [(10, true), (35, false)]);
        assert_eq!(ticks.after(20), [(45, true), (55, true)]);
    });
}

#[test]
fn on_ros_time_ticks_follow_jumps() {
    watchdog(|| {
        let ticks = begin(ClockKind::Ros, []);
        assert_eq!(ticks.at_ros(10_009), []);
        assert_eq!(ticks.at_ros(10_010), [(10_010, true)]);
        // Beyond the tick that is awaited, and far beyond the one after it.
        assert_eq!(ticks.at_ros(20_000), [(20_000, true), (20_000, false)]);
        assert_eq!(ticks.at_ros(20_010), [(20_010, true)]);
        // Back while a tick is awaited: it comes within a period, and so do the next ones.
        assert_eq!(ticks.at_ros(1_000), []);
        assert_eq!(ticks.at_ros(1_010), [(1_010, true)]);
        assert_eq!(ticks.at_ros(1_020), [(1_020, true)]);
    });
}

#[test]
fn a_clock_that_is_set_back_between_two_ticks_begins_a_new_period() {
    watchdog(|| {
        let (_clock, context, executor) = manual_executor();
        let time = ten_seconds(&context);
        let mut rate = executor.handle().create_rate(ClockKind::Ros, ms(10)).unwrap();
        time.set(at(1_000));
        let (log, now) = (Log::new(), context.clock().clone());
        let noted = log.clone();
        let group = executor.create_group("once", ());
        let tick = async move {
            let is_in_time = rate.tick().await.unwrap();
            noted.push((now.read(ClockKind::Ros), is_in_time));
        };
        let _entity = group.create_stream_async("once", stream::iter([tick]), |_, tick| tick).unwrap();
        for (millis, count) in [(1_000, 0), (1_009, 0), (1_010, 1)] {
            time.set(at(millis));
            spin_all(&executor);
            assert_eq!(log.len(), count);
        }
        assert_eq!(log.take(), [(at(1_010), true)]);
    });
}

#[test]
fn a_late_tick_lets_more_urgent_callbacks_run() {
    watchdog(|| {
        let (clock, context) = manual();
        let executor = context.create_executor(ExecutorOptions::new("main").policy(FixedPriority::new()));
        let publisher = context.create_local_publisher::<u32>("urgent").unwrap();
        let log = Log::new();
        let noted = log.clone();
        let options = SubscriptionOptions::new("urgent").priority(Priority(9));
        let urgent = executor.create_group("urgent", ());
        let _urgent = urgent.create_local_subscription(options, move |(), _: Arc<u32>| noted.push("urgent"));
        let (handle, noted) = (executor.handle(), log.clone());
        let start = TimerOptions::one_shot(ms(0)).priority(Priority(1));
        let _loop = executor.create_group("loop", ()).create_timer_async(start, move |_: Payload<()>, _| {
            let mut rate = handle.create_rate(ClockKind::Steady, ms(10)).unwrap();
            let (clock, publisher, noted) = (clock.clone(), publisher.clone(), noted.clone());
            async move {
                for n in 0..2 {
                    clock.advance(ms(15));
                    publisher.publish(n);
                    assert!(!rate.tick().await.unwrap());
                    noted.push("tick");
                }
            }
        });
        spin_all(&executor);
        assert_eq!(log.take(), ["urgent", "tick", "urgent", "tick"]);
    });
}

#[test]
fn a_reset_begins_a_new_period_and_a_dropped_tick_uses_up_none() {
    watchdog(|| {
        let (clock, _context, executor) = manual_executor();
        let mut rate = executor.handle().create_rate(ClockKind::Steady, ms(10)).unwrap();
        clock.advance(ms(9));
        rate.reset();
        let waker = Waker::noop();
        let mut is_over = |advance| {
            clock.advance(ms(advance));
            let mut tick = pin!(rate.tick());
            let _ = tick.as_mut().poll(&mut TaskContext::from_waker(waker));
            spin_all(&executor);
            tick.as_mut().poll(&mut TaskContext::from_waker(waker)).is_ready()
        };
        assert_eq!([9, 1, 9, 1].map(&mut is_over), [false, true, false, true]);
    });
}

#[test]
fn a_period_of_zero_is_refused() {
    let (_clock, _context, executor) = manual_executor();
    let refused = executor.handle().create_rate(ClockKind::Steady, ms(0));
    assert_eq!(refused.unwrap_err(), RateError::ZeroPeriod { executor: "main".to_owned() });
}

#[test]
fn ticks_of_an_executor_that_was_dropped_are_errors() {
    let (_clock, _context, executor) = manual_executor();
    let mut rate = executor.handle().create_rate(ClockKind::Steady, ms(10)).unwrap();
    drop(executor);
    assert!(matches!(block_on(rate.tick()), Err(SleepError::ExecutorDropped { .. })));
}
