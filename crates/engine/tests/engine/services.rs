//! In-process services: calls that are awaited, and the ends of calls without a response.

use std::sync::Arc;
use std::thread;

use crate::common::{
    Count, Log, expect, manual_executor, spin_all, spin_in_background, threads, watchdog, with_incidents,
};
use futures::FutureExt;
use futures::future::join_all;
use rospin_engine::{
    CallError, Context, ContextOptions, ExecutorOptions, LossCause, Payload, ServiceError, ServiceOptions, SpinOptions,
    SubscriptionOptions,
};

#[test]
fn a_call_is_awaited_inside_a_callback() {
    watchdog(|| {
        for count in [1, 4] {
            let context = Context::new(ContextOptions::new());
            let executor = context.create_executor(ExecutorOptions::new("main").threads(threads(count)));
            let server = executor.create_group("server", 0);
            let _service = server.create_local_service("add", |calls, n: u32| {
                *calls += 1;
                n + 1
            });
            let client = context.create_local_client::<u32, u32>("add").unwrap();
            let group = executor.create_group("client", Vec::new());
            let handle = executor.handle();
            let callback = move |answers: Payload<Vec<u32>>, n: Arc<u32>| {
                let (client, handle) = (client.clone(), handle.clone());
                async move {
                    let answer = client.call(*n).await.unwrap();
                    let twice = client.call(answer).await.unwrap();
                    if answers.with(|answers| (answers.push(twice), answers.len()).1) == 5 {
                        handle.halt();
                    }
                }
            };
            let _subscription = group.create_local_subscription_async("topic", callback);
            let publisher = context.create_local_publisher::<u32>("topic").unwrap();
            (0..5).for_each(|n| _ = publisher.publish(n * 10));
            executor.spin(SpinOptions::new()).unwrap();
            assert_eq!(group.into_payload().unwrap(), [2, 12, 22, 32, 42]);
            assert_eq!(server.into_payload().ok(), Some(10));
        }
    });
}

#[test]
fn services_call_services() {
    watchdog(|| {
        for counts in [[1, 1, 1], [4, 1, 2]] {
            let context = Context::new(ContextOptions::new());
            let [a, b, c] = counts
                .map(|count| Arc::new(context.create_executor(ExecutorOptions::new("part").threads(threads(count)))));
            let to_b = context.create_local_client::<u32, u32>("b").unwrap();
            let to_c = context.create_local_client::<u32, u32>("c").unwrap();
            let _a = a.create_group("a", ()).create_local_service_async("a", move |_, n: u32| {
                let call = to_b.call(n * 10 + 1);
                async move { call.await.unwrap() }
            });
            let _b = b.create_group("b", ()).create_local_service_async("b", move |_, n: u32| {
                let call = to_c.call(n * 10 + 2);
                async move { call.await.unwrap() }
            });
            let _c = c.create_group("c", ()).create_local_service("c", |(), n: u32| n * 10 + 3);
            let client = context.create_local_client::<u32, u32>("a").unwrap();
            let spins = [&b, &c].map(spin_in_background);
            for n in 0..20 {
                assert_eq!(a.spin_until(client.call(n), SpinOptions::new()).unwrap(), Ok(n * 1000 + 123));
            }
            b.halt();
            c.halt();
            spins.into_iter().for_each(|spin| assert!(spin.join().unwrap().is_ok()));
        }
    });
}

#[test]
fn a_chain_of_services_works_on_one_thread() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let next = context.create_local_client::<u32, u32>("1").unwrap();
        let mut services = Vec::new();
        for n in 1..6 {
            let next = context.create_local_client::<u32, u32>(&(n + 1).to_string()).unwrap();
            let group = executor.create_group("group", ());
            let callback = move |_, depth: u32| {
                let next = next.clone();
                async move { if depth == 0 { n } else { next.call(depth - 1).await.unwrap() } }
            };
            services.push(group.create_local_service_async(&*n.to_string(), callback).unwrap());
        }
        for depth in 0..5 {
            assert_eq!(executor.spin_until(next.call(depth), SpinOptions::new()).unwrap(), Ok(depth + 1));
        }
    });
}

