//! Calls that could last for ever: calls with timeouts, calls that block their own service, services that wait for each
//! other.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use crate::common::{
    Count, Log, block_on, expect, manual, manual_executor, ms, spin_all, spin_in_background, threads, watchdog,
};
use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::join;
use rospin_engine::{
    CallError, CallbackGroup, Client, Context, ContextOptions, Executor, ExecutorOptions, LossCause, Payload,
    ServiceOptions, SpinError, SpinOptions, TimerOptions,
};

fn client(context: &Context, service: &str) -> Client<u32, u32> {
    context.create_local_client(service).unwrap()
}

fn timeout(service: &str, millis: u64) -> Result<u32, CallError> {
    Err(CallError::Timeout { service: service.into(), after: ms(millis) })
}

#[test]
fn a_call_that_is_not_answered_in_time_says_so() {
    watchdog(|| {
        let (clock, context, executor) = manual_executor();
        let group = executor.create_group("server", ());
        let (key, gate) = oneshot::channel::<()>();
        let gate = gate.shared();
        let _service = group.create_local_service_async("slow", move |_, n: u32| {
            let gate = gate.clone();
            async move {
                gate.await.unwrap();
                n
            }
        });
        let slow = client(&context, "slow");
        let answers = Log::new();
        let (told, to_slow) = (answers.clone(), slow.clone());
        let caller = executor.create_group("caller", ());
        let _caller = caller.create_timer_async(TimerOptions::one_shot(ms(0)), move |_, _| {
            let (told, call) = (told.clone(), to_slow.call(1).timeout(ms(10)));
            async move { told.push(call.await) }
        });
        spin_all(&executor);
        clock.advance(ms(9));
        spin_all(&executor);
        assert_eq!(answers.len(), 0);
        clock.advance(ms(1));
        spin_all(&executor);
        assert_eq!(answers.take(), [timeout("slow", 10)]);
        // A call that is answered in time, and one without a timeout. A late response does not count as a loss.
        let (in_time, patient) = (slow.call(2).timeout(ms(10)), slow.call(3));
        clock.advance(ms(9));
        key.send(()).unwrap();
        let both = executor.spin_until(join(in_time, patient), SpinOptions::spin_all()).unwrap();
        assert_eq!(both, (Ok(2), Ok(3)));
        assert_eq!(context.losses(), []);
        // A call that fails at once does not wait for its timeout.
        let unavailable = Err(CallError::Unavailable { service: "none".into() });
        assert_eq!(client(&context, "none").call(1).timeout(ms(10)).now_or_never(), Some(unavailable));
    });
}

#[test]
fn a_timeout_is_watched_wherever_the_call_is_awaited() {
    watchdog(|| {
        for count in [1, 2] {
            let (clock, context) = manual();
            let server = Arc::new(context.create_executor(ExecutorOptions::new("server").threads(threads(count))));
            let group = server.create_group("server", ());
            let _service =
                group.create_local_service_async("never", |_, _: u32| futures::future::pending::<u32>()).unwrap();
            let caller = context.create_executor(ExecutorOptions::new("caller"));
            let never = client(&context, "never");
            // Another executor watches the time, while the service's does not spin.
            let mut call = Box::pin(never.call(1).timeout(ms(10)));
            assert!(matches!(caller.spin_until(call.as_mut(), SpinOptions::spin_all()), Err(SpinError::Halted)));
            clock.advance(ms(10));
            assert_eq!(caller.spin_until(call, SpinOptions::spin_all()).unwrap(), timeout("never", 10));
            // A thread that belongs to no executor polls the call.
            let spin = spin_in_background(&server);
            let call = never.call(1).timeout(ms(10));
            clock.advance(ms(10));
            assert_eq!(block_on(call), timeout("never", 10));
            // A synchronous callback polls the call and blocks the only thread of its own executor.
            let group = caller.create_group("caller", None);
            let times = clock.clone();
            let _timer = group.create_timer(TimerOptions::one_shot(ms(0)), move |answer, _| {
                let call = never.call(1).timeout(ms(10));
                times.advance(ms(10));
                *answer = Some(block_on(call));
            });
            spin_all(&caller);
            assert_eq!(group.into_payload().unwrap(), Some(timeout("never", 10)));
            server.halt();
            spin.join().unwrap().unwrap();
        }
    });
}

