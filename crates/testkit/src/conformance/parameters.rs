//! Parameters: other nodes read and set them, get their changes, and switch simulated time on and off.

use rospin_engine::Executor;
use rospin_node::interfaces::rcl_interfaces::{IntegerRange, ParameterEvent};
use rospin_node::interfaces::rosgraph_msgs::Clock;
use rospin_node::{
    ParameterClient, ParameterClientError, ParameterKind, ParameterOptions, ParameterServer, ParameterSetting,
    ParameterValue,
};

use super::fixture::Fixture;
use super::messages::Number;
use super::seen::Seen;
use super::sim_time::{at, every, show};
use super::world::World;

impl<F: Fixture> World<F> {
    /// Serves the parameters of the node `here` on `executor`. Returns the server, and a client of the node `there`
    /// that has found it.
    #[track_caller]
    fn parameters(&self, executor: &Executor) -> (ParameterServer, ParameterClient) {
        let server = self.here.serve_parameters(&executor.handle()).expect("services");
        let client = self.there.create_parameter_client("/here").expect("a client");
        self.wait("the services are there", client.wait_for_service());
        (server, client)
    }
}

/// Another node reads values and types (those of undeclared parameters too), lists names, and gets descriptions.
pub fn another_node_reads_lists_and_describes<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let options = ParameterOptions::from(6).range(0..=10).step(2).description("of the gearbox");
    let _gear = world.here.declare_parameter("motor.gear", options).unwrap();
    let _gain = world.here.declare_parameter("motor.left.gain", 1.5).unwrap();
    let _name = world.here.declare_parameter("name", ParameterOptions::from("arm").read_only()).unwrap();
    let _serial = world.here.declare_parameter::<Option<i64>>("serial", None).unwrap();
    let limits = vec![0.25, -1.0];
    let _limits = world.here.declare_parameter("limits", limits.clone()).unwrap();
    let (_server, client) = world.parameters(&main);
    world.spinning(&[&main], || {
        let names = ["motor.gear", "nothing", "name", "serial", "limits"];
        let values = world.wait("values come", client.get(&names)).unwrap();
        let not_set = ParameterValue::NotSet;
        assert_eq!(values, [6.into(), not_set.clone(), "arm".into(), not_set, limits.into()]);
        let types = world.wait("types come", client.types(&names)).unwrap();
        let known = [ParameterKind::Integer, ParameterKind::String, ParameterKind::DoubleArray].map(Some);
        assert_eq!(types, [known[0], None, known[1], None, known[2]]);
        assert_eq!(world.wait("it comes", client.get_one::<i64>("motor.gear")), Ok(6));

        let listed = world.wait("names come", client.list(&[], 0)).unwrap();
        assert_eq!(
            listed.names,
            [
                "limits",
                "motor.gear",
                "motor.left.gain",
                "name",
                "serial",
                "start_type_description_service",
                "use_sim_time"
            ]
        );
        assert_eq!(listed.prefixes, ["motor", "motor.left"]);
        assert_eq!(world.wait("names come", client.list(&["motor"], 1)).unwrap().names, ["motor.gear"]);

        let described = world.wait("descriptions come", client.describe(&names)).unwrap();
        assert_eq!(described[0].integer_range, [IntegerRange { from_value: 0, to_value: 10, step: 2 }]);
        assert_eq!(described[0].description, "of the gearbox");
        assert_eq!((described[1].name.as_str(), described[1].r#type), ("nothing", 0));
        assert!(described[2].read_only && !described[0].read_only);
    });
    assert_eq!(world.panics(), 0);
}

/// Another node sets parameters one by one. Each is set or rejected by itself, and the node sees the new values.
pub fn another_node_sets_one_by_one<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let low = world.here.declare_parameter("low", 1).unwrap();
    let name = world.here.declare_parameter("name", "arm").unwrap();
    let (_server, client) = world.parameters(&main);
    world.spinning(&[&main], || {
        for n in 2..10 {
            let settings = vec![
                ParameterSetting::new("low", n),
                ParameterSetting::new("nothing", n),
                ParameterSetting::new("name", format!("arm {n}")),
            ];
            let results = world.wait("the answer comes", client.set(settings)).unwrap();
            assert_eq!(results.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true], "{results:?}");
            assert_eq!((low.get(), name.get()), (n, format!("arm {n}")));
            assert_eq!(world.wait("it comes", client.get_one::<i64>("low")), Ok(n));
        }
    });
}

/// A value that is out of range, between two steps, of another type, or for a read-only parameter is rejected with the
/// node's reason.
pub fn values_that_do_not_fit_are_refused<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let gear = world.here.declare_parameter("gear", ParameterOptions::from(2).range(0..=10).step(2)).unwrap();
    let fixed = world.here.declare_parameter("fixed", ParameterOptions::from(true).read_only()).unwrap();
    let (_server, client) = world.parameters(&main);
    world.spinning(&[&main], || {
        let settings = vec![
            ParameterSetting::new("gear", 12),
            ParameterSetting::new("gear", 3),
            ParameterSetting::new("gear", "third"),
            ParameterSetting::new("fixed", false),
        ];
        let results = world.wait("the answer comes", client.set(settings)).unwrap();
        assert_eq!(results.len(), 4);
        for (result, name) in results.iter().zip(["gear", "gear", "gear", "fixed"]) {
            assert!(result.as_ref().is_err_and(|reason| reason.contains(name)), "{result:?}");
        }
    });
    assert_eq!((gear.get(), fixed.get()), (2, true));
}