#[test]
fn a_call_into_the_group_that_the_caller_holds_is_refused() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", Vec::new());
        let _service = group.create_local_service("echo", |_: &mut Vec<_>, n: u32| n);
        let client = context.create_local_client::<u32, u32>("echo").unwrap();
        let call = client.clone();
        let _caller = group.create_local_subscription_async("topic", move |answers: Payload<Vec<_>>, n: Arc<u32>| {
            let call = call.clone();
            async move {
                let answer = call.call(*n).await;
                answers.with(|answers| answers.push(answer));
            }
        });
        context.create_local_publisher::<u32>("topic").unwrap().publish(1);
        assert_eq!(executor.spin_until(client.call(7), SpinOptions::new()).unwrap(), Ok(7), "others may call");
        spin_all(&executor);
        let answers = group.into_payload().unwrap();
        assert_eq!(answers, [Err(CallError::SameGroup { service: "echo".into() })]);
        let text = answers[0].as_ref().unwrap_err().to_string();
        assert!(text.contains("`echo`") && text.contains("releases_group_at_await"), "{text}");
    });
}

#[test]
fn a_caller_that_releases_its_group_may_call_into_it() {
    watchdog(|| {
        for count in [1, 3] {
            let context = Context::new(ContextOptions::new());
            let executor = context.create_executor(ExecutorOptions::new("main").threads(threads(count)));
            let group = executor.create_group("group", Vec::new());
            let _service = group.create_local_service("echo", |log: &mut Vec<_>, n: u32| {
                log.push("serves");
                n
            });
            let client = context.create_local_client::<u32, u32>("echo").unwrap();
            let handle = executor.handle();
            let options = SubscriptionOptions::new("topic").releases_group_at_await();
            let callback = move |log: Payload<Vec<_>>, n: Arc<u32>| {
                let (client, handle) = (client.clone(), handle.clone());
                async move {
                    log.with(|log| log.push("calls"));
                    assert_eq!(client.call(*n).await, Ok(*n));
                    log.with(|log| log.push("goes on"));
                    handle.halt();
                }
            };
            let _caller = group.create_local_subscription_async(options, callback);
            context.create_local_publisher::<u32>("topic").unwrap().publish(1);
            executor.spin(SpinOptions::new()).unwrap();
            assert_eq!(group.into_payload().unwrap(), ["calls", "serves", "goes on"]);
        }
    });
}

#[test]
fn a_reentrant_service_may_call_itself() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_reentrant_group("group");
        let client = context.create_local_client::<u64, u64>("factorial").unwrap();
        let own = client.clone();
        let _service = group.create_local_service_async("factorial", move |n: u64| {
            let own = own.clone();
            async move { if n < 2 { 1 } else { n * own.call(n - 1).await.unwrap() } }
        });
        assert_eq!(executor.spin_until(client.call(10), SpinOptions::new()).unwrap(), Ok(3_628_800));
    });
}

#[test]
fn a_call_that_nobody_awaits_is_answered_nevertheless() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", 0);
        let _service = group.create_local_service("count", |calls, ()| *calls += 1);
        let client = context.create_local_client::<(), ()>("count").unwrap();
        drop(client.call(()));
        let caller = executor.create_group("caller", ());
        let _timer = caller.create_stream("start", futures::stream::iter([1]), move |(), _| drop(client.call(())));
        spin_all(&executor);
        assert_eq!(group.into_payload().ok(), Some(2));
    });
}

#[test]
fn without_a_service_a_call_fails_at_once() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let client = context.create_local_client::<u32, u32>("nothing").unwrap();
        assert!(!client.service_is_ready());
        let error = client.call(1).now_or_never().unwrap().unwrap_err();
        assert_eq!(error, CallError::Unavailable { service: "nothing".into() });
        assert!(error.to_string().contains("`nothing`"));
        let service = executor.create_group("group", ()).create_local_service("nothing", |(), n: u32| n).unwrap();
        assert!(client.service_is_ready());
        drop(service);
        spin_all(&executor);
        assert!(!client.service_is_ready());
    });
}

