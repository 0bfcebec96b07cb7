//! Structs of parameters.

use rospin_engine::{Context, ContextOptions};
use rospin_node::{
    DeclareError, Node, NodeOptions, ParameterValue, Parameters, Ros, SetParameterError, interfaces::rcl_interfaces,
};

#[derive(Parameters, Clone, PartialEq, Debug)]
struct Robot {
    /// Maximum speed, in meters per second.
    #[parameter(default = 1.5, range = 0.0..=3.0, step = 0.5, additional_constraints = "indoors 1.0")]
    max_speed: f64,
    #[parameter(default = 3, range = 1.., description = "how often it tries")]
    /// Not a documentation of the parameter: the attribute has one.
    attempts: i64,
    #[parameter(default = "base_link", read_only)]
    frame_id: String,
    #[parameter(default = ["left", "right"])]
    wheels: Vec<String>,
    #[parameter(default = [1, 2, 3])]
    gears: Vec<i64>,
    #[parameter(default)]
    verbose: bool,
    #[parameter(name = "device.serial")]
    serial: Option<i64>,
    #[parameter(default = 0.5, range = 0.0..=1.0)]
    trust: Option<f64>,
    #[parameter(default = ParameterValue::from(1))]
    any: ParameterValue,
    #[parameter(nested)]
    arm: Arm,
}

#[derive(Parameters, Clone, PartialEq, Debug)]
struct Arm {
    #[parameter(nested, name = "left.gains")]
    left: Gains,
    #[parameter(nested)]
    r#type: Gains,
}

#[derive(Parameters, Clone, Copy, PartialEq, Debug)]
#[parameters(crate = ::rospin_node)]
struct Gains {
    #[parameter(default = 1.0)]
    p: f64,
    #[parameter(default = DEFAULT_I)]
    i: f64,
}

const DEFAULT_I: f64 = 0.1;

#[derive(Parameters)]
struct Nothing {}

fn node_with(options: impl Into<NodeOptions>) -> Node {
    Ros::in_process(&Context::new(ContextOptions::new()))
        .create_node(options.into().start_parameter_services(false).start_type_description_service(false))
        .unwrap()
}

#[test]
fn fields_are_parameters_and_nested_structs_dotted_names() {
    let node = node_with("robot");
    let robot = node.declare_parameters::<Robot>("").unwrap();
    let names = [
        "any",
        "arm.left.gains.i",
        "arm.left.gains.p",
        "arm.type.i",
        "arm.type.p",
        "attempts",
        "device.serial",
        "frame_id",
        "gears",
        "max_speed",
        "trust",
        "verbose",
        "wheels",
    ];
    assert_eq!(node.list_parameters(&[], 0).names, names);
    let gains = Gains { p: 1.0, i: 0.1 };
    let expected = Robot {
        max_speed: 1.5,
        attempts: 3,
        frame_id: "base_link".to_owned(),
        wheels: vec!["left".to_owned(), "right".to_owned()],
        gears: vec![1, 2, 3],
        verbose: false,
        serial: None,
        trust: Some(0.5),
        any: ParameterValue::Integer(1),
        arm: Arm { left: gains, r#type: gains },
    };
    assert_eq!(robot.get(), expected);
    let _nothing = node.declare_parameters::<Nothing>("nothing").unwrap();
}

#[test]
fn attributes_end_up_in_the_descriptor() {
    let node = node_with("robot");
    let _robot = node.declare_parameters::<Robot>("my.robot").unwrap();
    let speed = node.describe_parameter("my.robot.max_speed").unwrap();
    assert_eq!(speed.description, "Maximum speed, in meters per second.");
    assert_eq!(speed.additional_constraints, "indoors 1.0");
    let range = rcl_interfaces::FloatingPointRange { from_value: 0.0, to_value: 3.0, step: 0.5 };
    assert_eq!(speed.floating_point_range, [range]);
    assert_eq!(node.describe_parameter("my.robot.attempts").unwrap().description, "how often it tries");
    assert!(node.describe_parameter("my.robot.frame_id").unwrap().read_only);
    assert!(node.describe_parameter("my.robot.any").unwrap().dynamic_typing);
}

#[test]
fn parameters_of_a_struct_that_differ_are_set_all_or_none() {
    let node = node_with("robot");
    let robot = node.declare_parameters::<Robot>("").unwrap();
    let mut wish = robot.get();
    wish.arm.left.p = 7.0;
    wish.serial = Some(5);
    robot.set(wish.clone()).unwrap();
    assert_eq!(node.parameter("arm.left.gains.p"), Some(7.0.into()));
    assert_eq!(robot.clone().get(), wish);
    wish.arm.left.p = 8.0;
    wish.attempts = 0;
    assert!(matches!(robot.set(wish.clone()), Err(SetParameterError::OutOfRange { .. })));
    wish.attempts = 1;
    wish.frame_id.clear();
    assert!(matches!(robot.set(wish), Err(SetParameterError::ReadOnly { .. })));
    assert_eq!(node.parameter("arm.left.gains.p"), Some(7.0.into()));
}

#[test]
fn nothing_stays_declared_if_a_field_cannot_be() {
    let node = node_with(NodeOptions::new("robot").parameter_override("arm.type.p", "text"));
    let error = node.declare_parameters::<Robot>("").unwrap_err();
    assert!(matches!(error, DeclareError::Initial { origin: "override", .. }), "{error}");
    assert!(node.list_parameters(&[], 0).names.is_empty());
}

#[test]
fn parameters_that_are_set_together_are_read_together() {
    let node = node_with("robot");
    let gains = node.declare_parameters::<Gains>("").unwrap();
    gains.set(Gains { p: 0.0, i: 0.0 }).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (1..2000).for_each(|n| gains.set(Gains { p: n.into(), i: n.into() }).unwrap()));
        while !writer.is_finished() {
            let Gains { p, i } = gains.get();
            assert!(p.total_cmp(&i).is_eq(), "{p} {i}");
        }
    });
}
