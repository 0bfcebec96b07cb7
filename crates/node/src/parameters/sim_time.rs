//! The parameter `use_sim_time`.

use std::sync::Arc;

use rospin_engine::ExecutorHandle;

use super::error::DeclareError;
use super::options::ParameterOptions;
use super::server::ServeParametersError;
use super::store::Store;
use super::value::{ParameterSetting, ParameterValue};
use crate::clock::SimTime;
use crate::interfaces::rcl_interfaces::ParameterType;
use crate::node::Node;

const NAME: &str = "use_sim_time";

/// Declares the parameter, unless the user has declared it, and returns its value.
pub(super) fn declare(store: &Arc<Store>) -> Result<bool, ServeParametersError> {
    let options = ParameterOptions::from(false).description("whether ROS time follows the topic /clock");
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

    /// Switches, if the parameter is among those that were set.
    pub(super) fn after(&mut self, set: &[ParameterSetting]) {
        let changed = set.iter().rfind(|setting| setting.name == NAME);
        let Some(ParameterValue::Bool(on)) = changed.map(|setting| &setting.value) else {
            return;
        };
        if let Err(error) = self.turn(*on) {
            let node = self.node.fully_qualified_name();
            log::error!(target: "rospin", "node `{node}` cannot follow /clock, though {NAME} is true: {error}");
        }
    }
}
