//! The components that a container has.

use std::any::Any;
use std::collections::BTreeMap;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rospin_node::{NodeName, NodeOptions, Ros};

use crate::components::{Maker, Setup};
use crate::ending::{ContainerHandle, Ending};
use crate::executors::Executors;

/// Error of a component's constructor, or the message of its panic.
pub(crate) struct LoadError(pub(crate) Box<dyn Error + Send + Sync>);

/// Description of a component that is to be created.
pub(crate) struct NewComponent {
    /// The name of the node, before the program's arguments rename it.
    pub(crate) name: NodeName,
    pub(crate) options: NodeOptions,
    /// The name of the executor.
    pub(crate) executor: String,
}

/// The components of a container, by the ids under which other programs know them, and their executors.
pub(crate) struct Loaded {
    pub(crate) executors: Executors,
    ending: Arc<Ending>,
    components: Mutex<Numbered>,
}

#[derive(Default)]
struct Numbered {
    /// The id that was given last. The first one is 1, as in rclcpp, and none is given twice.
    last: u64,
    components: BTreeMap<u64, Component>,
}

struct Component {
    /// The full name of the component's node.
    node: String,
    /// The name of its executor; `None` if it has one of a library.
    executor: Option<String>,
    /// Handles that keep the component alive.
    _handles: Box<dyn Any + Send>,
}

impl Loaded {
    pub(crate) fn new(executors: Executors, ending: &Arc<Ending>) -> Self {
        Self { executors, ending: Arc::clone(ending), components: Mutex::default() }
    }

    /// Creates a component. Returns its id, and the full name of its node.
    pub(crate) fn load(&self, make: &Maker, ros: &Ros, new: NewComponent) -> Result<(u64, String), LoadError> {
        let NewComponent { name, options, executor } = new;
        let node = ros.name_of_node(options.clone()).unwrap_or_else(|_| name.clone()).to_string();
        let handle = self.executors.take(&executor);
        let setup = Setup {
            options: options.executor(&handle),
            ros: ros.clone(),
            executor: handle,
            container: ContainerHandle { ending: Arc::clone(&self.ending), component: Some(name.to_string()) },
            name,
        };
        let started = catch_unwind(AssertUnwindSafe(|| make(setup)));
        let started = started.unwrap_or_else(|panic| Err(format!("it panicked: {}", message(&*panic)).into()));
        match started {
            Ok(handles) => {
                let id = self.keep(Component { node: node.clone(), executor: Some(executor), _handles: handles });
                Ok((id, node))
            }
            Err(reason) => {
                self.executors.release(&executor);
                Err(LoadError(reason))
            }
        }
    }

    /// Takes over a component that was created elsewhere. Returns its id.
    pub(crate) fn adopt(&self, node: String, handles: Box<dyn Any + Send>) -> u64 {
        self.keep(Component { node, executor: None, _handles: handles })
    }

    fn keep(&self, component: Component) -> u64 {
        let mut numbered = self.lock();
        numbered.last += 1;
        let id = numbered.last;
        numbered.components.insert(id, component);
        id
    }

    pub(crate) const fn ending(&self) -> &Arc<Ending> {
        &self.ending
    }

    /// Drops the component with that id. Returns false if there is none.
    pub(crate) fn unload(&self, id: u64) -> bool {
        // A statement of its own, so that the lock is released before the component's code runs.
        let component = self.lock().components.remove(&id);
        let Some(component) = component else { return false };
        let executor = component.executor.clone();
        drop(component);
        if let Some(executor) = executor {
            self.executors.release(&executor);
        }
        true
    }

    /// Drops all components, the last one first, because a component may depend on earlier ones.
    pub(crate) fn unload_all(&self) {
        loop {
            let last = self.lock().components.last_key_value().map(|(id, _)| *id);
            let Some(last) = last else { return };
            self.unload(last);
        }
    }

    /// Returns the ids of the components and the full names of their nodes.
    pub(crate) fn list(&self) -> Vec<(u64, String)> {
        self.lock().components.iter().map(|(id, component)| (*id, component.node.clone())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Numbered> {
        // Nothing of a component runs under the lock, so a panic leaves nothing half changed.
        self.components.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the message of a panic.
fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(a value that is not text)")
}
