//! Parameters that are set from outside and that nobody declares are told of when the program spins.

use std::sync::Mutex;

use log::{LevelFilter, Log, Metadata, Record};
use rospin::{Context, ContextOptions, Ros, RosArguments};

static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Warnings;

impl Log for Warnings {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        WARNINGS.lock().unwrap().push(record.args().to_string());
    }

    fn flush(&self) {}
}

#[test]
fn misspelt_parameters_are_told_of_at_the_first_spin() {
    log::set_boxed_logger(Box::new(Warnings)).unwrap();
    log::set_max_level(LevelFilter::Warn);
    let parameters = ["-p", "gain:=1", "-p", "gian:=2", "-p", "arm:speed:=3", "-p", "leg:sped:=4"];
    let parameters = ["robot", "--ros-args"].into_iter().chain(parameters);
    let arguments = RosArguments::parse(parameters.chain(["-p", "qos_overrides./tf.publisher.depth:=5"])).unwrap();
    let ros = Ros::in_process(&Context::new(ContextOptions::new())).with_arguments(arguments);
    let (arm, leg) = (ros.create_node("arm").unwrap(), ros.create_node("leg").unwrap());
    // One of the nodes has the parameter, and the value was for all nodes.
    arm.declare_parameter("gain", 0).unwrap();
    arm.declare_parameter("speed", 0).unwrap();
    ros.executor().handle().halt();
    ros.spin().unwrap();
    let _ = leg;
    let told = WARNINGS.lock().unwrap();
    let expected = [
        "parameter `gian` is set from outside, but not declared by `/arm`, `/leg`; declared are `gain`, `speed`, \
         `start_type_description_service`, `use_sim_time`",
        "parameter `sped` is set from outside, but not declared by `/leg`; declared are `start_type_description_service`, \
         `use_sim_time`",
    ];
    assert_eq!(*told, expected);
}
