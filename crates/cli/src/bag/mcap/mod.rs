//! MCAP files of bags. [`McapFile`] writes one, [`McapMessages`] reads one; both are streams, so that memory is bounded
//! by chunks, and not by files.
//!
//! rospin's recordings have a writer of their own, in programs that are recorded. This one has what bags need:
//! compression, files that are full or cut off, and the conventions of rosbag2.

mod compression;
mod format;
mod read;
mod summary;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use compression::{Compression, zstd};
pub(crate) use read::{Channel, Kind, McapMessage, McapMessages, Wanted};
pub(crate) use summary::survey;
pub(crate) use write::{Counts, Layout, McapFile, Unwritten, is_full};
