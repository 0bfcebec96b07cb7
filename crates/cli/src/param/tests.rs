//! Parameters of nodes of the same process.

use rospin::{Node, Parameter, ParameterOptions};

use super::*;
use crate::ros::testing::{Robot, parse, written};

fn param(robot: &Robot, arguments: &[&str]) -> Result<String, String> {
    let matches = parse(command(), &[&[NAME], arguments].concat());
    let options = Options::from_arg_matches(&matches).unwrap();
    written(|out| run_with(&robot.session, &options, out))
}

/// A node with parameters.
struct Arm {
    _node: Node,
    gain: Parameter<f64>,
    names: Parameter<Vec<String>>,
}

fn arm(robot: &Robot) -> Arm {
    let node = robot.node("arm");
    let options = ParameterOptions::from(2.5).description("of the controller").range(0.0..=10.0);
    let gain = node.declare_parameter("gain", options).unwrap();
    let names = node.declare_parameter("joint.names", vec!["a".to_owned(), "it's".to_owned()]).unwrap();
    node.declare_parameter("serial", ParameterOptions::from(7_i64).read_only()).unwrap();
    Arm { _node: node, gain, names }
}

#[test]
fn parameters_are_listed_read_and_set() {
    let robot = Robot::new();
    let arm = arm(&robot);
    let all = param(&robot, &["list"]).unwrap();
    assert!(all.starts_with("/arm:\n  gain\n  joint.names\n"), "{all}");
    let typed = param(&robot, &["list", "arm", "--param-type", "--param-prefixes", "joint"]).unwrap();
    assert_eq!(typed, "  joint.names (type: string array)\n");
    assert_eq!(param(&robot, &["get", "/arm", "gain"]).unwrap(), "Double value is: 2.5\n");
    assert_eq!(param(&robot, &["get", "arm", "gain", "--hide-type"]).unwrap(), "2.5\n");
    assert_eq!(param(&robot, &["get", "/arm", "joint.names"]).unwrap(), "String values are: ['a', \"it's\"]\n");
    assert_eq!(param(&robot, &["set", "/arm", "gain", "4"]).unwrap(), "Set parameter successful\n");
    // The parameter is a list of strings, so `y` is not taken for a Boolean, nor `1` for a number.
    assert_eq!(param(&robot, &["set", "/arm", "joint.names", "[y, 1]"]).unwrap(), "Set parameter successful\n");
    assert_eq!((arm.gain.get(), arm.names.get()), (4.0, vec!["y".to_owned(), "1".to_owned()]));
}

#[test]
fn what_is_not_there_or_refused_is_an_error() {
    let robot = Robot::new();
    let _arm = arm(&robot);
    assert_eq!(param(&robot, &["get", "/am", "gain"]).unwrap_err(), "no node /am; nearest: /arm");
    assert_eq!(param(&robot, &["get", "/arm", "gan"]).unwrap_err(), "node /arm has no parameter gan; nearest: gain");
    assert_eq!(
        param(&robot, &["describe", "/arm", "gan"]).unwrap_err(),
        "node /arm has no parameter gan; nearest: gain"
    );
    let refused = param(&robot, &["set", "/arm", "gain", "11"]).unwrap_err();
    assert!(refused.starts_with("Setting parameter failed: "), "{refused}");
    let wrong = param(&robot, &["set", "/arm", "gain", "fast"]).unwrap_err();
    assert!(wrong.starts_with("Setting parameter failed: "), "{wrong}");
}

#[test]
fn a_parameter_is_described() {
    let robot = Robot::new();
    let _arm = arm(&robot);
    let expected = "Parameter name: gain\n  Type: double\n  Description: of the controller\n  Constraints:\n    Min value: 0.0\n    Max value: 10.0\n";
    assert_eq!(param(&robot, &["describe", "/arm", "gain"]).unwrap(), expected);
}

#[test]
fn what_is_dumped_can_be_loaded() {
    let robot = Robot::new();
    let arm = arm(&robot);
    let dumped = param(&robot, &["dump", "/arm"]).unwrap();
    assert!(
        dumped.starts_with(
            "/arm:\n  ros__parameters:\n    gain: 2.5\n    joint:\n      names:\n      - a\n      - it's\n    serial: 7\n"
        ),
        "{dumped}"
    );
    // A name of a part is no number, Boolean or nothing, also where it looks like one.
    let node = robot.node("odd");
    let names = ["joint.1.max", "joint.on", "null", "2026-11-27", "a..b"];
    for name in names {
        let options = ParameterOptions::from(1_i64);
        node.declare_parameter(name, options).unwrap();
    }
    let odd = param(&robot, &["dump", "/odd"]).unwrap();
    for key in ["'1':\n        max: 1\n", "'on': 1\n", "'null': 1\n", "'2026-11-27': 1\n", "'': \n", "b: 1\n"] {
        assert!(odd.contains(key.trim_end_matches(" \n")), "{key}: {odd}");
    }
    let file = rospin::parameters::ParameterFile::parse(&odd).unwrap();
    let of = rospin::graph::NodeName::new("/", "odd").unwrap();
    let read = file.settings(&of, |_| None).unwrap();
    for name in names {
        assert!(read.iter().any(|(known, _)| known == name), "{name}: {read:?}");
    }
    let folder = std::env::temp_dir().join(format!("rospin-param-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("arm.yaml");
    std::fs::write(&file, &dumped).unwrap();
    arm.gain.set(1.0).unwrap();
    // Only what is another value by now is set.
    assert_eq!(param(&robot, &["load", "/arm", file.to_str().unwrap()]).unwrap(), "Set parameter gain successful\n");
    assert_eq!(arm.gain.get(), 2.5);
    assert_eq!(param(&robot, &["load", "/arm", file.to_str().unwrap()]).unwrap(), "");
    std::fs::write(&file, "/**: {ros__parameters: {gain: 3}}\n/arm: {ros__parameters: {joint.names: []}}\n").unwrap();
    let file = file.to_str().unwrap();
    let named = param(&robot, &["load", "/arm", file, "--no-use-wildcard"]).unwrap();
    assert_eq!(named, "Set parameter joint.names successful\n");
    assert_eq!((arm.gain.get(), arm.names.get()), (2.5, Vec::new()));
    let loaded = param(&robot, &["load", "/arm", file]).unwrap();
    assert_eq!(loaded, "Set parameter gain successful\n");
    assert_eq!(arm.gain.get(), 3.0);
    std::fs::remove_dir_all(&folder).unwrap();
}
