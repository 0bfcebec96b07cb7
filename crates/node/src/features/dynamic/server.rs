//! The service that describes a node's types to other nodes.

use std::fmt;
use std::sync::Arc;

use rospin_dynamic::MessageType;
use rospin_engine::{ExecutorHandle, GroupOptions, LossCause};

use crate::error::ServiceError;
use crate::features::parameters::{DeclareError, ParameterOptions};
use crate::interfaces::type_description_interfaces::GetTypeDescriptionRequest;
use crate::node::Node;
use crate::options::ServiceOptions;
use crate::service::Service;

/// The service's name, below the node's.
pub(super) const SERVICE: &str = "get_type_description";

/// Reasons for which the types of a node could not be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeTypesError {
    /// The node's types are served already.
    #[error("the types of node `{node}` are served already; keep what the first call returned")]
    AlreadyServed {
        /// Fully qualified name of the node.
        node: String,
    },
    /// The service could not be created.
    #[error(transparent)]
    Service(#[from] ServiceError),
}

/// Server that describes the types of a node's endpoints to other nodes. Ends when it is dropped.
#[must_use = "the service is removed when it is dropped"]
pub struct TypeDescriptionServer {
    server: Service,
    _serving: Serving,
}

impl TypeDescriptionServer {
    /// Returns the number of requests that newer ones displaced before the executor could answer them.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.server.lost(LossCause::QueueFull)
    }
}

impl fmt::Debug for TypeDescriptionServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypeDescriptionServer").field("service", &self.server.name()).finish_non_exhaustive()
    }
}

/// The parameter that starts the service with the node, as in rclcpp and rclpy.
const START: &str = "start_type_description_service";

/// Declares the parameter, and returns its value.
pub(crate) fn declare_start(node: &Node) -> Result<bool, DeclareError> {
    let options = ParameterOptions::from(true).description("whether the node has the service ~/get_type_description");
    Ok(node.declare_parameter::<bool>(START, options.read_only())?.get())
}

/// Mark that the types of a node are served, until this is dropped.
struct Serving(Node);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.known().end_to_serve();
    }
}

impl Node {
    /// Adds a type that the node can [describe to others](Self::serve_type_descriptions), such as that of a Rust type
    /// that was written by hand. Generated types, and those of dynamic publishers and subscriptions, are added when an
    /// endpoint is created. The node keeps all of them.
    pub fn add_message_type(&self, message_type: &MessageType) {
        self.known().add(message_type);
    }

    /// Describes the types of the node's endpoints, the types that these contain, and those that were
    /// [added](Self::add_message_type), to other nodes and tools. By default, the executor of the node's own group does
    /// that; this method has `executor` do it instead. It answers the service `~/get_type_description`, in a group
    /// called `type_descriptions`, which a deployment file can move. Answers have no source texts of the types.
    ///
    /// ```
    /// # use rospin::{Context, ContextOptions, ExecutorOptions, Node, Ros, SpinOptions};
    /// # use rospin::dynamic::MessageType;
    /// # let prefixes = [concat!(env!("CARGO_MANIFEST_DIR"), "/../dynamic/tests/install")];
    /// # let context = Context::new(ContextOptions::new());
    /// # let executor = context.create_executor(ExecutorOptions::new("main"));
    /// # let ros = Ros::in_process(&context);
    /// let driver = ros.create_node("driver")?;
    /// let twist = MessageType::find_in("geometry_msgs/msg/Twist", &prefixes)?;
    /// let _publisher = driver.create_dynamic_publisher("cmd_vel", &twist)?;
    /// let _server = driver.serve_type_descriptions(&executor.handle())?;
    ///
    /// let other = ros.create_node("other")?;
    /// let learned = other.message_type_of(&executor.handle(), "/cmd_vel");
    /// assert_eq!(executor.spin_until(learned, SpinOptions::new())??, twist);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the types are served already, the middleware refuses, or the executor was dropped.
    pub fn serve_type_descriptions(&self, executor: &ExecutorHandle) -> Result<TypeDescriptionServer, ServeTypesError> {
        self.end_kept::<TypeDescriptionServer>();
        let node = self.fully_qualified_name();
        if !self.known().begin_to_serve() {
            return Err(ServeTypesError::AlreadyServed { node });
        }
        let serving = Serving(self.clone());
        let group = executor.create_group(GroupOptions::new("type_descriptions").node(node.clone()), ());
        let options = ServiceOptions::new(format!("~/{SERVICE}")).name(format!("/{}", group.entity_name(SERVICE)));
        let known = Arc::clone(self.known());
        let generated = Arc::clone(self.described_types());
        let answer = move |request: GetTypeDescriptionRequest| known.answer(&request, &generated);
        let server = self.on(&group).create_service(options, answer)?;
        Ok(TypeDescriptionServer { server, _serving: serving })
    }
}