#[test]
fn a_synchronous_callback_that_blocks_its_service_is_told() {
    watchdog(|| {
        // The cases are the same executor with one thread, the same group on two threads, another group on two threads,
        // and another executor.
        let hopeless = CallError::InCallback { service: "echo".into() };
        for (count, is_same_group, expected) in
            [(1, false, Err(hopeless.clone())), (2, true, Err(hopeless.clone())), (2, false, Ok(7))]
        {
            for limit in [None, Some(ms(3_600_000))] {
                let context = Context::new(ContextOptions::new());
                let executor = context.create_executor(ExecutorOptions::new("main").threads(threads(count)));
                let (group, other) = (executor.create_group("group", None), executor.create_group("other", None));
                let serving = if is_same_group { &group } else { &other };
                let _service = serving.create_local_service("echo", |_, n: u32| n);
                let (echo, stop) = (client(&context, "echo"), executor.handle());
                let _timer = group.create_timer(TimerOptions::one_shot(ms(0)), move |answer, _| {
                    let call = echo.call(7);
                    *answer = Some(block_on(match limit {
                        Some(limit) => call.timeout(limit),
                        None => call,
                    }));
                    stop.halt();
                });
                executor.spin(SpinOptions::new()).unwrap();
                assert_eq!(group.into_payload().unwrap(), Some(expected.clone()));
            }
        }
        let text = hopeless.to_string();
        assert!(text.contains("`echo`") && text.contains("asynchronous"), "{text}");
    });
}

#[test]
fn a_synchronous_callback_may_wait_for_another_executor_or_thread() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let [one, other] = ["one", "other"].map(|name| Arc::new(context.create_executor(ExecutorOptions::new(name))));
        let _service = other.create_group("echo", ()).create_local_service("echo", |(), n: u32| n);
        // A callback of the blocked executor has taken the request, but another thread answers it.
        let queue = context.create_local_request_queue::<u32, u32>("thread").unwrap();
        let (give, given) = mpsc::channel::<(u32, rospin_engine::Reply<u32>)>();
        let _taker = one.create_group("taker", ()).create_source(
            rospin_engine::EntityKind::Service,
            rospin_engine::EntityOptions::new("taker"),
            queue,
            move |(), item| give.send(item).unwrap(),
        );
        let (proceed, may_proceed) = mpsc::channel::<()>();
        let answerer = thread::spawn(move || {
            let (request, reply) = given.recv().unwrap();
            may_proceed.recv().unwrap();
            reply.send(request + 1);
        });
        let to_thread = client(&context, "thread");
        let mut asked = to_thread.call(1);
        assert!((&mut asked).now_or_never().is_none());
        spin_all(&one);
        let group = one.create_group("group", Vec::new());
        let echo = client(&context, "echo");
        let mut asked = Some(asked);
        let _timer = group.create_timer(TimerOptions::one_shot(ms(0)), move |answers, _| {
            answers.push(block_on(echo.call(7)));
            let mut call = asked.take().unwrap();
            assert!((&mut call).now_or_never().is_none());
            proceed.send(()).unwrap();
            answers.push(block_on(call));
        });
        let spin = spin_in_background(&other);
        spin_all(&one);
        assert_eq!(group.into_payload().unwrap(), [Ok(7), Ok(2)]);
        other.halt();
        spin.join().unwrap().unwrap();
        answerer.join().unwrap();
    });
}

