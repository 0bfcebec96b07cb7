//! Jump callbacks: they run before time moves, on their groups, and nobody waits for what cannot happen.

mod common;

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use common::{Count, Log, expect, manual, ms, spin_all, spin_in_background, threads, watchdog, with_incidents};
use rospin::policy::POLICIES;
use rospin::{
    BarrierError, ClockChange, ClockKind, Context, ContextOptions, Executor, ExecutorOptions, Instant, JumpThreshold,
    RosTime, SpinOptions, TimeJump, TimerOptions,
};

const fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Any jump back, and changes of the source.
const BACK: JumpThreshold =
    JumpThreshold { min_forward: None, min_backward: Some(Duration::from_nanos(1)), on_clock_change: true };

/// Active, and shows ten seconds.
fn ten_seconds(context: &Context) -> RosTime {
    let time = context.ros_time();
    time.set(at(10_000));
    time.set_active(true);
    time
}

fn background() -> (Context, Arc<Executor>, RosTime) {
    let context = Context::new(ContextOptions::new());
    let executor = Arc::new(context.create_executor(ExecutorOptions::new("main")));
    let time = ten_seconds(&context);
    (context, executor, time)
}

/// Waits until the executor spins: until a callback of it ran.
fn spins(executor: &Executor) {
    let (begin, begun) = mpsc::channel();
    let group = executor.create_group("first", ());
    let _first = group.create_timer(TimerOptions::one_shot(ms(0)), move |(), _| begin.send(()).unwrap()).unwrap();
    expect(&begun);
}

#[test]
fn thresholds_are_judged_as_by_rcl() {
    let jump = |from, to| {
        let (context, seen) = (Context::new(ContextOptions::new()), Log::new());
        let time = context.ros_time();
        time.set(at(from));
        time.set_active(true);
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("group", ());
        let second = Some(ms(1_000));
        let handles = [
            JumpThreshold { min_forward: second, ..JumpThreshold::default() },
            JumpThreshold { min_backward: second, ..JumpThreshold::default() },
            JumpThreshold { on_clock_change: true, ..JumpThreshold::default() },
            JumpThreshold { min_forward: Some(ms(0)), min_backward: Some(ms(0)), on_clock_change: false },
            JumpThreshold::default(),
        ]
        .map(|threshold| {
            let log = seen.clone();
            let number = seen.len();
            seen.push(number);
            group.create_jump_callback(threshold, move |(), _| log.push(number)).unwrap()
        });
        seen.take();
        match to {
            Some(to) => time.set(at(to)),
            None => time.set_active(false),
        };
        spin_all(&executor);
        drop(handles);
        seen.take()
    };
    watchdog(move || {
        assert_eq!(jump(5_000, Some(6_000)), [0, 3]);
        assert_eq!(jump(5_000, Some(5_999)), [3]);
        assert_eq!(jump(5_000, Some(4_000)), [1, 3]);
        assert_eq!(jump(5_000, Some(4_001)), [3]);
        assert_eq!(jump(5_000, Some(5_000)), []);
        assert_eq!(jump(5_000, None), [2], "although the two times are decades apart");
    });
}

#[test]
fn a_jump_tells_from_where_to_where() {
    watchdog(|| {
        let (clock, context) = manual();
        clock.set_system(at(70_000));
        let time = context.ros_time();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let (jumps, reentrant) = (Log::new(), executor.create_reentrant_group("reentrant"));
        let log = jumps.clone();
        let _jump = reentrant.create_jump_callback(BACK, move |jump: &TimeJump| log.push(*jump)).unwrap();
        let next = || {
            spin_all(&executor);
            jumps.take().into_iter().map(|jump| (jump.from, jump.to, jump.change)).collect::<Vec<_>>()
        };
        time.set(at(10_000));
        assert_eq!(next(), [], "it does not show");
        time.set_active(true);
        assert_eq!(next(), [(at(70_000), at(10_000), ClockChange::Activated)]);
        time.set(at(9_000));
        assert_eq!(next(), [(at(10_000), at(9_000), ClockChange::None)]);
        time.set(at(20_000));
        assert_eq!(next(), []);
        time.set_active(false);
        assert_eq!(next(), [(at(20_000), at(70_000), ClockChange::Deactivated)]);
        // Slept through: one jump, from the first to the last.
        time.set_active(true);
        time.set(at(5_000));
        time.set(at(4_000));
        assert_eq!(next(), [(at(70_000), at(4_000), ClockChange::Activated)]);
    });
}

