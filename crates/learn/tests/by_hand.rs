//! Systems of models that are made by hand: what recordings of the engine under a manual clock do not have.

use rospin_core::EntityKind;
use rospin_learn::{LearnError, Learned, Options, learn};
use rospin_scenario::{Callback as Plan, Pattern, Scenario};
use rospin_trace::Model;
use rospin_trace::model::{Activation, Callback, Executor, Message, Process, Queue, Segment, Thread};

const MS: u64 = 1_000_000;

/// A model with one executor and one thread in each of so many processes.
fn model(processes: usize) -> Model {
    let mut model = Model::default();
    for process in 0..processes {
        model.processes.push(Process { name: "robot".into(), process: 7 + process as u32, ..Process::default() });
        let executor =
            Executor { process, number: 0, name: "main".into(), policy: "fifo".into(), threads: 1, since_ns: None };
        model.executors.push(executor);
        model.threads.push(Thread { process, number: 1, kernel_id: 1, name: "main".into() });
    }
    model.span = (0, 1_000 * MS);
    model
}

/// Adds a callback in a group of its own.
fn callback(model: &mut Model, process: usize, name: &str, kind: EntityKind) -> usize {
    model.callbacks.push(Callback {
        process,
        executor: process,
        entity: model.callbacks.len() as u64,
        account: 0,
        name: name.into(),
        group: name.into(),
        excludes: true,
        frees_group: false,
        kind,
        priority: 3,
        deadline_ns: None,
        period_ns: if kind == EntityKind::Timer { Some(10 * MS) } else { None },
        topics: Vec::new(),
        activations: Vec::new(),
        overruns: 0,
    });
    model.callbacks.len() - 1
}

/// Adds an activation that is released and starts at `at`, and lasts a millisecond.
fn run(model: &mut Model, callback: usize, at: u64) -> usize {
    let process = model.callbacks[callback].process;
    let segment = Segment { thread: process, release_ns: at, start_ns: at, end_ns: at + MS, cpu_ns: Some(MS / 2) };
    model.activations.push(Activation {
        callback,
        sequence: model.activations.len() as u64,
        release_ns: at,
        before_spin_ns: 0,
        deadline_ns: None,
        segments: vec![segment],
        end_ns: Some(at + MS),
        inputs: Vec::new(),
        outputs: Vec::new(),
    });
    let place = model.activations.len() - 1;
    model.callbacks[callback].activations.push(place);
    place
}

/// Adds a queue from which the callback takes.
fn queue(model: &mut Model, callback: usize, topic: &str) -> usize {
    let process = model.callbacks[callback].process;
    let queue = Queue { process, topic: topic.into(), depth: 4, callback: Some(callback), levels: Vec::new() };
    model.queues.push(queue);
    model.callbacks[callback].topics.push(topic.into());
    model.queues.len() - 1
}

/// Adds a message from one activation to another one, through a queue or through a middleware.
fn send(model: &mut Model, from: Option<usize>, at: u64, topic: &str, queue: Option<usize>, to: Option<usize>) {
    let place = model.messages.len();
    let taken = to.map(|to| (to, model.activations[to].start_ns()));
    let thread = from.map_or(0, |from| model.callbacks[model.activations[from].callback].process);
    model.messages.push(Message { topic: topic.into(), queue, published_ns: at, from, thread, taken });
    if let Some(from) = from {
        model.activations[from].outputs.push(place);
    }
    if let Some(to) = to {
        model.activations[to].inputs.push(place);
    }
}

fn learned(model: &Model) -> Learned {
    let learned = learn(model, &Options { margin: 0.0, ..defaults() }).unwrap();
    let text = learned.to_toml();
    assert_eq!(Scenario::parse(&text).as_ref(), Ok(&learned.scenario), "{text}");
    assert_eq!(learned.scenario.check_flow(1e7), Ok(()), "{text}");
    learned
}

fn defaults() -> Options {
    Options::default()
}

fn named<'a>(learned: &'a Learned, name: &str) -> &'a Plan {
    let found = learned.scenario.callbacks.iter().find(|callback| callback.name == name);
    found.unwrap_or_else(|| panic!("no {name}: {}", learned.to_toml()))
}

#[test]
fn a_callback_that_runs_at_each_release_of_a_service_calls_it() {
    let mut model = model(1);
    let timer = callback(&mut model, 0, "timer", EntityKind::Timer);
    let service = callback(&mut model, 0, "service", EntityKind::Service);
    let other = callback(&mut model, 0, "other", EntityKind::Service);
    for number in 0..20 {
        run(&mut model, timer, number * 10 * MS);
        let place = run(&mut model, service, number * 10 * MS + 2 * MS);
        model.activations[place].release_ns = number * 10 * MS + MS / 2;
        run(&mut model, other, number * 10 * MS + 5 * MS);
    }
    let learned = learned(&model);
    assert_eq!(named(&learned, "timer").publishes, ["service"]);
    assert_eq!(learned.scenario.chains[0].callbacks, ["timer", "service"]);
    // Nobody ran when the other one was released.
    let release = &learned.scenario.releases[0];
    assert_eq!((release.to.as_slice(), learned.scenario.releases.len()), (&["other".to_owned()][..], 1));
    assert!(matches!(release.pattern, Pattern::Periodic { .. }), "{release:?}");
}

