//! The entities of an executor, and the threads that watch what has no events.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rclrs::{RclPrimitiveKind, RclrsError, WaitSet, Waitable, log_fatal};
use rospin_engine::{Entity, Mutex};

use super::cell::{Cell, ignore_timeout, is_empty};
use super::guard::{Guard, failed};
use super::handle::Kind;
use super::looks::Looks;
use super::scope::Scope;
use super::shared::Shared;
use super::spares::Spare;
use super::worker::Worker;

/// The time between two sweeps. A guard condition of a worker does not say if an entity was dropped, created, or given
/// work, so that a program that does much of it would be swept all the time.
const SWEPT_EVERY: Duration = Duration::from_millis(50);

/// The entities of an executor, which it owns, and its watching threads.
#[derive(Default)]
pub(super) struct Registry {
    members: Mutex<HashMap<u64, (Arc<Cell>, Entity)>>,
    /// The threads, by the numbers of what they wait for.
    threads: Mutex<HashMap<u64, Watcher>>,
    /// The way to the thread that watches the guard conditions of workers.
    orders: Mutex<Option<Sender<Order>>>,
}

/// Order to the thread that watches workers.
enum Order {
    /// Watch the guard condition of a worker.
    Watch(Waitable),
    /// Create wait sets in advance.
    Fill,
    /// Add what could not be added at once.
    Add(Arc<Worker>, Scope, Waitable),
}

/// The time between two looks for the end of a callback whose primitive has no events.
const LENT_FOR: Duration = Duration::from_millis(1);

/// A thread that is blocked in a wait set.
struct Watcher {
    guard: Arc<Guard>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// The number of the thread that watches the workers' guard conditions.
const WORKERS: u64 = u64::MAX;

impl Registry {
    pub(super) fn add(&self, number: u64, cell: Arc<Cell>, entity: Entity) {
        self.members.lock().insert(number, (cell, entity));
    }

    /// Watches the guard condition of a worker, which rclrs triggers when it drops an entity.
    pub(super) fn watch(self: &Arc<Self>, shared: &Arc<Shared>, waitable: Waitable) -> Result<(), RclrsError> {
        let mut orders = self.orders.lock();
        if orders.is_some() {
            drop(orders);
            self.order(Order::Watch(waitable));
            return Ok(());
        }
        let Spare { mut set, guard } = shared.spares.create()?;
        set.add([waitable])?;
        let (sender, received) = channel();
        *orders = Some(sender);
        let (registry, shared_) = (Arc::downgrade(self), Arc::downgrade(shared));
        self.start(WORKERS, set, guard, "rospin-drops", move |set, stop| {
            watch_workers(set, stop, &received, &registry, &shared_);
        })
    }

    /// Adds an entity on another thread, which may wait for a lock of rclrs.
    pub(super) fn add_later(&self, worker: Arc<Worker>, scope: Scope, waitable: Waitable) {
        self.order(Order::Add(worker, scope, waitable));
    }

    /// Has another thread replace the wait set that was taken.
    pub(super) fn fill_spares(&self) {
        self.order(Order::Fill);
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &*self.orders.lock() {
            // Fails only while the executor is dropped.
            let _ = orders.send(order);
        }
        if let Some(watcher) = self.threads.lock().get(&WORKERS) {
            watcher.guard.trigger();
        }
    }

    /// Has a thread wait for a primitive without events: for the graph for ever, and for others until they show
    /// themselves.
    pub(super) fn pump(&self, number: u64, cell: &Arc<Cell>, guard: Arc<Guard>) -> Result<(), RclrsError> {
        let Some(set) = cell.take_unarmed() else { return Ok(()) };
        let cell = Arc::clone(cell);
        let name = if cell.kind() == Kind::Graph { "rospin-graph" } else { "rospin-first" };
        self.start(number, set, guard, name, move |set, stop| pump(set, stop, &cell))
    }

