//! Tools of rospin's tests: a naive reference scheduler, random scenarios that compare it with the real one, a driver
//! in virtual time, golden traces that a person can read, and the [conformance suite](mod@conformance) of middlewares.
//!
//! The reference is written from the specification, not from the code that it judges: plain vectors that are scanned
//! and sorted at every pick. [`suite::run`] plays random scenarios against both. If they disagree, it prints the
//! smallest scenario that it can find, and the command that replays it.

#![forbid(unsafe_code)]

pub mod compare;
pub mod conformance;
pub mod decision;
pub mod generate;
pub mod golden;
pub mod kept_log;
pub mod oracle;
pub mod peers;
pub mod real;
pub mod reference;
pub mod rng;
pub mod scenario;
pub mod shrink;
pub mod subject;
pub mod suite;
pub mod virtual_time;

/// Returns the folder of the repository.
#[must_use]
pub fn repository() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
