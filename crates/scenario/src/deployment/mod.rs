//! Deployment files: the executors of callback groups, and the OS settings of executors and threads.
//!
//! The engine reads one at start, so groups move to other cores and priorities without a rebuild. The analysis writes
//! one. Names in it that do not begin with `/` are relative to the namespaces of nodes, as ROS names are: see
//! [`names`]. The examples in the folder `deployments` of this crate explain every key.
//!
//! ```
//! let deployment = rospin_scenario::Deployment::parse(r#"
//!     [[executor]]
//!     name = "control"
//!     scheduling = { fifo = 20 }
//!     cores = [1]
//!
//!     [[group]]
//!     node = "planner"
//!     name = "control*"
//!     executor = "control"
//! "#)?;
//! assert_eq!(deployment.executor_of("/planner", "control_loop")?.as_deref(), Some("control"));
//! assert_eq!(deployment.executor_of("/robot1/planner", "control_loop")?.as_deref(), Some("control"));
//! assert_eq!(deployment.executor_of("planner", "map")?, None, "where the program puts it");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod compare;
mod describe;
mod lookup;
mod model;
pub mod names;
mod read;
mod scheduling;

pub use compare::{Mismatch, NamedCallback, Names};
pub use lookup::Ambiguous;
pub use model::{BudgetPlan, CallbackPlan, ClientPlan, Deployment, ExecutorPlan, GroupPlan, Reaction, ThreadPlan};
pub use read::DeploymentError;
