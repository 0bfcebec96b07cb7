//! Settings of executor threads in the operating system: they are in place while it spins, and reported if they cannot
//! be had.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use rospin_engine::os::{
    CoreSet, OnShortfall, OsScheduling, ThreadId, ThreadOptions, scheduling_of, threads_of_process,
};
use rospin_engine::{
    Context, ContextOptions, ExecutorOptions, GroupOptions, OnPanic, SpinError, SpinOptions, TimerOptions,
};

/// Returns true if this process may have real-time threads.
fn has_rights() -> bool {
    let asked = ThreadOptions::new().scheduling(OsScheduling::Fifo { priority: 1 });
    thread::spawn(move || asked.apply().shortfalls.is_empty()).join().unwrap()
}

/// Returns the scheduling, the cores and the name of a callback's thread.
fn seen_in_a_callback(options: ExecutorOptions) -> (OsScheduling, CoreSet, String) {
    let executor = Context::new(ContextOptions::new()).create_executor(options);
    // A panic ends the spin, so the test does not wait for a message that never comes.
    let group = executor.create_group(GroupOptions::new("look").on_panic(OnPanic::Halt), ());
    let (send, receive) = channel();
    let stop = executor.handle();
    let _timer = group
        .create_timer(TimerOptions::one_shot(Duration::ZERO), move |(), _| {
            let me = ThreadId::current();
            let name = threads_of_process().unwrap().into_iter().find(|(id, _)| *id == me).unwrap().1;
            send.send((scheduling_of(me).unwrap(), CoreSet::of_current_thread().unwrap(), name)).unwrap();
            stop.halt();
        })
        .unwrap();
    thread::spawn(move || executor.spin(SpinOptions::new()).unwrap()).join().unwrap();
    receive.recv().unwrap()
}

#[test]
fn callbacks_run_as_the_options_say() {
    let nicer = OsScheduling::Other { nice: 19 };
    let core = CoreSet::new(CoreSet::of_current_thread().unwrap().as_slice().last().copied());
    let asked = ThreadOptions::new().scheduling(nicer).cores(core.clone());
    let seen = seen_in_a_callback(ExecutorOptions::new("control").thread(asked));
    assert_eq!(seen, (nicer, core, "control".to_owned()));
}

#[test]
fn real_time_priority_is_had_or_told() {
    let fifo = OsScheduling::Fifo { priority: 5 };
    let executor = Context::new(ContextOptions::new())
        .create_executor(ExecutorOptions::new("rt").thread(ThreadOptions::new().scheduling(fifo)));
    executor.spin(SpinOptions::spin_all()).unwrap();
    let reports = executor.handle().thread_reports();
    assert_eq!(reports.len(), 1);
    if has_rights() {
        assert_eq!((reports[0].scheduling, &reports[0].shortfalls[..]), (Some(fifo), &[][..]));
    } else {
        assert!(reports[0].to_string().contains("CAP_SYS_NICE"), "{}", reports[0]);
    }
    // After the spin, the thread has its former scheduling.
    assert_ne!(scheduling_of(ThreadId::current()).unwrap(), fifo);
}

#[test]
fn every_thread_has_it_and_a_name_of_its_own() {
    let nicer = OsScheduling::Other { nice: 19 };
    let options = ExecutorOptions::new("pool").threads(3).thread(ThreadOptions::new().scheduling(nicer));
    let executor = Context::new(ContextOptions::new()).create_executor(options);
    let handle = executor.handle();
    let spinning = thread::spawn(move || executor.spin(SpinOptions::new()).unwrap());
    while handle.thread_reports().len() < 3 {
        thread::yield_now();
    }
    handle.halt();
    spinning.join().unwrap();
    let reports = handle.thread_reports();
    let mut names: Vec<_> = reports.iter().map(|report| report.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["pool", "pool-1", "pool-2"]);
    assert!(reports.iter().all(|report| report.scheduling == Some(nicer)), "{reports:?}");
}

#[test]
fn a_name_that_no_thread_can_have_is_no_reason_to_panic() {
    let nicer = ThreadOptions::new().scheduling(OsScheduling::Other { nice: 19 });
    let options = ExecutorOptions::new("to\0o").threads(2).thread(nicer);
    let executor = Context::new(ContextOptions::new()).create_executor(options);
    let handle = executor.handle();
    let spin = move || executor.spin(SpinOptions::new().timeout(Duration::from_millis(1)));
    assert!(matches!(thread::spawn(spin).join().unwrap(), Err(SpinError::Timeout)));
    let names: Vec<_> = handle.thread_reports().into_iter().map(|report| report.name).collect();
    assert!(names.contains(&"too".to_owned()), "{names:?}");
}

#[test]
fn a_missing_core_is_an_error_if_the_options_say_so() {
    let nowhere = ThreadOptions::new().cores(CoreSet::new([1000])).on_shortfall(OnShortfall::Fail);
    for threads in [1, 2] {
        let options = ExecutorOptions::new("nowhere").threads(threads).thread(nowhere.clone());
        let executor = Context::new(ContextOptions::new()).create_executor(options);
        let Err(SpinError::Shortfall(report)) = executor.spin(SpinOptions::new()) else {
            panic!("it has a core that is not there");
        };
        assert!(report.to_string().contains("there is no core 1000"), "{report}");
    }
    // By default the program continues.
    let options = ExecutorOptions::new("anywhere").thread(nowhere.on_shortfall(OnShortfall::Warn));
    Context::new(ContextOptions::new()).create_executor(options).spin(SpinOptions::spin_all()).unwrap();
}

#[test]
fn threads_that_callbacks_start_are_ordinary_unless_the_options_say_otherwise() {
    if !has_rights() {
        // Without rights the thread has no setting that others could inherit.
        return;
    }
    for (asked, inherited) in [(ThreadOptions::new(), false), (ThreadOptions::new().inherited(), true)] {
        let fifo = OsScheduling::Fifo { priority: 3 };
        let asked = asked.scheduling(fifo);
        let started = thread::spawn(move || {
            let _applied = asked.apply_for_now();
            thread::spawn(|| scheduling_of(ThreadId::current()).unwrap()).join().unwrap()
        });
        assert_eq!(started.join().unwrap() == fifo, inherited);
    }
}

#[test]
fn a_reservation_is_had_or_told() {
    let ms = Duration::from_millis;
    let reservation = OsScheduling::Deadline { runtime: ms(1), deadline: ms(50), period: ms(100) };
    let options = ExecutorOptions::new("reserved").thread(ThreadOptions::new().scheduling(reservation));
    let executor = Context::new(ContextOptions::new()).create_executor(options);
    executor.spin(SpinOptions::spin_all()).unwrap();
    let report = executor.handle().thread_reports().remove(0);
    if report.shortfalls.is_empty() {
        assert_eq!(report.scheduling, Some(reservation));
    } else {
        // A kernel in a container may refuse a deadline reservation even to root.
        assert!(report.to_string().contains("not SCHED_DEADLINE"), "{report}");
    }
}
