//! The variants of R2R: the thread that samples, and the runtime that runs the callbacks. Their outcome is the number
//! of messages that R2R's channels dropped, by topic.

use std::io;
use std::thread::available_parallelism;
use std::time::Duration;

use futures::StreamExt;
use futures::channel::mpsc::Receiver;
use futures::executor::{LocalPool, ThreadPool, block_on};
use futures::future::join_all;
use futures::task::{LocalSpawnExt, SpawnExt};

use super::r2r::Node;
use super::subscriber::{Callback, Outcome, Parts, join};
use super::threads::{CALLBACK_PRIORITY, Crew, SAMPLING_PRIORITY, callback_priority};
use super::topics::TOPICS;
use super::transport::{Inlet, Message};

/// Longest time that a sampling waits for messages, as in the paper's listings.
const SPIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Threads of a futures thread pool.
const POOL_THREADS: usize = 2;

/// Samples messages and runs callbacks in turn, all on the main thread.
pub(crate) fn futures(parts: Parts) -> Outcome {
    let (mut node, tasks) = subscribe(parts.messages.into_sockets()?, parts.callbacks);
    let mut pool = local_pool(tasks)?;
    pool.run_until_stalled();
    parts.invitation.send()?;
    loop {
        let goes_on = node.spin_once(SPIN_TIMEOUT)?;
        pool.run_until_stalled();
        if !goes_on {
            return dropped(&node);
        }
    }
}

/// Runs all callbacks as one task of a thread pool, beside the sampling main thread.
pub(crate) fn futures_join(parts: Parts) -> Outcome {
    let (node, tasks) = subscribe(parts.messages.into_sockets()?, parts.callbacks);
    let done = thread_pool(&parts.crew)?.spawn_with_handle(join_all(tasks))?;
    parts.invitation.send()?;
    let node = sample(node)?;
    block_on(done);
    dropped(&node)
}

/// Runs each callback as a task of its own in a thread pool, beside the sampling main thread.
pub(crate) fn futures_thread_pool(parts: Parts) -> Outcome {
    let (node, tasks) = subscribe(parts.messages.into_sockets()?, parts.callbacks);
    let pool = thread_pool(&parts.crew)?;
    let done = tasks.into_iter().map(|task| pool.spawn_with_handle(task)).collect::<Result<Vec<_>, _>>()?;
    parts.invitation.send()?;
    let node = sample(node)?;
    block_on(join_all(done));
    dropped(&node)
}

/// Runs each callback on a thread of its own, with a priority of its own.
pub(crate) fn futures_rt(parts: Parts) -> Outcome {
    let (node, tasks) = subscribe(parts.messages.into_sockets()?, parts.callbacks);
    let threads = tasks.into_iter().enumerate().map(|(topic, task)| {
        let name = format!("callback-{}", topic + 1);
        parts.crew.spawn(&name, callback_priority(topic), move || run_local(vec![task]))
    });
    let threads = threads.collect::<io::Result<Vec<_>>>()?;
    parts.invitation.send()?;
    let node = sample(node)?;
    threads.into_iter().try_for_each(join)?;
    dropped(&node)
}

/// Runs all callbacks on one thread other than the sampling one.
pub(crate) fn futures_two_threads(parts: Parts) -> Outcome {
    let (node, tasks) = subscribe(parts.messages.into_sockets()?, parts.callbacks);
    let thread = parts.crew.spawn("callbacks", CALLBACK_PRIORITY, move || run_local(tasks))?;
    parts.invitation.send()?;
    let node = sample(node)?;
    join(thread)?;
    dropped(&node)
}

/// Runs each callback as a task of Tokio. Tokio's threads have the priority of the sampling thread.
pub(crate) fn tokio(parts: Parts) -> Outcome {
    on_tokio(parts, SAMPLING_PRIORITY)
}

/// Runs each callback as a task of Tokio. Tokio's threads are less urgent than the sampling thread.
pub(crate) fn tokio_rt(parts: Parts) -> Outcome {
    on_tokio(parts, CALLBACK_PRIORITY)
}

/// Runs each callback as a task of Tokio, whose threads have `worker_priority`.
fn on_tokio(parts: Parts, worker_priority: u8) -> Outcome {
    let (node, tasks) = subscribe(parts.messages.into_sockets()?, parts.callbacks);
    let crew = parts.crew.clone();
    // Tokio's default: one worker for each core that the process may use, which is one core here.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(available_parallelism().map_or(1, usize::from))
        .on_thread_start(move || crew.enlist("tokio-worker", worker_priority))
        .build()?;
    let tasks: Vec<_> = tasks.into_iter().map(|task| runtime.spawn(task)).collect();
    let sampling = parts.crew.spawn("sampling", SAMPLING_PRIORITY, move || sample(node))?;
    parts.invitation.send()?;
    for task in tasks {
        runtime.block_on(task)?;
    }
    dropped(&join(sampling)?)
}

/// Returns a node with all subscriptions, and a task for each callback.
fn subscribe(
    inlets: [Inlet; TOPICS],
    callbacks: [Callback; TOPICS],
) -> (Node, Vec<impl Future<Output = ()> + Send + 'static>) {
    let mut node = Node::default();
    let tasks = inlets.into_iter().zip(callbacks).map(|(inlet, callback)| task(node.subscribe(inlet), callback));
    let tasks = tasks.collect();
    (node, tasks)
}

/// Runs the callback for every message that comes through the channel. Ends when the channel is closed.
async fn task(mut messages: Receiver<Message>, mut callback: Callback) {
    while let Some(message) = messages.next().await {
        callback.run(message);
    }
}

/// Samples until no more messages will come. Returns the node with its numbers of dropped messages.
fn sample(mut node: Node) -> io::Result<Node> {
    while node.spin_once(SPIN_TIMEOUT)? {}
    // The channels are closed, and the messages that are left in them are still handled.
    Ok(node)
}

/// Runs tasks on the calling thread until all have ended.
fn run_local(tasks: Vec<impl Future<Output = ()> + 'static>) -> io::Result<()> {
    local_pool(tasks)?.run();
    Ok(())
}

/// Returns an executor of the calling thread with these tasks, which do not run yet.
fn local_pool(tasks: Vec<impl Future<Output = ()> + 'static>) -> io::Result<LocalPool> {
    let pool = LocalPool::new();
    for task in tasks {
        pool.spawner().spawn_local(task).map_err(io::Error::other)?;
    }
    Ok(pool)
}

/// Returns a thread pool whose threads get the main thread's scheduling and cores. In the paper's experiment they
/// inherit these.
fn thread_pool(crew: &Crew) -> io::Result<ThreadPool> {
    let crew = crew.clone();
    ThreadPool::builder()
        .pool_size(POOL_THREADS)
        .after_start(move |number| crew.enlist(&format!("pool-{}", number + 1), SAMPLING_PRIORITY))
        .create()
}

/// Returns the outcome of a run: the number of messages that each topic's channel dropped.
fn dropped(node: &Node) -> Outcome {
    Ok(<[u64; TOPICS]>::try_from(node.dropped()).map_err(|_| "the node has other topics")?)
}
