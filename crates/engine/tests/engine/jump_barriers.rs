//! Barriers of ROS time wait for jump callbacks, and for nothing that cannot happen.

use std::sync::{Arc, mpsc};

use crate::common::jumps::{BACK, background, spins, ten_seconds};
use crate::common::timers::at;
use crate::common::{Count, Log, expect, ms, spin_all, spin_in_background, threads, watchdog, with_incidents};
use rospin_engine::{BarrierError, ClockKind, Context, ContextOptions, ExecutorOptions, TimeJump, TimerOptions};

#[test]
fn a_halted_executor_is_waited_for_no_longer() {
    watchdog(|| {
        let (_context, executor, time) = background();
        let (group, order) = (executor.create_group("group", ()), Log::new());
        let ((begin, begun), (go, going)) = (mpsc::channel(), mpsc::channel::<()>());
        let _busy = group.create_timer(TimerOptions::one_shot(ms(0)), move |(), _| {
            begin.send(()).unwrap();
            expect(&going);
        });
        let log = order.clone();
        let _jump = group.create_jump_callback(BACK, move |(), _| log.push("jump")).unwrap();
        let log = order.clone();
        let options = TimerOptions::periodic(ms(10)).clock(ClockKind::Ros);
        let _timer = executor.create_group("other", ()).create_timer(options, move |(), _| log.push("timer"));
        let spin = spin_in_background(&executor);
        expect(&begun);
        let barrier = time.set(at(0));
        executor.halt();
        assert!(!barrier.is_over(), "it still spins");
        go.send(()).unwrap();
        spin.join().unwrap().unwrap();
        assert!(barrier.is_over(), "nothing of it will run");
        barrier.wait().unwrap();
        time.set(at(10));
        assert_eq!(order.take(), [""; 0]);
        spin_all(&executor);
        assert_eq!(order.take(), ["jump", "timer"], "the first thing of the next spin");
    });
}

#[test]
fn a_jump_does_not_wait_for_a_callback_that_is_removed_meanwhile() {
    watchdog(|| {
        for way in ["handle", "group", "executor"] {
            let context = Context::new(ContextOptions::new());
            let time = ten_seconds(&context);
            let executor = Arc::new(context.create_executor(ExecutorOptions::new("main").threads(threads(2))));
            let group = executor.create_group("group", ());
            let ((begin, begun), (go, going)) = (mpsc::channel(), mpsc::channel::<()>());
            let busy = group.create_timer(TimerOptions::one_shot(ms(0)), move |(), _| {
                begin.send(()).unwrap();
                expect(&going);
            });
            let jump = group.create_jump_callback(BACK, |(), _| unreachable!("it is removed")).unwrap();
            let spin = spin_in_background(&executor);
            expect(&begun);
            let barrier = time.set(at(0));
            assert!(!barrier.is_over());
            match way {
                "handle" => drop(jump),
                // Removing the group does not wait for the callback that is running.
                "group" => group.clone().remove(),
                _ => {
                    executor.halt();
                    go.send(()).unwrap();
                    spin.join().unwrap().unwrap();
                    drop((busy, jump, group, executor));
                    barrier.wait().unwrap();
                    continue;
                }
            }
            barrier.wait().unwrap();
            assert_eq!(time.now(), at(0));
            go.send(()).unwrap();
            executor.halt();
            spin.join().unwrap().unwrap();
        }
    });
}

#[test]
fn a_jump_callback_that_panics_does_not_hold_up_time() {
    watchdog(|| {
        let (context, incidents) = with_incidents();
        let time = ten_seconds(&context);
        let executor = Arc::new(context.create_executor(ExecutorOptions::new("main")));
        let group = executor.create_group("group", ());
        let _jump = group.create_jump_callback(BACK, |(), _| panic!("on purpose")).unwrap();
        let spin = spin_in_background(&executor);
        spins(&executor);
        time.set(at(5_000)).wait().unwrap();
        time.set(at(4_000)).wait().unwrap();
        assert_eq!(time.now(), at(4_000));
        executor.halt();
        spin.join().unwrap().unwrap();
        spin_all(&executor);
        assert_eq!(incidents.len(), 2);
    });
}

#[test]
fn a_callback_sets_time_without_waiting_for_itself() {
    watchdog(|| {
        let (_context, executor, time) = background();
        let group = executor.create_group("group", Vec::new());
        let shown = time.clone();
        let callback = move |seen: &mut Vec<_>, jump: &TimeJump| seen.push(("jump", shown.now(), jump.to));
        let _jump = group.create_jump_callback(BACK, callback).unwrap();
        let shown = time.clone();
        let _set = group.create_timer(TimerOptions::one_shot(ms(0)), move |seen: &mut Vec<_>, _| {
            let barrier = shown.set(at(5_000));
            seen.push(("set", shown.now(), at(0)));
            assert!(!barrier.is_over());
            assert_eq!(barrier.wait(), Err(BarrierError::InCallback));
            // The barrier is dropped, and time moves nevertheless.
        });
        let spin = spin_in_background(&executor);
        crate::common::eventually(|| time.now() == at(5_000));
        executor.halt();
        spin.join().unwrap().unwrap();
        let seen = group.into_payload().unwrap();
        assert_eq!(seen, [("set", at(10_000), at(0)), ("jump", at(10_000), at(5_000))]);
    });
}

