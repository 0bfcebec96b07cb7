//! Where nodes are created.

use std::fmt;
use std::sync::{Arc, OnceLock};

use rospin_engine::{Context, Executor, ExecutorHandle, ExecutorOptions, ForeignList, SpinError, SpinOptions};

use crate::graph::Graph;
use crate::link::Link;
use crate::middleware::{Middleware, Refused};
use crate::names::NodeName;
use crate::node::{Node, NodeError, NodeOptions};

/// Creates nodes: a [`Context`], and the middleware that its nodes talk through, if any. Cheap to clone.
///
/// Nodes are of one type, whatever they talk through.
///
/// ```
/// use rospin_engine::{Context, ContextOptions};
/// use rospin_node::Ros;
///
/// let context = Context::new(ContextOptions::new());
/// let ros = Ros::in_process(&context);
/// let node = ros.create_node("talker")?;
/// assert_eq!(node.fully_qualified_name(), "/talker");
/// # Ok::<(), rospin_node::NodeError>(())
/// ```
#[derive(Clone)]
pub struct Ros {
    network: Arc<Network>,
    main: Arc<MainExecutor>,
}

impl Ros {
    /// Creates nodes that talk to those of the same context, without a network: for tests, and for programs of one process.
    #[must_use]
    pub fn in_process(context: &Context) -> Self {
        Self::new(Network { context: context.clone(), graph: context.shared(), middleware: None, _threads: None })
    }

    /// Creates nodes that talk through `middleware`, and whose callbacks run on executors of `context`.
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
        Self { network: Arc::new(network), main: Arc::new(main) }
    }

    /// Creates a node; a plain `&str` is its name.
    ///
    /// # Errors
    /// If its name or a remapped one is not a valid name, or the middleware refuses.
    pub fn create_node(&self, options: impl Into<NodeOptions>) -> Result<Node, NodeError> {
        Node::new(&self.network, Arc::downgrade(&self.main), options.into())
    }

    /// Returns the executor of the nodes' own groups: one thread, named `main`, first in first out, unless a deployment file says
    /// otherwise. It ends with the last clone of this.
    #[must_use]
    pub fn executor(&self) -> &Executor {
        self.main.get()
    }

    /// Spins the [executor](Self::executor) on the calling thread until it is halted.
    ///
    /// # Errors
    /// As [`Executor::spin`].
    pub fn spin(&self) -> Result<(), SpinError> {
        self.executor().spin(SpinOptions::new()).map(drop)
    }

    /// Returns the context whose executors run the nodes' callbacks.
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

/// What all nodes of a [`Ros`] talk through.
pub(crate) struct Network {
    context: Context,
    graph: Arc<Graph>,
    /// `None`: nodes talk through the context alone.
    middleware: Option<Box<dyn Middleware>>,
    /// The threads of middlewares, for as long as nodes talk through one.
    _threads: Option<Arc<ForeignList>>,
}

impl Network {
    /// Returns what is known of all nodes.
    pub(crate) const fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// Makes a node known to the middleware.
    pub(crate) fn link(&self, name: &NodeName) -> Result<Link, Refused> {
        match &self.middleware {
            Some(middleware) => Ok(Link::Network(middleware.create_node(name)?)),
            None => Ok(Link::InProcess(self.context.clone())),
        }
    }
}

/// The executor of nodes' own groups, created when it is needed first: a program may have others only.
pub(crate) struct MainExecutor {
    context: Context,
    executor: OnceLock<Executor>,
}

impl MainExecutor {
    fn new(context: &Context) -> Self {
        Self { context: context.clone(), executor: OnceLock::new() }
    }

    fn get(&self) -> &Executor {
        self.executor.get_or_init(|| self.context.create_executor(ExecutorOptions::new("main")))
    }

    pub(crate) fn handle(&self) -> ExecutorHandle {
        self.get().handle()
    }
}