/// Parameters that are set atomically are all set, or none is.
pub fn all_are_set_or_none<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let low = world.here.declare_parameter("low", 1).unwrap();
    let high = world.here.declare_parameter("high", ParameterOptions::from(2).range(0..=10)).unwrap();
    let (_server, client) = world.parameters(&main);
    let both = |one: i64, other: i64| vec![ParameterSetting::new("low", one), ParameterSetting::new("high", other)];
    world.spinning(&[&main], || {
        let error = world.wait("the answer comes", client.set_atomically(both(5, 11))).unwrap_err();
        let ParameterClientError::Refused { node, reason } = error else { panic!("{error}") };
        assert!(node == "/here" && reason.contains("high"), "{node}: {reason}");
        assert_eq!((low.get(), high.get()), (1, 2));
        assert_eq!(world.wait("the answer comes", client.set_atomically(both(5, 10))), Ok(()));
    });
    assert_eq!((low.get(), high.get()), (5, 10));
}

/// Another node gets the changes of declared, set and undeclared parameters, in order.
pub fn changes_are_heard_in_their_order<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let group = main.create_group("listener", ());
    let events = Seen::new();
    let log = events.clone();
    let subscription = world.there.create_parameter_event_subscription(&group, move |(), event: ParameterEvent| {
        let names = [&event.new_parameters, &event.changed_parameters, &event.deleted_parameters];
        let names = names.map(|all| all.iter().map(|parameter| parameter.name.clone()).collect::<Vec<_>>());
        log.push((event.node, names));
    });
    let _subscription = subscription.unwrap();
    let (_server, client) = world.parameters(&main);
    let low = world.here.declare_parameter("low", 0).unwrap();
    world.spinning(&[&main], || {
        // A node does not know who listens, so it repeats a change until one was received.
        let mut pause = 0;
        world.until("a change is heard", || {
            if pause == 0 {
                low.set(low.get() + 1).unwrap();
            }
            pause = (pause + 1) % 8;
            events.count() > 0
        });
        let any = world.here.declare_parameter("any", 1).unwrap();
        let settings = vec![ParameterSetting::new("low", 100), ParameterSetting::new("any", 2)];
        assert_eq!(world.wait("both are set", client.set_atomically(settings)), Ok(()));
        any.undeclare().unwrap();
        let is_last = |(_, [.., deleted]): &(String, [Vec<String>; 3])| deleted.contains(&"any".to_owned());
        world.wait("the last one is heard", events.until(move |events| events.iter().any(is_last)));
    });
    let events = events.all();
    assert!(events.iter().all(|(node, _)| node == "/here"), "{events:?}");
    let last: Vec<_> = events[events.len() - 3..].iter().map(|(_, names)| names.clone()).collect();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let expected = [
        [names(&["any"]), vec![], vec![]],
        [vec![], names(&["low", "any"]), vec![]],
        [vec![], vec![], names(&["any"])],
    ];
    assert_eq!(last, expected);
}

/// On one thread, a callback that holds its group sets a parameter of a node on its own executor, and awaits the
/// result.
pub fn a_callback_sets_a_parameter_of_its_own_executor<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let low = world.here.declare_parameter("low", -1).unwrap();
    let (_server, client) = world.parameters(&main);
    let trigger = world.here.create_publisher("trigger").unwrap();
    let group = main.create_group("caller", ());
    let results = Seen::new();
    let log = results.clone();
    let subscription = world.there.on(&group).create_subscription("trigger", move |_, Number { data }: Number| {
        let log = log.clone();
        let set = client.set(vec![ParameterSetting::new("low", data)]);
        async move { log.push(set.await) }
    });
    let subscription = subscription.unwrap();
    world.matched(&trigger, &[&subscription]);
    world.publish_all(&trigger, 0..5);
    world.spin_until(&main, "all are set", results.until_count(5));
    assert_eq!(results.all(), vec![Ok(vec![Ok(())]); 5]);
    assert_eq!(low.get(), 4);
}

/// Without its server, a node's parameters cannot be reached. They still exist when they are served again.
pub fn parameters_end_with_their_server<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let _low = world.here.declare_parameter("low", 1).unwrap();
    let (server, client) = world.parameters(&main);
    drop(server);
    world.spinning(&[&main], || {
        world.until("the services are gone", || !client.service_is_ready());
        let _server = world.here.serve_parameters(&main.handle()).unwrap();
        world.wait("they are there again", client.wait_for_service());
        assert_eq!(world.wait("it comes", client.get_one::<i64>("low")), Ok(1));
    });
}

/// While another node has set `use_sim_time`, timers on ROS time follow `/clock`.
pub fn use_sim_time_is_switched_on_and_off_by_another_node<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let clock = world.there.create_publisher::<Clock>("/clock").unwrap();
    let time = world.context.ros_time();
    // The entities that follow the clock are on the helper, which spins whenever the case waits.
    let (_server, client) = world.parameters(world.helper());
    let set = |on: bool| {
        let set = client.set(vec![ParameterSetting::new("use_sim_time", on)]);
        assert_eq!(world.wait("the answer comes", set).unwrap(), [Ok(())]);
        world.until("it is switched", || time.is_active() == on);
    };
    assert!(!time.is_active());
    set(true);
    show(&world, &clock, &time, 10_000);
    let group = main.create_group("robot", ());
    let ticks = Seen::new();
    let shown = time.clone();
    let log = ticks.clone();
    let _timer = group.create_timer(every(1_000), move |(), _| log.push(shown.now())).unwrap();
    for millis in [10_999, 11_000, 11_500, 12_000] {
        show(&world, &clock, &time, millis);
        world.spin_all(&main);
    }
    assert_eq!(ticks.all(), [11_000, 12_000].map(at));
    set(false);
    world.until("nobody follows the clock", || clock.subscription_count() == 0);
}
