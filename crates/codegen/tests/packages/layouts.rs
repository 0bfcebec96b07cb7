//! Packages as they lie in the world: lists in CMakeLists.txt, lists of the user, folders, and installed packages.

use std::fs;
use std::path::{Path, PathBuf};

use rospin_codegen::{GenerateError, Generator};

const FIELD: &str = "int8 a";

/// Writes a package with these files, and returns its folder.
fn package(name: &str, files: &[(&str, &str)]) -> PathBuf {
    super::package(&format!("layouts/{name}"), files)
}

/// Returns the names of the types that the generator writes for the package in this folder, as `msg/Name`.
fn types_of(generator: &Generator, folder: &Path) -> Result<Vec<String>, GenerateError> {
    let out = folder.with_extension("out");
    fs::create_dir_all(&out).unwrap();
    generator.clone().prefixes([]).distribution("jazzy").out_dir(&out).generate()?;
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let code = fs::read_to_string(out.join(format!("{name}.rs"))).unwrap();
    let begin = format!("const TYPE: &'static str = \"{name}/");
    let mut types: Vec<_> =
        code.lines().filter_map(|line| Some(line.split_once(&begin)?.1.split('"').next()?.to_owned())).collect();
    types.sort();
    Ok(types)
}

/// Checks the types of a package with these files.
#[track_caller]
fn check(name: &str, files: &[(&str, &str)], expected: &[&str]) {
    let folder = package(name, files);
    let types = types_of(&Generator::new().package(&folder), &folder);
    assert_eq!(types.unwrap_or_else(|error| panic!("{error}")), expected);
}

/// Checks that a package with these files is refused, with these texts in the error.
#[track_caller]
fn refuse(name: &str, files: &[(&str, &str)], said: &[&str]) {
    let folder = package(name, files);
    let error = types_of(&Generator::new().package(&folder), &folder).expect_err("it is wrong").to_string();
    for part in said {
        assert!(error.contains(part), "{error}\n  does not say {part}");
    }
}

/// Wraps the arguments of a call into a CMakeLists.txt.
fn cmake(before: &str, arguments: &str) -> String {
    format!(
        "cmake_minimum_required(VERSION 3.8)\nproject(any)\n{before}\nrosidl_generate_interfaces(${{PROJECT_NAME}}\n\
         {arguments})\nament_package()\n"
    )
}

#[test]
fn definitions_lie_in_subfolders() {
    check(
        "sub",
        &[("msg/a/X.msg", FIELD), ("msg/Y.msg", "X x"), ("srv/deep/er/Z.srv", "---")],
        &["msg/X", "msg/Y", "srv/Z"],
    );
}

#[test]
fn the_list_in_cmake_counts_wherever_the_files_lie() {
    let list = cmake(
        "",
        "\"topic/msg/X.msg\" ros2/Y.msg # a comment with )\n \"msg_ros2/b/Z.msg\" srvs/S.srv\nDEPENDENCIES std_msgs\n\
         ADD_LINTER_TESTS",
    );
    let files = [
        ("CMakeLists.txt", &*list),
        ("topic/msg/X.msg", FIELD),
        ("ros2/Y.msg", FIELD),
        ("msg_ros2/b/Z.msg", FIELD),
        ("srvs/S.srv", "---"),
        ("msg/Leftover.msg", "uint32 Not valid at all"),
    ];
    check("listed", &files, &["msg/X", "msg/Y", "msg/Z", "srv/S"]);
}

