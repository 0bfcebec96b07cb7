//! Default services of a node for others: its parameters, its types, and its log records.

use rospin_engine::ExecutorHandle;

use super::arguments::RosArguments;
use super::options::{NodeError, NodeOptions};
use crate::error::ServiceError;
use crate::features::dynamic::{ServeTypesError, TypeDescriptionServer, declare_start};
use crate::features::parameters::{ParameterServer, ServeParametersError};
use crate::features::rosout::Rosout;
use crate::node::Node;

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
        let node = self.without_kept();
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
        if let Some(parameters) = parameters {
            self.keep::<ParameterServer>(parameters);
        }
        if let Some(type_descriptions) = type_descriptions {
            self.keep::<TypeDescriptionServer>(type_descriptions);
        }
        if let Some(rosout) = rosout {
            self.keep::<Rosout>(rosout);
        }
        Ok(())
    }
}
