//! Sleeping on ROS time and on the system clock: jumps, sources that change, jump callbacks that come first.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::common::jumps::{BACK, background, spins, ten_seconds};
use crate::common::timers::at;
use crate::common::{Log, block_on, expect, manual, ms, spin_all, spin_in_background, watchdog};
use rospin_engine::{
    ClockKind, Context, Executor, ExecutorOptions, JumpThreshold, ManualClock, RosTime, SpinEnd, Time, TimerOptions,
};

/// Sleepers that log when they are woken, on a manual clock that shows 5,000 s on the system clock.
struct Fixture {
    clock: ManualClock,
    context: Context,
    executor: Executor,
    time: RosTime,
    log: Log<(&'static str, u64)>,
}

fn fixture() -> Fixture {
    let (clock, context) = manual();
    clock.set_system(at(5_000_000));
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let time = context.ros_time();
    Fixture { clock, executor, time, log: Log::new(), context }
}

impl Fixture {
    fn sleeper(&self, name: &'static str, sleep: rospin_engine::Sleep) {
        let (log, now) = (self.log.clone(), self.context.clock().clone());
        let once = futures::stream::iter([sleep]);
        let group = self.executor.create_reentrant_group("sleeper");
        let entity = group.create_stream_async(name, once, move |sleep| {
            let (log, now) = (log.clone(), now.clone());
            async move {
                sleep.await.unwrap();
                log.push((name, now.read(ClockKind::Ros).as_nanos() / 1_000_000));
            }
        });
        entity.unwrap().detach();
    }

    fn sleep(&self, name: &'static str, millis: u64) {
        self.sleeper(name, self.executor.handle().sleep(ClockKind::Ros, ms(millis)));
    }

    fn sleep_until(&self, name: &'static str, millis: u64) {
        self.sleeper(name, self.executor.handle().sleep_until(at::<Time>(millis)));
    }

