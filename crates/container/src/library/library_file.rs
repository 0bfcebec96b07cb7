//! Where the libraries of installed packages are: the ament index.

use std::fs;
use std::path::PathBuf;

/// Kind of the index's entries for components, of C++ and of Rust.
const RESOURCES: &str = "share/ament_index/resource_index/rclcpp_components";

/// Returns the library of a package that has the component `plugin`; `None` if the package is not installed below one of
/// the `prefixes`. The first prefix that has the package counts.
///
/// The file of a package has a line for each component, such as `demo::Talker;lib/libdemo.so`.
///
/// # Errors
/// If the package has no such component, or cannot be read. The error is the reason for who asks.
pub(crate) fn find(prefixes: &[PathBuf], package: &str, plugin: &str) -> Result<Option<PathBuf>, String> {
    // The request's package is part of a path.
    let is_name = !package.is_empty() && package.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    if !is_name {
        return Ok(None);
    }
    for prefix in prefixes {
        let file = prefix.join(RESOURCES).join(package);
        if !file.exists() {
            continue;
        }
        let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut known = Vec::new();
        for line in text.lines() {
            let Some((name, library)) = line.split_once(';') else { continue };
            if name == plugin {
                return Ok(Some(prefix.join(library)));
            }
            known.push(format!("`{name}`"));
        }
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(format!("package `{package}` has no component `{plugin}`; known are: {known}"));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found_by_package_and_component() {
        let place = std::env::temp_dir().join(format!("rospin-index-{}", std::process::id()));
        let [first, second] = ["first", "second"].map(|name| place.join(name));
        for (prefix, text) in [(&first, "demo::Talker;lib/libfirst.so\n"), (&second, "demo::Other;lib/libsecond.so\n")]
        {
            fs::create_dir_all(prefix.join(RESOURCES)).unwrap();
            fs::write(prefix.join(RESOURCES).join("demo"), text).unwrap();
        }
        let prefixes = [place.join("missing"), first.clone(), second];
        assert_eq!(find(&prefixes, "demo", "demo::Talker"), Ok(Some(first.join("lib/libfirst.so"))));
        let error = find(&prefixes, "demo", "demo::Other").unwrap_err();
        assert_eq!(error, "package `demo` has no component `demo::Other`; known are: `demo::Talker`");
        for unknown in ["other", "", "../demo", "rclcpp_components/demo"] {
            assert_eq!(find(&prefixes, unknown, "demo::Talker"), Ok(None));
        }
        fs::remove_dir_all(place).unwrap();
    }
}
