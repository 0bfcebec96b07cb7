//! Managed nodes: launch files and tools decide when they are configured and when they work, by the state machine that
//! ROS 2 defines.
//!
//! A [`LifecycleNode`] has a state. Tools such as `ros2 lifecycle`, launch files and the program itself request
//! [transitions](Transition). The node's payload implements [`Lifecycle`], whose callbacks the transitions run.
//!
//! ```
//! use rospin::{Context, ContextOptions, Message, Ros};
//! use rospin::lifecycle::{Fault, Lifecycle, LifecycleHandle, LifecyclePublisher, State, Transition};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Clone, Serialize, Deserialize)]
//! struct Text {
//!     data: String,
//! }
//!
//! impl Message for Text {
//!     const TYPE: &str = "std_msgs/msg/String";
//! }
//!
//! #[derive(Default)]
//! struct Talker {
//!     chatter: Option<LifecyclePublisher<Text>>,
//! }
//!
//! impl Lifecycle for Talker {
//!     fn on_configure(&mut self, node: &LifecycleHandle<Self>, _: State) -> Result<(), Fault> {
//!         self.chatter = Some(node.create_publisher("chatter")?);
//!         Ok(())
//!     }
//!
//!     fn on_cleanup(&mut self, _: &LifecycleHandle<Self>, _: State) -> Result<(), Fault> {
//!         self.chatter = None;
//!         Ok(())
//!     }
//! }
//!
//! let ros = Ros::in_process(&Context::new(ContextOptions::new()));
//! let node = ros.create_lifecycle_node("talker", Talker::default())?;
//!
//! let configured = node.request(Transition::Configure);
//! assert_eq!(node.state(), State::Unconfigured, "nothing runs before its executor spins");
//! assert_eq!(ros.spin_until(configured)??, State::Inactive);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod callbacks;
mod error;
mod handle;
mod machine;
mod node;
mod publisher;
mod requests;
mod run;
mod services;
mod stage;

pub use callbacks::{Fault, Lifecycle};
pub use error::{LifecycleError, TransitionError};
pub use handle::LifecycleHandle;
pub use machine::{EDGES, Edge, State, Transition};
pub use node::LifecycleNode;
pub use publisher::LifecyclePublisher;
