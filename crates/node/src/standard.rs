//! Default services of a node for others: its parameters, its types, and its log records.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rospin_engine::ExecutorHandle;

use crate::arguments::RosArguments;
use crate::dynamic::{ServeTypesError, TypeDescriptionServer, declare_start};
use crate::error::ServiceError;
use crate::node::{Node, NodeError, NodeOptions};
use crate::parameters::{ParameterServer, ServeParametersError};
use crate::rosout::Rosout;

/// Entities for a node's parameters, types and log records that were created with the node, on the executor of its own
/// group. They end with the node, or when the program has another executor take over.
#[derive(Default)]
pub(crate) struct Standard(Mutex<Held>);

#[derive(Default)]
struct Held {
    parameters: Option<ParameterServer>,
    type_descriptions: Option<TypeDescriptionServer>,
    rosout: Option<Rosout>,
}

impl Standard {
    fn lock(&self) -> MutexGuard<'_, Held> {
        // A panic leaves nothing half changed, so the lock's poison is ignored.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the parameter services, because others take their place.
    pub(crate) fn end_parameters(&self) {
        let ended = self.lock().parameters.take();
        drop(ended);
    }

    /// Ends the service that describes types, because another one takes its place.
    pub(crate) fn end_type_descriptions(&self) {
        let ended = self.lock().type_descriptions.take();
        drop(ended);
    }

    /// Ends the publication of log records, because another one takes its place.
    pub(crate) fn end_rosout(&self) {
        let ended = self.lock().rosout.take();
        drop(ended);
    }
}

/// Default services that a new node has.
pub(crate) struct Offers {
    parameters: bool,
    type_descriptions: bool,
    rosout: bool,
}

impl Offers {
    pub(crate) const fn new(options: &NodeOptions, arguments: &RosArguments) -> Self {
        Self {
            parameters: options.serves_parameters,
            type_descriptions: options.serves_type_descriptions,
            rosout: options.publishes_rosout && (arguments.logs_to_rosout() || !options.uses_arguments),
        }
    }
}

impl Node {
    /// Starts the default services that `offers` has, on `executor`. If the middleware refuses a service of the
    /// parameters or that of the types, they are not served, and the log has a warning.
    pub(crate) fn offer(&self, offers: Offers, executor: &ExecutorHandle) -> Result<(), NodeError> {
        // The entities hold this node. It does not hold the entities, so they do not keep themselves alive.
        let node = self.without_standard();
        let failed = |reason: String| NodeError::Offer { node: self.node_name().clone(), reason };
        let rosout = offers.rosout.then(|| node.publish_rosout(executor)).transpose();
        let rosout = rosout.map_err(|error| failed(error.to_string()))?;
        // The parameter is declared first, so that the first event of the parameters has it.
        let describes_types = match offers.type_descriptions {
            true => declare_start(&node).map_err(|error| failed(error.to_string()))?,
            false => false,
        };
        let type_descriptions = match describes_types.then(|| node.serve_type_descriptions(executor)).transpose() {
            Err(ServeTypesError::Service(error @ ServiceError::Refused { .. })) => {
                log::warn!(target: "rospin", "node `{}` does not describe its types: {error}", self.node_name());
                None
            }
            served => served.map_err(|error| failed(error.to_string()))?,
        };
        let parameters = match offers.parameters.then(|| node.serve_parameters(executor)).transpose() {
            // Another node of the same name probably serves its own parameters. ROS tolerates such nodes.
            Err(ServeParametersError::Service(error @ ServiceError::Refused { .. })) => {
                log::warn!(target: "rospin", "node `{}` does not serve its parameters: {error}", self.node_name());
                None
            }
            served => served.map_err(|error| failed(error.to_string()))?,
        };
        *self.standard.lock() = Held { parameters, type_descriptions, rosout };
        Ok(())
    }
}
