//! Timers on a manual clock: due times, overruns, clocks, and order.

use std::time::Duration;

use crate::common::timers::{at, timer, timer_at};
use crate::common::{Log, manual_executor, ms, spin_all, threads, watchdog};
use rospin_engine::policy::Fifo;
use rospin_engine::{
    ClockKind, Context, ContextOptions, ExecutorOptions, Instant, LossCause, Overrun, SpinOptions, Tick, TimerError,
    TimerOptions,
};

#[test]
fn ten_thousand_periods_do_not_drift() {
    watchdog(|| {
        let (clock, _context, executor) = manual_executor();
        let period = Duration::from_nanos(333_333);
        let dues = Log::new();
        let log = dues.clone();
        let group = executor.create_group("group", ());
        let _timer = group.create_timer(period, move |(), tick: Tick| log.push(tick.due)).unwrap();
        // The timer is always late, but never by a whole period.
        let late = |n: u64| Duration::from_nanos((n * 7_919) % 333_333);
        let mut now = Duration::ZERO;
        for n in 1..=10_000 {
            let then = period * n as u32 + late(n);
            clock.advance(then - now);
            now = then;
            spin_all(&executor);
        }
        let dues = dues.take();
        assert_eq!(dues.len(), 10_000);
        for (n, due) in dues.into_iter().enumerate() {
            assert_eq!(due.as_nanos(), 333_333 * (n as u64 + 1));
        }
    });
}

#[test]
fn a_timer_is_not_early_and_its_due_time_counts() {
    watchdog(|| {
        let timer = timer(ms(10));
        assert_eq!(timer.after(9), []);
        assert_eq!(timer.after(1), [10], "due now is due");
        assert_eq!(timer.after(0), [], "once");
        assert_eq!(timer.after(14), [20], "late, but not later the next time");
        assert_eq!(timer.after(6), [30]);
        assert_eq!(timer.overruns(), 0);
    });
}

#[test]
fn missed_due_times_are_skipped_by_default_and_counted() {
    watchdog(|| {
        let timer = timer(TimerOptions::periodic(ms(10)).name("control"));
        assert_eq!(timer.after(35), [10], "20 and 30 were missed");
        assert_eq!(timer.overruns(), 2);
        assert_eq!(timer.after(4), []);
        assert_eq!(timer.after(1), [40], "on the old grid");
        assert_eq!(timer.after(1000), [50, 1040], "what is due at this moment was not missed");
        assert_eq!(timer.after(10), [1050]);
        assert_eq!(timer.overruns(), 2 + 98);
        let losses = timer.context.losses();
        assert_eq!(losses.len(), 1);
        assert_eq!(
            (losses[0].entity.as_str(), losses[0].cause, losses[0].count),
            ("control", LossCause::TimerOverrun, 100)
        );
    });
}

#[test]
fn catching_up_runs_so_many_late_ones_one_after_the_other() {
    watchdog(|| {
        let timer = timer(TimerOptions::periodic(ms(10)).overrun(Overrun::CatchUp(2)));
        assert_eq!(timer.after(75), [10, 60, 70]);
        assert_eq!(timer.overruns(), 4, "20 to 50");
        assert_eq!(timer.after(5), [80]);
        assert_eq!(timer.after(25), [90, 100], "nothing more than the bound was missed");
        assert_eq!(timer.overruns(), 4);
    });
}

#[test]
fn shifting_the_phase_starts_a_new_grid() {
    watchdog(|| {
        let timer = timer(TimerOptions::periodic(ms(10)).overrun(Overrun::ShiftPhase));
        assert_eq!(timer.after(35), [10]);
        assert_eq!(timer.overruns(), 2);
        assert_eq!(timer.after(9), []);
        assert_eq!(timer.after(1), [45]);
        assert_eq!(timer.after(10), [55]);
    });
}

