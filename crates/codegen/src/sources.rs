//! The files with the definitions of a package: those of a list, or those in its folders.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cmake::{self, LEVELS_MAX};
use crate::error::{Fault, GenerateError};
use crate::model::Kind;

/// The most files that an error names.
const NAMED_MAX: usize = 3;

/// The files of a package.
#[derive(Default, Debug)]
pub(crate) struct Sources {
    /// The definitions with their kinds. A file in IDL says its kind itself.
    pub(crate) definitions: Vec<(Option<Kind>, PathBuf)>,
}

impl Sources {
    /// Returns the files of a package: those that its `CMakeLists.txt` lists, or else those in its folders.
    ///
    /// # Errors
    /// If the package has no definitions, or if the list cannot be read.
    pub(crate) fn of_folder(folder: &Path, distribution: &str) -> Result<Self, GenerateError> {
        let script = folder.join("CMakeLists.txt");
        let list = if script.is_file() { cmake::list(&script, distribution)? } else { None };
        let sources = match list {
            Some(list) => {
                let sources = Self::of(list.files);
                if sources.definitions.is_empty() {
                    let problem = "`rosidl_generate_interfaces` gets no definitions".to_owned();
                    let fix = "list files there, or name the definitions by `Generator::package_files`";
                    return Err(Fault::new(problem, fix).at(&script, list.line));
                }
                sources
            }
            None => Self::in_folders(folder)?,
        };
        sources.checked(folder)
    }

    /// Returns the files that the user names.
    ///
    /// # Errors
    /// If a file does not exist, or if the list of files is empty.
    pub(crate) fn of_files(folder: &Path, files: &[PathBuf]) -> Result<Self, GenerateError> {
        for file in files {
            if !folder.join(file).is_file() {
                let problem = format!("it has no file `{}`", file.display());
                return Err(refuse(folder, problem, "correct the name; it is relative to the package's folder"));
            }
        }
        Self::of(files.iter().map(|file| folder.join(file)).collect()).checked(folder)
    }

    /// Returns the files of a package that is installed: those that the index of the installation lists, or else those
    /// in its folders. `None` if the package is not there.
    pub(crate) fn installed(prefix: &Path, name: &str) -> Result<Option<Self>, GenerateError> {
        let folder = prefix.join("share").join(name);
        if !folder.is_dir() {
            return Ok(None);
        }
        let index = prefix.join("share/ament_index/resource_index/rosidl_interfaces").join(name);
        let sources = if index.is_file() {
            let lines = fs::read_to_string(&index).map_err(GenerateError::io(&index))?;
            let files = lines.lines().map(|line| folder.join(line.trim()));
            Self::of(files.filter(|file| file.is_file()).collect())
        } else {
            Self::in_folders(&folder)?
        };
        if sources.definitions.is_empty() { Ok(None) } else { Ok(Some(sources)) }
    }

    /// Returns the files in the folders `msg`, `srv` and `action`, and in the folders in them.
    pub(crate) fn in_folders(folder: &Path) -> Result<Self, GenerateError> {
        let mut files = Vec::new();
        for kind in Kind::ALL {
            collect(&folder.join(kind.word()), LEVELS_MAX, &mut files)?;
        }
        Ok(Self::of(files))
    }

    /// Sorts files by their extension. A file in IDL counts if there is no other definition of its kind and name, from
    /// which it was made then. Its kind is the name of its folder.
    fn of(files: Vec<PathBuf>) -> Self {
        let mut sources = Self::default();
        let mut idl = Vec::new();
        for file in files {
            let extension = file.extension().unwrap_or_default().to_string_lossy().into_owned();
            match Kind::ALL.into_iter().find(|kind| extension == kind.word()) {
                Some(kind) => sources.definitions.push((Some(kind), file)),
                None if extension == "idl" => idl.push(file),
                None => {}
            }
        }
        for file in idl {
            let folder = file.parent().and_then(Path::file_name);
            let is_made_from = |(kind, other): &(Option<Kind>, PathBuf)| {
                kind.is_some_and(|kind| folder.is_some_and(|name| name == kind.word()))
                    && other.file_stem() == file.file_stem()
            };
            if !sources.definitions.iter().any(is_made_from) {
                sources.definitions.push((None, file));
            }
        }
        sources
    }

    /// Refuses a package without definitions.
    fn checked(self, folder: &Path) -> Result<Self, GenerateError> {
        if !self.definitions.is_empty() {
            return Ok(self);
        }
        if !folder.is_dir() {
            return Err(refuse(folder, "there is no such folder".to_owned(), "name the folder of a package"));
        }
        let problem = "it has no definitions: there is no `.msg`, `.srv`, `.action` or `.idl` file in its folders \
                       `msg`, `srv` and `action`, and no list in a `CMakeLists.txt`";
        let mut elsewhere = Vec::new();
        collect(folder, LEVELS_MAX, &mut elsewhere)?;
        let elsewhere = Self::of(elsewhere).definitions;
        if elsewhere.is_empty() {
            return Err(refuse(folder, problem.to_owned(), "name the folder of a package, which has definitions"));
        }
        let named: Vec<_> =
            elsewhere.iter().take(NAMED_MAX).map(|(_, file)| format!("`{}`", below(folder, file))).collect();
        let more = if elsewhere.len() > NAMED_MAX {
            format!(" and {} others", elsewhere.len() - NAMED_MAX)
        } else {
            String::new()
        };
        let problem = format!("{problem}; elsewhere it has {}{more}", named.join(", "));
        Err(refuse(folder, problem, "name the definitions by `Generator::package_files`"))
    }
}

/// Returns the path of a file as seen from a folder.
fn below(folder: &Path, file: &Path) -> String {
    file.strip_prefix(folder).unwrap_or(file).display().to_string()
}

fn refuse(folder: &Path, problem: String, fix: &str) -> GenerateError {
    GenerateError::Package { folder: folder.to_owned(), problem, fix: fix.to_owned() }
}

/// Adds the files in a folder, sorted by name, and those of the folders in it down to so many levels. A folder that
/// does not exist has none.
fn collect(folder: &Path, levels: usize, files: &mut Vec<PathBuf>) -> Result<(), GenerateError> {
    if !folder.is_dir() {
        return Ok(());
    }
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(GenerateError::io(folder))? {
        entries.push(entry.map_err(GenerateError::io(folder))?.path());
    }
    entries.sort();
    for path in entries {
        if path.is_file() {
            files.push(path);
        } else if levels > 0 && path.is_dir() && !path.is_symlink() {
            collect(&path, levels - 1, files)?;
        }
    }
    Ok(())
}
