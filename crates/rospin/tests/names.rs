//! Names of callbacks and groups in deployment files: the ones that there are, and those that several have.

mod kept_log;

use std::fs;
use std::path::PathBuf;

use rospin::action::ActionClientOptions;
use rospin::deployment::Deployment;
use rospin::errors::TopicError;
use rospin::groups::{Group, On};
use rospin::msgs::example_interfaces::action::Fibonacci;
use rospin::msgs::std_msgs::msg::UInt32;
use rospin::prelude::*;

use kept_log::{keep_log, logged};

/// File that is removed when it is dropped.
struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

type Entities = Vec<Box<dyn std::any::Any>>;

/// Hears a topic by a callback without a payload.
fn hear<G: Group>(on: &On<G>, topic: &str) -> Result<Subscription, TopicError> {
    on.create_plain_subscription(topic, |_: Arc<UInt32>| {})
}

/// A robot in a namespace of its own. On the second one, a callback has another priority.
fn robot(ros: &Ros, namespace: &str) -> rospin::Result<Entities> {
    let node = ros.create_node(NodeOptions::new("planner").namespace(namespace))?;
    let own = node.on(node.own_group()?);
    let steer = node.create_group("steer", ())?;
    let urgency = if namespace == "robot2" { 7 } else { 3 };
    let wheel = SubscriptionOptions::new("wheel").priority(Priority(urgency));
    Ok(vec![
        Box::new([hear(&own, "scan")?, hear(&own, "~/goals")?, hear(&own, "/map")?]),
        Box::new(node.create_timer(Duration::from_secs(1), || {})?),
        Box::new(node.create_action_client::<Fibonacci>("~/fib")?),
        Box::new(steer.create_subscription(wheel, |_: UInt32| {})?),
    ])
}

/// Creates two robots in a context, and spins once.
fn two_robots(options: ContextOptions) -> rospin::Result<()> {
    let ros = Ros::in_process(&Context::new(options));
    let _robots = [robot(&ros, "robot1")?, robot(&ros, "robot2")?];
    ros.executor().spin(SpinOptions::spin_all())?;
    Ok(())
}

#[test]
fn a_template_of_two_robots_serves_both_and_names_everything_once() {
    let file = File(std::env::temp_dir().join(format!("rospin-two-robots-{}.toml", std::process::id())));
    two_robots(ContextOptions::new().deployment_template(&file.0)).unwrap();
    let text = fs::read_to_string(&file.0).unwrap();
    let template = Deployment::parse(&text).unwrap();
    let groups: Vec<_> = template.groups.iter().map(|group| format!("{} {}", group.node, group.name)).collect();
    let expected = ["rosout", "type_descriptions", "parameters", "planner", "steer", "action_client/fib"];
    assert_eq!(groups, expected.map(|group| format!("planner {group}")), "{text}");
    let is_of_every_node =
        |name: &str| ["/rosout/", "/type_descriptions/", "/parameters/"].iter().any(|of| name.contains(of));
    let names = template.callbacks.iter().map(|callback| callback.name.as_str());
    let names: Vec<_> = names.filter(|name| !is_of_every_node(name)).collect();
    let expected = [
        "planner/scan",
        "planner/goals",
        "planner/map",
        "planner/timer0",
        "planner/action_client/fib/feedback",
        "planner/action_client/fib/grace",
        "planner/action_client/fib/server_gone",
        "planner/steer/wheel",
        "/robot2/planner/steer/wheel",
    ];
    assert_eq!(names, expected, "{text}");
    let wheel = |space: &str| template.callback(&format!("{space}/planner/steer/wheel"), &format!("/{space}")).unwrap();
    assert_eq!(["robot1", "robot2"].map(|space| wheel(space).priority), [Some(3), Some(7)]);
    assert!(text.contains("# callbacks = [\"planner/timer0\", \"planner/scan\"]"), "{text}");
    // It is a deployment of the same program, whose names are all there.
    two_robots(ContextOptions::new().deployment(Deployment::parse(&text).unwrap())).unwrap();
}

/// A node has its own group, and one that has the node's name. Both have a timer, and hear the same topic.
#[test]
fn a_file_that_names_what_several_have_says_so() {
    keep_log();
    let text = "
        executor = [{ name = 'main' }]
        group = [{ node = 'pilot', name = 'pilot', executor = 'main' }, { name = 'pi*', executor = 'main' }]
        callback = [
            { name = 'pilot/scan', priority = 3 },
            { name = 'pilot/timer0', priority = 2 },
            { name = 'pilot/*', priority = 1 },
        ]
        chain = [{ name = 'turn', criticality = 1, callbacks = ['pilot/scan', 'pilot/odometry'] }]
    ";
    let context = Context::new(ContextOptions::new().deployment(Deployment::parse(text).unwrap()));
    let ros = Ros::in_process(&context);
    let node = ros.create_node("pilot").unwrap();
    let named = node.create_group("pilot", ()).unwrap();
    let of_named = node.on(&named);
    let own = node.on(node.own_group().unwrap());
    let timers = [named.create_timer(Duration::from_secs(1), || {}), node.create_timer(Duration::from_secs(1), || {})];
    let timers = timers.map(Result::unwrap);
    assert_eq!(timers.each_ref().map(|timer| timer.name()), ["pilot/timer0", "pilot/timer1"]);
    let _scans = [hear(&of_named, "scan").unwrap(), hear(&own, "scan").unwrap()];
    let _odometry = hear(&own, "odometry").unwrap();
    // An entity that is gone before the program begins counts no more.
    drop(hear(&of_named, "odometry").unwrap());
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    let told = logged("the deployment names");
    let expected = [
        "the deployment names group `pilot/pilot`, and 2 have the name `/pilot/pilot`: all go to its executor",
        "the deployment names callback `pilot/scan`, and 2 have the name `pilot/scan`: all have its settings",
    ];
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.starts_with(expected) && told.contains("give them names of their own"), "{told}");
    }
}

#[test]
fn callbacks_of_an_action_client_are_called_after_its_node() {
    let spin = |callback: &str| {
        let text = format!("callback = [{{ name = '{callback}', priority = 3 }}]");
        let context = Context::new(ContextOptions::new().deployment(Deployment::parse(&text).unwrap()));
        let ros = Ros::in_process(&context);
        let node = ros.create_node(NodeOptions::new("arm").namespace("robot1")).unwrap();
        let options = [
            ActionClientOptions::new("fib"),
            ActionClientOptions::new("/fob"),
            ActionClientOptions::new("x").name("legs"),
        ];
        let _clients = options.map(|options| node.create_action_client::<Fibonacci>(options).unwrap());
        ros.executor().spin(SpinOptions::spin_all())
    };
    for name in ["arm/action_client/fib", "/robot1/arm/action_client/fob", "legs", "robot1/legs"] {
        spin(&format!("{name}/feedback")).unwrap();
    }
    let error = spin("action_client/fib/feedback").unwrap_err().to_string();
    assert!(error.contains("did you mean `arm/action_client/fib/feedback`?"), "{error}");
}
