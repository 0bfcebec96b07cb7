//! Workers of rclrs: groups of the executor, and the channels by which rclrs gives them work.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use rclrs::{
    ActivityListenerCallback, ExecutorChannel, ExecutorWorkerOptions, GuardCondition, PayloadTask, RclrsError,
    Waitable, WeakActivityListener, WorkerChannel, log_error, log_fatal,
};
use rospin_engine::{
    CallbackGroup, Entity, EntityKind, EntityOptions, Mutex, Notifier, Pending, Priority, Source, SourceError,
    TakeError,
};

use super::cell::{Cell, Ran, Seen};
use super::handle::Kind;
use super::registry::Registry;
use super::scope::Scope;
use super::shared::{NODES, Shared};
use super::source::CellSource;
use super::spares::Spare;
use super::tasks::{self, Job};

/// The payload of a worker.
struct Holder(Box<dyn Any + Send>);

/// The group that the entities of a worker are in.
enum Group {
    /// Entities that nodes create without a worker: synchronous code of rclrs only makes futures there, so nothing must
    /// be exclusive.
    Nodes,
    Worker(CallbackGroup<Holder>),
}

/// The channel by which rclrs creates workers.
pub(super) struct Channel {
    pub(super) shared: Arc<Shared>,
    pub(super) registry: Weak<Registry>,
    /// True once the first worker was created, which is that of all nodes.
    pub(super) has_nodes: Mutex<bool>,
}

/// The channel of one worker.
struct WorkerPort(Arc<Worker>);

/// A worker: its group and what its entities need.
pub(super) struct Worker {
    shared: Arc<Shared>,
    registry: Weak<Registry>,
    group: Group,
    name: String,
    priority: Option<Priority>,
    /// The guard condition that rclrs triggers when it drops an entity. Each entity holds it, too.
    guard: Arc<GuardCondition>,
    /// True once the worker's own guard condition has come, which rclrs adds first.
    has_guard: Mutex<bool>,
    mail: Arc<Mail>,
    /// Entity of the functions that are to run with the payload.
    _mail_entity: Option<Entity>,
}

/// The functions that are to run with a worker's payload, and those that listen to its activity.
#[derive(Default)]
struct Mail {
    tasks: Mutex<VecDeque<PayloadTask>>,
    notifier: Mutex<Option<Notifier>>,
    listeners: Mutex<Vec<WeakActivityListener>>,
}

impl ExecutorChannel for Channel {
    fn create_worker(&self, options: ExecutorWorkerOptions) -> Arc<dyn WorkerChannel> {
        let (shared, scope) = (&self.shared, Scope::here());
        let is_first = !std::mem::replace(&mut *self.has_nodes.lock(), true);
        let mail = Arc::<Mail>::default();
        let (name, group, mail_entity) = if is_first {
            (NODES.to_owned(), Group::Nodes, None)
        } else {
            let name = scope.own_name().unwrap_or_else(|| format!("worker{}", shared.next_number()));
            let group = shared.executor.create_group(name.as_str(), Holder(options.payload));
            let entity = Mail::deliver(&mail, &group, scope.own_priority());
            let entity = entity.inspect_err(|error| log_fatal!("rospin", "worker {name} cannot run: {error}")).ok();
            (name, Group::Worker(group), entity)
        };
        Arc::new(WorkerPort(Arc::new(Worker {
            shared: Arc::clone(shared),
            registry: Weak::clone(&self.registry),
            group,
            name,
            priority: scope.own_priority(),
            guard: options.guard_condition,
            has_guard: Mutex::new(false),
            mail,
            _mail_entity: mail_entity,
        })))
    }

    fn wake_all_wait_sets(&self) {
        self.shared.stop.wake();
    }
}

impl WorkerChannel for WorkerPort {
    fn add_async_task(&self, job: Job) {
        let priority = Scope::here().own_priority();
        let job = if priority.is_none() { tasks::keep(job) } else { Err(job) };
        if let Err(job) = job {
            let queue = tasks::current_queue().filter(|_| priority.is_none());
            let queue = queue.unwrap_or_else(|| self.0.shared.queue(priority.or(self.0.priority)));
            queue.add(job);
        }
    }

    fn add_to_wait_set(&self, waitable: Waitable) {
        let worker = &self.0;
        // The executor was dropped if there is no registry.
        let Some(registry) = worker.registry.upgrade() else { return };
        let is_own_guard = !std::mem::replace(&mut *worker.has_guard.lock(), true);
        if is_own_guard {
            if let Err(error) = registry.watch(&worker.shared, waitable) {
                log_fatal!("rospin", "entities of {} that are dropped stay in the executor: {error}", worker.name);
            }
            return;
        }
        worker.shared.looks.note_change();
        match worker.shared.spares.take() {
            Some(spare) => {
                worker.add(&registry, spare, Scope::here(), waitable);
                registry.fill_spares();
            }
            None => registry.add_later(Arc::clone(worker), Scope::here(), waitable),
        }
    }

    fn send_payload_task(&self, task: PayloadTask) {
        if let Group::Nodes = self.0.group {
            // Nodes have no payload, so rclrs has no such tasks for them.
            task(&mut ());
            return;
        }
        self.0.mail.tasks.lock().push_back(task);
        if let Some(notifier) = &*self.0.mail.notifier.lock() {
            notifier.notify();
        }
    }

