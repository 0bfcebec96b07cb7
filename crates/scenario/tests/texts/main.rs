//! Texts of scenarios and deployments, right and wrong: one program, because linking one takes longer than compiling
//! most of these files.

mod deployment;
mod errors;
mod files;
mod mutations;