#[test]
fn time_moves_when_all_jump_callbacks_of_all_executors_ran() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let time = ten_seconds(&context);
        let log = Log::new();
        let (begin, begun) = mpsc::channel();
        let (mut gates, mut handles, mut executors) = (Vec::new(), Vec::new(), Vec::new());
        for n in 0..2 {
            let options = ExecutorOptions::new(format!("executor {n}")).threads(threads(2));
            let executor = Arc::new(context.create_executor(options));
            for kind in 0..2 {
                let (gate, passing) = mpsc::channel::<()>();
                let (log, time, begin, passing) = (log.clone(), time.clone(), begin.clone(), Mutex::new(passing));
                let callback = move |jump: &TimeJump| {
                    begin.send(()).unwrap();
                    expect(&passing.lock().unwrap());
                    log.push(("jump", time.now(), jump.to));
                };
                let handle = if kind == 0 {
                    let group = executor.create_group("group", ());
                    group.create_jump_callback(BACK, move |(), jump| callback(jump))
                } else {
                    executor.create_reentrant_group("reentrant").create_jump_callback(BACK, callback)
                };
                handles.push(handle.unwrap());
                gates.push(gate);
            }
            let (log, shown) = (log.clone(), time.clone());
            let group = executor.create_group("timers", ());
            let options = TimerOptions::periodic(ms(1_000)).clock(ClockKind::Ros);
            group.create_timer(options, move |(), _| log.push(("timer", shown.now(), at(0)))).unwrap().detach();
            executors.push((spin_in_background(&executor), executor));
        }
        executors.iter().for_each(|(_, executor)| spins(executor));
        let barrier = time.set(at(3_000));
        let after = time.set(at(4_000));
        for _ in 0..4 {
            expect(&begun);
        }
        for gate in gates {
            assert!(!barrier.is_over() && !after.is_over());
            assert_eq!(time.now(), at(10_000), "all of them run, none is done");
            gate.send(()).unwrap();
        }
        after.wait().unwrap();
        assert!(barrier.is_over());
        assert_eq!(time.now(), at(4_000));
        common::eventually(|| log.len() == 6);
        let entries = log.take();
        assert_eq!(entries[..4], [("jump", at(10_000), at(3_000)); 4]);
        assert_eq!(entries[4..], [("timer", at(4_000), at(0)); 2], "due one period after the jump");
        for (spin, executor) in executors {
            executor.halt();
            spin.join().unwrap().unwrap();
        }
    });
}

#[test]
fn a_jump_callback_waits_for_its_group_and_is_next() {
    watchdog(|| {
        for entry in POLICIES {
            let context = Context::new(ContextOptions::new());
            let options = ExecutorOptions::new("main").boxed_policy((entry.build)()).threads(threads(2));
            let executor = Arc::new(context.create_executor(options));
            let time = ten_seconds(&context);
            let group = executor.create_group("group", Vec::new());
            let numbers = context.create_publisher::<u32>("numbers").unwrap();
            let ((begin, begun), (go, going)) = (mpsc::channel(), mpsc::channel::<()>());
            let handle = executor.handle();
            let callback = move |seen: &mut Vec<String>, n: Arc<u32>| {
                seen.push(format!("number {n}"));
                begin.send(()).unwrap();
                expect(&going);
                if *n == 3 {
                    handle.halt();
                }
            };
            let _numbers = group.create_subscription("numbers", callback).unwrap();
            let shown = time.clone();
            let callback = move |seen: &mut Vec<String>, _: &TimeJump| seen.push(format!("jump at {:?}", shown.now()));
            let _jump = group.create_jump_callback(BACK, callback).unwrap();
            let spin = spin_in_background(&executor);
            numbers.publish(1);
            expect(&begun);
            numbers.publish(2);
            numbers.publish(3);
            let barrier = time.set(at(0));
            assert!(!barrier.is_over(), "the group is busy");
            go.send(()).unwrap();
            barrier.wait().unwrap();
            go.send(()).unwrap();
            go.send(()).unwrap();
            spin.join().unwrap().unwrap();
            let seen = group.into_payload().unwrap();
            assert_eq!(seen, ["number 1", "jump at 10.000000000s", "number 2", "number 3"], "{}", entry.name);
        }
    });
}

