//! Timers on ROS time that the test drives: it passes, stands still, jumps, and changes its source.

use std::time::Duration;

use crate::common::timers::at;
use crate::common::{Log, manual, ms, spin_all, watchdog};
use rospin_engine::{
    CallbackGroup, ClockKind, Context, Executor, ExecutorOptions, LossCause, ManualClock, Overrun, RosTime, Tick, Time,
    Timer, TimerOptions,
};

/// A timer on ROS time, with a log of the ROS time at each firing, in milliseconds.
struct Fixture {
    clock: ManualClock,
    time: RosTime,
    executor: Executor,
    group: CallbackGroup<()>,
    timer: Timer,
    fired_ms: Log<u64>,
    _context: Context,
}

fn active_at(start_ms: u64, options: TimerOptions) -> Fixture {
    let (clock, context) = manual();
    let time = context.ros_time();
    time.set(at(start_ms));
    time.set_active(true);
    fixture(clock, context, options)
}

fn fixture(clock: ManualClock, context: Context, options: TimerOptions) -> Fixture {
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let group = executor.create_group("group", ());
    let (time, fired_ms) = (context.ros_time(), Log::new());
    let (log, shown) = (fired_ms.clone(), time.clone());
    let callback = move |(): &mut (), _: Tick| log.push(shown.now().as_nanos() / 1_000_000);
    let timer = group.create_timer(options.clock(ClockKind::Ros), callback).unwrap();
    Fixture { clock, time, executor, group, timer, fired_ms, _context: context }
}

impl Fixture {
    /// Sets ROS time, and returns the log of the callbacks that run then.
    fn set(&self, millis: u64) -> Vec<u64> {
        self.time.set(at(millis));
        self.fired()
    }

    fn fired(&self) -> Vec<u64> {
        spin_all(&self.executor);
        self.fired_ms.take()
    }
}

#[test]
fn ros_time_is_the_system_clock_s_until_it_is_activated() {
    watchdog(|| {
        let (clock, context) = manual();
        let time = context.ros_time();
        clock.set_system(at(7_000));
        assert!(!time.is_active());
        assert_eq!((time.now(), context.clock().read(ClockKind::Ros)), (at(7_000), at(7_000)));
        time.set(at(50));
        assert_eq!(time.now(), at(7_000), "remembered, not shown");
        assert!(time.set_active(true).is_over());
        assert!(time.is_active());
        assert_eq!((time.now(), context.clock().read(ClockKind::Ros)), (at(50), at(50)));
        clock.advance(ms(10));
        assert_eq!(time.now(), at(50), "it stands still");
        time.set(at(40));
        assert_eq!(context.ros_time().now(), at(40));
        time.set(Time::MAX);
        assert!(time.is_active() && time.now() > at(u64::from(u32::MAX)));
        time.set_active(false);
        assert_eq!(time.now(), at(7_010));
    });
}

#[test]
fn a_timer_fires_when_ros_time_passes_and_at_no_other_time() {
    watchdog(|| {
        let ros = active_at(100, TimerOptions::periodic(ms(10)));
        assert_eq!(ros.set(109), []);
        assert_eq!(ros.set(110), [110]);
        ros.clock.advance(ms(1_000));
        assert_eq!(ros.fired(), [], "it stands still");
        assert_eq!(ros.set(110), [], "set to what it shows");
        assert_eq!(ros.set(124), [124]);
        assert_eq!(ros.set(130), [130], "late, but not later the next time");
        assert_eq!(ros.timer.lost(LossCause::TimerOverrun), 0);
    });
}

#[test]
fn timers_of_1_and_10_khz_fire_at_their_full_rate_on_every_clock() {
    watchdog(|| {
        for kind in [ClockKind::Steady, ClockKind::System, ClockKind::Ros] {
            let (clock, context) = manual();
            let (time, executor) = (context.ros_time(), context.create_executor(ExecutorOptions::new("main")));
            time.set_active(true);
            let group = executor.create_group("group", [0_u32; 2]);
            let rates = [1_000, 100].map(Duration::from_micros);
            let timers = [0, 1].map(|n| {
                let options = TimerOptions::periodic(rates[n]).clock(kind);
                group.create_timer(options, move |fired, _| fired[n] += 1).unwrap()
            });
            // The periods are no multiples of these steps, so every firing is late, but by less than a period.
            let step = Duration::from_nanos(99_991);
            for n in 1..=100_000_u32 {
                clock.advance(step);
                time.set(Time::ZERO + step * n);
                spin_all(&executor);
            }
            let lost = timers.map(|timer| timer.lost(LossCause::TimerOverrun));
            assert_eq!((group.into_payload().unwrap(), lost), ([9_999, 99_991], [0, 0]), "{kind:?}");
        }
    });
}

#[test]
fn due_times_that_a_jump_forward_skips_are_dealt_with_by_the_overrun_policy() {
    watchdog(|| {
        let jump = |overrun| {
            let ros = active_at(0, TimerOptions::periodic(ms(10)).overrun(overrun));
            let at_once = ros.set(1_005);
            let then = (1_006..1_030).flat_map(|millis| ros.set(millis)).collect::<Vec<_>>();
            (at_once.len(), then, ros.timer.lost(LossCause::TimerOverrun))
        };
        assert_eq!(jump(Overrun::Skip), (1, vec![1_010, 1_020], 99));
        assert_eq!(jump(Overrun::CatchUp(3)), (4, vec![1_010, 1_020], 96));
        assert_eq!(jump(Overrun::ShiftPhase), (1, vec![1_015, 1_025], 99));
    });
}