#[test]
fn a_one_shot_without_delay_fires_at_once() {
    watchdog(|| {
        let timer = timer(TimerOptions::one_shot(Duration::ZERO));
        assert_eq!(timer.after(0), [0]);
        assert_eq!(timer.after(10), []);
    });
}

#[test]
fn a_system_clock_timer_follows_the_system_clock() {
    watchdog(|| {
        let (clock, context, executor) = manual_executor();
        clock.set_system(at(1_000_000));
        let system = TimerOptions::periodic(ms(10)).clock(ClockKind::System);
        let timer = timer_at(clock, context, executor, system);
        let steady = Log::new();
        let log = steady.clone();
        let _steady = timer.group.create_timer(ms(10), move |(), tick| log.push(tick.due)).unwrap();
        let due = |millis| {
            let ticks = timer.after(millis).len();
            assert!(ticks <= 1);
            (ticks == 1, steady.take().len())
        };
        assert_eq!(due(10), (true, 1));

        timer.clock.set_system(at(1_003_605));
        assert_eq!(due(0), (true, 0), "set forward: due, once");
        assert_eq!(timer.overruns(), 358, "1,000,020 ran; 1,000,030 to 1,003,600 were missed");
    });
}

#[test]
fn a_system_clock_that_is_set_back_delays_its_timers_only() {
    watchdog(|| {
        let (clock, context, executor) = manual_executor();
        clock.set_system(at(1_000_000));
        let system = TimerOptions::periodic(ms(10)).clock(ClockKind::System);
        let timer = timer_at(clock, context, executor, system);
        let steady = Log::new();
        let log = steady.clone();
        let _steady = timer.group.create_timer(ms(10), move |(), tick| log.push(tick.due)).unwrap();
        timer.clock.set_system(at(999_000));
        assert_eq!(timer.after(10), []);
        assert_eq!(steady.take(), [at(10)]);
        assert_eq!(timer.after(990), [], "999 + 1 s is 1000 s");
        assert_eq!(timer.after(10).len(), 1, "its due time has come");
        assert_eq!(timer.overruns(), 0);
    });
}

#[test]
fn a_timer_tells_its_due_time_on_its_own_clock_and_its_release_on_the_steady_clock() {
    watchdog(|| {
        let (clock, context, executor) = manual_executor();
        clock.set_system(at(1_000_000));
        let (group, ticks) = (executor.create_group("group", ()), Log::new());
        let timers = [ClockKind::System, ClockKind::Ros].map(|kind| {
            let log = ticks.clone();
            let options = TimerOptions::periodic(ms(10)).clock(kind);
            group.create_timer(options, move |(), tick: Tick| log.push((kind, tick.due, tick.release))).unwrap()
        });
        clock.advance(ms(14));
        spin_all(&executor);
        let late = |kind| (kind, at(1_000_010), at(10));
        assert_eq!(ticks.take(), [late(ClockKind::System), late(ClockKind::Ros)]);

        // Driven time stands at 5 s. 6 of the 10 ms are left to wait.
        let time = context.ros_time();
        time.set(at(5_000));
        time.set_active(true);
        spin_all(&executor);
        time.set(at(5_006));
        spin_all(&executor);
        let ros = ticks.take();
        assert_eq!(ros.iter().map(|tick| (tick.0, tick.1)).collect::<Vec<_>>(), [(ClockKind::Ros, at(5_006))]);
        drop(timers);
    });
}

#[test]
fn timers_that_are_due_together_run_in_the_order_of_their_registration() {
    watchdog(|| {
        let (clock, _context, executor) = manual_executor();
        let log = Log::new();
        let groups: Vec<_> = (0..3).map(|n| executor.create_group(format!("group {n}"), ())).collect();
        let timers: Vec<_> = [2, 0, 1, 2, 0]
            .into_iter()
            .enumerate()
            .map(|(n, group)| {
                let log = log.clone();
                groups[group].create_timer(ms(10), move |(), _| log.push(n)).unwrap()
            })
            .collect();
        for _ in 0..3 {
            clock.advance(ms(10));
            spin_all(&executor);
            assert_eq!(log.take(), [0, 1, 2, 3, 4]);
        }
        drop(timers);
    });
}

