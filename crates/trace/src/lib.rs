//! Recordings of what rospin's executors do.
//!
//! A recording is an MCAP file. Each event is a message in the channel of its kind, `/rospin/released` and so on, in the encoding
//! of ROS 2, with its fields described in the file. The channel `/rospin/names` says in JSON which executors, callbacks, topics
//! and threads the numbers in events stand for. So Foxglove and everything else that reads MCAP opens a recording.
//!
//! - [`Settings`] are the environment variables that have a program recorded, and [`FileSink`] and [`FlightSink`] write.
//! - [`StreamSink`] writes the same bytes for somebody who watches the program while it runs, and [`places`] says where to meet.
//! - With the feature `model`: `Recording` has events, and `Model` the activations, messages and losses. With `read`, events come
//!   from files, too.
#![cfg_attr(not(feature = "read"), allow(rustdoc::broken_intra_doc_links))]

#[cfg(feature = "read")]
pub mod blame;
#[cfg(feature = "read")]
pub mod chains;
mod container;
#[cfg(feature = "read")]
pub mod convert;
#[cfg(feature = "read")]
pub mod figures;
mod file;
#[cfg(feature = "read")]
pub mod model;
pub mod names;
#[cfg(feature = "read")]
mod read;
pub mod settings;
#[cfg(feature = "read")]
mod text;

pub use file::{FileSink, FlightSink, ProcessName, VERSION};
#[cfg(feature = "read")]
pub use model::Model;
#[cfg(feature = "read")]
pub use read::{Fault, ReadError, Recorded, Recording};
pub use settings::{Settings, SettingsError};
#[cfg(feature = "read")]
pub use text::render;
