//! Helpers that tests of the `rospin` command share.

#![allow(dead_code, unused_imports, reason = "not every test uses all of it")]

use std::process::{Command, Output, Stdio};

mod files;

pub(crate) use files::{Scratch, closed_pipe, text};

/// Runs the command with these arguments.
pub(crate) fn rospin(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rospin")).args(arguments).stdin(Stdio::null()).output().expect("it starts")
}