#[test]
fn the_list_may_come_from_variables_and_globs() {
    let cases = [
        ("set(files \"msg/A.msg\"\n  msg/B.msg)", "${files}", &["msg/A", "msg/B"][..]),
        ("set(files msg/A.msg)\nlist(APPEND files \"msg/B.msg\")", "${files} ${absent}", &["msg/A", "msg/B"]),
        ("file(GLOB files RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} \"msg/[AB].msg\")", "${files}", &["msg/A", "msg/B"]),
        (
            "set(D msg)\nfile(GLOB f RELATIVE \"${PROJECT_SOURCE_DIR}\" CONFIGURE_DEPENDS ${D}/*.msg)",
            "${f}",
            &["msg/A", "msg/B", "msg/C"],
        ),
        ("file(GLOB_RECURSE files RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.srv *C.msg)", "${files}", &["msg/C", "srv/S"]),
        (
            "file(GLOB all msg/*.msg)\nforeach(path ${all})\nget_filename_component(name ${path} NAME)\n\
             list(APPEND files \"msg/${name}\")\nendforeach()\nlist(REMOVE_ITEM files msg/C.msg)",
            "${files}",
            &["msg/A", "msg/B"],
        ),
        ("set(X A)\nset(A_FILES msg/A.msg)", "${${X}_FILES}", &["msg/A"]),
        ("", "${CMAKE_CURRENT_SOURCE_DIR}:msg/A.msg \"msg/B.msg;msg/C.msg\"", &["msg/A", "msg/B", "msg/C"]),
        (
            "#[[ set(no\n ) ]] set(files [[msg/A.msg]])",
            "${files}\nDEPENDENCIES b c LIBRARY_NAME lib msg/B.msg",
            &["msg/A", "msg/B"],
        ),
        ("function(other)\nset(f msg/C.msg)\nendfunction()\nset(f msg/A.msg)\nother(f)", "${f}", &["msg/A"]),
        ("include(lists.cmake)", "${from_there}", &["msg/B"]),
    ];
    for (number, (before, arguments, expected)) in cases.into_iter().enumerate() {
        let list = cmake(before, arguments);
        let files = [
            ("CMakeLists.txt", &*list),
            ("lists.cmake", "set(from_there msg/B.msg)"),
            ("msg/A.msg", FIELD),
            ("msg/B.msg", FIELD),
            ("msg/C.msg", FIELD),
            ("other/S.srv", "---"),
        ];
        check(&format!("variables_{number}"), &files, expected);
    }
}

#[test]
fn conditions_are_those_of_a_build_for_ros_2() {
    let conditions = [
        ("if(${ROS_VERSION} EQUAL 2)", true),
        ("if($ENV{ROS_VERSION} EQUAL 1)", false),
        ("if(\"$ENV{ROS_VERSION}\" STREQUAL \"2\")", true),
        ("find_package(catkin QUIET)\nif(catkin_FOUND)", false),
        ("find_package(ament_cmake QUIET)\nif(NOT ament_cmake_FOUND OR (A AND B))", false),
        ("if(DEFINED ENV{ROS_VERSION} AND NOT DEFINED unknown)", true),
        ("if(\"$ENV{ROS_DISTRO}\" STRGREATER \"foxy\")", true),
        ("if(EXISTS ${PROJECT_SOURCE_DIR}/msg/A.msg)", true),
        ("if(BUILD_TESTING)", false),
        ("set(v 1.10)\nif(v VERSION_LESS 1.9)", false),
        ("set(l a b)\nif(b IN_LIST l)", true),
        ("if(0)\nelseif(1)", true),
        ("if(\"jazzy\" MATCHES \"jazzy\")", true),
    ];
    for (number, (condition, holds)) in conditions.into_iter().enumerate() {
        let list = cmake(&format!("{condition}\nset(f msg/A.msg)\nelse()\nset(f msg/B.msg)\nendif()"), "${f}");
        let files = [("CMakeLists.txt", &*list), ("msg/A.msg", FIELD), ("msg/B.msg", FIELD)];
        check(&format!("conditions_{number}"), &files, if holds { &["msg/A"] } else { &["msg/B"] });
    }
}

#[test]
fn without_a_list_the_folders_count() {
    let ros_1 = "project(a)\nadd_message_files(FILES A.msg)\n";
    check(
        "ros_1",
        &[("CMakeLists.txt", ros_1), ("msg/A.msg", FIELD), ("action/B.action", "---\n---")],
        &["action/B", "msg/A"],
    );
}

#[test]
fn the_user_may_name_the_files() {
    let folder = package("named", &[("ros2/A.msg", "B b"), ("ros2/in/B.msg", FIELD), ("msg/C.msg", "nonsense")]);
    let generator = Generator::new().package_files(&folder, ["ros2/A.msg", "ros2/in/B.msg"]);
    assert_eq!(types_of(&generator, &folder).unwrap(), ["msg/A", "msg/B"]);
    let error = types_of(&Generator::new().package_files(&folder, ["ros2/D.msg"]), &folder).unwrap_err().to_string();
    assert!(error.contains("`ros2/D.msg`") && error.contains("named"), "{error}");
}

