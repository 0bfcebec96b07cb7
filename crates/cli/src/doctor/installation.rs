//! The command itself: its version, and whether a shell starts this one.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// The program that makes the diagnosis.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Installation {
    pub(crate) version: &'static str,
    /// Processor and operating system that it was built for.
    pub(crate) target: String,
    pub(crate) path: PathBuf,
    /// Another program of its name, which a shell starts instead; `None` if a shell starts this one, or none.
    pub(crate) hidden_by: Option<PathBuf>,
}

impl Installation {
    /// Returns what this process was started from.
    pub(crate) fn find() -> Self {
        let path = env::current_exe().unwrap_or_else(|_| PathBuf::from("rospin"));
        let hidden_by = another_first(&path, &env::var_os("PATH").unwrap_or_default());
        let target = format!("{} {}", env::consts::ARCH, env::consts::OS);
        Self { version: env!("CARGO_PKG_VERSION"), target, path, hidden_by }
    }

    /// Returns it in words: one line, or two if a shell starts another program.
    pub(crate) fn describe(&self) -> String {
        let own = format!("rospin {} for {}, {}", self.version, self.target, self.path.display());
        let Some(other) = &self.hidden_by else { return own };
        format!("{own}\nIn a shell, `rospin` is another program: {}", other.display())
    }
}

/// Returns the first program in the folders of `path` that has the name of `own`, if it is another file.
fn another_first(own: &Path, path: &OsStr) -> Option<PathBuf> {
    let name = own.file_name()?;
    let first = env::split_paths(path).map(|folder| folder.join(name)).find(|file| is_program(file))?;
    // The file may be there by several links.
    let is_own = first.canonicalize().ok()? == own.canonicalize().ok()?;
    (!is_own).then_some(first)
}

/// Returns true if there is a file at `path` that somebody may execute.
fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_first_program_of_that_name_on_the_path_counts_unless_it_is_this_one() {
        let root = env::temp_dir().join(format!("rospin-installation-{}", std::process::id()));
        for folder in ["own", "other", "linked", "text"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let own = root.join("own/rospin");
        for (file, mode) in [("own/rospin", 0o755), ("other/rospin", 0o755), ("text/rospin", 0o644)] {
            fs::write(root.join(file), "").unwrap();
            fs::set_permissions(root.join(file), fs::Permissions::from_mode(mode)).unwrap();
        }
        symlink(&own, root.join("linked/rospin")).unwrap();
        let first = |folders: &[&str]| {
            let path = env::join_paths(folders.iter().map(|folder| root.join(folder))).unwrap();
            another_first(&own, &path)
        };
        assert_eq!(first(&["own", "other"]), None);
        assert_eq!(first(&["linked", "other"]), None, "a link to it");
        assert_eq!(first(&["text", "missing"]), None, "no program at all");
        assert_eq!(first(&["text", "other", "own"]), Some(root.join("other/rospin")));
        assert_eq!(another_first(&own, OsStr::new("")), None);
        fs::remove_dir_all(&root).unwrap();
    }
}
