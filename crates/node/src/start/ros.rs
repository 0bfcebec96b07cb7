//! The way to nodes: a context, a middleware, and the executor that runs callbacks by default.

use std::fmt;
use std::sync::Arc;

use rospin_engine::{Context, Executor, SpinError, SpinOptions};

use super::arguments::RosArguments;
use super::options::{NodeError, NodeOptions};
use super::standard::Offers;
use crate::features::parameters::{Store, Stores};
use crate::middleware::Middleware;
use crate::names::{NameError, NodeName};
use crate::network::{MainExecutor, Network};
use crate::node::Node;

/// Creator of nodes. It has a [`Context`], and the middleware through which its nodes communicate, if any. Cheap to
/// clone.
///
/// The type [`Node`] is the same for every middleware.
///
/// ```
/// use rospin::{Context, ContextOptions, Ros};
///
/// let context = Context::new(ContextOptions::new());
/// let ros = Ros::in_process(&context);
/// let node = ros.create_node("talker")?;
/// assert_eq!(node.fully_qualified_name(), "/talker");
/// # Ok::<(), rospin::errors::NodeError>(())
/// ```
#[derive(Clone)]
pub struct Ros {
    network: Arc<Network>,
    main: Arc<MainExecutor>,
    arguments: Arc<RosArguments>,
    /// The parameters of all nodes.
    stores: Arc<Stores>,
}

impl Ros {
    /// Returns a `Ros` whose nodes reach only nodes of the same context, without a network. It suits tests, and
    /// programs of one process.
    #[must_use]
    pub fn in_process(context: &Context) -> Self {
        Self::new(Network { context: context.clone(), graph: context.shared(), middleware: None, _threads: None })
    }

    /// Returns a `Ros` whose nodes communicate through `middleware`, and whose callbacks run on executors of `context`.
    #[must_use]
    pub fn over(context: &Context, middleware: impl Middleware) -> Self {
        let graph = Arc::clone(middleware.graph());
        let threads = context.foreign_threads();
        if let Some(of_middleware) = middleware.threads() {
            threads.add(of_middleware);
        }
        Self::new(Network {
            context: context.clone(),
            graph,
            middleware: Some(Box::new(middleware)),
            _threads: Some(threads),
        })
    }

    fn new(network: Network) -> Self {
        let main = MainExecutor::new(&network.context);
        Self { network: Arc::new(network), main: Arc::new(main), arguments: Arc::default(), stores: Arc::default() }
    }

    /// Sets the arguments that rename nodes and set their parameters: those of the program, by default none.
    #[must_use]
    pub fn with_arguments(mut self, arguments: RosArguments) -> Self {
        self.arguments = Arc::new(arguments);
        self
    }

    /// Returns the arguments of the program.
    #[must_use]
    pub fn arguments(&self) -> &RosArguments {
        &self.arguments
    }

    /// Creates a node. A plain `&str` is its name.
    ///
    /// # Errors
    /// If the node's name or a name in its remapping rules is invalid, or the middleware refuses.
    pub fn create_node(&self, options: impl Into<NodeOptions>) -> Result<Node, NodeError> {
        self.create_node_with(options.into())
    }

    /// Returns the name that a node with these options gets: their rules and the [arguments](Self::arguments) may
    /// rename it.
    ///
    /// # Errors
    /// If the node's name or its namespace is invalid.
    pub fn name_of_node(&self, options: impl Into<NodeOptions>) -> Result<NodeName, NameError> {
        options.into().full_name(&self.arguments)
    }

    fn create_node_with(&self, options: NodeOptions) -> Result<Node, NodeError> {
        let offers = Offers::new(&options, &self.arguments);
        let executor = options.executor.clone().unwrap_or_else(|| self.main.handle());
        let draft = options.into_draft(&self.arguments, self.context())?;
        let name = draft.name.clone();
        let node = Node::new(&self.network, Arc::downgrade(&self.main), draft);
        let node = node.map_err(|reason| NodeError::Refused { node: name, reason })?;
        self.stores.add(node.part::<Store>());
        node.offer(offers, &executor)?;
        Ok(node)
    }

    /// Returns the main executor, on which the nodes' own groups are unless their [options](NodeOptions::executor) name
    /// another one. It is called `main`, has one thread, and runs callbacks by fixed priority, those of equal priority
    /// first in, first out, unless a deployment file says otherwise. It is dropped with the last clone of this `Ros`.
    #[must_use]
    pub fn executor(&self) -> &Executor {
        self.main.get()
    }

    /// Spins the [executor](Self::executor) on the calling thread until it is halted. Warns of parameters that are set
    /// by options, arguments or files, and that no node has declared by now: their names may be misspelt.
    ///
    /// # Errors
    /// Those of [`Executor::spin`].
    pub fn spin(&self) -> Result<(), SpinError> {
        for sentence in self.stores.unused_overrides() {
            log::warn!(target: "rospin", "{sentence}");
        }
        self.executor().spin(SpinOptions::new()).map(drop)
    }

    /// Spins the [executor](Self::executor) on the calling thread until `future` resolves, and returns its output: the
    /// response of a call, for instance. [`Node::timeout`] limits the time.
    ///
    /// ```
    /// use rospin::{Context, ContextOptions, Ros};
    /// use std::time::Duration;
    ///
    /// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// let node = ros.create_node("patient")?;
    /// ros.spin_until(node.sleep(Duration::from_millis(2))?)??;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Executor::spin`]; [`SpinError::Halted`] if the executor was halted before the future resolved.
    #[doc(alias = "spin_until_future_complete")]
    pub fn spin_until<F: Future>(&self, future: F) -> Result<F::Output, SpinError> {
        self.executor().spin_until(future, SpinOptions::new())
    }

    /// Returns the context, whose executors run the nodes' callbacks.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.network.context
    }
}

impl fmt::Debug for Ros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ros").field("has_middleware", &self.network.middleware.is_some()).finish_non_exhaustive()
    }
}
