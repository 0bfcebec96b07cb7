//! Generated messages: one program, because linking one takes longer than compiling these files.

mod descriptions;
mod hashes;
mod kinds;
mod peers;
mod random;
mod shipped;
mod stamped;
