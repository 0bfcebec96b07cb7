//! Invalid packages: each error names the file, the line and the fix.

use std::fs;
use std::path::{Path, PathBuf};

use rospin_codegen::{GenerateError, Generator};

/// Writes a package with these files, and returns its folder.
fn package(name: &str, files: &[(&str, &str)]) -> PathBuf {
    super::package(&format!("broken/{name}"), files)
}

/// Generates into a folder beside the package, without an installed ROS 2.
fn generate(folder: &Path) -> Result<String, GenerateError> {
    let out = folder.with_extension("out");
    fs::create_dir_all(&out).unwrap();
    Generator::new().package(folder).prefixes([]).distribution("jazzy").out_dir(&out).generate()?;
    Ok(fs::read_to_string(out.join(folder.file_name().unwrap()).with_extension("rs")).unwrap())
}

/// Checks that a package with this file is refused at this line, with these texts in the error.
#[track_caller]
fn refuse(name: &str, file: &str, text: &str, line: usize, said: &[&str]) {
    let folder = package(name, &[(file, text)]);
    let error = generate(&folder).expect_err("it is wrong").to_string();
    let place = format!("{}:{line}: ", folder.join(file).display());
    assert!(error.starts_with(&place), "{error}\n  where {place} was expected");
    assert!(error.contains("\n  fix: "), "{error}");
    for part in said {
        assert!(error.contains(part), "{error}\n  does not say {part}");
    }
}

#[test]
fn types_are_checked() {
    refuse("unknown_type", "msg/A.msg", "\nint33 a\n", 2, &["`int33` is not a type", "`package/Name`"]);
    refuse("ros_1", "msg/A.msg", "time a\n", 1, &["`builtin_interfaces/Time`"]);
    refuse("length", "msg/A.msg", "int8[0] a", 1, &["`0` is not a length", "above 0"]);
    refuse("bound", "msg/A.msg", "string<=x a", 1, &["`x` is not a length of a string"]);
    refuse("bracket", "msg/A.msg", "int8] a", 1, &["without a `[`"]);
}

#[test]
fn messages_that_are_mentioned_are_there() {
    refuse("own", "msg/A.msg", "int8 a\nB b\n", 2, &["there is no message `own/msg/B`", "`msg/B.msg`"]);
    refuse("header", "msg/A.msg", "Header header", 1, &["write `std_msgs/Header`"]);
    refuse("shipped", "srv/A.srv", "---\ngeometry_msgs/point at", 2, &["`geometry_msgs/point` is not a type"]);
    refuse("spelling", "msg/A.msg", "geometry_msgs/PoINT at", 1, &["write `geometry_msgs/Point`"]);
    refuse("foreign", "action/A.action", "---\n---\nodd_msgs/A a", 3, &["`odd_msgs/msg/A`", "`Generator::package`"]);
    let circle = [("msg/A.msg", "int8 a\nB b"), ("msg/B.msg", "A[] a")];
    let error = generate(&package("circle", &circle)).unwrap_err().to_string();
    assert!(error.contains("A.msg:2: `circle/msg/A` contains itself, by way of `circle/msg/B`"), "{error}");
}

#[test]
fn values_are_checked() {
    refuse("constant", "msg/A.msg", "int8 a\nuint8 BIG=256", 2, &["`256`", "from 0 to 255"]);
    refuse("default", "msg/A.msg", "bool a maybe", 1, &["`maybe` is not a Boolean"]);
    refuse("elements", "msg/A.msg", "int8[2] a [1]", 1, &["the default has 1 elements", "write 2"]);
    refuse("long", "msg/A.msg", "string<=2 a \"abc\"", 1, &["longer than its type allows"]);
    refuse("quotes", "msg/A.msg", "string a \"b\"c\"", 1, &["has a \" inside"]);
    refuse("nested", "msg/A.msg", "std_msgs/Header a 1", 1, &["has no default"]);
}

#[test]
fn names_are_checked() {
    refuse("upper", "msg/A.msg", "int8 Speed", 1, &["call it `speed`"]);
    refuse("twice", "srv/A.srv", "int8 a\n---\nint8 a\nint8 a", 4, &["`a` is there already"]);
    refuse("equals", "msg/A.msg", "string a \"b=c\"", 1, &["`=` makes it a constant"]);
    let error = generate(&package("file", &[("msg/lower_case.msg", "int8 a")])).unwrap_err().to_string();
    assert!(error.contains("lower_case.msg: `lower_case` is not a valid name of an interface"), "{error}");
    let error = generate(&package("Upper", &[("msg/A.msg", "int8 a")])).unwrap_err().to_string();
    assert!(error.contains("`Upper` is not a valid name of a package"), "{error}");
}

#[test]
fn parts_are_counted() {
    for (name, file, text, said) in [
        ("parts_srv", "srv/A.srv", "int8 a\n", "0 lines with only `---`, where a .srv file has 1"),
        ("parts_action", "action/A.action", "---\n", "1 lines with only `---`, where a .action file has 2"),
    ] {
        let error = generate(&package(name, &[(file, text)])).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn folders_are_checked() {
    let empty = package("empty", &[("README", "")]);
    assert!(generate(&empty).unwrap_err().to_string().contains("its folders `msg`, `srv` and `action`"));
    let nowhere = empty.join("nowhere");
    assert!(generate(&nowhere).unwrap_err().to_string().contains("there is no such folder"));
    let error = Generator::new().installed("odd_msgs").prefixes([]).out_dir(&empty).generate().unwrap_err();
    assert!(matches!(error, GenerateError::Unknown { name, .. } if name == "odd_msgs"));
}

#[test]
fn a_package_is_called_what_its_manifest_says() {
    let manifest = "<package>\n  <name> robot_msgs </name>\n</package>";
    let folder = package("folder", &[("msg/A.msg", "int8 a"), ("package.xml", manifest)]);
    let out = folder.with_extension("out");
    fs::create_dir_all(&out).unwrap();
    Generator::new().package(&folder).prefixes([]).out_dir(&out).generate().unwrap();
    assert!(fs::read_to_string(out.join("robot_msgs.rs")).unwrap().contains("robot_msgs/msg/A"));
}

/// A package that is neither named nor shipped is found in an installed ROS 2. A shipped one is not taken from there.
#[test]
fn packages_are_found_where_ros_is_installed() {
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("broken/prefix");
    package("prefix/share/installed_msgs", &[("msg/A.msg", "geometry_msgs/Point at")]);
    package("prefix/share/geometry_msgs", &[("msg/Point.msg", "int8 wrong")]);
    let user = package("user_msgs", &[("msg/B.msg", "installed_msgs/A[] as")]);
    let out = user.with_extension("out");
    fs::create_dir_all(&out).unwrap();
    Generator::new().package(&user).prefixes([prefix]).out_dir(&out).generate().unwrap();
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    assert!(read("user_msgs.rs").contains("pub r#as: ::std::vec::Vec<super::super::installed_msgs::msg::A>"));
    assert!(read("installed_msgs.rs").contains("pub at: ::rospin_msgs::geometry_msgs::msg::Point"));
    assert!(!out.join("geometry_msgs.rs").exists());
    let index = read("interfaces.rs");
    assert!(index.contains("pub mod installed_msgs") && index.contains("pub mod user_msgs"));
}