    /// Starts a thread that is blocked in `set` until the guard condition wakes it.
    fn start(
        &self,
        number: u64,
        mut set: WaitSet,
        guard: Arc<Guard>,
        name: &str,
        body: impl FnOnce(WaitSet, &AtomicBool) + Send + 'static,
    ) -> Result<(), RclrsError> {
        let (waitable, lifecycle) = guard.waitable();
        set.add([waitable])?;
        let stop = Arc::<AtomicBool>::default();
        let own_stop = Arc::clone(&stop);
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _lifecycle = lifecycle;
            body(set, &own_stop);
        });
        let thread = thread.map_err(|_: io::Error| failed())?;
        self.threads.lock().insert(number, Watcher { guard, stop, thread });
        Ok(())
    }

    /// Removes the entities that the user dropped. Returns false if some were in use and must be looked at again.
    fn sweep(&self, shared: &Shared) -> bool {
        self.sweep_threads();
        let cells: Vec<_> = self.members.lock().iter().map(|(number, (cell, _))| (*number, Arc::clone(cell))).collect();
        let mut saw_all = true;
        for (number, cell) in cells {
            match shared.looks.with_guard(|guard| cell.look_if_idle(guard)) {
                Some(true) => {
                    let member = self.members.lock().remove(&number);
                    drop(member);
                }
                Some(false) => {}
                None => saw_all = false,
            }
        }
        saw_all
    }

    /// Forgets the threads that have ended, and has the others look if their primitive has gone.
    fn sweep_threads(&self) {
        let mut threads = self.threads.lock();
        threads.retain(|_, watcher| !watcher.thread.is_finished());
        for (_, watcher) in threads.iter().filter(|(number, _)| **number != WORKERS) {
            watcher.guard.trigger();
        }
    }

    /// Ends the threads, and drops all entities.
    pub(super) fn clear(&self) {
        *self.orders.lock() = None;
        let threads = std::mem::take(&mut *self.threads.lock());
        for watcher in threads.values() {
            watcher.stop.store(true, Ordering::Release);
            watcher.guard.trigger();
        }
        for watcher in threads.into_values() {
            // A panic of the thread was reported.
            let _ = watcher.thread.join();
        }
        let members = std::mem::take(&mut *self.members.lock());
        drop(members);
    }
}

/// Sweeps whenever a worker's guard condition is triggered.
fn watch_workers(
    mut set: WaitSet,
    stop: &AtomicBool,
    orders: &Receiver<Order>,
    registry: &Weak<Registry>,
    shared: &Weak<Shared>,
) {
    let (mut limit, mut swept) = (None, Instant::now());
    while !stop.load(Ordering::Acquire) {
        let (Some(owner), Some(all)) = (registry.upgrade(), shared.upgrade()) else { return };
        let obeyed = orders.try_iter().try_for_each(|order| match order {
            Order::Watch(waitable) => set.add([waitable]),
            Order::Add(worker, scope, waitable) => {
                worker.add(&owner, all.spares.create()?, scope, waitable);
                Ok(())
            }
            Order::Fill => all.spares.fill(),
        });
        let looks = Arc::clone(&all.looks);
        drop((owner, all));
        if let Err(error) = obeyed.and_then(|()| wait(&mut set, limit, &looks)) {
            log_fatal!("rospin", "entities that are dropped stay in the executor: {error}");
            return;
        }
        let left = SWEPT_EVERY.saturating_sub(swept.elapsed());
        if !left.is_zero() {
            limit = Some(left);
            continue;
        }
        let (Some(registry), Some(shared)) = (registry.upgrade(), shared.upgrade()) else { return };
        limit = (!registry.sweep(&shared)).then_some(SWEPT_EVERY);
        swept = Instant::now();
    }
}

/// Waits until a guard condition is triggered, and tells the cells.
fn wait(set: &mut WaitSet, limit: Option<Duration>, looks: &Looks) -> Result<(), RclrsError> {
    set.wait(limit, |_, _| Ok(())).map(|()| looks.note_change()).or_else(ignore_timeout)
}

/// Waits for one primitive: runs the graph's, and arms another one when it shows itself.
fn pump(mut set: WaitSet, stop: &AtomicBool, cell: &Cell) {
    let is_graph = cell.kind() == Kind::Graph;
    while !stop.load(Ordering::Acquire) {
        let (mut has_shown_itself, mut is_armed) = (false, false);
        let waited = set.wait(None, |ready, primitive| {
            if is_graph {
                // SAFETY: guard conditions have no payload.
                return unsafe { primitive.execute(ready, &mut ()) };
            }
            if primitive.kind() != RclPrimitiveKind::GuardCondition {
                has_shown_itself = true;
                is_armed = cell.arm_first(primitive);
            }
            Ok(())
        });
        if let Err(error) = waited {
            log_fatal!("rospin", "no more work comes from a {}: {error}", cell.kind().name());
            return;
        }
        let has_gone = if is_graph { set.count().guard_conditions < 2 } else { is_empty(&set) };
        if has_gone || is_armed {
            break;
        }
        if has_shown_itself {
            set = match lend(set, stop, cell) {
                Some(set) => set,
                None => return,
            };
        }
    }
    if !is_graph {
        give_back(set, cell);
    }
}

/// Gives a cell its wait set back, and has the executor look into it: what came before found none.
fn give_back(set: WaitSet, cell: &Cell) {
    cell.put_back(set);
    cell.bell().ring(1);
    cell.bell().wake();
}

/// Lets the executor take one item, since the middleware has no events for the primitive, and returns the wait set
/// after that.
fn lend(set: WaitSet, stop: &AtomicBool, cell: &Cell) -> Option<WaitSet> {
    give_back(set, cell);
    while cell.bell().count() > 0 || cell.is_busy() {
        if stop.load(Ordering::Acquire) {
            return None;
        }
        thread::sleep(LENT_FOR);
    }
    cell.take_unarmed()
}
