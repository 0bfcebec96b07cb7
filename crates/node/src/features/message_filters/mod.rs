//! Messages that belong together: synchronizers and caches, ROS's `message_filters`.
//!
//! A synchronizer subscribes to several topics, and gives its callback a tuple of messages whose stamps fit. Its entity
//! has one name and one priority, and a queue for each topic. Messages are matched when an executor's thread takes from
//! it, so no lock, no hidden thread and no other callback is involved.
//!
//! - [`SynchronizerOptions::exact_time`] matches equal stamps.
//! - [`SynchronizerOptions::approximate_time`] finds the sets of the least span, where a later end counts more, by the
//!   algorithm of ROS's `ApproximateTime`.
//! - A [`Cache`] keeps the messages of a topic with the newest stamps, to be looked up by time.
//!
//! ```
//! use std::sync::Arc;
//!
//! use rospin::message_filters::SynchronizerOptions;
//! use rospin::msgs::std_msgs::msg::Header;
//! use rospin::{Context, ContextOptions, Node, Ros, SpinOptions};
//!
//! let context = Context::new(ContextOptions::new());
//! let ros = Ros::in_process(&context);
//! let node = ros.create_node("fusion")?;
//! let sync = node.create_synchronizer(
//!     SynchronizerOptions::approximate_time(10),
//!     ("camera", "lidar"),
//!     |(camera, lidar): (Arc<Header>, Arc<Header>)| println!("{:?} with {:?}", camera.stamp, lidar.stamp),
//! )?;
//!
//! node.create_publisher("camera")?.publish(Header::default())?;
//! node.create_publisher("lidar")?.publish(Header::default())?;
//! ros.executor().spin(SpinOptions::spin_all())?;
//! assert_eq!(sync.matched(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Messages without a match
//!
//! Every message that is in no set of the callback is counted, by entity and topic:
//! [`LossCause::Unmatched`](rospin_engine::LossCause::Unmatched) and [`Synchronizer::unmatched`]. If there is no set by
//! the time that as many messages of a topic are counted as the synchronizer holds of it, the log names the topics,
//! what came on them, and their newest stamps.
//!
//! A callback gets such messages, too, if its tuple says so. The callback of `(Arc<Image>, Option<Arc<Imu>>)` gets all
//! images, with `None` if no `Imu` fits. The callback of `(Option<Arc<Image>>, Option<Arc<Imu>>)` gets everything.
//!
//! # Time
//!
//! Stamps are numbers, whichever clock they come from: see [`Stamped`]. When ROS time jumps back, as when a recording
//! starts again, or changes its source, messages from before the jump match nothing any more and are dropped.

mod cache;
mod create;
mod matching;
mod options;
mod set;
mod source;
mod synchronizer;
mod watch;

pub use cache::{Cache, TopicCache};
pub use options::{SyncInput, SynchronizerOptions};
pub use rospin_wire::Stamped;
pub use set::{Inputs, Member, MessageSet};
pub use synchronizer::Synchronizer;
#[doc(hidden)]
pub use {set::MemberSpec, source::AnyMessage};
