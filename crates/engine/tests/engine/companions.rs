//! Companions: executors that only a deployment file names, which spin along with those of the program.

use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use crate::common::{Count, OnDrop, eventually, expect, ms, watchdog};
use rospin_engine::os::{CoreSet, ThreadId};
use rospin_engine::{
    CallbackGroup, Context, ContextOptions, Deployment, Executor, ExecutorOptions, GroupOptions, ManualClock,
};
use rospin_engine::{OnPanic, SpinEnd, SpinError, SpinOptions, Subscription, Tick, TimerOptions};

/// Creates a context in which the deployment file puts the group `moved` on a companion.
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
        // The callback takes long enough for one leader to come while the other one waits for the callback.
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
        // The callback fails only when both leaders spin.
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
        // The failure is reported once: the next spin succeeds.
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

/// Ends the last leader's spin in a callback of a companion, on the companion's thread.
fn end_the_last_leader(threads: u16) {
    let text = format!(
        "executor = [{{ name = \"other\", threads = {threads} }}]
         group = [{{ name = \"moved*\", executor = \"other\" }}]"
    );
    let context = Context::new(ContextOptions::new().deployment(Deployment::parse(&text).unwrap()));
    let main = context.create_executor(ExecutorOptions::new("main"));
    let last = context.create_executor(ExecutorOptions::new("last"));
    // A callback runs on each of the companion's threads. The one on the last thread gets the leader.
    let all_run = Arc::new(Barrier::new(threads.into()));
    let is_last = format!("other{}", if threads > 1 { format!("-{}", threads - 1) } else { String::new() });
    let (give, given) = channel();
    let given = Arc::new(Mutex::new(given));
    let (ended, main_ended) = channel();
    let main_ended = Arc::new(Mutex::new(main_ended));
    let (done, is_done) = channel();
    let groups: Vec<_> = (0..threads).map(|number| main.create_group(format!("moved{number}"), ())).collect();
    let create = |group: &CallbackGroup<()>| {
        let (all_run, is_last, done) = (Arc::clone(&all_run), is_last.clone(), done.clone());
        let (given, main_ended, main) = (Arc::clone(&given), Arc::clone(&main_ended), main.handle());
        let run = move |(): &mut (), _| {
            all_run.wait();
            if thread::current().name() == Some(&is_last) {
                let leader: Executor = expect(&given.lock().unwrap());
                let until = async {
                    main.halt();
                    expect(&main_ended.lock().unwrap());
                };
                done.send(leader.spin_until(until, SpinOptions::new()).map_err(|error| error.to_string())).unwrap();
                // Spins once more while the companions have yet to end.
                done.send(leader.spin_until(async {}, SpinOptions::new()).map_err(|error| error.to_string())).unwrap();
            }
        };
        group.create_timer(TimerOptions::one_shot(Duration::ZERO), run).unwrap()
    };
    let _timers: Vec<_> = groups.iter().map(create).collect();
    give.send(last).unwrap();
    main.spin(SpinOptions::new()).unwrap();
    ended.send(()).unwrap();
    assert_eq!((expect(&is_done), expect(&is_done)), (Ok(()), Ok(())));
    // The companions spin again with the next leader.
    let again = groups[0].create_timer(TimerOptions::one_shot(Duration::ZERO), {
        let main = main.handle();
        move |(), _| main.halt()
    });
    main.spin(SpinOptions::new()).unwrap();
    drop(again);
}

#[test]
fn the_last_leader_may_end_in_a_companions_callback() {
    watchdog(|| end_the_last_leader(1));
}

#[test]
fn the_last_leader_may_end_on_any_thread_of_a_companion() {
    watchdog(|| end_the_last_leader(3));
}

#[test]
fn a_companions_callback_may_drop_the_programs_last_executor() {
    watchdog(|| {
        let context = context();
        let [main, last] = ["main", "last"].map(|name| context.create_executor(ExecutorOptions::new(name)));
        let (give, given) = channel::<Executor>();
        let (send, is_dropped) = channel();
        let dropped = Count::new();
        let group = main.create_group("moved", dropped.on_drop());
        let handle = main.handle();
        let drop_them = move |_: &mut OnDrop, _| {
            let leader = expect(&given);
            // This leader waits for the end of the other leader's spin, so that it is the last one.
            let other = async {
                handle.halt();
                expect(&given)
            };
            let other = leader.spin_until(other, SpinOptions::new()).unwrap();
            drop((leader, other));
            send.send(()).unwrap();
        };
        group.create_timer(TimerOptions::one_shot(Duration::ZERO), drop_them).unwrap().detach();
        drop(group);
        give.send(last).unwrap();
        main.spin(SpinOptions::new()).unwrap();
        give.send(main).unwrap();
        expect(&is_dropped);
        eventually(|| dropped.get() == 1);
    });
}

#[test]
fn a_companion_keeps_its_thread_from_one_spin_to_the_next() {
    let clock = ManualClock::new();
    let text = "executor = [{ name = \"other\" }]\ngroup = [{ name = \"moved\", executor = \"other\" }]";
    let options = ContextOptions::new().manual_clock(clock.clone()).deployment(Deployment::parse(text).unwrap());
    let context = Context::new(options);
    let main = context.create_executor(ExecutorOptions::new("main"));
    let moved = main.create_group("moved", Vec::new());
    let timer = moved.create_timer(ms(1), |threads: &mut Vec<_>, _| threads.push(ThreadId::current())).unwrap();
    let stays = main.create_group("stays", ());
    let own = stays.create_timer(ms(1), |(), _| {}).unwrap();
    for _ in 0..20 {
        clock.advance(ms(1));
        main.spin(SpinOptions::spin_once()).unwrap();
    }
    drop((timer, own));
    let threads = moved.into_payload().unwrap();
    assert!(threads.len() == 20 && threads.iter().all(|thread| *thread == threads[0]), "{threads:?}");
    // The companion goes with the last executor of the program.
    drop(main);
    assert!(!std::fs::exists(format!("/proc/self/task/{}", threads[0])).unwrap());
}

#[test]
fn a_halt_of_all_executors_leaves_no_halt_for_the_next_spin_of_a_companion() {
    watchdog(|| {
        let context = context();
        let leader = context.create_executor(ExecutorOptions::new("leader"));
        let group = leader.create_group("moved", ());
        context.halt_all();
        assert_eq!(leader.spin(SpinOptions::new()).unwrap(), SpinEnd::Halted);
        // The companion's callback ends the next spin. If the companion did not run it, the spin would last.
        let stop = leader.handle();
        let _timer = group.create_timer(TimerOptions::one_shot(Duration::ZERO), move |(), _| stop.halt()).unwrap();
        assert_eq!(leader.spin(SpinOptions::new()).unwrap(), SpinEnd::Halted);
    });
}

/// Creates a group on a companion with a callback that publishes on its own topic, so that the companion always has
/// something to run.
fn restless(leader: &Executor) -> (CallbackGroup<()>, Subscription, Count) {
    let ran = Count::new();
    let count = ran.clone();
    let group = leader.create_group("moved", ());
    let again = group.context().create_local_publisher("again").unwrap();
    let publisher = again.clone();
    let again_and_again = move |(): &mut (), n: Arc<u32>| {
        count.up();
        again.publish(*n);
    };
    let subscription = group.create_local_subscription("again", again_and_again).unwrap();
    publisher.publish(0);
    (group, subscription, ran)
}

#[test]
fn a_halt_of_all_executors_ends_what_companions_run_beside_short_spins() {
    watchdog(|| {
        let context = context();
        let leader = context.create_executor(ExecutorOptions::new("leader"));
        let (_group, _subscription, ran) = restless(&leader);
        let (end, ended) = channel();
        thread::spawn(move || {
            while leader.spin(SpinOptions::spin_all()).unwrap() == SpinEnd::Done {}
            end.send(leader).unwrap();
        });
        eventually(|| ran.get() > 1_000);
        context.halt_all();
        let leader = expect(&ended);
        // No halt is left for the companion's next spin.
        let before = ran.get();
        thread::scope(|scope| {
            let spin = scope.spawn(|| leader.spin(SpinOptions::new()));
            eventually(|| ran.get() > before);
            leader.halt();
            assert_eq!(spin.join().unwrap().unwrap(), SpinEnd::Halted);
        });
    });
}

#[test]
fn companions_that_always_have_something_to_run_do_not_keep_spin_once_and_spin_some_from_ending() {
    watchdog(|| {
        let context = context();
        let leader = context.create_executor(ExecutorOptions::new("leader"));
        let (_group, _subscription, ran) = restless(&leader);
        for number in 1..=10 {
            assert_eq!(leader.spin(SpinOptions::spin_some()).unwrap(), SpinEnd::Done);
            assert!(ran.get() >= number, "the companion gets to what is ready");
        }
        let own = leader.create_group("own", ());
        let _timer = own.create_timer(ms(1), |(), _| ()).unwrap();
        assert_eq!(leader.spin(SpinOptions::spin_once()).unwrap(), SpinEnd::Done);
    });
}

#[test]
fn companions_run_nothing_after_a_short_spin_that_was_halted() {
    watchdog(|| {
        let context = context();
        let leader = context.create_executor(ExecutorOptions::new("leader"));
        let (_group, _subscription, _) = restless(&leader);
        context.halt_all();
        assert_eq!(leader.spin(SpinOptions::spin_all()).unwrap(), SpinEnd::Halted);
    });
}
