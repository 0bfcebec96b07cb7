//! Recordings of what rospin's executors do.
//!
//! A recording is an MCAP file. Each event is a message in the channel of its kind, `/rospin/released` and so on, in
//! the encoding of ROS 2, with its fields described in the file. The channel `/rospin/names` says in JSON which
//! executors, callbacks, topics and threads the numbers in events stand for. So Foxglove and everything else that reads
//! MCAP opens a recording.
//!
//! - [`Settings`] are the environment variables that have a program recorded, and [`FileSink`],
//!   [`RotatingSink`] and [`FlightSink`] write.
//! - [`StreamSink`] writes the same bytes for somebody who watches the program while it runs, and [`places`] says where
//!   to meet.
//! - With the feature `mcap`: reading of MCAP files of any kind.
//! - With the feature `model`: `Recording` has events, and `Model` the activations, messages and losses. With `read`,
//!   events come from files, too.
#![cfg_attr(not(feature = "read"), allow(rustdoc::broken_intra_doc_links))]

#[cfg(feature = "bag")]
pub mod bag;
#[cfg(feature = "model")]
pub mod blame;
#[cfg(feature = "model")]
pub mod chains;
mod container;
#[cfg(feature = "read")]
pub mod convert;
#[cfg(feature = "model")]
pub mod figures;
mod file;
#[cfg(feature = "model")]
mod fill;
mod flight;
mod follow;
mod handover;
mod incidents;
mod kept_names;
#[cfg(feature = "read")]
pub mod live;
#[cfg(feature = "mcap")]
pub mod mcap;
#[cfg(feature = "model")]
pub mod model;
pub mod monitor;
pub mod names;
mod overdue;
pub mod places;
#[cfg(feature = "read")]
mod read;
#[cfg(feature = "model")]
mod recording;
#[cfg(feature = "read")]
pub mod replay;
#[cfg(feature = "read")]
pub mod ros2;
mod rotate;
pub mod settings;
mod stream;
#[cfg(feature = "read")]
mod text;
mod waits;

pub use file::{FileSink, ProcessName, VERSION};
pub use flight::FlightSink;
#[cfg(feature = "model")]
pub use model::Model;
#[cfg(feature = "read")]
pub use read::ReadError;
#[cfg(feature = "model")]
pub use recording::{Fault, Recorded, Recording};
pub use rotate::{RotatingSink, Rotation};
pub use settings::{Settings, SettingsError};
pub use stream::{Flow, Stream, StreamSink, end_of_stream};
#[cfg(feature = "read")]
pub use text::render;