#[test]
fn a_second_service_of_a_name_is_refused_until_the_first_is_dropped() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", ());
        let first = group.create_local_service("name", |(), _: u32| 1).unwrap();
        let error = group.create_local_service("name", |(), _: u32| 2).unwrap_err();
        assert_eq!(error, ServiceError::Duplicate { service: "name".into() });
        assert!(error.to_string().contains("`name`"));
        let client = context.create_local_client::<u32, i32>("name").unwrap();
        assert_eq!(executor.spin_until(client.call(0), SpinOptions::new()).unwrap(), Ok(1), "not harmed");
        let mismatch = context.create_local_client::<u32, String>("name").unwrap_err();
        assert!(matches!(mismatch, ServiceError::TypeMismatch(_)) && mismatch.to_string().contains("`name`"));
        assert!(group.create_local_service("name", |(), text: String| text).is_err());
        drop(first);
        let _second = group.create_local_service("name", |(), _: u32| 2).unwrap();
        assert_eq!(executor.spin_until(client.call(0), SpinOptions::new()).unwrap(), Ok(2));
    });
}

#[test]
fn a_callback_replaces_a_service() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", ());
        let first = group.create_local_service("name", |(), _: u32| 1).unwrap();
        let root = executor.create_group("root", ());
        let log = Log::new();
        let (server, results) = (group, log.clone());
        let _replace = root.create_stream("replace", futures::stream::iter([first]), move |(), first| {
            // The test drops the first service, as the error of the second one advises.
            drop(first);
            let second = server.create_local_service("name", |(), _: u32| 2);
            results.push(second.map(rospin_engine::Service::detach));
        });
        spin_all(&executor);
        assert_eq!(log.take(), [Ok(())]);
        let client = context.create_local_client::<u32, i32>("name").unwrap();
        assert_eq!(executor.spin_until(client.call(0), SpinOptions::new()).unwrap(), Ok(2));
    });
}

#[test]
fn a_call_whose_service_goes_away_is_unanswered() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", ());
        let unanswered = CallError::Unanswered { service: "slow".into() };
        let client = context.create_local_client::<u32, u32>("slow").unwrap();

        let service = group.create_local_service("slow", |(), n: u32| n).unwrap();
        let call = client.call(1);
        let counted = client.call(2);
        drop(service);
        assert_eq!(executor.spin_until(call, SpinOptions::new()).unwrap(), Err(unanswered.clone()), "still queued");
        assert_eq!(executor.spin_until(counted, SpinOptions::new()).unwrap(), Err(unanswered.clone()));
        assert_eq!(
            context.losses().iter().map(|loss| (loss.cause, loss.count)).collect::<Vec<_>>(),
            [(LossCause::EntityDropped, 2)]
        );

        let service = group.create_local_service_async("slow", |_, _: u32| std::future::pending::<u32>()).unwrap();
        let call = client.call(1);
        spin_all(&executor);
        drop(service);
        assert_eq!(executor.spin_until(call, SpinOptions::new()).unwrap(), Err(unanswered.clone()), "under way");

        let other = context.create_executor(ExecutorOptions::new("other"));
        other.create_group("group", ()).create_local_service("slow", |(), n: u32| n).unwrap().detach();
        let call = client.call(1);
        drop(other);
        assert_eq!(executor.spin_until(call, SpinOptions::new()).unwrap(), Err(unanswered), "with its executor");
    });
}

#[test]
fn a_full_queue_tells_the_oldest_caller() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", ());
        let service = group.create_local_service(ServiceOptions::new("busy").keep_last(2), |(), n: u32| n).unwrap();
        let client = context.create_local_client::<u32, u32>("busy").unwrap();
        let calls = join_all((0..4).map(|n| client.call(n)));
        let answers = executor.spin_until(calls, SpinOptions::new()).unwrap();
        let full = Err(CallError::QueueFull { service: "busy".into() });
        assert_eq!(answers, [full.clone(), full, Ok(2), Ok(3)]);
        assert_eq!(service.lost(LossCause::QueueFull), 2);
    });
}

