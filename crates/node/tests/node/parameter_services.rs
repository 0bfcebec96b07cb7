//! Parameters of nodes from other nodes' side.

use std::time::Duration;

use rospin_engine::{Context, ContextOptions, Deployment, Executor, ExecutorOptions, SpinOptions};
use rospin_node::interfaces::builtin_interfaces::Time;
use rospin_node::interfaces::rcl_interfaces::{self as wire, ParameterEvent};
use rospin_node::interfaces::rosgraph_msgs::Clock;
use rospin_node::{
    CallError, Node, NodeOptions, ParameterClient, ParameterClientError, ParameterKind, ParameterOptions,
    ParameterSetting, ParameterValue, Ros, ServeParametersError,
};

struct Fixture {
    context: Context,
    executor: Executor,
    ros: Ros,
    node: Node,
    client: ParameterClient,
}

fn set_up_with(options: NodeOptions) -> Fixture {
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let ros = Ros::in_process(&context);
    let options = options.namespace("/robot").start_parameter_services(false).start_type_description_service(false);
    let node = ros.create_node(options).unwrap();
    let other = ros.create_node("other").unwrap();
    let client = other.create_parameter_client("/robot/arm").unwrap();
    Fixture { context, executor, ros, node, client }
}

fn set_up() -> Fixture {
    set_up_with(NodeOptions::new("arm"))
}

impl Fixture {
    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.executor.spin_until(future, SpinOptions::new().timeout(Duration::from_secs(40))).unwrap()
    }

    fn spin_all(&self) {
        self.executor.spin(SpinOptions::spin_all()).unwrap();
    }
}

