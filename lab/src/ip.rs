//! The program `ip`, which makes network namespaces.

use std::process::{Command, Stdio};

/// Runs the program `ip`. If it fails, the error has the first line that `ip` wrote to stderr, and a fix.
pub(crate) fn ip(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("the program `ip` cannot be run ({error}); install iproute2"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or("it failed").to_owned();
    Err(format!("`ip {}`: {said}; network namespaces need root", arguments.join(" ")))
}
