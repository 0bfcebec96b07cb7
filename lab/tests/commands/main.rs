//! `rospin-lab`, run as users run it: one program, because linking one takes longer than compiling most of these files.

use std::process::{Command, Output, Stdio};

#[path = "../../../crates/cli/tests/common/files.rs"]
mod common;
#[path = "../../../crates/cli/tests/common/pages.rs"]
mod pages;

mod book;
mod callback_order;
mod latency;
mod program;

/// Runs the program with these arguments.
fn rospin_lab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rospin-lab")).args(arguments).stdin(Stdio::null()).output().expect("it starts")
}