#[test]
fn processes_are_put_together_and_names_do_not_collide() {
    let mut model = model(2);
    let drive = callback(&mut model, 0, "drive", EntityKind::Timer);
    let local = callback(&mut model, 0, "hear", EntityKind::Subscription);
    let remote = callback(&mut model, 1, "hear", EntityKind::Subscription);
    // A topic of a node crosses processes; one of the engine with the same name in two processes is two topics.
    let queues = [queue(&mut model, local, "laps"), queue(&mut model, remote, "laps")];
    queue(&mut model, remote, "/speed std_msgs/msg/String TypeId(0x7) ");
    for number in 0..10 {
        let at = number * 10 * MS;
        let from = run(&mut model, drive, at);
        let near = run(&mut model, local, at + MS);
        send(&mut model, Some(from), at, "laps", Some(queues[0]), Some(near));
        let far = run(&mut model, remote, at + 2 * MS + number * 1_000);
        send(&mut model, Some(from), at, "/speed", None, Some(far));
    }
    let learned = learned(&model);
    let names: Vec<&str> = learned.scenario.callbacks.iter().map(|callback| callback.name.as_str()).collect();
    assert_eq!(names, ["drive", "hear (main, robot 7)", "hear (main, robot 8)"]);
    assert_eq!(
        learned.scenario.executors.iter().map(|executor| executor.name.as_str()).collect::<Vec<_>>(),
        ["main", "main (robot 8)"]
    );
    let topics: Vec<&str> = learned.scenario.topics.iter().map(String::as_str).collect();
    assert_eq!(topics, ["/speed", "laps", "laps (topic)"]);
    // The one in the other process takes from two topics, one in a run, so it is addressed by its name.
    assert_eq!(named(&learned, "hear (main, robot 8)").subscribes, None);
    assert_eq!(named(&learned, "drive").publishes, ["/speed", "hear (main, robot 8)", "laps"]);
    let link = &learned.scenario.links[0];
    assert_eq!(link.to, ["/speed", "hear (main, robot 8)"]);
    assert_eq!(link.delay.longest(), std::time::Duration::from_nanos(2_010_000));
}

#[test]
fn circles_are_cut_where_they_are_rarest() {
    let mut model = model(1);
    let [a, b] = ["a", "b"].map(|name| callback(&mut model, 0, name, EntityKind::Subscription));
    let queues = [queue(&mut model, a, "to a"), queue(&mut model, b, "to b")];
    let mut before = None;
    for number in 0..10 {
        let first = run(&mut model, a, number * 10 * MS);
        send(&mut model, before.filter(|_| number < 5), number * 10 * MS, "to a", Some(queues[0]), Some(first));
        let second = run(&mut model, b, number * 10 * MS + MS);
        send(&mut model, Some(first), number * 10 * MS, "to b", Some(queues[1]), Some(second));
        before = Some(second);
    }
    let learned = learned(&model);
    assert_eq!(
        (named(&learned, "a").publishes.as_slice(), named(&learned, "b").publishes.len()),
        (&["to b".to_owned()][..], 0)
    );
    assert!(learned.to_toml().contains("closes a circle"), "{}", learned.to_toml());
    // Messages from nobody keep the other one going.
    assert_eq!(learned.scenario.releases[0].to, ["to a"]);
}

#[test]
fn rare_and_missing_runs_are_remarks() {
    let mut model = model(1);
    let timer = callback(&mut model, 0, "timer", EntityKind::Timer);
    let taker = callback(&mut model, 0, "taker", EntityKind::Subscription);
    callback(&mut model, 0, "emergency\nstop", EntityKind::Subscription);
    callback(&mut model, 0, "node/parameters/get_parameters", EntityKind::Service);
    callback(&mut model, 0, "node/type_descriptions/get_type_description", EntityKind::Service);
    let queue = queue(&mut model, taker, "alarm");
    for number in 0..200 {
        let from = run(&mut model, timer, number * 10 * MS);
        if number == 7 {
            let to = run(&mut model, taker, number * 10 * MS + MS);
            send(&mut model, Some(from), number * 10 * MS, "alarm", Some(queue), Some(to));
        }
    }
    model.dropped = 5;
    let learned = learned(&model);
    let text = learned.to_toml();
    assert!(named(&learned, "timer").publishes.is_empty(), "{text}");
    for remark in [
        "Left out as rare: 1 of 200 runs published on alarm.",
        "they never ran to their end: emergency?stop.",
        "2 callbacks of parameters, types and logs",
        "5 events are missing",
        "Execution times are processor time",
    ] {
        assert!(text.replace("\n# ", " ").contains(remark), "{remark}: {text}");
    }
    // The taker still runs as often as it did.
    assert_eq!(learned.scenario.releases[0].to, ["alarm"]);
    let all = Options { rare: 0.0, has_internals: true, ..defaults() };
    assert_eq!(learn(&model, &all).unwrap().scenario.callbacks[0].publishes, ["alarm"]);
}

#[test]
fn a_recording_without_runs_has_no_system() {
    assert!(matches!(learn(&Model::default(), &defaults()), Err(LearnError::NothingRan)));
    let mut idle = model(1);
    callback(&mut idle, 0, "timer", EntityKind::Timer);
    assert!(matches!(learn(&idle, &defaults()), Err(LearnError::NothingRan)));
}

#[test]
fn five_hundred_callbacks_with_one_name_and_no_policy_are_a_system() {
    let mut model = model(1);
    model.executors[0].policy = "round robin".into();
    model.executors[0].threads = 500;
    for _ in 0..500 {
        let timer = callback(&mut model, 0, "", EntityKind::Timer);
        model.callbacks[timer].period_ns = Some(0);
        run(&mut model, timer, 5 * MS);
    }
    let learned = learned(&model);
    assert_eq!(learned.scenario.callbacks.len(), 500);
    assert!(learned.to_toml().contains("Its policy is `round robin`"));
}
