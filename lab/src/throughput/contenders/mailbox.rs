//! One Tokio task and one mailbox a group (rclrs calls it a worker), as in pull request 654 to rclrs.
//!
//! A message's arrival counts the entity's counter up, and puts the entity into the mailbox if it was not in there; the
//! task takes as many messages as were counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::super::system::{OnTick, System, Timer};
use super::taken::Taken;
use super::{Control, Failed};

/// A mail: names the entity of the group that has something to do, by its number.
enum Mail {
    Subscription(usize),
    Timer(usize),
}

/// Waker of a subscription. Counts the messages that wait, and puts a mail into its group's mailbox only when there
/// were none before, so that a subscription has at most one mail there.
struct Slip {
    /// Index of the subscription in its group.
    number: usize,
    /// Number of messages that wait.
    arrived: AtomicUsize,
    mailbox: UnboundedSender<Mail>,
}

impl Wake for Slip {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.arrived.fetch_add(1, Ordering::AcqRel) == 0 {
            // This fails once the run is over.
            let _ = self.mailbox.send(Mail::Subscription(self.number));
        }
    }
}

/// Group with its mailbox. A Tokio task runs its callbacks.
struct Worker {
    subscriptions: Vec<(Taken, Arc<Slip>)>,
    timers: Vec<OnTick>,
    /// Sender of the group's mailbox.
    mailbox: UnboundedSender<Mail>,
    /// Receiver of the group's mailbox.
    mails: UnboundedReceiver<Mail>,
}

impl Worker {
    fn new() -> Self {
        let (mailbox, mails) = unbounded_channel();
        Self { subscriptions: Vec::new(), timers: Vec::new(), mailbox, mails }
    }

    fn subscribe(&mut self, taken: Taken) {
        let (number, mailbox) = (self.subscriptions.len(), self.mailbox.clone());
        let slip = Arc::new(Slip { number, arrived: AtomicUsize::new(0), mailbox });
        taken.wakes(&slip);
        self.subscriptions.push((taken, slip));
    }

    /// Runs the callback of each mail's entity.
    async fn work(mut self) {
        // The loop ends with the runtime, because the worker has a sender of its own.
        while let Some(mail) = self.mails.recv().await {
            match mail {
                Mail::Timer(number) => (self.timers[number])(),
                Mail::Subscription(number) => {
                    let (taken, slip) = &mut self.subscriptions[number];
                    for _ in 0..slip.arrived.swap(0, Ordering::AcqRel) {
                        taken.run_one();
                    }
                }
            }
        }
    }
}

/// Puts a mail for the timer into the mailbox whenever the timer is due. `timer` is its first due time and its period,
/// and `number` its index among the timers of its group.
async fn keep_time(timer: (Instant, std::time::Duration), number: usize, mailbox: UnboundedSender<Mail>) {
    let mut interval = interval_at(timer.0, timer.1);
    interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        interval.tick().await;
        if mailbox.send(Mail::Timer(number)).is_err() {
            return;
        }
    }
}

/// Runs the system on a runtime of Tokio with as many threads as the system has, until `control` ends it.
pub(super) fn spin(system: System, control: &Control) -> Result<(), Failed> {
    let System { context, groups, subscriptions, timers, threads, .. } = system;
    let runtime = Builder::new_multi_thread().worker_threads(threads).enable_time().build()?;
    let mut workers: Vec<_> = (0..groups).map(|_| Worker::new()).collect();
    for taken in Taken::all(&context, subscriptions)? {
        workers[taken.group].subscribe(taken);
    }
    for Timer { group, period, delay, callback } in timers {
        let worker = &mut workers[group];
        let first = Instant::now() + delay;
        runtime.spawn(keep_time((first, period), worker.timers.len(), worker.mailbox.clone()));
        worker.timers.push(callback);
    }
    for worker in workers {
        runtime.spawn(worker.work());
    }
    let (end, ended) = oneshot::channel::<()>();
    let end = std::sync::Mutex::new(Some(end));
    control.running(move || drop(end.lock().ok().and_then(|mut end| end.take())));
    let _ = runtime.block_on(ended);
    Ok(())
}
