//! Model of R2R: `spin_once` waits on a wait set and takes one message of each subscription into a bounded channel. A
//! task reads from the channel. If the channel is full, the newest message is lost.

use std::future::ready;
use std::sync::Arc;

use futures::StreamExt;
use futures::channel::mpsc::{Receiver, Sender, channel};
use futures::executor::{LocalPool, ThreadPool};
use futures::task::{LocalSpawnExt, SpawnExt};
use tokio::runtime::{Builder, Runtime};

use super::super::system::{Message, System};
use super::wait_set::{Entities, Ready, WaitSet};
use super::{Control, Failed};

/// Capacity that R2R gives a subscription's channel. The crate `futures` adds one place for the sender.
const CHANNEL: usize = 10;

/// Kind of runtime that runs the tasks.
#[derive(Clone, Copy)]
pub(super) enum Tasks {
    /// A `LocalPool` of the crate `futures`, on the thread of the wait set.
    Local,
    /// A `ThreadPool` of the crate `futures`.
    Pool,
    /// Tokio's multi-threaded runtime.
    Tokio,
}

/// The sending ends of all channels, by the number of the entity.
struct Channels {
    messages: Vec<Sender<Arc<Message>>>,
    ticks: Vec<Sender<()>>,
}

impl Channels {
    /// Waits until an entity is ready or the contender must end, and sends one item of each ready entity through its
    /// channel.
    fn spin_once(&mut self, entities: &Entities, set: &mut WaitSet, control: &Control) {
        set.wait(entities, |_| true, || control.is_over());
        while let Some(ready) = set.next() {
            match ready {
                Ready::Timer(number) => {
                    if entities.fires(number) && self.ticks[number].try_send(()).is_err() {
                        control.lose_tick();
                    }
                }
                Ready::Subscription(number) => {
                    if let Some(message) = entities.subscriptions[number].0.try_take()
                        && self.messages[number].try_send(message).is_err()
                    {
                        control.lose_message();
                    }
                }
            }
        }
    }
}

/// Runtime that runs the tasks.
enum Spawner {
    Local(LocalPool),
    Pool(ThreadPool),
    Tokio(Runtime),
}

impl Spawner {
    fn new(tasks: Tasks, threads: usize) -> Result<Self, Failed> {
        Ok(match tasks {
            Tasks::Local => Self::Local(LocalPool::new()),
            Tasks::Pool => Self::Pool(ThreadPool::builder().pool_size(threads).create()?),
            Tasks::Tokio => Self::Tokio(Builder::new_multi_thread().worker_threads(threads).build()?),
        })
    }

    /// Starts a task that calls `callback` with each item that comes through the channel.
    fn read<T: Send + 'static>(
        &self,
        items: Receiver<T>,
        mut callback: impl FnMut(T) + Send + 'static,
    ) -> Result<(), Failed> {
        let task = items.for_each(move |item| {
            callback(item);
            ready(())
        });
        match self {
            Self::Local(pool) => pool.spawner().spawn_local(task)?,
            Self::Pool(pool) => pool.spawn(task)?,
            Self::Tokio(runtime) => drop(runtime.spawn(task)),
        }
        Ok(())
    }
}

/// Runs the wait set on the calling thread, and the callbacks as tasks of the runtime `tasks`, until `control` ends it.
pub(super) fn spin(system: System, control: &Control, tasks: Tasks) -> Result<(), Failed> {
    let mut spawner = Spawner::new(tasks, system.threads)?;
    let (entities, callbacks, ticks) = Entities::of(system)?;
    let mut channels = Channels { messages: Vec::new(), ticks: Vec::new() };
    for callback in callbacks {
        let (sender, receiver) = channel(CHANNEL);
        channels.messages.push(sender);
        spawner.read(receiver, callback)?;
    }
    for mut tick in ticks {
        let (sender, receiver) = channel(1);
        channels.ticks.push(sender);
        spawner.read(receiver, move |()| tick())?;
    }
    let condition = Arc::clone(&entities.condition);
    control.running(move || condition.trigger());
    let mut set = WaitSet::default();
    while !control.is_over() {
        channels.spin_once(&entities, &mut set, control);
        if let Spawner::Local(pool) = &mut spawner {
            pool.run_until_stalled();
        }
    }
    Ok(())
}
