//! The network under a program's nodes, and the executor of their own groups.

use std::sync::{Arc, OnceLock};

use rospin_engine::{Context, Executor, ExecutorHandle, ExecutorOptions, ForeignList};

use crate::error::Refused;
use crate::graph::Graph;
use crate::link::Link;
use crate::middleware::Middleware;
use crate::names::NodeName;

/// The network that all nodes of a [`Ros`](crate::Ros) share.
pub(crate) struct Network {
    pub(crate) context: Context,
    pub(crate) graph: Arc<Graph>,
    /// The middleware. With `None`, nodes reach only nodes of the same context.
    pub(crate) middleware: Option<Box<dyn Middleware>>,
    /// The context's list of threads of middlewares, kept for as long as nodes use a middleware.
    pub(crate) _threads: Option<Arc<ForeignList>>,
}

impl Network {
    /// Returns the graph of the network.
    pub(crate) const fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// Registers a node with the middleware, if there is one, and returns the link from the node to all others.
    pub(crate) fn link(&self, name: &NodeName) -> Result<Link, Refused> {
        let node = self.middleware.as_ref().map(|middleware| middleware.create_node(name)).transpose()?;
        Ok(Link::new(&self.context, &self.graph, node))
    }
}

/// The executor of the nodes' own groups. It is created on first use, because a program may use only executors of its
/// own.
pub(crate) struct MainExecutor {
    context: Context,
    executor: OnceLock<Executor>,
}

impl MainExecutor {
    pub(crate) fn new(context: &Context) -> Self {
        Self { context: context.clone(), executor: OnceLock::new() }
    }

    pub(crate) fn get(&self) -> &Executor {
        self.executor.get_or_init(|| self.context.create_executor(ExecutorOptions::new("main")))
    }

    pub(crate) fn handle(&self) -> ExecutorHandle {
        self.get().handle()
    }
}
