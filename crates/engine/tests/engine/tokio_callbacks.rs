//! Tokio inside callbacks: spawning, sleeping, sockets, and its cooperative budget.

#![cfg(feature = "tokio")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc as std_mpsc;

use crate::common::{Count, expect, ms, spin_all, threads, watchdog};
use rospin_engine::trace::TraceEvent;
use rospin_engine::{
    Context, ContextOptions, EntityOptions, Executor, ExecutorOptions, Instant, Payload, SpinError, SpinOptions,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::mpsc;

fn executor(count: u16) -> (Context, Executor) {
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main").threads(threads(count)));
    (context, executor)
}

/// Runs one asynchronous callback to its end.
fn run_in_callback<Fut>(executor: &Executor, future: Fut) -> Fut::Output
where
    Fut: Future + Send + 'static,
    Fut::Output: Send,
{
    let (sender, results) = std_mpsc::channel();
    let handle = executor.handle();
    let group = executor.create_group("group", ());
    let entity = group.create_stream_async("start", futures::stream::iter([future]), move |_, future| {
        let (sender, handle) = (sender.clone(), handle.clone());
        async move {
            sender.send(future.await).unwrap();
            handle.halt();
        }
    });
    executor.spin(SpinOptions::new()).unwrap();
    drop(entity);
    expect(&results)
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[test]
fn callbacks_spawn_sleep_and_block() {
    watchdog(|| {
        for count in [1, 3] {
            let (context, executor) = executor(count);
            let begin = context.clock().now();
            let all = run_in_callback(&executor, async {
                let spawned = tokio::spawn(async {
                    tokio::time::sleep(ms(5)).await;
                    1
                });
                tokio::time::sleep(ms(10)).await;
                let blocking = tokio::task::spawn_blocking(|| 2);
                let late = tokio::time::timeout(ms(1), std::future::pending::<()>()).await;
                (spawned.await.unwrap(), blocking.await.unwrap(), late.is_err())
            });
            assert_eq!(all, (1, 2, true));
            assert!(context.clock().now().saturating_since(begin) >= ms(10));
        }
    });
}

#[test]
fn sockets_work_between_callbacks() {
    watchdog(|| {
        for count in [1, 2] {
            let (context, executor) = executor(count);
            let ports = context.create_local_publisher::<u16>("port").unwrap();
            let handle = executor.handle();
            let server = executor.create_group("server", 0);
            let _server = server.create_stream_async(
                "serve",
                futures::stream::iter([ports]),
                |bytes: Payload<usize>, ports| async move {
                    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                    ports.publish(listener.local_addr().unwrap().port());
                    let (mut socket, _) = listener.accept().await.unwrap();
                    let mut buffer = [0; 1024];
                    loop {
                        let length = socket.read(&mut buffer).await.unwrap();
                        if length == 0 {
                            return;
                        }
                        bytes.with(|bytes| *bytes += length);
                        socket.write_all(&buffer[..length]).await.unwrap();
                    }
                },
            );
            let client = executor.create_group("client", 0);
            let _client =
                client.create_local_subscription_async("port", move |echoes: Payload<u32>, port: Arc<u16>| {
                    let handle = handle.clone();
                    async move {
                        let mut socket = TcpStream::connect(("127.0.0.1", *port)).await.unwrap();
                        for n in 0..50_u32 {
                            socket.write_all(&n.to_le_bytes()).await.unwrap();
                            let mut echo = [0; 4];
                            socket.read_exact(&mut echo).await.unwrap();
                            assert_eq!(u32::from_le_bytes(echo), n);
                            echoes.with(|echoes| *echoes += 1);
                        }
                        handle.halt();
                    }
                });
            executor.spin(SpinOptions::new()).unwrap();
            assert_eq!((server.into_payload().ok(), client.into_payload().ok()), (Some(200), Some(50)));
        }
    });
}

#[test]
fn synchronous_callbacks_have_a_tokio_context_on_every_thread() {
    watchdog(|| {
        let (_context, executor) = executor(3);
        let group = executor.create_reentrant_group("group");
        let (meeting, handle) = (std::sync::Barrier::new(3), executor.handle());
        let (sender, results) = std_mpsc::channel();
        let _entity = group.create_stream("start", futures::stream::iter(0..3), move |n| {
            let sender = sender.clone();
            Handle::current().spawn(async move { sender.send(n).unwrap() });
            meeting.wait();
            handle.halt();
        });
        executor.spin(SpinOptions::new()).unwrap();
        let mut spawned: Vec<_> = (0..3).map(|_| expect(&results)).collect();
        spawned.sort_unstable();
        assert_eq!(spawned, [0, 1, 2]);
    });
}

#[test]
fn spin_until_awaits_futures_of_tokio() {
    watchdog(|| {
        let (_context, executor) = executor(1);
        let slept = async {
            tokio::time::sleep(ms(3)).await;
            tokio::spawn(async { 7 }).await.unwrap()
        };
        assert_eq!(executor.spin_until(slept, SpinOptions::new()).unwrap(), 7);
    });
}

const MANY: usize = 10_000;

fn full_channel() -> mpsc::UnboundedReceiver<usize> {
    let (sender, receiver) = mpsc::unbounded_channel();
    (0..MANY).for_each(|n| sender.send(n).unwrap());
    receiver
}

/// Drains a channel in one callback. Returns the number of items and the number of dispatches of the callback.
fn drain() -> (usize, usize) {
    let segments = Count::new();
    let counter = segments.clone();
    let trace = move |_: Instant, event: TraceEvent| {
        if let TraceEvent::Dispatched(_, activation) = event
            && activation.segment > 0
        {
            counter.up();
        }
    };
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main").trace(trace));
    let mut receiver = full_channel();
    let received = run_in_callback(&executor, async move {
        let mut count = 0;
        while receiver.recv().await.is_some() {
            count += 1;
        }
        count
    });
    (received, segments.get())
}

#[test]
fn ten_thousand_ready_operations_neither_spin_nor_stall() {
    watchdog(|| {
        let (received, segments) = drain();
        assert_eq!(received, MANY);
        assert!(segments <= MANY / 128 + 1, "{segments} segments");
    });
}

#[test]
fn nor_do_they_inside_of_a_runtime_that_somebody_else_entered() {
    watchdog(|| {
        for runtime in [current_thread(), multi_thread()] {
            let (received, segments) = runtime.block_on(async {
                // The budget of this task was used up before.
                let mut receiver = full_channel();
                for _ in 0..127 {
                    receiver.recv().await;
                }
                drain()
            });
            assert_eq!(received, MANY);
            assert!(segments <= MANY / 128 + 1, "{segments} segments");
        }
        let spawned = multi_thread();
        let (received, _) = spawned.block_on(async { tokio::spawn(async { drain() }).await.unwrap() });
        assert_eq!(received, MANY);
    });
}

/// A stream over a receiver, like the one of `tokio_stream`.
struct ReceiverStream(mpsc::UnboundedReceiver<usize>);

impl futures::Stream for ReceiverStream {
    type Item = usize;
    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<usize>> {
        self.0.poll_recv(cx)
    }
}

#[test]
fn a_channel_as_a_source_is_emptied_to_the_last_item() {
    let empty = || {
        let (_context, executor) = executor(1);
        let (sender, receiver) = mpsc::unbounded_channel();
        let group = executor.create_group("group", 0);
        let _entity = group.create_stream("channel", ReceiverStream(receiver), |next, n| {
            assert_eq!(n, *next);
            *next += 1;
        });
        let own = executor.create_group("drained", 0);
        let _drained = own.create_stream("full", ReceiverStream(full_channel()), |next, _| *next += 1);
        spin_all(&executor);
        (0..MANY).for_each(|n| sender.send(n).unwrap());
        spin_all(&executor);
        (group.into_payload().ok(), own.into_payload().ok())
    };
    watchdog(move || {
        assert_eq!(empty(), (Some(MANY), Some(MANY)));
        assert_eq!(current_thread().block_on(async { empty() }), (Some(MANY), Some(MANY)));
    });
}

#[test]
fn an_executor_spins_inside_of_a_runtime() {
    watchdog(|| {
        for runtime in [current_thread(), multi_thread()] {
            let answer = runtime.block_on(async {
                let (context, executor) = executor(2);
                let answer = run_in_callback(&executor, async {
                    tokio::time::sleep(ms(2)).await;
                    tokio::spawn(async { 42 }).await.unwrap()
                });
                // Neither drop may wait here, since waiting is not allowed inside a runtime.
                drop(executor);
                drop(context);
                answer
            });
            assert_eq!(answer, 42);
        }
    });
}

#[test]
fn a_context_is_dropped_inside_of_a_callback_of_its_own() {
    watchdog(|| {
        let (context, executor) = executor(1);
        run_in_callback(&executor, async move { drop(context) });
        drop(executor);
    });
}

#[test]
fn callbacks_run_in_the_runtime_of_the_user_s() {
    watchdog(|| {
        let runtime = multi_thread();
        let id = runtime.handle().id();
        let context = Context::new(ContextOptions::new().tokio(runtime.handle().clone()));
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let found = run_in_callback(&executor, async move {
            tokio::time::sleep(ms(1)).await;
            (Handle::current().id(), tokio::spawn(async { Handle::current().id() }).await.unwrap())
        });
        assert_eq!(found, (id, id));
    });
}

#[test]
fn a_spin_with_waiting_callbacks_does_not_outlast_its_timeout() {
    watchdog(|| {
        let (_context, executor) = executor(2);
        let group = executor.create_group("group", 0);
        let (options, has_ended) = (EntityOptions::new("start"), Arc::new(AtomicBool::new(false)));
        let ended = Arc::clone(&has_ended);
        let _entity = group.create_stream_async(options, futures::stream::iter([1]), move |wakes: Payload<u32>, _| {
            let ended = Arc::clone(&ended);
            async move {
                wakes.with(|wakes| *wakes += 1);
                tokio::time::sleep(ms(40)).await;
                wakes.with(|wakes| *wakes += 1);
                ended.store(true, Ordering::Relaxed);
            }
        });
        assert!(matches!(executor.spin(SpinOptions::new().timeout(ms(5))), Err(SpinError::Timeout)));
        // The callback goes on in a later spin, although nothing spun when it was woken.
        while !has_ended.load(Ordering::Relaxed) {
            std::thread::sleep(ms(50));
            spin_all(&executor);
        }
        assert_eq!(group.into_payload().ok(), Some(2));
    });
}
