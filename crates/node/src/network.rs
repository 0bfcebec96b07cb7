//! The network under a program's nodes, and the executor of their own groups.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use rospin_engine::{Context, Executor, ExecutorHandle, ExecutorOptions, ForeignList};

use crate::error::Refused;
use crate::graph::Graph;
use crate::link::Link;
use crate::middleware::Middleware;
use crate::names::NodeName;
use crate::parameters::Store;

/// The beginning of names of parameters that rclcpp's nodes declare for their quality of service.
const QOS_OVERRIDES: &str = "qos_overrides.";

/// The network that all nodes of a [`Ros`](crate::Ros) share.
pub(crate) struct Network {
    pub(crate) context: Context,
    pub(crate) graph: Arc<Graph>,
    /// The middleware. With `None`, nodes reach only nodes of the same context.
    pub(crate) middleware: Option<Box<dyn Middleware>>,
    /// The context's list of threads of middlewares, kept for as long as nodes use a middleware.
    pub(crate) _threads: Option<Arc<ForeignList>>,
    /// The parameters of all nodes.
    pub(crate) stores: Mutex<Vec<Weak<Store>>>,
}

impl Network {
    /// Returns the graph of the network.
    pub(crate) const fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// Adds the parameters of a node.
    pub(crate) fn add_store(&self, store: &Arc<Store>) {
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores.retain(|store| store.strong_count() > 0);
        stores.push(Arc::downgrade(store));
    }

    /// Returns a sentence for each parameter that is set by options, arguments or files, though no node has declared
    /// it. Leaves out overrides of quality of service, which only nodes of rclcpp have.
    pub(crate) fn unused_overrides(&self) -> Vec<String> {
        let stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        let stores: Vec<_> = stores.iter().filter_map(Weak::upgrade).collect();
        let mut unused: BTreeMap<String, Vec<&Store>> = BTreeMap::new();
        let mut used = BTreeSet::new();
        for store in &stores {
            for (name, is_declared) in store.overrides() {
                if is_declared {
                    used.insert(name);
                } else {
                    unused.entry(name).or_default().push(store);
                }
            }
        }
        unused.retain(|name, _| !used.contains(name) && !name.starts_with(QOS_OVERRIDES));
        let sentence = |(name, stores): (String, Vec<&Store>)| {
            let nodes: Vec<_> = stores.iter().map(|store| format!("`{}`", store.node)).collect();
            let declared: BTreeSet<_> = stores.iter().flat_map(|store| store.names()).collect();
            let declared: Vec<_> = declared.iter().map(|name| format!("`{name}`")).collect();
            format!(
                "parameter `{name}` is set from outside, but not declared by {}; declared are {}",
                nodes.join(", "),
                if declared.is_empty() { "none".to_owned() } else { declared.join(", ") }
            )
        };
        unused.into_iter().map(sentence).collect()
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
