//! Reader of MCAP files, those of recordings and those of bags: <https://mcap.dev/spec>.
//!
//! - [`McapMessages`] are the messages of a file in the order of their times, and [`survey`] says what a file has.
//! - [`Records`] are the records of a file as they stand in it, and [`content`] is what a chunk contains.
//! - [`mod@format`] has the bytes of records, for readers and writers.
//!
//! All are streams: memory is bounded by chunks, and not by files, and no length that a damaged file claims is believed
//! before there are as many bytes. rospin's own recordings are written by programs, by a writer without dependencies.

mod chunk;
pub mod format;
mod messages;
mod records;
mod summary;

pub use chunk::{content, decompress, zstd};
pub use messages::{Channel, Damage, Declared, Kind, McapMessage, McapMessages, Source, Wanted};
pub use records::{Record, RecordError, Records};
pub use summary::{Survey, survey};
