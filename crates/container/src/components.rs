//! What a program can start, and what a component is started with.

use std::any::Any;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use rospin_engine::ExecutorHandle;
use rospin_node::{Node, NodeError, NodeName, NodeOptions, Ros};

use crate::ending::ContainerHandle;

/// What keeps a component alive, or why it did not start.
pub(crate) type Started = Result<Box<dyn Any + Send>, Box<dyn Error + Send + Sync>>;

type Maker = Box<dyn Fn(Setup) -> Started + Send + Sync>;

/// The components that a program could start, by the names of their types.
///
/// See the [crate](crate) for an example.
pub struct Components {
    makers: BTreeMap<String, Maker>,
}

impl Components {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self { makers: BTreeMap::new() }
    }

    /// Adds one: `type_name`, such as `demo::Talker`, is what component files call it. One of the same name makes room for it.
    ///
    /// `make` creates node, groups and entities. What it returns, their handles, lives until the container ends. Nothing of it
    /// runs before all components are there.
    #[must_use]
    pub fn register<T, E>(
        mut self,
        type_name: impl Into<String>,
        make: impl Fn(Setup) -> Result<T, E> + Send + Sync + 'static,
    ) -> Self
    where
        T: Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let make: Maker = Box::new(move |setup| match make(setup) {
            Ok(component) => Ok(Box::new(component)),
            Err(error) => Err(error.into()),
        });
        self.makers.insert(type_name.into(), make);
        self
    }

    /// The names, sorted.
    pub fn type_names(&self) -> impl Iterator<Item = &str> {
        self.makers.keys().map(String::as_str)
    }

    pub(crate) fn maker(&self, type_name: &str) -> Option<&Maker> {
        self.makers.get(type_name)
    }
}

impl Default for Components {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Components {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.makers.keys()).finish()
    }
}

/// What a component is started with.
#[derive(Debug)]
pub struct Setup {
    pub(crate) name: NodeName,
    pub(crate) options: NodeOptions,
    pub(crate) ros: Ros,
    pub(crate) executor: ExecutorHandle,
    pub(crate) container: ContainerHandle,
}

impl Setup {
    /// Creates the node, with the name, the namespace and the names of topics and services that the file gives it. What the file
    /// has its parameters begin with they get when they are [declared](Node::declare_parameter).
    ///
    /// # Errors
    /// If the middleware refuses.
    pub fn create_node(&self) -> Result<Node, NodeError> {
        self.ros.create_node(self.options.clone())
    }

    /// As [`create_node`](Self::create_node) would create it: for nodes of other kinds, such as
    /// [`LifecycleNode`](rospin_node::LifecycleNode).
    #[must_use]
    pub fn node_options(&self) -> NodeOptions {
        self.options.clone()
    }

    /// The node's name.
    #[must_use]
    pub fn name(&self) -> &NodeName {
        &self.name
    }

    /// What its nodes talk through.
    #[must_use]
    pub fn ros(&self) -> &Ros {
        &self.ros
    }

    /// Where its groups go, unless a deployment file says otherwise: that looks for groups by node and name, so give both to
    /// them.
    #[must_use]
    pub fn executor(&self) -> &ExecutorHandle {
        &self.executor
    }

    /// The container, as the component's callbacks need it to end everything.
    #[must_use]
    pub fn container(&self) -> ContainerHandle {
        self.container.clone()
    }
}
