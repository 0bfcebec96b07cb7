//! What the tests of rospin share: a naive reference scheduler, random scenarios that compare it with the real one, a
//! virtual-time driver, golden traces that a person can read, and for middlewares the [conformance suite](mod@conformance)
//! and [peers] to talk to.
//!
//! The reference is written from the specification, not from the code it judges: plain vectors, scanned and sorted at
//! every pick. [`suite::run`] plays random scenarios against both and, if they ever disagree, prints the smallest
//! scenario it can find and the command that replays it.

#![forbid(unsafe_code)]

pub mod compare;
pub mod conformance;
pub mod decision;
pub mod generate;
pub mod golden;
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
