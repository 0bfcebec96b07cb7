//! Coordinate frames over time: ROS 2's tf2.
//!
//! A [`Buffer`] keeps the transforms between frames for some seconds, and looks up the transform between any two frames
//! at any time of these. A [`TransformListener`] fills it from `/tf` and `/tf_static`. A [`TransformBroadcaster`] and a
//! [`StaticTransformBroadcaster`] publish there.
//!
//! ```
//! use rospin::msgs::geometry_msgs::msg::{PointStamped, TransformStamped};
//! use rospin::tf2::{Latest, StaticTransformBroadcaster, TransformListener};
//! use rospin::{Context, ContextOptions, Ros, SpinOptions};
//!
//! let context = Context::new(ContextOptions::new());
//! let ros = Ros::in_process(&context);
//! let node = ros.create_node("camera")?;
//! let listener = TransformListener::new(&node)?;
//!
//! let mut mount = TransformStamped { child_frame_id: "camera".to_owned(), ..TransformStamped::default() };
//! mount.header.frame_id = "base".to_owned();
//! mount.transform.translation.z = 1.5;
//! StaticTransformBroadcaster::new(&node)?.send([mount])?;
//! ros.executor().spin(SpinOptions::spin_all())?;
//!
//! let found = listener.buffer().lookup_transform("base", "camera", Latest)?;
//! assert_eq!(found.transform.translation.z, 1.5);
//! let mut point = PointStamped::default();
//! point.header.frame_id = "camera".to_owned();
//! assert_eq!(listener.buffer().transform(&point, "base")?.point.z, 1.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Look-ups agree with those of tf2's C++ core: the same interpolation, the same errors, the same latest common time.
//! Three things differ. Waiting for a transform is a future, and needs neither a thread nor polling. Errors are values
//! that have the frames and the times. And a rotation that is not quite of length one is normalized when it comes.

#![forbid(unsafe_code)]

mod broadcaster;
mod buffer;
mod error;
mod geometry;
mod history;
mod listener;
mod pose;
mod text;
mod tree;
mod wait;
mod waiters;
mod when;

pub use broadcaster::{StaticTransformBroadcaster, TransformBroadcaster};
pub use buffer::Buffer;
pub use error::{SetTransformError, TransformError, TransformErrorKind, WaitError};
pub use geometry::Transformable;
pub use listener::TransformListener;
pub use wait::WaitForTransform;
pub use when::When::{self, Latest};
