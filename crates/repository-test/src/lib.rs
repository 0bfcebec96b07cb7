//! Tests of the repository itself, in a crate that depends on none of the others: so they need not be compiled.

use std::path::{Path, PathBuf};

/// Returns the folder of the repository.
#[must_use]
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
