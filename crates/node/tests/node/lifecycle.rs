//! Managed nodes: every transition, and every way in which one can fail.

use std::sync::mpsc;
use std::time::Duration;

use rospin_engine::{Context, ContextOptions, Executor, ExecutorOptions, SpinOptions};
use rospin_node::interfaces::lifecycle_msgs as msgs;
use rospin_node::lifecycle::{Fault, State, Transition, TransitionError};
use rospin_node::{
    Lifecycle, LifecycleHandle, LifecycleNode, LifecyclePublisher, Message, NodeOptions, Ros, ServiceInterface,
    SubscriptionOptions, Tick,
};
use rospin_testkit::kept_log::{keep_warnings, warnings_with};
use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Number {
    data: i64,
}

impl Message for Number {
    const TYPE: &str = "std_msgs/msg/Int64";
}

type Handle = LifecycleHandle<Device>;
type Act = Box<dyn FnMut(&Handle) -> Result<(), Fault> + Send>;

/// Payload that records its calls, and acts as the test says.
#[derive(Default)]
struct Device {
    called: Vec<(&'static str, State)>,
    act: Option<(&'static str, Act)>,
    recover: bool,
    /// Disconnected when the device is dropped; nothing is sent on it.
    on_drop: Option<mpsc::Sender<()>>,
}

impl Device {
    /// Returns a device that runs `act` when `callback` is called.
    fn acting(callback: &'static str, act: impl FnMut(&Handle) -> Result<(), Fault> + Send + 'static) -> Self {
        Self { act: Some((callback, Box::new(act))), ..Self::default() }
    }

    fn note(&mut self, callback: &'static str, node: &Handle, previous: State) -> Result<(), Fault> {
        self.called.push((callback, previous));
        match &mut self.act {
            Some((name, act)) if *name == callback => act(node),
            _ => Ok(()),
        }
    }
}

impl Lifecycle for Device {
    fn on_configure(&mut self, node: &Handle, previous: State) -> Result<(), Fault> {
        self.note("configure", node, previous)
    }
    fn on_cleanup(&mut self, node: &Handle, previous: State) -> Result<(), Fault> {
        self.note("cleanup", node, previous)
    }
    fn on_activate(&mut self, node: &Handle, previous: State) -> Result<(), Fault> {
        self.note("activate", node, previous)
    }
    fn on_deactivate(&mut self, node: &Handle, previous: State) -> Result<(), Fault> {
        self.note("deactivate", node, previous)
    }
    fn on_shutdown(&mut self, node: &Handle, previous: State) -> Result<(), Fault> {
        self.note("shutdown", node, previous)
    }
    fn on_error(&mut self, node: &Handle, previous: State) -> Result<(), Fault> {
        self.note("error", node, previous)?;
        if self.recover { Ok(()) } else { Err(Fault::Failure("no spare part".to_owned())) }
    }
}

struct Bench {
    _context: Context,
    executor: Executor,
    ros: Ros,
    node: LifecycleNode<Device>,
}

const UP: [Transition; 2] = [Transition::Configure, Transition::Activate];

impl Bench {
    fn new(device: Device) -> Self {
        let context = Context::new(ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let ros = Ros::in_process(&context);
        let options = NodeOptions::new("arm").namespace("/robot");
        let node = LifecycleNode::new(&ros, &executor.handle(), options, device).unwrap();
        Self { _context: context, executor, ros, node }
    }

    fn go(&self, transition: Transition) -> Result<State, TransitionError> {
        self.await_one(self.node.request(transition))
    }

    /// Brings the node into a state by the shortest way.
    fn bring(self, state: State) -> Self {
        for transition in UP.into_iter().take(usize::from(state.id()) - 1) {
            self.go(transition).unwrap();
        }
        assert_eq!(self.node.state(), state);
        self
    }

    fn await_one<T>(&self, future: impl Future<Output = T>) -> T {
        self.executor.spin_until(future, SpinOptions::new().timeout(Duration::from_secs(40))).unwrap()
    }

    fn call<S: ServiceInterface>(&self, service: &str, request: S::Request) -> S::Response {
        let node = self.ros.create_node("tool").unwrap();
        let client = node.create_client::<S>(service).unwrap();
        self.await_one(client.call(request)).unwrap()
    }

    fn change(&self, id: u8, label: &str) -> bool {
        let request = msgs::ChangeStateRequest { transition: msgs::Transition { id, label: label.to_owned() } };
        self.call::<msgs::ChangeState>("/robot/arm/change_state", request).success
    }

    fn called(self) -> Vec<(&'static str, State)> {
        let mut device = self.node.group().clone().into_payload().unwrap();
        std::mem::take(&mut device.called)
    }
}

#[test]
fn every_transition_leads_where_it_should_and_is_told() {
    let bench = Bench::new(Device::default());
    let tool = bench.ros.create_node("tool").unwrap();
    let heard = bench.executor.create_group("tool", Vec::new());
    // Transitions precede the subscription: all events wait in its queue.
    let events = SubscriptionOptions::new("/robot/arm/transition_event").keep_last(14);
    let _events = tool
        .on(&heard)
        .create_subscription(events, |heard: &mut Vec<_>, event: msgs::TransitionEvent| {
            assert!(event.time().as_nanos() > 0);
            heard.push((event.transition.id, event.start_state.label, event.goal_state.label));
        })
        .unwrap();
    use Transition::{Activate, Cleanup, Configure, Deactivate, Shutdown};
    let way = [Configure, Cleanup, Configure, Activate, Deactivate, Activate, Shutdown];
    let states = way.map(|transition| bench.go(transition).unwrap());
    use State::{Active, Finalized, Inactive, Unconfigured};
    assert_eq!(states, [Inactive, Unconfigured, Inactive, Active, Inactive, Active, Finalized]);
    bench.executor.spin(SpinOptions::spin_all()).unwrap();
    let heard = heard.into_payload().unwrap();
    assert_eq!(heard.iter().map(|(id, ..)| *id).collect::<Vec<_>>(), [1, 10, 2, 20, 1, 10, 3, 30, 4, 40, 3, 30, 7, 50]);
    assert_eq!(heard[0], (1, "unconfigured".to_owned(), "configuring".to_owned()));
    assert_eq!(heard[13], (50, "shuttingdown".to_owned(), "finalized".to_owned()));
    assert_eq!(
        bench.called(),
        [
            ("configure", Unconfigured),
            ("cleanup", Inactive),
            ("configure", Unconfigured),
            ("activate", Inactive),
            ("deactivate", Active),
            ("activate", Inactive),
            ("shutdown", Active)
        ]
    );
}

#[test]
fn a_failure_leads_back() {
    use State::{Active, Finalized, Inactive, Unconfigured};
    let cases = [
        (Transition::Configure, Unconfigured, Unconfigured),
        (Transition::Cleanup, Inactive, Inactive),
        (Transition::Activate, Inactive, Inactive),
        (Transition::Deactivate, Active, Active),
        (Transition::Shutdown, Active, Finalized),
    ];
    for (transition, start, end) in cases {
        let device = Device::acting(transition.label(), |_| Err(Fault::Failure("no power".to_owned())));
        let bench = Bench::new(device).bring(start);
        let error = bench.go(transition).unwrap_err();
        let said = format!("node `/robot/arm` could not {transition}: no power; it is {end}");
        assert_eq!(error.to_string(), said);
        assert_eq!(bench.node.state(), end);
        assert!(!bench.called().iter().any(|(callback, _)| *callback == "error"));
    }
}

#[test]
fn an_error_and_a_panic_are_for_on_error_to_put_right() {
    for recover in [false, true] {
        for panics in [false, true] {
            let mut device = Device::acting("activate", move |_| {
                assert!(!panics, "sparks");
                // `?` uses the same conversion.
                Err(std::io::Error::other("sparks").into())
            });
            device.recover = recover;
            let bench = Bench::new(device).bring(State::Inactive);
            let error = bench.go(Transition::Activate).unwrap_err();
            let end = if recover { State::Unconfigured } else { State::Finalized };
            assert!(matches!(error, TransitionError::Broke { state, .. } if state == end), "{error}");
            assert!(error.to_string().contains("sparks"), "{error}");
            assert_eq!(error.to_string().contains("no spare part"), !recover, "{error}");
            assert_eq!(bench.node.state(), end);
            assert_eq!(bench.called().last(), Some(&("error", State::Inactive)));
        }
    }
}

#[test]
fn on_error_may_panic_itself() {
    struct Bomb;
    impl Lifecycle for Bomb {
        fn on_configure(&mut self, _: &LifecycleHandle<Self>, _: State) -> Result<(), Fault> {
            panic!("first")
        }
        fn on_error(&mut self, _: &LifecycleHandle<Self>, _: State) -> Result<(), Fault> {
            panic!("second")
        }
    }
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let node = LifecycleNode::new(&Ros::in_process(&context), &executor.handle(), "bomb", Bomb).unwrap();
    let error = executor.spin_until(node.request(Transition::Configure), SpinOptions::new()).unwrap().unwrap_err();
    assert!(error.to_string().contains("first") && error.to_string().contains("second"), "{error}");
    assert_eq!(node.state(), State::Finalized);
}

#[test]
fn a_wrong_transition_is_refused_with_what_would_be_right() {
    let bench = Bench::new(Device::default());
    let error = bench.go(Transition::Activate).unwrap_err().to_string();
    assert_eq!(
        error,
        "node `/robot/arm` is unconfigured and has no transition `activate` there; ask for `configure` or `shutdown`"
    );
    bench.go(Transition::Shutdown).unwrap();
    let error = bench.go(Transition::Shutdown).unwrap_err().to_string();
    assert!(error.contains("nothing leads out"), "{error}");
    assert_eq!(bench.called(), [("shutdown", State::Unconfigured)]);
}

#[test]
fn shutdown_leads_from_every_state_to_the_end() {
    for state in [State::Unconfigured, State::Inactive, State::Active] {
        let bench = Bench::new(Device::default()).bring(state);
        assert_eq!(bench.go(Transition::Shutdown), Ok(State::Finalized));
        assert_eq!(bench.called().last(), Some(&("shutdown", state)));
    }
}

#[test]
fn a_transition_that_is_requested_in_a_transition_waits_for_its_end() {
    let (sender, asked) = mpsc::channel();
    let device = Device::acting("configure", move |node| {
        assert_eq!(node.state(), State::Configuring);
        // Configuring is impossible when it is requested, but possible when its turn comes.
        sender.send((node.request(Transition::Activate), node.request(Transition::Configure))).unwrap();
        Ok(())
    });
    let bench = Bench::new(device);
    bench.go(Transition::Configure).unwrap();
    let (activated, configured) = asked.recv().unwrap();
    assert_eq!(bench.await_one(activated), Ok(State::Active));
    let error = bench.await_one(configured).unwrap_err();
    assert!(matches!(error, TransitionError::Refused { state: State::Active, .. }), "{error}");
}

#[test]
fn nobody_asks_without_end() {
    let bench = Bench::new(Device::default());
    let requests: Vec<_> = (0..17).map(|_| bench.node.request(Transition::Configure)).collect();
    let mut outcomes: Vec<_> = requests.into_iter().map(|request| bench.await_one(request)).collect();
    assert!(matches!(outcomes.pop(), Some(Err(TransitionError::TooMany { .. }))));
    assert_eq!(outcomes[0], Ok(State::Inactive));
    assert!(outcomes[1..].iter().all(|outcome| matches!(outcome, Err(TransitionError::Refused { .. }))));
}

#[test]
fn tools_see_it_and_ask_it_by_label_and_by_number() {
    let bench = Bench::new(Device::default());
    let state = |bench: &Bench| {
        let state = bench.call::<msgs::GetState>("/robot/arm/get_state", msgs::GetStateRequest::default());
        (state.current_state.id, state.current_state.label)
    };
    let ways = |bench: &Bench, service: &str| {
        let request = msgs::GetAvailableTransitionsRequest::default();
        let response = bench.call::<msgs::GetAvailableTransitions>(&format!("/robot/arm/{service}"), request);
        response.available_transitions
    };
    assert_eq!(state(&bench), (1, "unconfigured".to_owned()));
    assert!(bench.change(1, ""));
    assert!(!bench.change(1, ""), "it is configured already");
    assert_eq!(state(&bench), (2, "inactive".to_owned()));
    let ids: Vec<_> = ways(&bench, "get_available_transitions").iter().map(|way| way.transition.id).collect();
    assert_eq!(ids, [2, 3, 6]);
    assert!(bench.change(0, "activate"));
    assert!(!bench.change(5, ""), "the shutdown of an unconfigured node");
    assert!(!bench.change(0, "explode"));
    assert!(bench.change(0, "shutdown"));
    assert_eq!(state(&bench), (4, "finalized".to_owned()));
    assert!(ways(&bench, "get_available_transitions").is_empty());

    let graph = ways(&bench, "get_transition_graph");
    assert_eq!(graph.len(), 25);
    assert!(graph.iter().any(|way| way.start_state.label == "errorprocessing" && way.transition.id == 60));
    let request = msgs::GetAvailableStatesRequest::default();
    let states = bench.call::<msgs::GetAvailableStates>("/robot/arm/get_available_states", request).available_states;
    assert_eq!(states.len(), 11);
    assert_eq!(states.last().unwrap().label, "errorprocessing");
}

#[test]
fn requests_that_fail_do_not_fill_the_log() {
    keep_warnings();
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let ros = Ros::in_process(&context);
    let _node = LifecycleNode::new(&ros, &executor.handle(), "asked_in_vain", Device::default()).unwrap();
    let tool = ros.create_node("tool").unwrap();
    let client = tool.create_client::<msgs::ChangeState>("/asked_in_vain/change_state").unwrap();
    for id in [3, 2].into_iter().cycle().take(20) {
        let transition = msgs::Transition { id, label: String::new() };
        let call = client.call(msgs::ChangeStateRequest { transition });
        let options = SpinOptions::new().timeout(Duration::from_secs(40));
        assert!(!executor.spin_until(call, options).unwrap().unwrap().success);
    }
    let told = warnings_with(&["node `/asked_in_vain`", "ask for `configure`"]).len();
    assert!((1..20).contains(&told), "{told} records of 20 requests in a moment");
}

#[test]
fn publishers_are_silent_until_the_node_is_activated() {
    /// Payload that publishes in every transition.
    struct Talker(Option<LifecyclePublisher<Number>>);
    impl Talker {
        fn say(&self, data: i64) {
            self.0.as_ref().unwrap().publish(Number { data }).unwrap();
        }
    }
    impl Lifecycle for Talker {
        fn on_configure(&mut self, node: &LifecycleHandle<Self>, _: State) -> Result<(), Fault> {
            self.0 = Some(node.create_publisher("numbers")?);
            self.say(1);
            Ok(())
        }
        fn on_activate(&mut self, _: &LifecycleHandle<Self>, _: State) -> Result<(), Fault> {
            self.say(2);
            Ok(())
        }
        fn on_deactivate(&mut self, _: &LifecycleHandle<Self>, _: State) -> Result<(), Fault> {
            self.say(4);
            Ok(())
        }
    }
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let ros = Ros::in_process(&context);
    let listener = ros.create_node("listener").unwrap();
    let heard = executor.create_group("heard", Vec::new());
    let hear = |heard: &mut Vec<i64>, number: Number| heard.push(number.data);
    let _subscription = listener.on(&heard).create_subscription("numbers", hear).unwrap();
    let node = LifecycleNode::new(&ros, &executor.handle(), "talker", Talker(None)).unwrap();
    let say =
        node.group().create_timer(Duration::from_millis(1), |talker: &mut Talker, _: Tick| talker.say(3)).unwrap();
    let go = |transition| executor.spin_until(node.request(transition), SpinOptions::new()).unwrap().unwrap();
    say.cancel();
    assert_eq!(go(Transition::Configure), State::Inactive);
    assert_eq!(go(Transition::Activate), State::Active);
    executor.spin(SpinOptions::spin_all()).unwrap();
    say.reset();
    executor.spin(SpinOptions::spin_once()).unwrap();
    say.cancel();
    assert_eq!(go(Transition::Deactivate), State::Inactive);
    executor.spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(heard.into_payload().unwrap(), [2, 3]);
    let talker = node.group().clone().into_payload().unwrap();
    assert_eq!(talker.0.unwrap().silenced(), 2);
}

#[test]
fn dropped_in_a_transition_it_ends_the_transition_and_then_everything() {
    let (entered, is_in) = mpsc::channel();
    let (leave, may_leave) = mpsc::channel::<()>();
    let (dropped, is_dropped) = mpsc::channel();
    let mut device = Device::acting("configure", move |node| {
        // A payload that never drops entities of its own node does not keep the group alive.
        std::mem::forget(node.create_publisher::<Number>("numbers").unwrap());
        entered.send(()).unwrap();
        may_leave.recv().unwrap();
        Ok(())
    });
    device.on_drop = Some(dropped);
    let Bench { executor, node, .. } = Bench::new(device);
    let handle = node.handle();
    let (running, waiting) = (node.request(Transition::Configure), node.request(Transition::Activate));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            is_in.recv().unwrap();
            drop(node);
            leave.send(()).unwrap();
        });
        let outcome = executor.spin_until(running, SpinOptions::new()).unwrap();
        assert_eq!(outcome, Ok(State::Inactive));
    });
    let error = executor.spin_until(waiting, SpinOptions::new()).unwrap().unwrap_err();
    assert_eq!(error, TransitionError::Gone { node: "/robot/arm".to_owned() });
    executor.spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(is_dropped.recv_timeout(Duration::from_secs(10)), Err(mpsc::RecvTimeoutError::Disconnected));
    let error = executor.spin_until(handle.request(Transition::Activate), SpinOptions::new()).unwrap().unwrap_err();
    assert!(matches!(error, TransitionError::Gone { .. }), "{error}");
}

#[test]
fn dropped_it_is_gone_although_its_payload_has_handles_of_it() {
    let (dropped, is_dropped) = mpsc::channel();
    let mut kept = Vec::new();
    let mut device = Device::acting("configure", move |node| {
        kept.push((node.clone(), node.group().create_timer(Duration::from_secs(1), |_: &mut Device, _: Tick| {})?));
        Ok(())
    });
    device.on_drop = Some(dropped);
    let bench = Bench::new(device).bring(State::Inactive);
    drop(bench.node);
    bench.executor.spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(is_dropped.try_recv(), Err(mpsc::TryRecvError::Disconnected));
}
