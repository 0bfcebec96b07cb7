//! Executors whose threads poll before they sleep: everything that would wake a sleeping thread reaches them.

mod common;

use std::fs;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use common::{Count, eventually, expect, manual, ms, spin_in_background, threads, watchdog};
use futures::channel::oneshot;
use rospin_engine::{
    Context, ContextOptions, Deployment, Executor, ExecutorOptions, SpinEnd, SpinError, SpinOptions, TimerOptions,
};

const FOR_EVER: Duration = Duration::MAX;

fn polling(context: &Context, count: u16) -> Executor {
    context.create_executor(ExecutorOptions::new("main").threads(threads(count)).busy_poll(FOR_EVER))
}

fn context() -> Context {
    Context::new(ContextOptions::new())
}

#[test]
fn messages_timers_and_halts_are_noticed() {
    for count in [1, 3] {
        watchdog(move || {
            let context = context();
            let executor = Arc::new(polling(&context, count));
            let group = executor.create_reentrant_group("group");
            let (heard, ticked) = (Count::new(), Count::new());
            let (hears, ticks) = (heard.clone(), ticked.clone());
            let _subscription = group.create_local_subscription("topic", move |_: Arc<u32>| _ = hears.up()).unwrap();
            let _timer = group.create_timer(ms(1), move |_| _ = ticks.up()).unwrap();
            let publisher = context.create_local_publisher("topic").unwrap();
            let spinning = spin_in_background(&executor);
            for number in 1..=200 {
                publisher.publish(7_u32);
                eventually(|| heard.get() == number);
            }
            eventually(|| ticked.get() >= 3);
            executor.halt();
            assert_eq!(spinning.join().unwrap().unwrap(), SpinEnd::Halted);
        });
    }
}

#[test]
fn a_thread_that_looks_takes_what_another_one_made_ready() {
    watchdog(|| {
        let context = context();
        let executor = polling(&context, 2);
        let (first, second) = (executor.create_group("first", ()), executor.create_group("second", ()));
        let publisher = context.create_local_publisher("second").unwrap();
        let (ran, has_run) = mpsc::channel();
        let handle = executor.handle();
        let once = TimerOptions::one_shot(Duration::ZERO);
        let _both = (
            // Waits for the other callback, which must run on the other thread.
            first.create_timer(once, move |(), _| {
                publisher.publish(0);
                expect(&has_run);
                handle.halt();
            }),
            second.create_local_subscription("second", move |(), _: Arc<i32>| ran.send(()).unwrap()).unwrap(),
        );
        executor.spin(SpinOptions::new()).unwrap();
    });
}

#[test]
fn timers_that_are_due_together_run_together_although_one_thread_watches_them() {
    watchdog(|| {
        let context = context();
        let executor = polling(&context, 2);
        // Each callback sends to the other one and waits for it, so neither ends without the other.
        let [(to_first, at_first), (to_second, at_second)] = [mpsc::channel(), mpsc::channel()];
        let meet = |to: mpsc::Sender<()>, at: mpsc::Receiver<()>| {
            let handle = executor.handle();
            move |rounds: &mut u32, _| {
                to.send(()).unwrap();
                expect(&at);
                *rounds += 1;
                if *rounds == 1_000 {
                    handle.halt();
                }
            }
        };
        let (first, second) = (executor.create_group("first", 0), executor.create_group("second", 0));
        let options = TimerOptions::periodic(ms(1)).first_due(context.clock().now() + ms(5));
        let _both = (
            first.create_timer(options.clone(), meet(to_second, at_first)).unwrap(),
            second.create_timer(options, meet(to_first, at_second)).unwrap(),
        );
        executor.spin(SpinOptions::new()).unwrap();
    });
}

#[test]
fn spins_end_in_time_and_with_what_they_wait_for() {
    watchdog(|| {
        let context = context();
        let executor = polling(&context, 1);
        let ended = executor.spin(SpinOptions::new().timeout(ms(3)));
        assert!(matches!(ended, Err(SpinError::Timeout)), "{ended:?}");
        let (sender, receiver) = oneshot::channel();
        let answering = thread::spawn(move || sender.send(42).unwrap());
        assert_eq!(executor.spin_until(receiver, SpinOptions::new()).unwrap(), Ok(42));
        answering.join().unwrap();
        assert_eq!(executor.spin(SpinOptions::spin_all()).unwrap(), SpinEnd::Done);
    });
}

#[test]
fn a_clock_that_is_moved_by_hand_is_waited_for_asleep() {
    watchdog(|| {
        let (clock, context) = manual();
        let executor = Arc::new(polling(&context, 1));
        let group = executor.create_group("group", Count::new());
        let ticked = Count::new();
        let ticks = ticked.clone();
        let _timer = group.create_timer(ms(10), move |_, _| _ = ticks.up()).unwrap();
        let spinning = spin_in_background(&executor);
        for number in 1..=3 {
            clock.advance(ms(10));
            eventually(|| ticked.get() == number);
        }
        executor.halt();
        spinning.join().unwrap().unwrap();
    });
}

/// Returns the number of times that the calling thread has gone to sleep.
fn sleeps() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
    count.trim().parse().unwrap()
}

/// Returns true if a thread mostly sleeps between callbacks that are a millisecond apart.
fn sleeps_in_between(context: Context, options: ExecutorOptions) -> bool {
    let executor = Arc::new(context.create_executor(options));
    let group = executor.create_group("group", ());
    let (tell, told) = mpsc::channel();
    let _subscription =
        group.create_local_subscription("topic", move |(), _: Arc<u32>| tell.send(sleeps()).unwrap()).unwrap();
    let publisher = context.create_local_publisher("topic").unwrap();
    let spinning = spin_in_background(&executor);
    let at_callbacks: Vec<_> = (0..50_u32)
        .map(|number| {
            publisher.publish(number);
            thread::sleep(ms(1));
            expect(&told)
        })
        .collect();
    executor.halt();
    spinning.join().unwrap().unwrap();
    // Only most of the times increase: the thread may be kept from its core, or have to wait for the kernel.
    at_callbacks.windows(2).filter(|pair| pair[1] > pair[0]).count() > 25
}

#[test]
fn a_thread_that_looks_does_not_sleep_until_its_time_is_over() {
    watchdog(|| {
        let main = || ExecutorOptions::new("main");
        assert!(sleeps_in_between(context(), main()));
        assert!(sleeps_in_between(context(), main().busy_poll(Duration::from_micros(1))));
        assert!(!sleeps_in_between(context(), main().busy_poll(FOR_EVER)));
    });
}

#[test]
fn a_deployment_file_can_say_so() {
    watchdog(|| {
        let text = "[[executor]]\nname = \"main\"\nbusy_poll = \"1 h\"\n";
        let deployment = Deployment::parse(text).unwrap();
        assert_eq!(deployment.executor("main").unwrap().busy_poll, Some(Duration::from_secs(3_600)));
        let context = Context::new(ContextOptions::new().deployment(deployment));
        assert!(!sleeps_in_between(context, ExecutorOptions::new("main")));
    });
}
