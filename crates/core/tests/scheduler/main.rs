//! The scheduler from outside: one program, because linking one takes longer than compiling most of
//! these files.

mod foreign_panics;
mod guests;
mod in_place;
mod inheritance;
mod releases;
mod repeats;
mod ros_time;
