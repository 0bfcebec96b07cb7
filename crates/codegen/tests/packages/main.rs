//! The generator on packages that the tests write: as they lie in the world, and invalid ones.

mod broken;
mod layouts;

use std::fs;
use std::path::{Path, PathBuf};

/// Writes a package with these files, and returns its folder, which has that path below the folder of the tests.
fn package(path: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(path);
    let _ = fs::remove_dir_all(&folder);
    for (file, text) in files {
        let file = folder.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    folder
}
