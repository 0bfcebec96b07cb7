//! Executors that only a deployment file knows, and those of the program that they spin along with.

mod common;

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use common::{ms, watchdog};
use rospin::os::CoreSet;
use rospin::{Context, ContextOptions, Deployment, ExecutorOptions, GroupOptions, ManualClock, OnPanic, SpinError};
use rospin::{SpinEnd, SpinOptions, Tick, TimerOptions};

/// A context in which a group called `moved` goes to an executor of the file's.
fn context() -> Context {
    let text = "executor = [{ name = \"other\" }]\ngroup = [{ name = \"moved\", executor = \"other\" }]";
    Context::new(ContextOptions::new().deployment(Deployment::parse(text).unwrap()).on_incident(|_| {}))
}

#[test]
fn leaders_that_come_while_companions_end_have_them_again() {
    watchdog(|| {
        let context = context();
        let leaders = [0, 1].map(|number| context.create_executor(ExecutorOptions::new(format!("leader{number}"))));
        let group = leaders[0].create_group("moved", 0_u64);
        // Long enough for one leader to come while the other one waits for it.
        let slow = |count: &mut u64, _| {
            *count += 1;
            thread::sleep(ms(3));
        };
        let timer = group.create_timer(ms(1), slow).unwrap();
        thread::scope(|scope| {
            for (number, leader) in (0..).zip(&leaders) {
                scope.spawn(move || {
                    for _ in 0..50 {
                        thread::sleep(ms(number));
                        let spun = leader.spin(SpinOptions::new().timeout(ms(2)));
                        assert!(matches!(spun, Err(SpinError::Timeout)), "{spun:?}");
                    }
                });
            }
        });
        drop(timer);
        assert!(group.into_payload().unwrap() > 0);
    });
}

#[test]
fn every_leader_of_a_companion_that_fails_has_its_error() {
    watchdog(|| {
        let context = context();
        let leaders = [0, 1].map(|number| context.create_executor(ExecutorOptions::new(format!("leader{number}"))));
        let group = leaders[0].create_group(GroupOptions::new("moved").on_panic(OnPanic::Halt), ());
        // Once both spin.
        let (fail, told) = channel();
        let fails = move |(): &mut (), _| {
            told.recv().unwrap();
            panic!("as expected");
        };
        let _timer = group.create_timer(TimerOptions::one_shot(Duration::ZERO), fails).unwrap();
        let _others = [0, 1].map(|number: usize| {
            let group = leaders[number].create_group("own", ());
            let fail = fail.clone();
            let once = TimerOptions::one_shot(ms(20));
            let timer = group.create_timer(once, move |(), _| fail.send(()).unwrap_or(())).unwrap();
            (group, timer)
        });
        thread::scope(|scope| {
            let spins = leaders.each_ref().map(|leader| scope.spawn(|| leader.spin(SpinOptions::new())));
            for spun in spins.map(|spin| spin.join().unwrap()) {
                assert!(
                    matches!(&spun, Err(SpinError::Panicked(incident)) if incident.executor == "other"),
                    "{spun:?}"
                );
            }
        });
        // That was it.
        for leader in &leaders {
            assert_eq!(leader.spin(SpinOptions::spin_all()).unwrap(), SpinEnd::Done);
        }
    });
}

#[test]
fn a_companion_of_a_group_that_a_callback_creates_has_not_the_callbacks_cores() {
    let mine = CoreSet::of_current_thread().unwrap();
    let core = mine.as_slice()[0];
    let text = format!(
        "on_unknown = \"warn\"
         executor = [{{ name = \"main\", cores = [{core}] }}, {{ name = \"other\" }}]
         group = [{{ name = \"moved\", executor = \"other\" }}]"
    );
    let context = Context::new(ContextOptions::new().deployment(Deployment::parse(&text).unwrap()));
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let (send, seen) = channel();
    let handle = executor.handle();
    let group = executor.create_group("creates", Vec::new());
    let once = || TimerOptions::one_shot(Duration::ZERO);
    let create = move |kept: &mut Vec<_>, _| {
        let group = handle.create_group("moved", ());
        let (send, handle) = (send.clone(), handle.clone());
        let look = move |(): &mut (), _| {
            send.send(CoreSet::of_current_thread().unwrap()).unwrap();
            handle.halt();
        };
        let timer = group.create_timer(once(), look).unwrap();
        kept.push((group, timer));
    };
    let _timer = group.create_timer(once(), create).unwrap();
    executor.spin(SpinOptions::new()).unwrap();
    assert_eq!(seen.recv().unwrap(), mine);
}

#[test]
fn companions_get_to_what_is_ready_beside_short_spins() {
    let clock = ManualClock::new();
    let text = "executor = [{ name = \"other\" }]\ngroup = [{ name = \"moved\", executor = \"other\" }]";
    let options = ContextOptions::new().manual_clock(clock.clone()).deployment(Deployment::parse(text).unwrap());
    let context = Context::new(options);
    let main = context.create_executor(ExecutorOptions::new("main"));
    let moved = main.create_group("moved", 0);
    let stays = main.create_group("stays", 0);
    let count = |count: &mut i32, _: Tick| *count += 1;
    let timers = [
        moved.create_timer(Duration::from_millis(1), count).unwrap(),
        stays.create_timer(Duration::from_millis(1), count).unwrap(),
    ];
    for _ in 0..50 {
        clock.advance(Duration::from_millis(1));
        main.spin(SpinOptions::spin_all()).unwrap();
        clock.advance(Duration::from_millis(1));
        main.spin(SpinOptions::spin_once()).unwrap();
    }
    drop(timers);
    assert_eq!((moved.into_payload().unwrap(), stays.into_payload().unwrap()), (100, 100));
}
