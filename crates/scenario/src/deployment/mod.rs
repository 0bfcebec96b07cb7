//! Deployment files: which executor a callback group goes to, and what executors and threads have of the operating system.
//!
//! The engine reads one when it starts, so that groups move to other cores and priorities without a rebuild; the analysis
//! writes one. The folder `deployments` of this crate explains every key by example.
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
//! assert_eq!(deployment.executor_of("planner", "control_loop")?.as_deref(), Some("control"));
//! assert_eq!(deployment.executor_of("planner", "map")?, None, "where the program puts it");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod describe;
mod lookup;
mod model;
mod read;
mod scheduling;

pub use lookup::Ambiguous;
pub use model::{CallbackPlan, Deployment, ExecutorPlan, GroupPlan, Reaction, ThreadPlan};
pub use read::DeploymentError;
