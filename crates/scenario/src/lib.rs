//! Input files of rospin. A scenario describes a system of executors, callbacks and messages. A [`deployment`] assigns
//! the callback groups of a program to executors and cores.
//!
//! The simulator runs a scenario in virtual time, the engine runs it as synthetic load, and the analysis bounds its
//! response times. All three read the same file. The examples in the folder `scenarios` of this crate explain every
//! key, and the page `book/src/guide/system_file.md` of the repository has them in tables.
//!
//! ```
//! let scenario = rospin_scenario::Scenario::parse(r#"
//!     duration = "1 s"
//!     topics = ["/scan"]
//!
//!     [[executor]]
//!     name = "main"
//!
//!     [[group]]
//!     name = "driver"
//!
//!     [[callback]]
//!     name = "lidar"
//!     kind = "timer"
//!     period = "100 ms"
//!     execution = "2 ms"
//!     publishes = ["/scan"]
//!
//!     [[callback]]
//!     name = "detect"
//!     kind = "subscription"
//!     subscribes = "/scan"
//!     execution = { uniform = ["10 ms", "30 ms"] }
//! "#)?;
//! assert_eq!(scenario.callbacks.len(), 2);
//! assert_eq!(scenario.callbacks[1].group, "driver", "the only one there is");
//! # Ok::<(), rospin_scenario::ScenarioError>(())
//! ```
//! Errors name the place and the fix:
//!
//! ```
//! let error = rospin_scenario::Scenario::parse("duration = \"500\"").unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "line 1, column 12, `duration`: `500` has no unit; write one of ns, us, ms, s, min, h, as in \"500 ms\""
//! );
//! ```

#![forbid(unsafe_code)]

mod accelerator;
mod bounds;
mod callback;
mod check;
pub mod deployment;
pub mod draw;
pub mod duration;
mod error;
pub mod examples;
mod file;
mod flow;
mod lists;
mod load;
mod model;
mod nearest;
mod parse;
mod printable;
mod text;
mod traffic;

pub use accelerator::Accelerator;
pub use bounds::{Bounds, CallbackLimit, ChainLimit};
pub use callback::{Await, Bin, Callback, ExecutionTime, Section, Tolerance};
pub use deployment::Deployment;
pub use error::{CheckError, ScenarioError};
pub use file::{FileError, TomlFile};
pub use lists::list;
pub use model::{Chain, Executor, Group, Priorities, Scenario};
pub use nearest::{nearest, nearest_of};
pub use traffic::{Burst, Fault, Jump, Limit, Link, Pattern, Release};