    fn add_activity_listener(&self, listener: WeakActivityListener) {
        self.0.mail.listeners.lock().push(listener);
    }
}

impl Worker {
    /// Adds what rclrs created: an entity, or what watches a node's graph.
    pub(super) fn add(&self, registry: &Arc<Registry>, spare: Spare, scope: Scope, waitable: Waitable) {
        if let Err(error) = self.try_add(registry, spare, scope, waitable) {
            log_fatal!("rospin", "an entity of {} will not run: {error}", self.name);
        }
    }

    fn try_add(
        &self,
        registry: &Arc<Registry>,
        spare: Spare,
        scope: Scope,
        waitable: Waitable,
    ) -> Result<(), RclrsError> {
        let shared = &self.shared;
        let cell = Cell::new(spare.set, waitable, Arc::clone(&shared.looks), Arc::clone(&self.guard))?;
        let (cell, number) = (Arc::new(cell), shared.next_number());
        if cell.kind() == Kind::Graph {
            return registry.pump(number, &cell, spare.guard);
        }
        let Seen { mut name, is_armed } = shared.looks.with_guard(|guard| cell.look(guard))?;
        if matches!(cell.kind(), Kind::Timer | Kind::ActionServer) {
            cell.add_prod(Arc::clone(&spare.guard))?;
        }
        if let Some(topic) = &name {
            name = Some(format!("{}/{}", self.name, topic.trim_start_matches('/')));
        }
        let unnamed = || format!("{}/{}{number}", self.name, cell.kind().name());
        let name = scope.own_name().or(name).unwrap_or_else(unnamed);
        match self.create_entity(&name, &cell, scope.own_priority().or(self.priority)) {
            Ok(entity) => registry.add(number, Arc::clone(&cell), entity),
            Err(error) => log_error!("rospin", "{name} will not run: {error}"),
        }
        if !is_armed {
            return registry.pump(number, &cell, spare.guard);
        }
        if !matches!(cell.kind(), Kind::Timer | Kind::ActionServer) {
            shared.spares.return_guard(spare.guard);
        }
        Ok(())
    }

    fn create_entity(&self, name: &str, cell: &Arc<Cell>, priority: Option<Priority>) -> Result<Entity, SourceError> {
        let mut options = EntityOptions::new(name);
        if let Some(priority) = priority {
            options = options.priority(priority);
        }
        if cell.kind() == Kind::Timer {
            // The next due time is known once the timer was called.
            options = options.max_in_flight(1);
        }
        let queue = self.shared.queue(self.shared.priority_of(name, priority));
        let (shared, source, kind) = (Arc::clone(&self.shared), CellSource::new(Arc::clone(cell)), cell.kind());
        let cell = Arc::clone(cell);
        match &self.group {
            Group::Nodes => self.shared.nodes.create_source(kind.entity(), options, source, move |turn| {
                if let Err(error) = queue.run(|| cell.run(turn, &mut ())) {
                    shared.stop.fail(error);
                }
            }),
            Group::Worker(group) => {
                let mail = Arc::clone(&self.mail);
                group.create_source(kind.entity(), options, source, move |payload, turn| {
                    match queue.run(|| cell.run(turn, &mut *payload.0)) {
                        Ok(Ran::Something) => mail.tell(&mut *payload.0),
                        Ok(Ran::Nothing) => {}
                        Err(error) => shared.stop.fail(error),
                    }
                })
            }
        }
    }
}

impl Mail {
    /// Creates the entity that runs functions with the payload.
    fn deliver(
        mail: &Arc<Self>,
        group: &CallbackGroup<Holder>,
        priority: Option<Priority>,
    ) -> Result<Entity, SourceError> {
        let mut options = EntityOptions::new(format!("{}/run", group.name()));
        if let Some(priority) = priority {
            options = options.priority(priority);
        }
        let (source, mail) = (MailSource(Arc::clone(mail)), Arc::clone(mail));
        group.create_source(EntityKind::Waitable, options, source, move |payload: &mut Holder, task| {
            task(&mut *payload.0);
            mail.tell(&mut *payload.0);
        })
    }

    /// Calls those that listen to the worker's activity.
    fn tell(&self, payload: &mut dyn Any) {
        let listeners = std::mem::take(&mut *self.listeners.lock());
        if listeners.is_empty() {
            return;
        }
        let mut alive = Vec::with_capacity(listeners.len());
        for weak in listeners {
            let Some(listener) = weak.upgrade() else { continue };
            // Nothing is locked while it runs: it may replace itself, and add others.
            let taken = listener.lock().ok().and_then(|mut slot| slot.take());
            if let Some(mut callback) = taken {
                if let ActivityListenerCallback::Listen(listen) = &mut callback {
                    listen(payload);
                }
                if let Ok(mut slot) = listener.lock() {
                    slot.replace(callback);
                }
            }
            alive.push(weak);
        }
        self.listeners.lock().append(&mut alive);
    }
}

/// The functions that are to run with a payload, as a source.
struct MailSource(Arc<Mail>);

impl Source for MailSource {
    type Item = PayloadTask;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        *self.0.notifier.lock() = Some(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<PayloadTask>, TakeError> {
        Ok(self.0.tasks.lock().pop_front())
    }

    fn pending(&self) -> Pending {
        if self.0.tasks.lock().is_empty() { Pending::Empty } else { Pending::Unknown }
    }
}
