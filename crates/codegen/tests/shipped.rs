//! Shipped definitions: they are those of an installed ROS 2, without comments.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use rospin_codegen::{SHIPPED, definitions, texts};

/// The extensions of definitions, which are also the folders that they are in.
const KINDS: [&str; 3] = ["msg", "srv", "action"];

/// Returns a definition with a field or a constant a line, and without comments. As in ROS 2, a comment starts at the
/// first `#`, even inside a string.
fn reduced(text: &str) -> String {
    let mut out = String::new();
    for line in text.trim_start_matches('\u{feff}').lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let Some((of, rest)) = line.split_once(char::is_whitespace) else {
            if !line.is_empty() {
                // The line between two parts.
                out += "---\n";
            }
            continue;
        };
        let rest = rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, value) = rest.split_at(end);
        let value = value.trim_start();
        let line = match value.strip_prefix('=') {
            Some(value) => format!("{of} {name}={}", value.trim_start()),
            None => format!("{of} {name} {value}"),
        };
        out += line.trim_end();
        out += "\n";
    }
    out
}

/// Returns the folders where ROS 2 is installed: those that are sourced, or else the one that tests are given.
fn prefixes() -> Vec<PathBuf> {
    let sourced = env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
    let mut prefixes: Vec<_> = env::split_paths(&sourced).filter(|path| !path.as_os_str().is_empty()).collect();
    prefixes.extend(env::var_os("ROSPIN_TEST_ROS").map(PathBuf::from));
    prefixes
}

/// Returns the files of a package's definitions, with their names.
fn installed(prefix: &Path, package: &str) -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    for kind in KINDS {
        let Ok(entries) = fs::read_dir(prefix.join("share").join(package).join(kind)) else { continue };
        for entry in entries {
            let file = entry.unwrap().path();
            let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            // ROS 2 also installs the parts of services and actions.
            let is_part = ["_Request", "_Response", "_Event"].iter().any(|suffix| stem.ends_with(suffix));
            if file.extension().is_some_and(|extension| extension == kind) && !is_part {
                files.push((format!("{package}/{kind}/{stem}"), file));
            }
        }
    }
    files
}

#[test]
fn definitions_have_no_comments() {
    for (name, text) in texts().unwrap() {
        assert_eq!(text, reduced(&text), "{name}");
    }
}

#[test]
fn a_definition_loses_comments_and_spaces_alone() {
    let text = "# It walks.\n\nint32   far  10 # m\nstring<=5 NAME =  \"a b\"\n  geometry_msgs/Point[<=3]  at\n---\r\n";
    assert_eq!(reduced(text), "int32 far 10\nstring<=5 NAME=\"a b\"\ngeometry_msgs/Point[<=3] at\n---\n");
}

/// Compares with the definitions of an installed ROS 2. With `ROSPIN_BLESS`, writes those that differ.
#[test]
#[expect(clippy::print_stderr, reason = "it says that the test is skipped, or how much it compared")]
fn definitions_are_those_of_an_installed_ros() {
    let prefixes = prefixes();
    if prefixes.is_empty() {
        assert!(env::var_os("ROSPIN_TEST_REQUIRE_ROS").is_none(), "ROSPIN_TEST_ROS must be the folder of a ROS 2");
        eprintln!("SKIPPED for want of a peer: ROS 2 is not sourced (AMENT_PREFIX_PATH)");
        return;
    }
    let blesses = env::var_os("ROSPIN_BLESS").is_some();
    let shipped = texts().unwrap();
    let mut seen = BTreeSet::new();
    let mut different = Vec::new();
    for prefix in prefixes {
        for package in SHIPPED {
            for (name, file) in installed(&prefix, package) {
                let text = reduced(&fs::read_to_string(&file).unwrap());
                // As in ROS 2, the first folder counts.
                let is_first = seen.insert(name.clone());
                // If the installed ROS is not of the distribution in `ROS_DISTRO`, `shipped` lacks some of its types.
                let is_equal = shipped.get(&name).map_or(!blesses, |own| *own == text);
                if !is_first || is_equal {
                    continue;
                }
                if blesses {
                    let kind = name.split('/').nth(1).unwrap();
                    let own = definitions()[0].join(&name).with_extension(kind);
                    fs::create_dir_all(own.parent().unwrap()).unwrap();
                    fs::write(own, text).unwrap();
                } else {
                    different.push(name);
                }
            }
        }
    }
    let distribution = env::var("ROS_DISTRO").unwrap_or_else(|_| "jazzy".to_owned());
    assert!(different.is_empty(), "differ from those of {distribution}: {different:?}");
    assert!(seen.len() > 50, "{} definitions are installed", seen.len());
    eprintln!("{} definitions are as ROS 2 has them", seen.len());
}
