//! Wait sets and guard conditions that were created in advance.
//!
//! rclrs holds the lock of its context while it adds the entities of a new node. Creating a wait set or a guard
//! condition takes that lock, so the thread that adds takes one that is there already, and another thread replaces it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rclrs::{Context, RclrsError, WaitSet};

use super::guard::Guard;

/// The number of wait sets that are kept: a node has a graph, six services and perhaps a clock.
const SETS: usize = 16;

/// The number of guard conditions that are kept, for timers and action servers.
const GUARDS: usize = 4;

/// The longest time to wait for another thread. It is used up only while rclrs holds the lock.
const PATIENCE: Duration = Duration::from_millis(2);

/// Wait set and guard condition that are needed to add an entity.
pub(super) struct Spare {
    pub(super) set: WaitSet,
    pub(super) guard: Arc<Guard>,
}

/// The stock.
pub(super) struct Spares {
    context: Context,
    stock: Mutex<Stock>,
    filled: Condvar,
}

#[derive(Default)]
struct Stock {
    sets: Vec<WaitSet>,
    guards: Vec<Arc<Guard>>,
}

impl Spares {
    pub(super) fn new(context: Context) -> Self {
        Self { context, stock: Mutex::default(), filled: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Stock> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what an entity needs; gives the guard condition back by [`return_guard`](Self::return_guard) if it needs
    /// none. `None` if there is nothing in time.
    pub(super) fn take(&self) -> Option<Spare> {
        let is_short = |stock: &mut Stock| stock.sets.is_empty() || stock.guards.is_empty();
        let waited = self.filled.wait_timeout_while(self.lock(), PATIENCE, is_short);
        let (mut stock, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if is_short(&mut stock) {
            return None;
        }
        Some(Spare { set: stock.sets.pop()?, guard: stock.guards.pop()? })
    }

    pub(super) fn return_guard(&self, guard: Arc<Guard>) {
        self.lock().guards.push(guard);
    }

    /// Creates what is missing. Takes the lock of rclrs's context.
    pub(super) fn fill(&self) -> Result<(), RclrsError> {
        while self.lock().sets.len() < SETS {
            let set = WaitSet::new(&self.context)?;
            self.lock().sets.push(set);
            self.filled.notify_all();
        }
        while self.lock().guards.len() < GUARDS {
            let guard = Guard::new(&self.context)?;
            self.lock().guards.push(guard);
            self.filled.notify_all();
        }
        Ok(())
    }

    /// Creates what one entity needs. Takes the lock of rclrs's context.
    pub(super) fn create(&self) -> Result<Spare, RclrsError> {
        Ok(Spare { set: WaitSet::new(&self.context)?, guard: Guard::new(&self.context)? })
    }
}
