//! Parameters and logs on the network: every type of value, and what is said of it, arrives as it was sent.

use rospin_dds::interfaces::rcl_interfaces::{Log, ParameterEvent};
use rospin_dds::{ParameterOptions, ParameterSetting, ParameterValue, Parameters, SubscriptionOptions};

use crate::common::{context, domain_id, executor, join, spin, wait};

#[derive(Parameters)]
#[parameters(crate = rospin_dds)]
struct All {
    #[parameter(default)]
    bool: bool,
    #[parameter(default = 2, range = 0..=10, step = 2)]
    integer: i64,
    #[parameter(default = 1.0, range = 0.0..=2.0, step = 0.5, description = "of the motor")]
    double: f64,
    #[parameter(default = "text", read_only)]
    string: String,
    #[parameter(default = [0, 255])]
    bytes: Vec<u8>,
    #[parameter(default = [true, false, true])]
    bools: Vec<bool>,
    #[parameter(default = [-1])]
    integers: Vec<i64>,
    #[parameter(default = [0.5])]
    doubles: Vec<f64>,
    #[parameter(default = ["a", ""])]
    strings: Vec<String>,
}

const NAMES: [&str; 9] = ["bool", "integer", "double", "string", "bytes", "bools", "integers", "doubles", "strings"];

#[test]
fn parameters_cross_the_network() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let domain = join(domain_id());
    let node = domain.ros(&context).create_node("arm").unwrap();
    let _all = node.declare_parameters::<All>("").unwrap();
    let _any = node.declare_parameter::<ParameterValue>("any", ParameterOptions::new()).unwrap();
    let _server = node.serve_parameters(&executor.handle()).unwrap();

    let other = domain.ros(&context).create_node("other").unwrap();
    let client = other.create_parameter_client("/arm").unwrap();
    let group = executor.create_group("events", Vec::new());
    let handle = executor.handle();
    let events = other
        .create_parameter_event_subscription(&group, move |events: &mut Vec<ParameterEvent>, event| {
            let is_last = event.deleted_parameters.iter().any(|parameter| parameter.name == "bool");
            events.push(event);
            if is_last {
                handle.halt();
            }
        })
        .unwrap();
    wait(&executor, "the server is matched", client.wait_for_service());
    wait(&executor, "the publisher of events is matched", events.wait_for_publisher());

    let values = wait(&executor, "values come", client.get(&NAMES)).unwrap();
    let expected: [ParameterValue; 9] = [
        false.into(),
        2.into(),
        1.0.into(),
        "text".into(),
        vec![0_u8, 255].into(),
        vec![true, false, true].into(),
        vec![-1_i64].into(),
        vec![0.5].into(),
        vec!["a".to_owned(), String::new()].into(),
    ];
    assert_eq!(values, expected);
    let descriptors = wait(&executor, "descriptors come", client.describe(&NAMES)).unwrap();
    for (descriptor, name) in descriptors.iter().zip(NAMES) {
        assert_eq!(Some(descriptor), node.describe_parameter(name).as_ref());
    }
    let types = wait(&executor, "types come", client.types(&NAMES)).unwrap();
    assert_eq!(types, expected.map(|value| value.kind()));
    let listed = wait(&executor, "names come", client.list(&[], 0)).unwrap();
    assert_eq!(listed, node.list_parameters(&[], 0));

    let settings = vec![ParameterSetting::new("integer", 3), ParameterSetting::new("any", vec![1.5])];
    let set = wait(&executor, "they are set or not", client.set(settings)).unwrap();
    assert!(set[0].is_err() && set[1].is_ok(), "{set:?}");
    let delete = vec![ParameterSetting::new("any", ParameterValue::NotSet)];
    wait(&executor, "it is deleted", client.set_atomically(delete)).unwrap();
    node.undeclare_parameter("bool").unwrap();
    spin(&executor, "the events come");
    let events = group.into_payload().unwrap();
    let last = &events[events.len() - 2].deleted_parameters[0];
    assert_eq!((last.name.as_str(), last.value.double_array_value.as_slice()), ("any", [1.5].as_slice()));
}

#[test]
fn logs_cross_the_network() {
    log::set_max_level(log::LevelFilter::Info);
    let (context, _) = context();
    let executor = executor(&context, "main");
    let domain = join(domain_id());
    let node = domain.ros(&context).create_node("arm").unwrap();
    let _rosout = node.publish_rosout(&executor.handle()).unwrap();
    log::warn!(logger: node.logger(), "before anybody listened");
    let group = executor.create_group("console", Vec::new());
    let options = SubscriptionOptions::new("/rosout").keep_last(1000).transient_local();
    let handle = executor.handle();
    let _console = node
        .on(&group)
        .create_subscription(options, move |heard: &mut Vec<Log>, record| {
            heard.push(record);
            handle.halt();
        })
        .unwrap();
    spin(&executor, "the record comes");
    let heard = group.into_payload().unwrap();
    assert_eq!((heard[0].name.as_str(), heard[0].msg.as_str()), ("arm", "before anybody listened"));
}
