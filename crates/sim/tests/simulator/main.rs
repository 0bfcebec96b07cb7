//! The simulator: one program, because linking one takes longer than compiling these files.

mod common;
mod mutants;
mod published;
mod random;
mod semantics;
mod way_in;
