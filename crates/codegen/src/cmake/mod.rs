//! The list of definitions that a `CMakeLists.txt` gives to `rosidl_generate_interfaces`.
//!
//! The file is run as CMake runs it, as far as lists of files depend on it: variables, lists, globs, conditions, loops
//! and included files. Other commands, and functions and macros of the file, do nothing. The environment is that of a
//! build for ROS 2.

mod condition;
mod glob;
mod lexer;
mod run;

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) use glob::LEVELS_MAX;

use crate::error::{Fault, GenerateError};

/// The command that gets the list.
const GENERATE: &str = "rosidl_generate_interfaces";

/// The fix of every error of a list.
const FIX: &str = "correct it, or name the definitions by `Generator::package_files`";

/// The definitions of a package.
#[derive(Default, Debug)]
pub(crate) struct List {
    pub(crate) files: Vec<PathBuf>,
    /// Number of the line of the last call.
    pub(crate) line: usize,
}

/// Returns the list in a file; `None` if the file does not call the command.
///
/// # Errors
/// If the file cannot be read or is not a CMake file, if a file of the list does not exist, or if no call is reached.
pub(crate) fn list(file: &Path, distribution: &str) -> Result<Option<List>, GenerateError> {
    let text = fs::read(file).map_err(GenerateError::io(file))?;
    let text = String::from_utf8_lossy(&text);
    if !text.contains(GENERATE) {
        return Ok(None);
    }
    let commands = lexer::read(&text).map_err(|(line, fault)| fault.at(file, line))?;
    let list = run::run(file, &commands, distribution)?;
    if list.line > 0 {
        return Ok(Some(list));
    }
    match commands.iter().find(|command| command.name == GENERATE) {
        Some(command) => {
            Err(Fault::new(format!("`{GENERATE}` is not reached in a build for ROS 2"), FIX).at(file, command.line))
        }
        None => Ok(None),
    }
}
