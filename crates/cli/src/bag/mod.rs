//! `rospin bag`: messages of topics in files, as rosbag2 has them.
//!
//! - [`mcap`] and `sqlite` are the files, [`metadata`], [`qos`] and [`definition`] what rosbag2 puts into and beside
//!   them.
//! - [`read`] and [`write`] are whole bags.
//! - [`record`], [`play`] and [`info`] are what one does with them, each a function of a node or a bag; [`command`] has
//!   their options.

mod choice;
mod command;
pub(crate) mod definition;
mod info;
mod mcap;
mod metadata;
mod play;
pub(crate) mod qos;
mod read;
mod record;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use command::{NAME, command, run};
#[cfg(feature = "bridge")]
pub(crate) use command::{places, to_stderr};