#[test]
fn an_asynchronous_callback_awaits_a_jump_that_its_own_group_is_told_of() {
    watchdog(|| {
        for releases in [true, false] {
            let (_context, executor, time) = background();
            let group = executor.create_group("group", ());
            let jumps = Count::new();
            let counter = jumps.clone();
            let _jump = group.create_jump_callback(BACK, move |(), _| _ = counter.up()).unwrap();
            let (tell, told) = mpsc::channel();
            let shown = time.clone();
            let start = TimerOptions::one_shot(ms(0));
            let start = if releases { start.releases_group_at_await() } else { start };
            let _set = group.create_timer_async(start, move |_, _| {
                let (tell, shown) = (tell.clone(), shown.clone());
                async move {
                    shown.set(at(0)).await;
                    tell.send(()).unwrap();
                }
            });
            let spin = spin_in_background(&executor);
            expect(&told);
            assert_eq!(time.now(), at(0));
            executor.halt();
            spin.join().unwrap().unwrap();
            assert_eq!(jumps.get(), 1);
        }
    });
}

#[test]
fn a_jump_callback_that_sets_time_is_told_of_that_jump_next() {
    watchdog(|| {
        let (_context, executor, time) = background();
        let group = executor.create_group("group", Vec::new());
        let shown = time.clone();
        let callback = move |seen: &mut Vec<_>, jump: &TimeJump| {
            seen.push((jump.from, jump.to));
            if jump.to > at(2_000) {
                shown.set(jump.to - ms(1_000));
            }
        };
        let _jump = group.create_jump_callback(BACK, callback).unwrap();
        let spin = spin_in_background(&executor);
        spins(&executor);
        time.set(at(4_000));
        crate::common::eventually(|| time.now() == at(2_000));
        executor.halt();
        spin.join().unwrap().unwrap();
        let seen = group.into_payload().unwrap();
        assert_eq!(seen, [(at(10_000), at(4_000)), (at(4_000), at(3_000)), (at(3_000), at(2_000))]);
    });
}

#[test]
fn jumps_executors_and_groups_come_and_go_at_once() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let time = ten_seconds(&context);
        let told = Count::new();
        let churn: Vec<_> = (0..2)
            .map(|n| {
                let (context, told) = (context.clone(), told.clone());
                std::thread::spawn(move || {
                    for round in 0..60 {
                        let options = ExecutorOptions::new(format!("executor {n}")).threads(threads(1 + round % 2));
                        let executor = Arc::new(context.create_executor(options));
                        let group = executor.create_group("group", ());
                        let counter = told.clone();
                        let jump = group.create_jump_callback(BACK, move |(), _| _ = counter.up()).unwrap();
                        let options = TimerOptions::periodic(ms(1)).clock(ClockKind::Ros);
                        let _timer = group.create_timer(options, |(), _| {}).unwrap();
                        let spin = spin_in_background(&executor);
                        std::thread::yield_now();
                        match round % 3 {
                            0 => drop(jump),
                            1 => group.clone().remove(),
                            _ => jump.detach(),
                        }
                        executor.halt();
                        spin.join().unwrap().unwrap();
                    }
                })
            })
            .collect();
        let mut n = 0_u64;
        while !churn.iter().all(std::thread::JoinHandle::is_finished) {
            n += 1;
            time.set(at(10_000 - n % 10_000)).wait().unwrap();
            time.set_active(!n.is_multiple_of(8));
        }
        for thread in churn {
            thread.join().unwrap();
        }
        time.set(at(1)).wait().unwrap();
        assert!(n > 0);
    });
}

/// A recording is played in a loop: callbacks that wait for ROS time must not keep it from being set back.
#[test]
fn time_jumps_while_a_callback_of_the_group_sleeps_on_it() {
    watchdog(|| {
        for count in [1, 2] {
            let (_clock, context) = crate::common::manual();
            let executor = Arc::new(context.create_executor(ExecutorOptions::new("main").threads(threads(count))));
            let time = ten_seconds(&context);
            let group = executor.create_group("group", Vec::new());
            let (tell, told) = mpsc::channel();
            let handle = executor.handle();
            let _sleeper = group.create_timer_async(TimerOptions::one_shot(ms(0)), move |payload, _| {
                let (handle, tell) = (handle.clone(), tell.clone());
                async move {
                    payload.with(|seen| seen.push("falls asleep"));
                    tell.send(()).unwrap();
                    handle.sleep(ClockKind::Ros, ms(100)).await.unwrap();
                    payload.with(|seen| seen.push("wakes up"));
                    tell.send(()).unwrap();
                }
            });
            let _jump = group.create_jump_callback(BACK, |seen, _| seen.push("jump")).unwrap();
            let spin = spin_in_background(&executor);
            expect(&told);
            time.set(at(0)).wait().unwrap();
            assert_eq!(time.now(), at(0));
            time.set(at(100)).wait().unwrap();
            expect(&told);
            executor.halt();
            spin.join().unwrap().unwrap();
            assert_eq!(group.into_payload().unwrap(), ["falls asleep", "jump", "wakes up"]);
        }
    });
}