#[test]
fn a_service_that_panics_leaves_one_caller_unanswered() {
    watchdog(|| {
        let (context, incidents) = with_incidents();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("group", ());
        let _sync = group.create_local_service("sync", |(), n: u32| {
            assert!(n != 1, "no {n}");
            n
        });
        let _async = group.create_local_service_async("async", |_, n: u32| async move {
            assert!(n != 1, "no {n}");
            n
        });
        for name in ["sync", "async"] {
            let client = context.create_local_client::<u32, u32>(name).unwrap();
            let answers = executor.spin_until(join_all((0..3).map(|n| client.call(n))), SpinOptions::new()).unwrap();
            assert_eq!(answers, [Ok(0), Err(CallError::Unanswered { service: name.into() }), Ok(2)]);
        }
        assert_eq!(incidents.len(), 2);
    });
}

#[test]
fn waiting_for_a_service_ends_when_it_comes() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = Arc::new(context.create_executor(ExecutorOptions::new("main")));
        let client = context.create_local_client::<u32, u32>("late").unwrap();
        let (waiting, waits) = std::sync::mpsc::channel();
        let waiters: Vec<_> = (0..3)
            .map(|n| {
                let (context, client, waiting) = (context.clone(), client.clone(), waiting.clone());
                thread::spawn(move || {
                    let own = context.create_executor(ExecutorOptions::new("own"));
                    let call = async {
                        waiting.send(()).unwrap();
                        client.wait_for_service().await;
                        client.call(n).await
                    };
                    own.spin_until(call, SpinOptions::new()).unwrap()
                })
            })
            .collect();
        waiters.iter().for_each(|_| expect(&waits));
        let spin = spin_in_background(&executor);
        let _service = executor.create_group("group", ()).create_local_service("late", |(), n: u32| n * 2).unwrap();
        let answers: Vec<_> = waiters.into_iter().map(|waiter| waiter.join().unwrap()).collect();
        assert_eq!(answers, [Ok(0), Ok(2), Ok(4)]);
        assert_eq!(client.wait_for_service().now_or_never(), Some(()), "there already");
        executor.halt();
        spin.join().unwrap().unwrap();
    });
}

#[test]
fn each_of_many_callers_gets_its_own_answer() {
    const CALLS: u64 = 300;
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = Arc::new(context.create_executor(ExecutorOptions::new("server").threads(threads(3))));
        let options = |name| ServiceOptions::new(name).keep_last(CALLS as usize * 4);
        let _exclusive =
            executor.create_group("exclusive", 0).create_local_service(options("exclusive"), |calls, n: u64| {
                *calls += 1;
                n * 3
            });
        let served = Count::new();
        let counter = served.clone();
        let reentrant = executor.create_reentrant_group("reentrant");
        let forward = context.create_local_client::<u64, u64>("exclusive").unwrap();
        let _reentrant = reentrant.create_local_service_async(options("reentrant"), move |n: u64| {
            counter.up();
            let call = forward.call(n);
            async move { call.await.unwrap() + 1 }
        });
        let spin = spin_in_background(&executor);
        let callers: Vec<_> = (0..3)
            .map(|caller| {
                let context = context.clone();
                thread::spawn(move || {
                    let client = context.create_local_client::<u64, u64>("reentrant").unwrap();
                    let own = context.create_executor(ExecutorOptions::new("caller"));
                    let calls = join_all((0..CALLS).map(|n| client.call(caller * CALLS + n)));
                    let answers = own.spin_until(calls, SpinOptions::new()).unwrap();
                    for (n, answer) in answers.into_iter().enumerate() {
                        assert_eq!(answer, Ok((caller * CALLS + n as u64) * 3 + 1));
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.join().unwrap();
        }
        executor.halt();
        spin.join().unwrap().unwrap();
        assert_eq!(served.get() as u64, 3 * CALLS);
        assert_eq!(context.losses(), []);
    });
}
