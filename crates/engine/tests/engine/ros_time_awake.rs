//! ROS time moves while executors spin, sleep and are busy: the right ones wake up.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::timers::at;
use crate::common::{Count, expect, manual, ms, spin_in_background, threads, watchdog};
use rospin_engine::policy::{Fifo, View};
use rospin_engine::{
    Activation, ClockKind, Context, ContextOptions, EntityId, EntitySpec, ExecutorOptions, GroupId, Policy, Tick, Time,
    Timer, TimerOptions,
};

#[test]
fn a_timer_that_is_started_around_a_jump_waits_from_then_on() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let (time, executor) = (context.ros_time(), Arc::new(context.create_executor(ExecutorOptions::new("main"))));
        time.set(at(1_000));
        time.set_active(true);
        let (busy, group) = (executor.create_group("busy", ()), executor.create_group("group", ()));
        let ((begin, begun), (go, going)) = (mpsc::channel(), mpsc::channel::<()>());
        let _busy = busy.create_timer(TimerOptions::one_shot(ms(0)), move |(), _| {
            begin.send(()).unwrap();
            expect(&going);
        });
        let (fire, fired) = mpsc::channel();
        let options = TimerOptions::periodic(ms(100)).clock(ClockKind::Ros);
        let other = fire.clone();
        let old = group.create_timer(options.clone(), move |(), _| other.send("old").unwrap()).unwrap();
        let spin = spin_in_background(&executor);
        expect(&begun);
        // The executor is busy, and learns of these changes only afterwards.
        old.reset();
        let new = group.create_timer(options, move |(), _| fire.send("new").unwrap()).unwrap();
        time.set(at(0));
        assert_eq!(old.time_until_next_call(), Some(ms(1_100)), "as long as the executor does not know");
        go.send(()).unwrap();
        // The executor learns of one timer after the other.
        crate::common::eventually(|| [&old, &new].iter().all(|timer| timer.time_until_next_call() == Some(ms(100))));
        time.set(at(100));
        assert_eq!([expect(&fired), expect(&fired)], ["old", "new"]);
        executor.halt();
        spin.join().unwrap().unwrap();
    });
}

#[test]
fn a_sleeping_executor_wakes_up_when_its_timer_is_due() {
    watchdog(|| {
        for count in [1, 3] {
            let context = Context::new(ContextOptions::new());
            let (time, options) = (context.ros_time(), ExecutorOptions::new("main").threads(threads(count)));
            let executor = Arc::new(context.create_executor(options));
            time.set_active(true);
            let group = executor.create_group("group", ());
            let (fire, fired) = mpsc::channel();
            let shown = time.clone();
            let options = TimerOptions::periodic(ms(10)).clock(ClockKind::Ros);
            let _timer = group.create_timer(options, move |(), _| fire.send(shown.now()).unwrap()).unwrap();
            let spin = spin_in_background(&executor);
            for n in 1..500 {
                time.set(at(n * 10));
                assert_eq!(expect(&fired), at(n * 10));
                time.set(at(n * 10 + 5));
            }
            time.set(at(0));
            time.set(at(10));
            assert_eq!(expect(&fired), at(10), "also after a jump back");
            time.set_active(false);
            assert!(expect(&fired) > at(1_000_000_000), "what was left to wait, by the kernel's clock");
            executor.halt();
            spin.join().unwrap().unwrap();
        }
    });
}

/// A policy that is first in, first out, and counts its picks.
struct Counting(Fifo, Count);

impl Policy for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }
    fn register(&mut self, id: EntityId, spec: &EntitySpec) {
        self.0.register(id, spec);
    }
    fn unregister(&mut self, id: EntityId, spec: &EntitySpec) {
        self.0.unregister(id, spec);
    }
    fn release(&mut self, activation: &Activation) {
        self.0.release(activation);
    }
    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        self.1.up();
        self.0.pick(view)
    }
    fn group_freed(&mut self, group: GroupId) {
        self.0.group_freed(group);
    }
    fn withdraw(&mut self, activation: &Activation) {
        self.0.withdraw(activation);
    }
    fn has_candidates(&self) -> bool {
        self.0.has_candidates()
    }
}

