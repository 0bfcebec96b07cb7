//! rospin's engine for C, and so for every language that can call C: contexts, executors, groups, and entities whose
//! sources and callbacks are functions of the caller.
//!
//! The interface is `include/rospin.h`, which says everything that callers must know. A test compares it with this
//! crate, see `tests/header.rs`. Functions here are as thin as they can be: they check arguments, and call the engine.
//!
//! No panic leaves a function (`status`). Exceptions of C++ cannot be caught here: callers catch them, and return a
//! status with which the spin ends.

// The names are those of the header.
#![allow(non_camel_case_types)]
// The header says once for all functions what callers must guarantee: pointers are NULL or valid, handles are not used
// after they were destroyed, and structs begin with their size.
#![allow(clippy::missing_safety_doc)]

mod arguments;
mod clock;
mod context;
mod control;
mod descriptor;
mod entity;
mod executor;
mod foreign;
mod group;
mod logging;
mod notifier;
mod status;
mod timer;
mod trace;

pub use clock::*;
pub use context::*;
pub use descriptor::*;
pub use entity::*;
pub use executor::*;
pub use foreign::{
    ROSPIN_TAKE_CLOSED, ROSPIN_TAKE_EMPTY, ROSPIN_TAKE_FAILED, ROSPIN_TAKE_LAST, ROSPIN_TAKE_MORE, ROSPIN_TAKE_NEXT,
    rospin_source, rospin_taken,
};
pub use group::*;
pub use logging::*;
pub use notifier::*;
pub use status::*;
pub use timer::*;
pub use trace::*;
