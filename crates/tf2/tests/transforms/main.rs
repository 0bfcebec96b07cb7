//! Coordinate frames: one program, because linking one takes longer than compiling these files.

mod golden;
mod naive;
mod nodes;
