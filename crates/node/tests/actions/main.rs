//! Actions between nodes of one process, on a clock that stands still.

mod callbacks;
mod cancel;
mod ends;
mod goals;
mod results;
mod set_up;
