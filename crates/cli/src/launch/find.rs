//! The search of a process's program.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Returns the path of a program: one of a package, one at a path from `folder`, or one on `PATH`. The error is a
/// sentence with the fix.
pub(super) fn program(program: &str, package: Option<&str>, folder: &Path) -> Result<PathBuf, String> {
    if let Some(package) = package {
        return of_package(program, package);
    }
    if program.contains('/') {
        return at(&folder.join(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| is_program(file));
    found.ok_or_else(|| {
        format!("there is no program `{program}` on PATH; `./{program}` would be one in the folder of this file")
    })
}

/// Returns the path of the program if it can be run.
fn at(path: &Path) -> Result<PathBuf, String> {
    let shown = path.display();
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(format!("{shown} is a folder; name a program in it")),
        Ok(_) if is_program(path) => Ok(path.to_owned()),
        Ok(_) => Err(format!("{shown} is no program: `chmod +x` makes it one")),
        Err(error) => {
            let nearest = nearest_in(path.parent(), path.file_name());
            let fix = nearest.unwrap_or_else(|| "build it, or correct the path".to_owned());
            Err(format!("there is no program {shown}: {error}; {fix}"))
        }
    }
}

/// Returns the path of a package's program, as `ros2 run` finds it.
fn of_package(program: &str, package: &str) -> Result<PathBuf, String> {
    let prefixes = std::env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
    if prefixes.is_empty() {
        return Err(format!(
            "package `{package}` is not found without AMENT_PREFIX_PATH; source the workspace's setup.sh"
        ));
    }
    let mut nearest = None;
    let mut is_known = false;
    for prefix in std::env::split_paths(&prefixes) {
        let folder = prefix.join("lib").join(package);
        let file = folder.join(program);
        if is_program(&file) {
            return Ok(file);
        }
        is_known |= prefix.join("share/ament_index/resource_index/packages").join(package).is_file();
        nearest = nearest.or_else(|| nearest_in(Some(&folder), Some(OsStr::new(program))));
    }
    let fix = match (nearest, is_known) {
        (Some(nearest), _) => nearest,
        (None, true) => "the package has no program of such a name".to_owned(),
        (None, false) => "there is no such package; build it, and source the workspace's setup.sh".to_owned(),
    };
    Err(format!("package `{package}` has no program `{program}`: {fix}"))
}

/// Returns the words that name the program in the folder that is most like that one.
fn nearest_in(folder: Option<&Path>, name: Option<&OsStr>) -> Option<String> {
    let mut known = Vec::new();
    for entry in fs::read_dir(folder?).ok()? {
        let Ok(entry) = entry else { continue };
        if is_program(&entry.path()) {
            known.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    known.sort_unstable();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let nearest = rospin_scenario::nearest(&name?.to_string_lossy(), &known)?;
    Some(format!("nearest: {nearest}"))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_name_and_by_path() {
        let sh = program("sh", None, Path::new("/")).unwrap();
        assert!(sh.ends_with("sh") && sh.is_absolute(), "{}", sh.display());
        assert_eq!(program("./sh", None, Path::new("/bin")).unwrap(), Path::new("/bin/./sh"));
    }

    #[test]
    fn a_program_that_is_not_there_is_told_with_the_fix() {
        for (name, said) in [
            ("no-such-program", "no program `no-such-program` on PATH"),
            ("./etc", "/etc is a folder"),
            ("./etc/passwd", "/etc/passwd is no program"),
            ("./no/such/program", "build it, or correct the path"),
            ("./bin/shh", "nearest: sh"),
        ] {
            let error = program(name, None, Path::new("/")).unwrap_err();
            assert!(error.contains(said), "{name}: {error}");
        }
    }
}