/// Creates groups that serve `names[n]` by calling `names[n + 1]`; the last one calls the first. They are on the
/// executors in turns.
fn ring(context: &Context, executors: &[&Executor], names: &[&'static str]) -> Vec<CallbackGroup<()>> {
    let nexts = names.iter().cycle().skip(1);
    let all = names.iter().zip(nexts).enumerate().map(|(n, (name, next))| {
        let group = executors[n % executors.len()].create_group("ring", ());
        let next = client(context, next);
        let serve = move |_, hops: u32| {
            let next = next.clone();
            async move {
                if hops == 0 {
                    return 0;
                }
                match next.call(hops - 1).await {
                    Ok(n) => n + 1,
                    Err(CallError::Cycle { cycle, .. }) => 100 * cycle.len() as u32,
                    Err(error) => panic!("{error}"),
                }
            }
        };
        group.create_local_service_async(*name, serve).unwrap().detach();
        group
    });
    all.collect()
}

#[test]
fn services_that_wait_for_each_other_are_told() {
    watchdog(|| {
        let names = ["a", "b", "c", "d"];
        for length in [2, 3, 4] {
            let context = Context::new(ContextOptions::new());
            let executor = context.create_executor(ExecutorOptions::new("main"));
            let _groups = ring(&context, &[&executor], &names[..length]);
            let first = client(&context, "a");
            // With `length - 1` hops, the calls do not come back to the first group. With `length` hops they would.
            for (hops, expected) in [(length - 1, length - 1), (length, 100 * length + length - 1), (0, 0)] {
                let answer = executor.spin_until(first.call(hops as u32), SpinOptions::new()).unwrap();
                assert_eq!(answer, Ok(expected as u32), "{length} services, {hops} hops");
            }
        }
    });
}

#[test]
fn a_cycle_over_several_executors_is_told() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executors =
            [1, 2].map(|n| Arc::new(context.create_executor(ExecutorOptions::new("part").threads(threads(n)))));
        let _groups = ring(&context, &[&executors[0], &executors[1]], &["a", "b", "c"]);
        let spins = executors.each_ref().map(spin_in_background);
        let first = client(&context, "a");
        for _ in 0..100 {
            // The threads decide which call closes the cycle.
            let answer = block_on(first.call(3)).unwrap();
            assert!((300..=302).contains(&answer), "{answer}");
            assert_eq!(block_on(first.call(2)), Ok(2));
        }
        executors.iter().for_each(|executor| executor.halt());
        spins.into_iter().for_each(|spin| _ = spin.join().unwrap().unwrap());
    });
}

#[test]
fn a_cycle_that_is_not_there_is_not_told() {
    watchdog(|| {
        for count in [1, 3] {
            let context = Context::new(ContextOptions::new());
            let executor = context.create_executor(ExecutorOptions::new("main").threads(threads(count)));
            let [a, b] = ["a", "b"].map(|name| executor.create_group(name, ()));
            let handle = executor.handle();
            // The callback of each group calls the service of the other group, so that both wait for each other in
            // turns.
            let (to_a, to_b) = (client(&context, "a"), client(&context, "b"));
            let _a = a.create_local_service("a", |(), n: u32| n);
            let _b = b.create_local_service("b", |(), n: u32| n);
            let done = Count::new();
            let work = |client: Client<u32, u32>, gives_up: bool| {
                let (handle, done) = (handle.clone(), done.clone());
                move |_: Payload<()>, _: rospin_engine::Tick| {
                    let (client, handle, done) = (client.clone(), handle.clone(), done.clone());
                    async move {
                        // The call that gives up ends what would be a cycle.
                        let limit = if gives_up { ms(5) } else { ms(3_600_000) };
                        let answer = client.call(1).timeout(limit).await;
                        assert!(gives_up || answer == Ok(1), "{answer:?}");
                        if done.up() == 200 {
                            handle.halt();
                        }
                    }
                }
            };
            let tick = || TimerOptions::periodic(ms(1));
            let _in_a = a.create_timer_async(tick(), work(to_b, true)).unwrap();
            let _in_b = b.create_timer_async(tick(), work(to_a, false)).unwrap();
            executor.spin(SpinOptions::new()).unwrap();
        }
    });
}

