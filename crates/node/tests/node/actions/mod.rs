//! Actions between nodes of one process, on a manual clock.

mod callbacks;
mod cancel;
mod cuts;
mod ends;
mod goals;
mod refused;
mod results;
pub(crate) mod set_up;