#[test]
fn after_a_jump_back_a_timer_waits_no_longer_than_its_period() {
    watchdog(|| {
        let ros = active_at(1_000, TimerOptions::periodic(ms(100)));
        assert_eq!(ros.set(1_100), [1_100]);
        assert_eq!(ros.timer.time_until_next_call(), Some(ms(100)));
        assert_eq!(ros.set(200), []);
        assert_eq!(ros.timer.time_until_next_call(), Some(ms(100)));
        assert_eq!(ros.set(299), []);
        assert_eq!(ros.set(300), [300], "one period after the jump");
        assert_eq!(ros.set(270), [], "back by less than a period");
        assert_eq!(ros.set(369), []);
        assert_eq!(ros.set(370), [370], "400 is more than a period from 270");
        assert_eq!(ros.timer.lost(LossCause::TimerOverrun), 0);

        // The executor sees only the result of both jumps.
        ros.time.set(at(0));
        ros.time.set(at(100));
        assert_eq!(ros.fired(), [100]);
    });
}

#[test]
fn a_timer_that_had_fired_but_not_run_when_time_went_back_goes_on_from_there() {
    watchdog(|| {
        let ros = active_at(1_000, TimerOptions::periodic(ms(100)));
        let (time, own) = (ros.time.clone(), Log::new());
        let log = own.clone();
        // This timer is due first, and sets time back before the other one runs.
        let first = TimerOptions::one_shot(ms(99)).clock(ClockKind::Ros);
        let _back = ros.group.create_timer(first, move |(), _| {
            time.set(at(0));
            log.push(());
        });
        ros.clock.advance(ms(1));
        assert_eq!(ros.set(1_100), [0], "it was due, and runs");
        assert_eq!(own.len(), 1);
        assert_eq!(ros.set(99), []);
        assert_eq!(ros.set(100), [100]);
    });
}

#[test]
fn a_one_shot_waits_no_longer_than_its_delay_unless_its_due_time_was_given() {
    watchdog(|| {
        let ros = active_at(1_000, TimerOptions::one_shot(ms(100)));
        let given = Log::new();
        let log = given.clone();
        let options = TimerOptions::one_shot(ms(1)).first_due(at(1_200)).clock(ClockKind::Ros);
        let _given = ros.group.create_timer(options, move |(), _| log.push(())).unwrap();
        assert_eq!(ros.set(0), []);
        assert_eq!(ros.set(99), []);
        assert_eq!(ros.set(100), [100]);
        assert_eq!(ros.set(1_199), []);
        assert_eq!(given.len(), 0);
        assert_eq!(ros.set(1_200), []);
        assert_eq!(given.len(), 1, "at the time that was given");
        ros.timer.set_period(ms(10));
        assert_eq!(ros.set(0), []);
        assert_eq!(ros.set(10), [10], "the new delay counts");
    });
}

#[test]
fn timers_wait_for_the_time_left_on_the_new_source() {
    watchdog(|| {
        let (clock, context) = manual();
        clock.set_system(at(5_000_000));
        let ros = fixture(clock, context, TimerOptions::periodic(ms(100)));
        ros.clock.advance(ms(70));
        assert_eq!(ros.fired(), []);
        ros.clock.advance(ms(10));
        ros.time.set(at(1_000));
        ros.time.set_active(true);
        assert_eq!(ros.fired(), []);
        assert_eq!(ros.timer.time_until_next_call(), Some(ms(20)));
        assert_eq!(ros.set(1_019), []);
        assert_eq!(ros.set(1_020), [1_020]);
        assert_eq!(ros.set(1_110), []);
        ros.time.set_active(false);
        ros.clock.advance(ms(9));
        assert_eq!(ros.fired(), []);
        ros.clock.advance(ms(1));
        assert_eq!(ros.fired(), [5_000_090]);
        // Both changes of the source happen before the executor looks.
        ros.time.set_active(true);
        ros.time.set_active(false);
        ros.clock.advance(ms(100));
        assert_eq!(ros.fired(), [5_000_190]);
    });
}

#[test]
fn an_asynchronous_callback_sleeps_on_ros_time() {
    watchdog(|| {
        let (clock, context) = manual();
        let (time, executor) = (context.ros_time(), context.create_executor(ExecutorOptions::new("main")));
        time.set(at(1_000));
        time.set_active(true);
        let group = executor.create_group("group", Vec::new());
        let (handle, shown) = (executor.handle(), time.clone());
        let start = TimerOptions::one_shot(ms(0));
        let _sleeps = group.create_timer_async(start, move |seen, _| {
            let (handle, shown) = (handle.clone(), shown.clone());
            async move {
                // The callback holds its group while it sleeps.
                handle.sleep(ClockKind::Ros, ms(100)).await.unwrap();
                seen.with(|seen: &mut Vec<_>| seen.push(shown.now()));
                handle.sleep_until(at::<Time>(5_000)).await.unwrap();
                seen.with(|seen| seen.push(shown.now()));
                handle.sleep_until(at::<rospin_engine::Instant>(70)).await.unwrap();
                seen.with(|seen| seen.push(shown.now()));
            }
        });
        spin_all(&executor);
        // Time goes back, with 100 ms left from there on; then far ahead, and back before the due time.
        for millis in [1_099, 500, 599, 600, 4_999, 0, 5_000] {
            time.set(at(millis));
            spin_all(&executor);
        }
        clock.advance(ms(70));
        spin_all(&executor);
        let asleep = executor.handle().sleep(ClockKind::Ros, ms(1));
        assert_eq!(group.into_payload().unwrap(), [600, 5_000, 5_000].map(at));
        let handle = executor.handle();
        drop((asleep, executor));
        let refused = std::pin::pin!(handle.sleep(ClockKind::Ros, ms(1)))
            .poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
        assert!(matches!(refused, std::task::Poll::Ready(Err(_))), "{refused:?}");
    });
}
