//! Jump callbacks: their arguments, and that they run on their groups before time moves.

use std::sync::{Arc, Mutex, mpsc};

use crate::common::jumps::{BACK, spins, ten_seconds};
use crate::common::timers::at;
use crate::common::{Count, Log, expect, manual, ms, spin_all, spin_in_background, threads, watchdog};
use rospin_engine::policy::POLICIES;
use rospin_engine::{
    ClockChange, ClockKind, Context, ContextOptions, ExecutorOptions, JumpThreshold, SpinOptions, TimeJump,
    TimerOptions,
};

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
        // The executor does not spin, so these become one jump from the first time to the last.
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
        crate::common::eventually(|| log.len() == 6);
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
            let numbers = context.create_local_publisher::<u32>("numbers").unwrap();
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
            let _numbers = group.create_local_subscription("numbers", callback).unwrap();
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
            let (log, numbers) = (order.clone(), context.create_local_publisher::<u8>("numbers").unwrap());
            let _numbers =
                others.create_local_subscription("numbers", move |(), _: Arc<u8>| log.push("number")).unwrap();
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
        let ends = Count::new();
        let counter = ends.clone();
        // This callback holds the group of the jump callback until it is told to end.
        let start = TimerOptions::one_shot(ms(0));
        let _holds = group.create_timer_async(start, move |_, _| {
            let ended = ended.lock().unwrap().take();
            let ends = counter.clone();
            async move {
                ended.unwrap().await.unwrap();
                ends.up();
            }
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
        assert_eq!(order.take(), ["jump", "timer"], "nothing waits for the callback that is suspended in the group");
        time.set(at(20));
        spin_all(&executor);
        assert_eq!(order.take(), ["timer"]);
        end.send(()).unwrap();
        spin_all(&executor);
        assert_eq!(ends.get(), 1);
    });
}
