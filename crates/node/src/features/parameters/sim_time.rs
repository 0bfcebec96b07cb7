//! The parameter `use_sim_time`.

use std::sync::{Arc, PoisonError, Weak};

use rospin_engine::ExecutorHandle;

use super::error::{DeclareError, ServeParametersError};
use super::options::ParameterOptions;
use super::store::Store;
use super::value::{ParameterSetting, ParameterValue};
use crate::features::clock::SimTime;
use crate::interfaces::rcl_interfaces::ParameterType;
use crate::node::Node;
use crate::sync::{Mutex, MutexGuard};

pub(super) const NAME: &str = "use_sim_time";

/// The parameters of a context's nodes, which have one ROS time: `use_sim_time` has the same value in all of them.
#[derive(Default)]
pub(crate) struct OneTime {
    /// Locked while the value passes from one node to the others, so that they agree in the end.
    stores: Mutex<Vec<Weak<Store>>>,
}

impl OneTime {
    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Store>>> {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Declares the parameter, unless the user has declared it, and returns its value: that of the context's other
    /// nodes, unless this node was given one. If the others were given none, they get it from this node.
    pub(super) fn declare(&self, store: &Arc<Store>) -> Result<bool, ServeParametersError> {
        let mut stores = self.lock();
        stores.retain(|other| other.strong_count() > 0);
        let others: Vec<Arc<Store>> = stores.iter().filter_map(Weak::upgrade).collect();
        let of_others = others.iter().any(|other| is_on(other));
        let value = declare(store, of_others)?;
        if value != of_others {
            if let Some(other) = others.iter().find(|other| is_on(other) || other.is_given(NAME)) {
                return Err(ServeParametersError::TwoTimes {
                    node: store.node.clone(),
                    value,
                    other: other.node.clone(),
                });
            }
            set_all(&others, value);
        }
        if !others.iter().any(|other| Arc::ptr_eq(other, store)) {
            stores.push(Arc::downgrade(store));
        }
        Ok(value)
    }

    /// Sets the parameter of the context's other nodes to the value that it has in `store` by now.
    pub(super) fn spread(&self, store: &Store) {
        let stores = self.lock();
        let value = is_on(store);
        let is_another = |other: &Arc<Store>| !std::ptr::eq(Arc::as_ptr(other), store) && is_on(other) != value;
        let others: Vec<Arc<Store>> = stores.iter().filter_map(Weak::upgrade).filter(is_another).collect();
        set_all(&others, value);
        if !others.is_empty() {
            let names: Vec<&str> = others.iter().map(|other| other.node.as_str()).collect();
            let node = &store.node;
            log::info!(
                target: "rospin",
                "`{NAME}` is {value} in node `{node}`, and so in all nodes of its context, which have one ROS time: {}",
                names.join(", ")
            );
        }
    }
}

fn set_all(others: &[Arc<Store>], value: bool) {
    for other in others {
        if let Err(error) = other.set_here(vec![ParameterSetting::new(NAME, value)]) {
            let node = &other.node;
            log::warn!(target: "rospin", "ROS time follows the others of its context, though node `{node}` refuses `{NAME}`: {error}");
        }
    }
}

/// Declares the parameter, unless the user has declared it, and returns its value.
fn declare(store: &Arc<Store>, of_others: bool) -> Result<bool, ServeParametersError> {
    let text = "whether ROS time follows the topic /clock, in all nodes of the process or of its context";
    let options = ParameterOptions::from(of_others).description(text);
    match store.declare::<bool>(NAME, options) {
        Ok(parameter) => Ok(parameter.get()),
        Err(DeclareError::AlreadyDeclared { .. }) => {
            let is_bool =
                store.descriptor(NAME).is_some_and(|descriptor| descriptor.r#type == ParameterType::PARAMETER_BOOL);
            if is_bool { Ok(is_on(store)) } else { Err(ServeParametersError::NoBool) }
        }
        Err(error) => Err(error.into()),
    }
}

fn is_on(store: &Store) -> bool {
    store.value(NAME) == Some(ParameterValue::Bool(true))
}

/// Switch that makes ROS time follow `/clock` while the parameter is true.
pub(super) struct Switch {
    node: Node,
    executor: ExecutorHandle,
    on: Option<SimTime>,
}

impl Switch {
    pub(super) fn new(node: &Node, executor: &ExecutorHandle) -> Self {
        Self { node: node.clone(), executor: executor.clone(), on: None }
    }

    /// Makes ROS time follow `/clock`, or ends that. Does nothing if it is so already.
    pub(super) fn turn(&mut self, on: bool) -> Result<(), crate::error::TopicError> {
        if !on {
            if let Some(sim_time) = self.on.take() {
                sim_time.end();
            }
        } else if self.on.is_none() {
            let time = self.executor.context().ros_time();
            self.on = Some(self.node.use_sim_time(&self.executor, &time)?);
        }
        Ok(())
    }

    /// Switches, if the parameter is among those that were set, each of which is there once.
    pub(super) fn after(&mut self, set: &[ParameterSetting]) {
        let changed = set.iter().find(|setting| setting.name == NAME);
        let Some(ParameterValue::Bool(on)) = changed.map(|setting| &setting.value) else {
            return;
        };
        if let Err(error) = self.turn(*on) {
            let node = self.node.fully_qualified_name();
            log::error!(target: "rospin", "node `{node}` cannot follow /clock, though {NAME} is true: {error}");
        }
    }
}
