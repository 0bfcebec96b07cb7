//! Containers: components, and the executors and threads that run them.

use std::fmt;
use std::sync::Arc;

use rospin_engine::{Context, ExecutorHandle};
use rospin_node::{NameError, Node, NodeName, NodeOptions, ParameterValue, Ros, Service};

use crate::components::Components;
use crate::composition;
use crate::ending::{ContainerHandle, Ended, Ending};
use crate::error::{RunError, ServeError, StartError};
use crate::executors::Executors;
use crate::file::{ComponentFile, ComponentPlan};
use crate::loaded::{LoadError, Loaded, NewComponent};
use crate::signals::Listening;

/// Name of the executor that every container has.
const OWN_EXECUTOR: &str = "container";

/// Container of components, which it runs until one of them or the program ends the container. Every executor has a
/// thread of its own.
///
/// The [crate](crate) has an example.
#[must_use = "nothing runs before `run` is called"]
pub struct Container {
    /// The services for other programs. Dropped first, so that nobody loads a component while the others are dropped.
    servers: Vec<(Node, [Service; 3])>,
    loaded: Arc<Loaded>,
    ending: Arc<Ending>,
}

impl Container {
    /// Returns a container without components. It has one executor, called `container`.
    pub fn new(context: &Context) -> Self {
        let ending = Arc::default();
        let loaded = Loaded::new(Executors::new(context, OWN_EXECUTOR, &ending), &ending);
        Self { servers: Vec::new(), loaded: Arc::new(loaded), ending }
    }

    /// Returns the executor called `container`. It suits work that a process has only once, such as a middleware's
    /// discovery.
    #[must_use]
    pub fn executor(&self) -> ExecutorHandle {
        self.loaded.executors.own()
    }

    pub(crate) const fn loaded(&self) -> &Arc<Loaded> {
        &self.loaded
    }

    /// Returns a handle that can end the container.
    #[must_use]
    pub fn handle(&self) -> ContainerHandle {
        ContainerHandle { ending: Arc::clone(&self.ending), component: None }
    }

    /// Lets other programs, such as `ros2 component` and launch files, load, unload and list components, as rclcpp's
    /// `component_container` does. `node` gets the services `~/_container/load_node`, `unload_node` and `list_nodes`,
    /// in a group called `components` on the executor [`container`](Self::executor). By custom the node is called
    /// `ComponentManager`.
    ///
    /// The package and the plugin of a request name a registered component: the one of the type `PACKAGE/PLUGIN`, or
    /// else the one of the type `PLUGIN`. If there is none, the package is looked for where `components` has
    /// [libraries](Components::libraries_from_env); without them, all components are in the program. A
    /// component without a name in the request is called after its type: `demo::LongTalker` is `long_talker`.
    /// Components of a file are listed, and can be unloaded, too.
    ///
    /// A component that is loaded so gets an executor with its name, and the executor a thread; the extra argument
    /// `executor` names another one. The executor ends with its last component. Of the extra arguments of rclcpp,
    /// `forward_global_arguments` is there, false by default: without it, the [arguments](rospin_node::RosArguments) of
    /// the program are not for the node. `use_intra_process_comms` may be true or false, and changes nothing: messages
    /// in a process are always shared. Other extra arguments are refused.
    ///
    /// A component's constructor, and the drop of its handles, run in a callback of that group.
    ///
    /// ```
    /// # use rospin::container::{Components, Container};
    /// # use rospin::{Context, ContextOptions, Ros};
    /// # let context = Context::new(ContextOptions::new());
    /// # let (components, ros) = (Components::new(), Ros::in_process(&context));
    /// let mut container = Container::new(&context);
    /// container.serve(&components, &ros, "ComponentManager")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the node or a service cannot be created.
    pub fn serve(
        &mut self,
        components: &Components,
        ros: &Ros,
        node: impl Into<NodeOptions>,
    ) -> Result<(), ServeError> {
        let executor = self.executor();
        let node = ros.create_node(node.into().executor(&executor))?;
        let servers = composition::serve(&node, &executor, components, ros, &self.loaded)?;
        self.servers.push((node, servers));
        Ok(())
    }

