//! The system clock is set back: the effect on timers on ROS time that follows it, and on timers on the system clock.

use crate::common::timers::at;
use crate::common::{Count, manual_executor, ms, spin_all, watchdog};
use rospin_engine::{ClockKind, Executor, LossCause, ManualClock, Timer, TimerOptions};

const HOUR: u64 = 3_600_000;

/// Creates a clock that shows ten hours, and an executor with a 10 Hz timer.
fn ticking(clock_kind: ClockKind) -> (ManualClock, Executor, Timer, Count) {
    let (clock, _context, executor) = manual_executor();
    clock.set_system(at(10 * HOUR));
    let ticks = Count::new();
    let counter = ticks.clone();
    let group = executor.create_group("group", ());
    let options = TimerOptions::periodic(ms(100)).clock(clock_kind);
    let timer = group.create_timer(options, move |(), _| _ = counter.up()).unwrap();
    (clock, executor, timer, ticks)
}

/// Lets seconds pass, in steps of a tenth.
fn pass(clock: &ManualClock, executor: &Executor, seconds: u64) {
    for _ in 0..seconds * 10 {
        clock.advance(ms(100));
        spin_all(executor);
    }
}

#[test]
fn a_timer_on_inactive_ros_time_goes_on_at_its_rate() {
    watchdog(|| {
        let (clock, executor, timer, ticks) = ticking(ClockKind::Ros);
        pass(&clock, &executor, 1);
        assert_eq!(ticks.get(), 10);
        clock.set_system(at(9 * HOUR));
        pass(&clock, &executor, 60);
        assert_eq!(ticks.get(), 610);
        assert_eq!(timer.lost(LossCause::TimerOverrun), 0);
    });
}

#[test]
fn the_time_left_to_wait_stays_the_same_wherever_in_a_period_the_clock_is_set_back() {
    watchdog(|| {
        let (clock, executor, timer, ticks) = ticking(ClockKind::Ros);
        pass(&clock, &executor, 1);
        clock.advance(ms(30));
        spin_all(&executor);
        clock.advance(ms(20));
        // The executor last read the clock 20 ms ago.
        clock.set_system(at(5));
        spin_all(&executor);
        assert_eq!(timer.time_until_next_call(), Some(ms(50)));
        clock.advance(ms(49));
        spin_all(&executor);
        assert_eq!(ticks.get(), 10);
        clock.advance(ms(1));
        spin_all(&executor);
        assert_eq!(ticks.get(), 11);
    });
}

#[test]
fn a_timer_on_inactive_ros_time_does_not_notice_that_the_clock_is_set_forward() {
    watchdog(|| {
        let (clock, executor, timer, ticks) = ticking(ClockKind::Ros);
        clock.advance(ms(30));
        clock.set_system(at(11 * HOUR));
        spin_all(&executor);
        assert_eq!((ticks.get(), timer.time_until_next_call()), (0, Some(ms(70))));
        pass(&clock, &executor, 60);
        assert_eq!((ticks.get(), timer.lost(LossCause::TimerOverrun)), (600, 0));
    });
}

#[test]
fn a_timer_on_the_system_clock_that_is_set_forward_skips_what_it_missed() {
    watchdog(|| {
        let (clock, executor, timer, ticks) = ticking(ClockKind::System);
        clock.set_system(at(11 * HOUR));
        spin_all(&executor);
        // The first missed tick runs late, and then the one that is due now.
        assert_eq!((ticks.get(), timer.lost(LossCause::TimerOverrun)), (2, HOUR / 100 - 2));
        pass(&clock, &executor, 1);
        assert_eq!(ticks.get(), 12);
    });
}

#[test]
fn a_sleep_on_inactive_ros_time_takes_no_longer_either() {
    watchdog(|| {
        let (clock, executor, _timer, _) = ticking(ClockKind::Ros);
        let group = executor.create_group("sleeper", ());
        let (awake, handle) = (Count::new(), executor.handle());
        let counter = awake.clone();
        let _sleeper = group.create_timer_async(TimerOptions::one_shot(ms(0)), move |_, _| {
            let (counter, handle) = (counter.clone(), handle.clone());
            async move {
                handle.sleep(ClockKind::Ros, ms(1_000)).await.unwrap();
                counter.up();
            }
        });
        spin_all(&executor);
        clock.set_system(at(HOUR));
        pass(&clock, &executor, 1);
        assert_eq!(awake.get(), 1);
    });
}

/// The due times of a timer on the system clock are times of day, as with `RCL_SYSTEM_TIME` in rcl.
#[test]
fn a_timer_on_the_system_clock_waits_until_that_shows_its_due_time() {
    watchdog(|| {
        let (clock, executor, _timer, ticks) = ticking(ClockKind::System);
        pass(&clock, &executor, 1);
        assert_eq!(ticks.get(), 10);
        clock.set_system(at(10 * HOUR - 30_000));
        pass(&clock, &executor, 30);
        assert_eq!(ticks.get(), 10, "it is earlier than at the last tick");
        pass(&clock, &executor, 2);
        assert_eq!(ticks.get(), 20);
    });
}
