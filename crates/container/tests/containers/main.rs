//! Containers and their files: one program, because linking one takes longer than compiling these files.

mod composition;
mod container;
mod file;
mod library;
