//! Tasks: futures that rclrs hands over, polled by an entity of the executor.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context as TaskContext, Wake, Waker};

use rospin_engine::{Mutex, Notifier, Pending, Source, TakeError};

/// A future of rclrs.
pub(super) type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The tasks of one priority that are to be polled.
#[derive(Default)]
pub(super) struct Queue {
    ready: Mutex<VecDeque<Arc<Task>>>,
    notifier: Mutex<Option<Notifier>>,
}

/// A future with its state.
pub(super) struct Task {
    job: Mutex<Option<Job>>,
    state: AtomicU8,
    queue: Weak<Queue>,
}

/// Nobody polls the task, and nobody woke it.
const IDLE: u8 = 0;
/// The task is in its queue.
const QUEUED: u8 = 1;
/// A thread polls the task.
const POLLED: u8 = 2;
/// A thread polls the task, which was woken meanwhile.
const WOKEN: u8 = 3;

thread_local! {
    /// The queue of the callback or task that this thread runs, and the futures that the callback created.
    static CURRENT: RefCell<Option<(Arc<Queue>, Vec<Job>)>> = const { RefCell::new(None) };
}

/// Returns the queue of the callback or task that this thread runs.
pub(super) fn current_queue() -> Option<Arc<Queue>> {
    CURRENT.with_borrow(|current| current.as_ref().map(|(queue, _)| Arc::clone(queue)))
}

/// Keeps a future that a callback of this thread created, to be polled right after the callback. Gives it back if no
/// callback runs.
pub(super) fn keep(job: Job) -> Result<(), Job> {
    CURRENT.with_borrow_mut(|current| match current {
        Some((_, jobs)) => {
            jobs.push(job);
            Ok(())
        }
        None => Err(job),
    })
}

/// Runs a callback of rclrs, and returns its result with the futures that it created.
fn within<R>(queue: &Arc<Queue>, callback: impl FnOnce() -> R) -> (R, Vec<Job>) {
    /// Restores what was there, also after a panic.
    struct Restore(Option<(Arc<Queue>, Vec<Job>)>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }

    let _restore = Restore(CURRENT.replace(Some((Arc::clone(queue), Vec::new()))));
    let result = callback();
    let jobs = CURRENT.take().map(|(_, jobs)| jobs).unwrap_or_default();
    (result, jobs)
}

impl Queue {
    /// Runs a callback of rclrs, and polls the futures that it created, once, as a part of it.
    pub(super) fn run<R>(self: &Arc<Self>, callback: impl FnOnce() -> R) -> R {
        let (result, jobs) = within(self, callback);
        for job in jobs {
            Task::new(job, self, POLLED).poll();
        }
        result
    }

    /// Adds a future that is to be polled.
    pub(super) fn add(self: &Arc<Self>, job: Job) {
        self.push(Task::new(job, self, QUEUED));
    }

    fn push(&self, task: Arc<Task>) {
        self.ready.lock().push_back(task);
        if let Some(notifier) = &*self.notifier.lock() {
            notifier.notify();
        }
    }

    /// Drops the futures that are to be polled.
    pub(super) fn clear(&self) {
        let tasks = std::mem::take(&mut *self.ready.lock());
        drop(tasks);
    }
}

impl Task {
    fn new(job: Job, queue: &Arc<Queue>, state: u8) -> Arc<Self> {
        Arc::new(Self { job: Mutex::new(Some(job)), state: AtomicU8::new(state), queue: Arc::downgrade(queue) })
    }

    /// Polls the future of a task whose state is [`POLLED`].
    ///
    /// # Panics
    /// If the future does. It is dropped then.
    fn poll(self: Arc<Self>) {
        let Some(queue) = self.queue.upgrade() else { return };
        let Some(mut job) = self.job.lock().take() else { return };
        let waker = Waker::from(Arc::clone(&self));
        let (polled, created) = within(&queue, || job.as_mut().poll(&mut TaskContext::from_waker(&waker)));
        for job in created {
            queue.add(job);
        }
        if polled.is_pending() {
            *self.job.lock() = Some(job);
            let was_quiet = self.state.compare_exchange(POLLED, IDLE, Ordering::AcqRel, Ordering::Acquire).is_ok();
            if !was_quiet {
                self.state.store(QUEUED, Ordering::Release);
                queue.push(self);
            }
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let woken = |state| match state {
            IDLE => Some(QUEUED),
            POLLED => Some(WOKEN),
            _ => None,
        };
        let before = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, woken);
        if before == Ok(IDLE)
            && let Some(queue) = self.queue.upgrade()
        {
            queue.push(Arc::clone(self));
        }
    }
}

/// The tasks of a queue as a source.
pub(super) struct TaskSource(pub(super) Arc<Queue>);

impl Source for TaskSource {
    type Item = Arc<Task>;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        *self.0.notifier.lock() = Some(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Arc<Task>>, TakeError> {
        Ok(self.0.ready.lock().pop_front())
    }

    fn pending(&self) -> Pending {
        if self.0.ready.lock().is_empty() { Pending::Empty } else { Pending::Unknown }
    }
}

/// Polls a task that was taken from its queue.
pub(super) fn poll(task: Arc<Task>) {
    task.state.store(POLLED, Ordering::Release);
    task.poll();
}