#[test]
fn late_timers_run_in_the_order_of_their_due_times() {
    watchdog(|| {
        let (clock, context) = crate::common::manual();
        let executor = context.create_executor(ExecutorOptions::new("main").policy(Fifo::new()));
        let group = executor.create_group("group", ());
        let log = Log::new();
        let timers: Vec<_> = [30, 10, 20]
            .into_iter()
            .map(|delay| {
                let log = log.clone();
                group.create_timer(TimerOptions::one_shot(ms(delay)), move |(), _| log.push(delay)).unwrap()
            })
            .collect();
        clock.advance(ms(50));
        spin_all(&executor);
        assert_eq!(log.take(), [10, 20, 30]);
        drop(timers);
    });
}

#[test]
fn the_first_due_time_can_be_given() {
    watchdog(|| {
        let early = timer(TimerOptions::periodic(ms(10)).first_due(at(3)));
        assert_eq!(early.after(3), [3]);
        assert_eq!(early.after(10), [13]);

        let (clock, context, executor) = manual_executor();
        clock.advance(ms(35));
        let past = timer_at(clock, context, executor, TimerOptions::periodic(ms(10)).first_due(at(0)));
        assert_eq!(past.after(0), [0], "at once");
        assert_eq!(past.overruns(), 3);
        assert_eq!(past.after(5), [40]);

        let (clock, context, executor) = manual_executor();
        clock.advance(ms(35));
        let shot = timer_at(clock, context, executor, TimerOptions::one_shot(ms(10)).first_due(at(20)));
        assert_eq!(shot.after(0), [20]);
        assert_eq!(shot.after(100), []);
    });
}

#[test]
fn a_period_of_zero_is_refused_by_name() {
    watchdog(|| {
        let (_, _context, executor) = manual_executor();
        let group = executor.create_group("group", ());
        let options = TimerOptions::periodic(Duration::ZERO).name("blink");
        let error = group.create_timer(options.clone(), |(), _| {}).unwrap_err();
        assert_eq!(error, TimerError::ZeroPeriod { timer: "blink".into() });
        assert!(error.to_string().contains("`blink`"));
        let reentrant = executor.create_reentrant_group("reentrant");
        assert!(reentrant.create_timer(options.clone(), |_| {}).is_err());
        assert!(group.create_timer_async(options, |_, _| async {}).is_err());
    });
}

#[test]
fn endless_periods_and_delays_are_never_due() {
    watchdog(|| {
        let timer = timer(Duration::MAX);
        assert_eq!(timer.after(u64::from(u32::MAX)), []);
        timer.timer.set_period(ms(1));
        assert_eq!(timer.after(1).len(), 1);
    });
}

#[test]
fn on_the_kernel_s_clock_timers_are_never_early_and_keep_their_grid() {
    watchdog(|| {
        for count in [1, 2] {
            let context = Context::new(ContextOptions::new());
            let executor = context.create_executor(ExecutorOptions::new("main").threads(threads(count)));
            let group = executor.create_group("group", Vec::new());
            let (clock, handle) = (context.clock().clone(), executor.handle());
            let options = TimerOptions::periodic(Duration::from_micros(500)).overrun(Overrun::CatchUp(1000));
            let timer = group.create_timer(options, move |dues: &mut Vec<Instant>, tick| {
                assert!(clock.now() >= tick.due);
                dues.push(tick.due);
                if dues.len() == 50 {
                    handle.halt();
                }
            });
            executor.spin(SpinOptions::new()).unwrap();
            assert_eq!(timer.unwrap().lost(LossCause::TimerOverrun), 0);
            let dues = group.into_payload().unwrap();
            assert_eq!(dues.len(), 50);
            for pair in dues.windows(2) {
                assert_eq!(pair[1].saturating_since(pair[0]), Duration::from_micros(500));
            }
        }
    });
}