#[test]
fn executors_sleep_while_time_stands_still_and_until_a_timer_of_theirs_is_due() {
    watchdog(|| {
        let (_clock, context) = manual();
        let (time, asked) = (context.ros_time(), Count::new());
        let options = ExecutorOptions::new("main").policy(Counting(Fifo::new(), asked.clone()));
        let executor = Arc::new(context.create_executor(options));
        time.set_active(true);
        let group = executor.create_group("group", ());
        let (fire, fired) = mpsc::channel();
        let options = TimerOptions::periodic(ms(10_000)).clock(ClockKind::Ros);
        let _timer = group.create_timer(options, move |(), _| fire.send(()).unwrap()).unwrap();
        let spin = spin_in_background(&executor);
        for round in 1..=20 {
            time.set(at(round * 10_000));
            expect(&fired);
            for step in 1..200 {
                time.set(at(round * 10_000 + step));
                thread::yield_now();
            }
        }
        executor.halt();
        spin.join().unwrap().unwrap();
        assert!(asked.get() <= 3 * 20 + 3, "{asked:?}: at most before, for and after what fires");
    });
}

#[test]
fn time_moves_while_timers_are_changed_from_threads_and_callbacks() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = Arc::new(context.create_executor(ExecutorOptions::new("pool").threads(threads(2))));
        let time = context.ros_time();
        time.set_active(true);
        let fired = Count::new();
        let groups: Vec<_> = (0..3).map(|n| executor.create_group(format!("group {n}"), ())).collect();
        let timers: Arc<Vec<Timer>> = Arc::new(
            (0..12_usize)
                .map(|n| {
                    let (counter, period) = (fired.clone(), Duration::from_micros(10 + n as u64));
                    let kind = [ClockKind::Ros, ClockKind::Steady, ClockKind::System][n % 3];
                    let options = TimerOptions::periodic(period).clock(kind);
                    groups[n % 3].create_timer(options, move |(), _| _ = counter.up()).unwrap()
                })
                .collect(),
        );
        let others = Arc::clone(&timers);
        let meddler = groups[0].create_timer(ms(1), move |(), tick: Tick| {
            let n = tick.due.as_nanos() as usize;
            others[n % 12].cancel();
            others[n % 11].set_period(Duration::from_micros(5));
            others[n % 12].reset();
        });
        let spin = spin_in_background(&executor);
        let drivers: Vec<_> = (0..2_u64)
            .map(|number| {
                let (time, timers) = (time.clone(), Arc::clone(&timers));
                thread::spawn(move || {
                    for n in 0..3_000_u64 {
                        time.set(Time::from_nanos((n * 7_919 + number * 31) % 50_000_000));
                        let timer = &timers[(n % 12) as usize];
                        match n % 5 {
                            0 => timer.cancel(),
                            1 => timer.reset(),
                            2 => timer.set_period(Duration::from_micros(20)),
                            3 => _ = timer.time_until_next_call(),
                            _ => _ = time.set_active(n % 10 == 4),
                        }
                    }
                })
            })
            .collect();
        for driver in drivers {
            driver.join().unwrap();
        }
        // All executors work after that.
        time.set_active(true);
        drop(meddler);
        for timer in timers.iter() {
            timer.set_period(ms(1));
            assert!(!timer.is_canceled());
        }
        let before = fired.get();
        let now = std::cell::Cell::new(time.now());
        crate::common::eventually(|| {
            now.set(now.get() + ms(1));
            time.set(now.get());
            fired.get() > before + 100
        });
        executor.halt();
        spin.join().unwrap().unwrap();
    });
}