    #[track_caller]
    fn expect(&self, woken: &[(&'static str, u64)]) {
        spin_all(&self.executor);
        assert_eq!(self.log.take(), woken);
    }
}

#[test]
fn jumps_back_make_no_sleep_longer() {
    watchdog(|| {
        let ros = fixture();
        ros.time.set(at(10_000));
        ros.time.set_active(true);
        ros.sleep("100", 100);
        ros.sleep("300", 300);
        ros.sleep_until("10,050", 10_050);
        ros.expect(&[]);
        ros.time.set(at(10_049));
        ros.expect(&[]);
        ros.time.set(at(1_000));
        ros.sleep("200", 200);
        ros.expect(&[]);
        ros.time.set(at(1_100));
        ros.expect(&[("100", 1_100)]);
        ros.time.set(at(1_199));
        ros.expect(&[]);
        // A jump forward counts as time that passed. Both sleepers are woken at once, so the callback that was created
        // first goes on first.
        ros.time.set(at(5_000));
        ros.expect(&[("300", 5_000), ("200", 5_000)]);
        ros.time.set(at(10_050));
        ros.expect(&[("10,050", 10_050)]);
    });
}

#[test]
fn a_jump_before_the_first_poll_counts() {
    watchdog(|| {
        let ros = fixture();
        ros.time.set(at(10_000));
        ros.time.set_active(true);
        ros.sleep("100", 100);
        ros.time.set(at(1_000));
        ros.time.set(at(1_099));
        ros.expect(&[]);
        ros.time.set(at(1_100));
        ros.expect(&[("100", 1_100)]);
    });
}

#[test]
fn sleepers_sleep_for_the_time_left_on_the_new_source() {
    watchdog(|| {
        let ros = fixture();
        ros.sleep("100", 100);
        ros.expect(&[]);
        // ROS time is inactive, so it follows the system clock.
        ros.clock.advance(ms(80));
        ros.expect(&[]);
        ros.time.set(at(1_000));
        ros.time.set_active(true);
        ros.expect(&[]);
        ros.time.set(at(1_019));
        ros.expect(&[]);
        ros.time.set(at(1_020));
        ros.expect(&[("100", 1_020)]);
        ros.sleep("50", 50);
        ros.expect(&[]);
        ros.time.set_active(false);
        ros.clock.advance(ms(49));
        ros.expect(&[]);
        ros.clock.advance(ms(1));
        ros.expect(&[("50", 5_000_130)]);
    });
}

#[test]
fn the_system_clock_is_followed_when_it_is_set() {
    watchdog(|| {
        let ros = fixture();
        ros.sleeper("system", ros.executor.handle().sleep(ClockKind::System, ms(100)));
        ros.sleep("ros", 200);
        ros.clock.set_system(at(5_000_099));
        ros.expect(&[]);
        ros.clock.set_system(at(5_000_000));
        ros.expect(&[]);
        ros.clock.set_system(at(5_000_100));
        ros.expect(&[("system", 5_000_100)]);
        ros.clock.set_system(at(5_001_000));
        ros.expect(&[("ros", 5_001_000)]);
    });
}

#[test]
fn jump_callbacks_come_first() {
    watchdog(|| {
        let ros = fixture();
        ros.time.set(at(10_000));
        ros.time.set_active(true);
        ros.sleep_until("1,000", 1_000);
        spin_all(&ros.executor);
        ros.log.take();
        let group = ros.executor.create_group("group", ros.log.clone());
        let _jump = group.create_jump_callback(BACK, |log, jump| log.push(("jump", jump.to.as_nanos() / 1_000_000)));
        ros.expect(&[]);
        ros.sleep_until("9,000", 9_000_000);
        ros.sleep("far", 1_000_000);
        ros.time.set(at(500));
        ros.time.set(at(9_000_000));
        ros.expect(&[("jump", 500), ("9,000", 9_000_000), ("far", 9_000_000)]);
    });
}

#[test]
fn time_that_moves_wakes_a_parked_executor() {
    watchdog(|| {
        let (context, executor, time) = background();
        let spin = spin_in_background(&executor);
        spins(&executor);
        let (tell, told) = mpsc::channel();
        let (handle, shown) = (executor.handle(), time.clone());
        let naps = futures::stream::iter(0..20_u64);
        let group = executor.create_group("group", ());
        let _entity = group.create_stream_async("naps", naps, move |_, n| {
            let (handle, shown, tell) = (handle.clone(), shown.clone(), tell.clone());
            async move {
                let mut nap = std::pin::pin!(handle.sleep(ClockKind::Ros, ms(10 + n)));
                let asleep = futures::poll!(nap.as_mut()).is_pending();
                tell.send((asleep, shown.now())).unwrap();
                nap.await.unwrap();
                tell.send((false, shown.now())).unwrap();
            }
        });
        for n in 0..20 {
            let (asleep, now) = expect(&told);
            assert!(asleep);
            let due = now + ms(10 + n);
            time.set(Time::from_nanos(due.as_nanos() - 1));
            time.set(due);
            assert_eq!(expect(&told), (false, due));
        }
        executor.halt();
        assert_eq!(spin.join().unwrap().unwrap(), SpinEnd::Halted);
        drop(context);
    });
}

#[test]
fn an_inactive_time_that_is_activated_wakes_a_parked_executor() {
    watchdog(|| {
        let context = Context::new(rospin_engine::ContextOptions::new());
        let executor = Arc::new(context.create_executor(ExecutorOptions::new("main")));
        let spin = spin_in_background(&executor);
        spins(&executor);
        let mut sleep = Box::pin(executor.handle().sleep(ClockKind::Ros, Duration::from_secs(3_600)));
        assert!(sleep.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())).is_pending());
        let time = ten_seconds(&context);
        time.set(at(10_000 + 3_600_000));
        assert_eq!(block_on(sleep), Ok(()));
        executor.halt();
        assert_eq!(spin.join().unwrap().unwrap(), SpinEnd::Halted);
    });
}

#[test]
fn a_sleep_on_ros_time_that_follows_the_system_clock_is_no_longer_when_that_is_set_back() {
    watchdog(|| {
        let Fixture { clock, executor, context, .. } = fixture();
        let (handle, waker) = (executor.handle(), Log::new());
        let group = executor.create_group("group", ());
        let (log, now) = (waker.clone(), context.clock().clone());
        let _sleeper = group.create_timer_async(TimerOptions::one_shot(Duration::ZERO), move |_, _| {
            let (pause, log, now) = (handle.sleep(ClockKind::Ros, ms(100)), log.clone(), now.clone());
            async move {
                pause.await.unwrap();
                log.push(now.now());
            }
        });
        spin_all(&executor);
        clock.advance(ms(40));
        spin_all(&executor);
        clock.set_system(at(1_400_000));
        for _ in 0..7 {
            spin_all(&executor);
            clock.advance(ms(10));
        }
        spin_all(&executor);
        assert_eq!(waker.take(), [at(100)], "60 ms were left to sleep");
    });
}

#[test]
fn a_sleep_that_began_before_time_was_activated_keeps_what_is_left_of_it() {
    watchdog(|| {
        let Fixture { clock, executor, context, time, .. } = fixture();
        clock.set_system(at(0));
        let group = executor.create_group("group", ());
        let all = JumpThreshold { on_clock_change: true, ..BACK };
        let _jump = group.create_jump_callback(all, |(), _| {}).unwrap();
        let (log, now, handle) = (Log::new(), context.clock().clone(), executor.handle());
        let (woken, hand) = (log.clone(), clock.clone());
        let driver = time.clone();
        let sleepers = executor.create_reentrant_group("sleepers");
        let _sleeper = sleepers.create_timer_async(TimerOptions::one_shot(Duration::ZERO), move |_| {
            drop(driver.set(at(26)));
            drop(driver.set_active(true));
            let pause = handle.sleep(ClockKind::Ros, ms(4));
            let (woken, now, hand) = (woken.clone(), now.clone(), hand.clone());
            hand.advance(ms(2));
            async move {
                pause.await.unwrap();
                woken.push(now.read(ClockKind::Ros));
            }
        });
        spin_all(&executor);
        assert_eq!(log.take(), [], "two milliseconds are left");
        drop(time.set(at(28)));
        spin_all(&executor);
        assert_eq!(log.take(), [at(28)]);
    });
}
