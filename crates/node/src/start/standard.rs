//! Default services of a node for others: its parameters, its types, and its log records.

use std::fmt;

use rospin_engine::ExecutorHandle;

use super::arguments::RosArguments;
use super::options::{NodeError, NodeOptions};
use crate::error::ServiceError;
use crate::features::dynamic::{ServeTypesError, TypeDescriptionServer, declare_start};
use crate::features::parameters::{ParameterServer, ServeParametersError};
use crate::features::rosout::Rosout;
use crate::node::Node;

/// Default services that a new node has.
pub(super) struct Offers {
    parameters: bool,
    type_descriptions: bool,
    rosout: bool,
}

impl Offers {
    pub(super) const fn new(options: &NodeOptions, arguments: &RosArguments) -> Self {
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
    pub(super) fn offer(&self, offers: Offers, executor: &ExecutorHandle) -> Result<(), NodeError> {
        // The entities hold this node. It does not hold the entities, so they do not keep themselves alive.
        let node = self.without_kept();
        let failed =
            |reason: &dyn fmt::Display| NodeError::Offer { node: self.node_name().clone(), reason: reason.to_string() };
        let mut rosout = None;
        if offers.rosout {
            rosout = Some(node.publish_rosout(executor).map_err(|error| failed(&error))?);
        }
        // The parameter is declared first, so that the first event of the parameters has it.
        let mut describes_types = false;
        if offers.type_descriptions {
            describes_types = declare_start(&node).map_err(|error| failed(&error))?;
        }
        let mut type_descriptions = None;
        if describes_types {
            match node.serve_type_descriptions(executor) {
                Ok(server) => type_descriptions = Some(server),
                Err(ServeTypesError::Service(error @ ServiceError::Refused { .. })) => {
                    log::warn!(target: "rospin", "node `{}` does not describe its types: {error}", self.node_name());
                }
                Err(error) => return Err(failed(&error)),
            }
        }
        let mut parameters = None;
        if offers.parameters {
            match node.serve_parameters(executor) {
                Ok(server) => parameters = Some(server),
                // Another node of the same name probably serves its own parameters. ROS tolerates such nodes.
                Err(ServeParametersError::Service(error @ ServiceError::Refused { .. })) => {
                    log::warn!(target: "rospin", "node `{}` does not serve its parameters: {error}", self.node_name());
                }
                Err(error) => return Err(failed(&error)),
            }
        }
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