#[test]
fn an_executor_that_does_not_spin_is_not_waited_for_and_hears_of_the_jump_first() {
    watchdog(|| {
        for entry in POLICIES {
            let (clock, context) = manual();
            let options = ExecutorOptions::new("main").boxed_policy((entry.build)());
            let executor = context.create_executor(options);
            let time = ten_seconds(&context);
            let (order, others) = (Log::new(), executor.create_group("others", ()));
            let log = order.clone();
            let options = TimerOptions::one_shot(ms(10)).clock(ClockKind::Ros);
            let _timer = others.create_timer(options, move |(), _| log.push("timer")).unwrap();
            let log = order.clone();
            let _steady = others.create_timer(ms(10), move |(), _| log.push("steady")).unwrap();
            let (log, numbers) = (order.clone(), context.create_publisher::<u8>("numbers").unwrap());
            let _numbers = others.create_subscription("numbers", move |(), _: Arc<u8>| log.push("number")).unwrap();
            let (log, group) = (order.clone(), executor.create_group("group", ()));
            let _jump = group.create_jump_callback(BACK, move |(), _| log.push("jump")).unwrap();
            numbers.publish(1);
            clock.advance(ms(10));
            let barrier = time.set(at(0));
            assert!(barrier.is_over());
            assert_eq!(time.now(), at(0));
            time.set(at(10));
            executor.spin(SpinOptions::spin_once()).unwrap();
            assert_eq!(order.take(), ["jump"], "{}", entry.name);
            spin_all(&executor);
            let mut rest = order.take();
            rest.sort_unstable();
            assert_eq!(rest, ["number", "steady", "timer"]);
        }
    });
}

#[test]
fn timers_see_no_new_time_before_the_jump_callbacks_of_their_executor() {
    watchdog(|| {
        let (_clock, context) = manual();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let time = ten_seconds(&context);
        let (order, group) = (Log::new(), executor.create_group("group", ()));
        let (end, ended) = futures::channel::oneshot::channel::<()>();
        let ended = Mutex::new(Some(ended));
        // Holds the group of the jump callback until it is told to end.
        let start = TimerOptions::one_shot(ms(0));
        let _holds = group.create_timer_async(start, move |_, _| {
            let ended = ended.lock().unwrap().take();
            async move { ended.unwrap().await.unwrap() }
        });
        let (log, timers) = (order.clone(), executor.create_group("timers", ()));
        let options = TimerOptions::periodic(ms(10)).clock(ClockKind::Ros);
        let _timer = timers.create_timer(options, move |(), _| log.push("timer")).unwrap();
        let log = order.clone();
        let _jump = group.create_jump_callback(BACK, move |(), _| log.push("jump")).unwrap();
        spin_all(&executor);
        time.set(at(0));
        time.set(at(10));
        spin_all(&executor);
        assert_eq!(order.take(), [""; 0], "the jump callback waits for its group, the timer for the jump callback");
        let timeout = executor.spin(SpinOptions::new().timeout(ms(0)));
        assert!(matches!(timeout, Err(rospin::SpinError::Timeout)));
        end.send(()).unwrap();
        spin_all(&executor);
        assert_eq!(order.take(), ["jump", "timer"]);
    });
}

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
fn what_is_removed_while_a_jump_waits_for_it_is_waited_for_no_longer() {
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
                // The callback that is running is not waited for either.
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
            // Nobody waits any more; time moves all the same.
        });
        let spin = spin_in_background(&executor);
        common::eventually(|| time.now() == at(5_000));
        executor.halt();
        spin.join().unwrap().unwrap();
        let seen = group.into_payload().unwrap();
        assert_eq!(seen, [("set", at(10_000), at(0)), ("jump", at(10_000), at(5_000))]);
    });
}

#[test]
fn an_asynchronous_callback_awaits_a_jump_unless_it_holds_the_group_that_must_run_first() {
    watchdog(|| {
        for (releases, outcome) in [(true, Ok(())), (false, Err(BarrierError::SameGroup))] {
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
                async move { tell.send(shown.set(at(0)).await).unwrap() }
            });
            let spin = spin_in_background(&executor);
            assert_eq!(expect(&told), outcome);
            common::eventually(|| time.now() == at(0));
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
        common::eventually(|| time.now() == at(2_000));
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