#[test]
fn a_package_without_definitions_is_refused_with_the_places() {
    refuse(
        "nothing",
        &[("msg/README.md", ""), ("ros2/A.msg", FIELD)],
        &["`msg`, `srv` and `action`", "ros2/A.msg", "Generator::package_files"],
    );
    let missing = cmake("", "msg/A.msg\nmsg/Gone.msg");
    refuse(
        "missing",
        &[("CMakeLists.txt", &missing), ("msg/A.msg", FIELD)],
        &["CMakeLists.txt:4", "`msg/Gone.msg`", "Generator::package_files"],
    );
    let empty = cmake("", "${unknown}");
    refuse("empty", &[("CMakeLists.txt", &empty), ("msg/A.msg", FIELD)], &["CMakeLists.txt:4", "no definitions"]);
    let twice = cmake("", "msg/a/A.msg msg/b/A.msg");
    refuse(
        "twice",
        &[("CMakeLists.txt", &twice), ("msg/a/A.msg", FIELD), ("msg/b/A.msg", FIELD)],
        &["`A`", "msg/a/A.msg"],
    );
    refuse(
        "broken",
        &[("CMakeLists.txt", "rosidl_generate_interfaces(a \"b"), ("msg/A.msg", FIELD)],
        &["CMakeLists.txt:1"],
    );
}

/// A file in IDL is read if no other definition has its name.
#[test]
fn packages_may_be_in_idl() {
    let idl = |name: &str, field: &str| format!("module idl {{ module msg {{ struct {name} {{ {field} }}; }}; }};");
    let list = cmake("", "msg/A.idl msg/B.msg");
    let a = idl("A", "idl::msg::B b;");
    let b = idl("B", "nonsense");
    let service = "module idl { module srv { struct S_Request { A a; }; struct S_Response { boolean b; }; }; };";
    let files = [("msg/A.idl", &*a), ("msg/B.msg", FIELD), ("msg/B.idl", &b)];
    check("idl", &[&files[..], &[("srv/S.idl", service)]].concat(), &["msg/A", "msg/B", "srv/S"]);
    // A message and a service may have one name.
    let services = [("srv/A.idl", &*service.replace("S_", "A_")), ("srv/B.idl", &service.replace("S_", "B_"))];
    check("idl", &[&files[..], &services].concat(), &["msg/A", "msg/B", "srv/A", "srv/B"]);
    check("idl", &[&files[..], &[("CMakeLists.txt", &list)]].concat(), &["msg/A", "msg/B"]);
    refuse("idl", &[("msg/A.idl", "module idl { module msg {\n union A {}; }; };")], &["A.idl:2", "`union`"]);
}

/// ROS 2 installs `msg/bar/X.msg` as `bar/X.msg`, and lists it in an index.
#[test]
fn installed_packages_are_read_by_their_index() {
    let prefix = package(
        "prefix",
        &[
            (
                "share/ament_index/resource_index/rosidl_interfaces/old_msgs",
                "bar/X.msg\nmsg/X.idl\nmsg/Y.idl\nmsg/Y.msg\nmsg/Z.idl",
            ),
            ("share/old_msgs/bar/X.msg", FIELD),
            ("share/old_msgs/msg/X.idl", ""),
            ("share/old_msgs/msg/Y.msg", "X x"),
            ("share/old_msgs/msg/Z.idl", "module old_msgs { module msg { struct Z { octet a; }; }; };"),
        ],
    );
    let user = package("user", &[("msg/A.msg", "old_msgs/X x\nold_msgs/Y y\nold_msgs/Z z")]);
    let out = user.with_extension("out");
    fs::create_dir_all(&out).unwrap();
    Generator::new().package(&user).prefixes([prefix.clone()]).out_dir(&out).generate().unwrap();
    let code = fs::read_to_string(out.join("old_msgs.rs")).unwrap();
    assert!(["X", "Y", "Z"].iter().all(|name| code.contains(&format!("old_msgs/msg/{name}\""))), "{code}");
}

/// The crate `robot-msgs` of the package `robot_msgs` has `msg` at its root, and not that of another package.
#[test]
fn a_crate_that_is_called_as_its_package_has_the_types_at_its_root() {
    let folder = package("robot_msgs", &[("msg/Status.msg", FIELD)]);
    let index = |name: &str| {
        let generator = Generator::new().package(&folder).prefixes([]).crate_name(name).out_dir(&folder);
        generator.generate().unwrap();
        fs::read_to_string(folder.join("interfaces.rs")).unwrap()
    };
    for name in ["robot-msgs", "robot_msgs"] {
        assert!(index(name).ends_with("pub use self::robot_msgs::*;\n"));
    }
    for name in ["robot", "std_msgs"] {
        assert!(!index(name).contains("pub use"), "{name}");
    }
}
