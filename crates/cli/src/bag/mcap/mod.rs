//! The writer of MCAP files of bags. `rospin_trace::mcap` reads them. Both are streams, so that memory is bounded by
//! chunks, and not by files.
//!
//! rospin's recordings have a writer of their own, in programs that are recorded. This one has what bags need:
//! compression, files that are full or cut off, and the conventions of rosbag2.

mod compression;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use compression::Compression;
pub(crate) use write::{Counts, Layout, McapFile, Unwritten, is_full};
