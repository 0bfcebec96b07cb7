//! Components: constructors that a program registers, and the set-up that they get.

use std::any::Any;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use rospin_engine::ExecutorHandle;
use rospin_node::{Node, NodeError, NodeName, NodeOptions, Ros};

use crate::ending::ContainerHandle;

/// The handles that keep a component alive, or the reason why it did not start.
pub(crate) type Started = Result<Box<dyn Any + Send>, Box<dyn Error + Send + Sync>>;

pub(crate) type Maker = Arc<dyn Fn(Setup) -> Started + Send + Sync>;

/// The components that a program can start, by the names of their types.
///
/// Cheap to clone. The [crate](crate) has an example.
#[derive(Clone)]
pub struct Components {
    makers: BTreeMap<String, Maker>,
    /// Where installed packages are looked for that have libraries of components. Empty if there are none.
    prefixes: Vec<PathBuf>,
}

impl Components {
    /// Returns a set without components.
    #[must_use]
    pub fn new() -> Self {
        Self { makers: BTreeMap::new(), prefixes: Vec::new() }
    }

    /// Adds a component. `type_name`, such as `demo::Talker`, is its name in component files and for
    /// `ros2 component load`. A component of the same name is replaced.
    ///
    /// `make` creates the node, groups and entities. It returns their handles, which live until the container ends. No
    /// callback runs before the container [runs](crate::Container::run).
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
        let make: Maker = Arc::new(move |setup| match make(setup) {
            Ok(component) => Ok(Box::new(component)),
            Err(error) => Err(error.into()),
        });
        self.makers.insert(type_name.into(), make);
        self
    }

    /// Adds the components in shared libraries of installed packages, for [`serve`](crate::Container::serve): below the
    /// folders that the environment variable `AMENT_PREFIX_PATH` lists, as `ros2` finds packages.
    ///
    /// A library is a crate of its own, which [`component_library`](crate::component_library) makes one. Its package
    /// has an entry in the ament index, `share/ament_index/resource_index/rclcpp_components/PACKAGE`, with a line such as
    /// `demo::Talker;lib/libdemo.so` for each component. `ros2 component types` lists them.
    ///
    /// Whoever can call the container's services can then run any such library of those packages in this process, as
    /// with rclcpp's `component_container`.
    ///
    /// # Limits
    /// A library has its own copy of rospin: its own context, executors, log and connection to the middleware. So it may
    /// be of another compiler and another release than the program. Messages between it and the rest of the process go
    /// through the middleware, as between processes; those within a library are shared. It stays in the process, with
    /// its threads, when its last component is unloaded. If one of its components ends its container, the program's
    /// container ends, and nothing more can be loaded from the library in that process.
    #[must_use]
    pub fn libraries_from_env(self) -> Self {
        let prefixes = std::env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
        self.libraries_in(std::env::split_paths(&prefixes).filter(|prefix| !prefix.as_os_str().is_empty()))
    }

    /// Adds the components in shared libraries of the packages that are installed below these folders, as
    /// [`libraries_from_env`](Self::libraries_from_env) does. The first folder that has a package counts.
    #[must_use]
    pub fn libraries_in(mut self, prefixes: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        self.prefixes.extend(prefixes.into_iter().map(Into::into));
        self
    }

    /// Returns the folders of [`libraries_in`](Self::libraries_in).
    pub(crate) fn prefixes(&self) -> &[PathBuf] {
        &self.prefixes
    }

    /// Returns the names of the registered components' types, sorted.
    pub fn type_names(&self) -> impl Iterator<Item = &str> {
        self.makers.keys().map(String::as_str)
    }

    /// Returns the names of the registered components' types for an error message.
    pub(crate) fn known(&self) -> String {
        let known: Vec<_> = self.type_names().map(|name| format!("`{name}`")).collect();
        if known.is_empty() { "none".to_owned() } else { known.join(", ") }
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

/// Set-up of one component: its node's name and options, and the executor and container that it belongs to.
#[derive(Debug)]
pub struct Setup {
    pub(crate) name: NodeName,
    pub(crate) options: NodeOptions,
    pub(crate) ros: Ros,
    pub(crate) executor: ExecutorHandle,
    pub(crate) container: ContainerHandle,
}

impl Setup {
    /// Creates the node with the name, the namespace and the remapping rules of the file or the request, and with its
    /// own group on the component's executor. Its parameters get the file's values when they are
    /// [declared](Node::declare_parameter).
    ///
    /// # Errors
    /// If the middleware cannot create the node.
    pub fn create_node(&self) -> Result<Node, NodeError> {
        self.ros.create_node(self.options.clone())
    }

    /// Returns the options that [`create_node`](Self::create_node) uses, for other kinds of nodes such as
    /// [`LifecycleNode`](rospin_node::LifecycleNode).
    #[must_use]
    pub fn node_options(&self) -> NodeOptions {
        self.options.clone()
    }

    /// Returns the full name that the file or the request gives the component's node. The program's
    /// [arguments](rospin_node::RosArguments) may rename the node.
    #[must_use]
    pub fn name(&self) -> &NodeName {
        &self.name
    }

    /// Returns the [`Ros`] on which the component's node is created.
    #[must_use]
    pub fn ros(&self) -> &Ros {
        &self.ros
    }

    /// Returns the executor for the component's groups. A deployment file may move groups to other executors. It finds
    /// them by the group's node and name, so set both in the options of each group.
    #[must_use]
    pub fn executor(&self) -> &ExecutorHandle {
        &self.executor
    }

    /// Returns a handle with which the component's callbacks can end the container.
    #[must_use]
    pub fn container(&self) -> ContainerHandle {
        self.container.clone()
    }
}