#[test]
fn a_call_that_outlives_its_callback_closes_no_cycle() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let [a, b] = ["a", "b"].map(|name| executor.create_group(name, None));
        let (to_a, to_b) = (client(&context, "a"), client(&context, "b"));
        let _a = a.create_local_service("a", |_, n: u32| n).unwrap();
        let (key, gate) = oneshot::channel::<()>();
        let mut gate = Some(gate);
        let _b = b.create_local_service_async("b", move |_, n: u32| {
            let (gate, call) = (gate.take().unwrap(), to_a.call(n));
            async move {
                gate.await.unwrap();
                call.await.unwrap()
            }
        });
        // The call is polled while its group is held, and kept after the callback has ended.
        let _timer = a.create_timer_async(TimerOptions::one_shot(ms(0)), move |kept: Payload<Option<_>>, _| {
            let mut call = to_b.call(5);
            async move {
                assert!(futures::poll!(&mut call).is_pending());
                kept.with(|kept| *kept = Some(call));
            }
        });
        spin_all(&executor);
        key.send(()).unwrap();
        spin_all(&executor);
        let call = a.into_payload().unwrap().unwrap();
        assert_eq!(executor.spin_until(call, SpinOptions::new()).unwrap(), Ok(5));
    });
}

#[test]
fn calls_end_with_what_would_answer_them() {
    watchdog(|| {
        let (_, context) = manual();
        let unanswered = Err(CallError::Unanswered { service: "echo".into() });
        // The executor is dropped with requests in the service's queue, one of which was taken.
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("group", ());
        let options = ServiceOptions::new("echo").name("echo");
        let service = group.create_local_service_async(options, |_, _: u32| futures::future::pending::<u32>()).unwrap();
        let echo = client(&context, "echo");
        let calls = [0, 1, 2].map(|n| echo.call(n));
        spin_all(&executor);
        let waiter = thread::spawn(move || calls.map(block_on));
        drop(executor);
        assert_eq!(waiter.join().unwrap(), [unanswered.clone(), unanswered.clone(), unanswered.clone()]);
        assert!(!echo.service_is_ready());
        drop((service, group));
        // The group is removed before the executor knows of the service.
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let service = executor.create_group("group", ()).create_local_service("echo", |(), n: u32| n).unwrap();
        let call = echo.call(0);
        drop((service, executor));
        assert_eq!(block_on(call), unanswered);
        // The request queue is dropped with a request in it.
        let queue = context.create_local_request_queue::<u32, u32>("echo").unwrap();
        let call = echo.call(0);
        drop(queue);
        assert_eq!(block_on(call), unanswered);
        assert!(context.losses().iter().all(|loss| loss.cause == LossCause::EntityDropped || loss.count == 1));
    });
}

#[test]
fn a_callback_that_awaits_ends_with_its_executor() {
    watchdog(|| {
        let (_, context) = manual();
        let [caller, server] = ["caller", "server"].map(|name| context.create_executor(ExecutorOptions::new(name)));
        let group = server.create_group("server", ());
        let served = Count::new();
        let counter = served.clone();
        let _service = group.create_local_service("echo", move |(), n: u32| {
            counter.up();
            n
        });
        let (echo, dropped) = (client(&context, "echo"), Count::new());
        let held = dropped.on_drop();
        let mut held = Some(held);
        let _timer =
            caller.create_group("caller", ()).create_timer_async(TimerOptions::one_shot(ms(0)), move |_, _| {
                let (call, held) = (echo.call(1), held.take());
                async move {
                    let _ = call.await;
                    drop(held);
                }
            });
        spin_all(&caller);
        drop(caller);
        assert_eq!(dropped.get(), 1);
        spin_all(&server);
        assert_eq!(served.get(), 1, "the response goes nowhere, and harms nobody");
    });
}

#[test]
fn a_task_that_waits_for_a_service_is_woken_when_it_comes() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = Arc::new(context.create_executor(ExecutorOptions::new("main")));
        let echo = client(&context, "echo");
        let (begin, begun) = mpsc::channel();
        let waiter = thread::spawn(move || {
            let mut available = Box::pin(echo.wait_for_service());
            assert!(available.as_mut().now_or_never().is_none());
            begin.send(()).unwrap();
            block_on(available);
        });
        expect(&begun);
        let _service = executor.create_group("group", ()).create_local_service("echo", |(), n: u32| n).unwrap();
        waiter.join().unwrap();
    });
}
