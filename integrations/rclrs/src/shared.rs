//! The part of an executor that its workers, its spin and its watch share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Waker;

use rclrs::{Context, RclrsError, log_error};
use rospin_engine::{Entity, EntityKind, EntityOptions, ExecutorHandle, Mutex, Priority, ReentrantGroup};

use super::guard::Guard;
use super::looks::Looks;
use super::spares::Spares;
use super::tasks::{self, Queue, TaskSource};

/// The name of the group of what nodes create without a worker.
pub(super) const NODES: &str = "main";

/// State that the workers of an executor share. It owns no waitable, because waitables own the channels of their
/// workers.
pub(super) struct Shared {
    pub(super) executor: ExecutorHandle,
    pub(super) nodes: ReentrantGroup,
    pub(super) stop: Stop,
    pub(super) looks: Arc<Looks>,
    pub(super) spares: Spares,
    queues: Mutex<Queues>,
    serial: AtomicU64,
}

/// The queues of tasks by priority, with the entities that poll them.
type Queues = BTreeMap<Option<u32>, (Arc<Queue>, Option<Entity>)>;

impl Shared {
    pub(super) fn new(context: Context, executor: ExecutorHandle) -> Result<Self, RclrsError> {
        let nodes = executor.create_reentrant_group(NODES);
        let looks = Arc::new(Looks::new(Guard::new(&context)?));
        let shared = Self {
            spares: Spares::new(context),
            executor,
            nodes,
            stop: Stop::default(),
            looks,
            queues: Mutex::default(),
            serial: AtomicU64::new(0),
        };
        shared.spares.fill()?;
        Ok(shared)
    }

    /// Returns a number that no other worker or entity has.
    pub(super) fn next_number(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the priority that the entity of that name gets: the deployment's, or that of the program.
    pub(super) fn priority_of(&self, name: &str, program: Option<Priority>) -> Option<Priority> {
        self.nodes.deployed_priority(name).or(program)
    }

    /// Returns the queue of tasks of a priority, which is created when it is first needed.
    pub(super) fn queue(&self, priority: Option<Priority>) -> Arc<Queue> {
        let mut queues = self.queues.lock();
        let (queue, _) = queues.entry(priority.map(|Priority(number)| number)).or_insert_with(|| {
            let queue = Arc::new(Queue::default());
            let mut options = EntityOptions::new(match priority {
                Some(Priority(number)) => format!("{NODES}/tasks/{number}"),
                None => format!("{NODES}/tasks"),
            });
            if let Some(priority) = priority {
                options = options.priority(priority);
            }
            let source = TaskSource(Arc::clone(&queue));
            let entity = self.nodes.create_source(EntityKind::Waitable, options, source, tasks::poll);
            (queue, entity.inspect_err(|error| log_error!("rospin", "tasks cannot run: {error}")).ok())
        });
        Arc::clone(queue)
    }

    /// Drops all tasks, since their executor is dropped.
    pub(super) fn clear_queues(&self) {
        let queues = std::mem::take(&mut *self.queues.lock());
        for (queue, _) in queues.into_values() {
            queue.clear();
        }
    }
}

/// The conditions on which a spin ends.
#[derive(Default)]
pub(super) struct Stop {
    halt: Mutex<Option<Arc<AtomicBool>>>,
    waker: Mutex<Option<Waker>>,
    was_woken: AtomicBool,
    errors: Mutex<Vec<RclrsError>>,
}

impl Stop {
    /// Begins a spin, which ends when the flag is set.
    pub(super) fn begin(&self, halt: Arc<AtomicBool>) {
        *self.halt.lock() = Some(halt);
        self.was_woken.store(false, Ordering::Release);
    }

    /// Ends the spin, and returns the errors of its callbacks.
    pub(super) fn end(&self) -> Vec<RclrsError> {
        *self.halt.lock() = None;
        *self.waker.lock() = None;
        std::mem::take(&mut *self.errors.lock())
    }

    pub(super) fn set_waker(&self, waker: &Waker) {
        *self.waker.lock() = Some(waker.clone());
    }

    /// Returns true if the spin should end. One that waits for the next work also ends when it is woken.
    pub(super) fn is_reached(&self, only_next: bool) -> bool {
        let is_halted = self.halt.lock().as_ref().is_some_and(|halt| halt.load(Ordering::Acquire));
        is_halted || !self.errors.lock().is_empty() || only_next && self.was_woken.load(Ordering::Acquire)
    }

    pub(super) fn wake(&self) {
        self.was_woken.store(true, Ordering::Release);
        let waker = self.waker.lock().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ends the spin with an error, as rclrs's own executor does.
    pub(super) fn fail(&self, error: RclrsError) {
        self.errors.lock().push(error);
        self.wake();
    }
}