#[test]
fn other_nodes_read_list_and_describe_parameters() {
    let at = set_up();
    assert!(!at.client.service_is_ready());
    let error = at.wait(at.client.get(&["gain"])).unwrap_err();
    assert!(matches!(error, ParameterClientError::Call(CallError::Unavailable { .. })), "{error}");

    let options = ParameterOptions::from(1.0).range(0.0..=10.0).step(0.5).additional_constraints("not 7");
    let _gain = at.node.declare_parameter("left.gain", options).unwrap();
    let _name = at.node.declare_parameter("name", ParameterOptions::from("arm").read_only()).unwrap();
    let _serial = at.node.declare_parameter::<Option<i64>>("serial", None).unwrap();
    let _server = at.node.serve_parameters(&at.executor.handle()).unwrap();
    at.wait(at.client.wait_for_service());
    assert!(at.client.service_is_ready());

    let names = ["left.gain", "nothing", "serial", "name"];
    let values = at.wait(at.client.get(&names)).unwrap();
    assert_eq!(values, [1.0.into(), ParameterValue::NotSet, ParameterValue::NotSet, "arm".into()]);
    let types = at.wait(at.client.types(&names)).unwrap();
    assert_eq!(types, [Some(ParameterKind::Double), None, None, Some(ParameterKind::String)]);
    assert_eq!(at.wait(at.client.get_one::<f64>("left.gain")), Ok(1.0));
    assert_eq!(at.wait(at.client.get_one::<Option<i64>>("serial")), Ok(None));
    let error = at.wait(at.client.get_one::<i64>("left.gain")).unwrap_err();
    assert!(error.to_string().contains("`left.gain` of node `/robot/arm` is double"), "{error}");

    let descriptors = at.wait(at.client.describe(&names)).unwrap();
    let range = wire::FloatingPointRange { from_value: 0.0, to_value: 10.0, step: 0.5 };
    assert_eq!(descriptors[0].floating_point_range, [range]);
    assert_eq!(descriptors[0].additional_constraints, "not 7");
    assert_eq!((descriptors[1].name.as_str(), descriptors[1].r#type), ("nothing", 0));
    assert_eq!((descriptors[2].r#type, descriptors[2].dynamic_typing), (2, false));
    assert!(descriptors[3].read_only);

    let all = at.wait(at.client.list(&[], 0)).unwrap();
    assert_eq!(all.names, ["left.gain", "name", "serial", "use_sim_time"]);
    assert_eq!(all.prefixes, ["left"]);
    assert_eq!(at.wait(at.client.list(&["left"], 1)).unwrap().names, ["left.gain"]);
}

#[test]
fn other_nodes_set_parameters_one_by_one_or_atomically() {
    let at = set_up();
    let (low, high) = (at.node.declare_parameter("low", 1).unwrap(), at.node.declare_parameter("high", 2).unwrap());
    let _server = at.node.serve_parameters(&at.executor.handle()).unwrap();
    let wishes = || vec![ParameterSetting::new("low", 5), ParameterSetting::new("high", "text")];
    let error = at.wait(at.client.set_atomically(wishes())).unwrap_err();
    assert!(error.to_string().contains("parameter `high` is of type integer, the value is string"), "{error}");
    assert_eq!((low.get(), high.get()), (1, 2));
    let results = at.wait(at.client.set(wishes())).unwrap();
    assert!(results[0].is_ok() && results[1].is_err(), "{results:?}");
    assert_eq!((low.get(), high.get()), (5, 2));
    at.wait(at.client.set_one("low", 6)).unwrap();
    at.wait(at.client.set_atomically([("high", 7)])).unwrap();
    let error = at.wait(at.client.set_one("high", "text")).unwrap_err();
    assert!(matches!(error, ParameterClientError::Refused { .. }), "{error}");
    assert!(at.wait(at.client.set_one("nothing", 1)).is_err());
    assert_eq!((low.get(), high.get()), (6, 7));
}

#[test]
fn a_type_that_is_none_is_refused() {
    let at = set_up();
    let _low = at.node.declare_parameter("low", 1).unwrap();
    let _server = at.node.serve_parameters(&at.executor.handle()).unwrap();
    let client = at.node.create_client::<wire::SetParameters>("~/set_parameters").unwrap();
    let value = wire::ParameterValue { r#type: 99, ..wire::ParameterValue::default() };
    let parameters = vec![wire::Parameter { name: "low".to_owned(), value }];
    let response = at.wait(client.call(wire::SetParametersRequest { parameters })).unwrap();
    assert_eq!(response.results[0].reason, "99 is not the number of a parameter type; those are numbers from 0 to 9");
}

#[test]
fn requests_are_answered_by_the_executor_only() {
    let at = set_up();
    let low = at.node.declare_parameter("low", 1).unwrap();
    let thread = std::thread::current().id();
    let _check = at.node.add_on_set_parameters_callback(move |_| {
        if std::thread::current().id() == thread { Ok(()) } else { Err("another thread".to_owned()) }
    });
    let _server = at.node.serve_parameters(&at.executor.handle()).unwrap();
    let call = at.client.set(vec![ParameterSetting::new("low", 5)]);
    assert_eq!(low.get(), 1);
    assert_eq!(at.wait(call).unwrap(), [Ok(())]);
    assert_eq!(low.get(), 5);
}

#[test]
fn a_deployment_file_moves_the_services() {
    let deployment = "
        [[executor]]
        name = \"background\"

        [[group]]
        name = \"parameters\"
        node = \"/robot/arm\"
        executor = \"background\"
    ";
    let deployment = Deployment::parse(deployment).unwrap();
    let context = Context::new(ContextOptions::new().deployment(deployment));
    let main = context.create_executor(ExecutorOptions::new("main"));
    let background = context.create_executor(ExecutorOptions::new("background"));
    let node = Ros::in_process(&context).create_node(NodeOptions::new("arm").namespace("/robot")).unwrap();
    let low = node.declare_parameter("low", 1).unwrap();
    let _server = node.serve_parameters(&main.handle()).unwrap();
    let client = node.create_parameter_client("/robot/arm").unwrap();
    let call = client.set(vec![ParameterSetting::new("low", 5)]);
    main.spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(low.get(), 1);
    assert_eq!(background.spin_until(call, SpinOptions::new()).unwrap().unwrap(), [Ok(())]);
}

#[test]
fn the_server_ends_when_it_is_dropped_and_there_is_one_at_a_time() {
    let at = set_up();
    let server = at.node.serve_parameters(&at.executor.handle()).unwrap();
    let error = at.node.serve_parameters(&at.executor.handle()).unwrap_err();
    assert!(matches!(error, ServeParametersError::AlreadyServed { .. }), "{error}");
    assert_eq!(server.missed(), 0);
    drop(server);
    at.spin_all();
    assert!(!at.client.service_is_ready());
    let _again = at.node.serve_parameters(&at.executor.handle()).unwrap();
    assert!(at.client.service_is_ready());
}

/// Returns the names of new, changed and deleted parameters.
fn names(event: &ParameterEvent) -> [Vec<&str>; 3] {
    [&event.new_parameters, &event.changed_parameters, &event.deleted_parameters]
        .map(|parameters| parameters.iter().map(|parameter| parameter.name.as_str()).collect())
}

#[test]
fn changes_are_published_in_their_order() {
    let at = set_up();
    let group = at.executor.create_group("group", Vec::new());
    let hear = |events: &mut Vec<ParameterEvent>, event| events.push(event);
    let _events = at.node.create_parameter_event_subscription(&group, hear).unwrap();

    let low = at.node.declare_parameter("low", 1).unwrap();
    let server = at.node.serve_parameters(&at.executor.handle()).unwrap();
    let any = at.node.declare_parameter("any", ParameterValue::from(1)).unwrap();
    let _unset = at.node.declare_parameter::<Option<i64>>("unset", None).unwrap();
    low.set(2).unwrap();
    low.set(2).unwrap();
    let both = [("low", ParameterValue::from(3)), ("any", "text".into())];
    at.node.set_parameters_atomically(both).unwrap();
    low.set(4).unwrap();
    any.set(ParameterValue::NotSet).unwrap();
    low.undeclare().unwrap();
    drop(server);
    let _late = at.node.declare_parameter("late", 1).unwrap();

    at.spin_all();
    let events = group.into_payload().unwrap();
    let expected = [
        [vec!["low"], vec![], vec![]],
        [vec!["use_sim_time"], vec![], vec![]],
        [vec!["any"], vec![], vec![]],
        [vec![], vec!["low"], vec![]],
        [vec![], vec!["low"], vec![]],
        [vec![], vec!["low", "any"], vec![]],
        [vec![], vec!["low"], vec![]],
        [vec![], vec![], vec!["any"]],
        [vec![], vec![], vec!["low"]],
    ];
    assert_eq!(events.iter().map(names).collect::<Vec<_>>(), expected);
    assert!(events.iter().all(|event| event.node == "/robot/arm" && event.stamp > Time::default()));
    assert_eq!(events[5].changed_parameters[1].value.string_value, "text");
}

#[test]
fn parameters_can_be_set_while_events_are_handled() {
    let at = set_up();
    let low = at.node.declare_parameter("low", 1).unwrap();
    let _server = at.node.serve_parameters(&at.executor.handle()).unwrap();
    let group = at.executor.create_group("group", 0);
    let _events = at
        .node
        .create_parameter_event_subscription(&group, {
            let low = low.clone();
            move |events: &mut u32, _| {
                *events += 1;
                if low.get() < 3 {
                    low.set(low.get() + 1).unwrap();
                }
            }
        })
        .unwrap();
    low.set(1).unwrap();
    at.spin_all();
    assert_eq!((low.get(), group.into_payload().unwrap()), (3, 3));
}

#[test]
fn use_sim_time_follows_the_clock_while_it_is_set() {
    let at = set_up();
    let time = at.context.ros_time();
    let _server = at.node.serve_parameters(&at.executor.handle()).unwrap();
    let clock = at.node.create_publisher::<Clock>("/clock").unwrap();
    let publish = |sec| clock.publish(Clock { clock: Time { sec, nanosec: 0 } }).unwrap();
    let set = |on: bool| at.wait(at.client.set(vec![ParameterSetting::new("use_sim_time", on)])).unwrap();
    assert!(!time.is_active());
    assert_eq!(set(true), [Ok(())]);
    at.spin_all();
    assert!(time.is_active());
    publish(100);
    at.spin_all();
    assert_eq!(time.now(), rospin_engine::Time::from_millis(100_000));
    assert_eq!(set(false), [Ok(())]);
    at.spin_all();
    assert!(!time.is_active());
    assert_eq!(clock.subscription_count(), 0);
}

#[test]
fn ros_time_follows_the_last_value_of_use_sim_time_in_a_request() {
    let at = set_up();
    let time = at.context.ros_time();
    let _server = at.node.serve_parameters(&at.executor.handle()).unwrap();
    for on in [false, true] {
        at.wait(at.client.set_atomically([("use_sim_time", !on), ("use_sim_time", on)])).unwrap();
        at.spin_all();
        assert_eq!((at.node.parameter("use_sim_time"), time.is_active()), (Some(on.into()), on));
    }
}

#[test]
fn use_sim_time_can_be_overridden_and_is_shared_by_the_nodes_of_a_context() {
    let at = set_up_with(NodeOptions::new("arm").parameter_override("use_sim_time", true));
    let time = at.context.ros_time();
    let _first = at.node.serve_parameters(&at.executor.handle()).unwrap();
    assert!(time.is_active());
    let options = NodeOptions::new("second").parameter_override("use_sim_time", true);
    let second = at.ros.create_node(options).unwrap();
    // The second node's services are on an executor that is not spun yet.
    let behind = at.context.create_executor(ExecutorOptions::new("behind"));
    let _second = second.serve_parameters(&behind.handle()).unwrap();

    let clock = at.node.create_publisher::<Clock>("/clock").unwrap();
    let publish = |sec| clock.publish(Clock { clock: Time { sec, nanosec: 0 } }).unwrap();
    publish(1);
    at.spin_all();
    publish(2);
    at.spin_all();
    behind.spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(time.now(), rospin_engine::Time::from_millis(2_000));
    publish(3);
    at.spin_all();

    at.node.set_parameter("use_sim_time", false).unwrap();
    at.spin_all();
    assert_eq!(second.parameter("use_sim_time"), Some(false.into()), "it is the same in all nodes of a context");
    assert!(time.is_active(), "the executor of the other node has not run");
    behind.spin(SpinOptions::spin_all()).unwrap();
    assert!(!time.is_active());
}

#[test]
fn a_clock_subscription_whose_executor_is_gone_does_not_lead_the_others() {
    let at = set_up();
    let gone = at.context.create_executor(ExecutorOptions::new("gone"));
    let time = at.context.ros_time();
    let first = at.node.use_sim_time(&gone.handle(), &time).unwrap();
    let second = at.ros.create_node("second").unwrap();
    let _second = second.use_sim_time(&at.executor.handle(), &time).unwrap();

    let clock = at.node.create_publisher::<Clock>("/clock").unwrap();
    let publish = |sec| clock.publish(Clock { clock: Time { sec, nanosec: 0 } }).unwrap();
    publish(1);
    at.spin_all();
    assert_eq!(time.now(), rospin_engine::Time::ZERO, "the first one leads");
    drop(gone);
    publish(2);
    at.spin_all();
    assert_eq!(time.now(), rospin_engine::Time::from_millis(2_000));
    drop(first);
    assert!(time.is_active());
}

#[test]
fn use_sim_time_of_another_type_is_refused() {
    let at = set_up();
    let _text = at.node.declare_parameter("use_sim_time", "yes").unwrap();
    let error = at.node.serve_parameters(&at.executor.handle()).unwrap_err();
    assert!(matches!(error, ServeParametersError::NoBool), "{error}");
    at.node.undeclare_parameter("use_sim_time").unwrap();
    let _server = at.node.serve_parameters(&at.executor.handle()).unwrap();
}

#[test]
fn events_of_many_threads_come_in_the_order_of_the_changes() {
    let at = set_up();
    let low = at.node.declare_parameter("low", 0).unwrap();
    let server = at.node.serve_parameters(&at.executor.handle()).unwrap();
    let group = at.executor.create_group("group", Vec::new());
    let hear = |values: &mut Vec<i64>, event: ParameterEvent| {
        values.push(event.changed_parameters[0].value.integer_value);
    };
    let _events = at.node.create_parameter_event_subscription(&group, hear).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let low = &low;
            scope.spawn(move || (0..200).for_each(|n| low.set(thread * 1000 + n).unwrap()));
        }
    });
    at.spin_all();
    let values = group.into_payload().unwrap();
    assert_eq!((values.len(), values.last(), server.missed_events()), (800, Some(&low.get()), 0));
}