    /// Creates the components of the file, in its order. Their executors have one thread each, unless a deployment
    /// file says otherwise. No callback runs before [`run`](Self::run).
    ///
    /// May be called several times, also with different middlewares.
    ///
    /// # Errors
    /// If the file names a component that is not registered, a name is invalid, a parameter is an empty list, or a
    /// component does not start. The error has the place in the file. Components before it exist then, and are dropped
    /// with the container.
    pub fn start(&mut self, components: &Components, ros: &Ros, file: &ComponentFile) -> Result<(), StartError> {
        for (number, plan) in file.components().iter().enumerate() {
            let make = components.maker(&plan.type_name).ok_or_else(|| {
                let known = components.known();
                let message = format!("the program has no component `{}`; known are: {known}", plan.type_name);
                StartError::from(file.error(number, "type", message))
            })?;
            let (name, options) = node_of(number, plan, file)?;
            let component = name.to_string();
            let new = NewComponent { name, options, executor: plan.executor().to_owned() };
            self.loaded.load(make, ros, new).map_err(|LoadError(reason)| {
                let what = format!("component `{component}` ({}) did not start: {reason}", plan.type_name);
                StartError::Failed { place: Box::new(file.error(number, "type", what)), component, reason }
            })?;
        }
        Ok(())
    }

    /// Runs all executors until a component or a handle [ends](ContainerHandle::end) the container, or an executor is
    /// halted. Callbacks that are running are waited for. Then the components are dropped, the last one first.
    ///
    /// # Errors
    /// If an executor cannot spin: its thread cannot be started, a callback panicked in a group that halts on panics,
    /// or the program does not match its deployment file.
    pub fn run(self) -> Result<Ended, RunError> {
        self.loaded.executors.run()
    }

    /// Runs as [`run`](Self::run) does, and also ends on SIGINT (Ctrl-C) or SIGTERM. One more signal, more than a
    /// second after the first one, ends the process at once, without waiting for callbacks.
    ///
    /// # Errors
    /// Those of [`run`](Self::run), and if signal handlers cannot be installed.
    pub fn run_until_signal(self) -> Result<Ended, RunError> {
        let _listening = Listening::start(&self.ending).map_err(RunError::Signals)?;
        self.run()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        self.servers.clear();
        self.loaded.unload_all();
    }
}

impl fmt::Debug for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Container");
        let executors = self.loaded.executors.names();
        f.field("executors", &executors).field("components", &self.loaded.list().len()).finish_non_exhaustive()
    }
}

/// Returns the name and the options of a component's node, or the error of an invalid name.
fn node_of(number: usize, plan: &ComponentPlan, file: &ComponentFile) -> Result<(NodeName, NodeOptions), StartError> {
    let wrong = |key, error: NameError| StartError::from(file.error(number, key, error.to_string()));
    NodeName::new("/", &plan.name).map_err(|error| wrong("name", error))?;
    let name = NodeName::new(&plan.namespace, &plan.name).map_err(|error| wrong("namespace", error))?;
    let mut options = NodeOptions::new(&plan.name).namespace(&plan.namespace);
    for (from, to) in &plan.remap {
        for side in [from, to] {
            name.resolve(side).map_err(|error| wrong("remap", error))?;
        }
        options = options.remap(from, to);
    }
    for (parameter, value) in &plan.parameters {
        if *value == ParameterValue::NotSet {
            let message = format!("`{parameter}` is an empty list, of nothing in particular; leave it to its default");
            return Err(file.error(number, "parameters", message).into());
        }
        options = options.parameter_override(parameter, value.clone());
    }
    Ok((name, options))
}
