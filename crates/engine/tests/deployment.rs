//! A deployment file moves callback groups to other executors, cores and priorities, without a change to the program.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use rospin_engine::deployment::Mismatch;
use rospin_engine::os::{CoreSet, OsScheduling, ThreadId, ThreadOptions, scheduling_of, threads_of_process};
use rospin_engine::{
    Context, ContextOptions, DeployError, Deployment, ExecutorOptions, GroupOptions, OnPanic, SpinError, SpinOptions,
    SubscriptionOptions, TimerOptions,
};

/// The settings of a callback's thread, as the callback sees them.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Seen {
    group: &'static str,
    scheduling: OsScheduling,
    cores: CoreSet,
    thread: ThreadId,
    name: String,
}

fn look(group: &'static str) -> Seen {
    let thread = ThreadId::current();
    let name = threads_of_process().unwrap().into_iter().find(|(id, _)| *id == thread).unwrap().1;
    Seen {
        group,
        scheduling: scheduling_of(thread).unwrap(),
        cores: CoreSet::of_current_thread().unwrap(),
        thread,
        name,
    }
}

/// Runs the program: two groups on one executor, as its author wrote it. Each group's callback looks at its thread
/// once.
fn program(options: ContextOptions) -> Result<Vec<Seen>, SpinError> {
    let executor = Context::new(options).create_executor(ExecutorOptions::new("main"));
    let (send, seen) = channel();
    let add = |group: &'static str, send: Sender<Seen>| {
        // A panic ends the spin, so the test does not wait for a message that never comes.
        let options = GroupOptions::new(group).node("robot").on_panic(OnPanic::Halt);
        let created = executor.create_group(options, ());
        let once = TimerOptions::one_shot(Duration::ZERO);
        let timer = created.create_timer(once, move |(), _| send.send(look(group)).unwrap()).unwrap();
        (created, timer)
    };
    let _kept = [add("control", send.clone()), add("map", send)];
    let stop = executor.handle();
    let wait = move || {
        let both = [seen.recv(), seen.recv()];
        stop.halt();
        both.into_iter().flatten().collect::<Vec<_>>()
    };
    let waiting = thread::spawn(wait);
    let spun = thread::scope(|scope| scope.spawn(|| executor.spin(SpinOptions::new())).join().unwrap());
    drop((executor, _kept));
    let mut seen = waiting.join().unwrap();
    seen.sort_by_key(|seen| seen.group);
    spun.map(|_| seen)
}

fn deployed(text: &str) -> ContextOptions {
    ContextOptions::new().deployment(Deployment::parse(text).unwrap())
}

fn last_core() -> u16 {
    *CoreSet::of_current_thread().unwrap().as_slice().last().unwrap()
}

/// Returns true if this process may have real-time threads.
fn has_rights() -> bool {
    let asked = ThreadOptions::new().scheduling(OsScheduling::Fifo { priority: 1 });
    thread::spawn(move || asked.apply().shortfalls.is_empty()).join().unwrap()
}

#[test]
fn a_group_is_moved_to_another_core_and_priority() {
    let before = program(ContextOptions::new()).unwrap();
    assert_eq!(before[0].thread, before[1].thread, "one executor, one thread");

    let core = last_core();
    let text = format!(
        "executor = [{{ name = \"fast\", scheduling = {{ fifo = 7 }}, cores = [{core}] }}]
         group = [{{ node = \"rob*\", name = \"control\", executor = \"fast\" }}]"
    );
    let after = program(deployed(&text)).unwrap();
    let [control, map] = &after[..] else { panic!("{after:?}") };
    assert_ne!(control.thread, map.thread);
    assert_eq!((control.cores.as_slice(), control.name.as_str()), (&[core][..], "fast"));
    assert_eq!((map.scheduling, &map.cores), (before[1].scheduling, &before[1].cores), "as before");
    if has_rights() {
        assert_eq!(control.scheduling, OsScheduling::Fifo { priority: 7 });
    }
}

#[test]
fn the_programs_own_executor_is_changed_by_its_name() {
    let core = last_core();
    let text = format!("executor = [{{ name = \"main\", scheduling = {{ nice = 19 }}, cores = [{core}] }}]");
    for seen in program(deployed(&text)).unwrap() {
        assert_eq!((seen.scheduling, seen.cores.as_slice()), (OsScheduling::Other { nice: 19 }, &[core][..]));
    }
}

#[test]
fn names_that_other_programs_have_are_passed_over() {
    let text = "elsewhere = [\"camera*\", \"detector\", \"*/track\"]
        executor = [{ name = \"main\" }, { name = \"detector\" }]
        group = [{ name = \"track\", executor = \"main\" }]
        callback = [{ name = \"camera/image\" }]
        chain = [{ name = \"c\", callbacks = [\"camera/image\", \"robot/map/timer1\"] }]";
    let error = program(deployed(text)).unwrap_err().to_string();
    assert!(error.contains("names callback `robot/map/timer1` of chain `c`"), "{error}");
    program(deployed(&text.replace(", \"robot/map/timer1\"", ""))).unwrap();
}

#[test]
fn a_pattern_of_other_programs_does_not_hide_a_misspelt_name_of_this_ones_node() {
    let text = "elsewhere = [\"robot/*\", \"camera/*\"]
        callback = [{ name = \"camera/image\" }, { name = \"robot/map/timr0\" }]";
    let error = program(deployed(text)).unwrap_err().to_string();
    assert!(error.contains("names callback `robot/map/timr0`"), "{error}");
    program(deployed(&text.replace("\"robot/*\"", "\"robot/map/timr0\""))).unwrap();
}

#[test]
fn a_chain_does_not_go_on_through_a_timer() {
    let text = "chain = [{ name = \"c\", callbacks = [\"robot/map/timer0\", \"robot/control/timer0\"] }]";
    let error = program(deployed(text)).unwrap_err();
    assert!(matches!(error, SpinError::Deployment(DeployError::Mismatch(Mismatch::Timer { .. }))), "{error:?}");
    assert!(
        error.to_string().contains("`robot/control/timer0` is a timer and takes nothing from `robot/map/timer0`"),
        "{error}"
    );
}

#[test]
fn names_that_the_program_does_not_have_are_errors_that_name_those_it_has() {
    for (text, what, known) in [
        ("executor = [{ name = \"mian\" }]", "executor `mian`", "main"),
        (
            "executor = [{ name = \"main\" }]\ngroup = [{ name = \"contrl\", executor = \"main\" }]",
            "group `contrl` of any node",
            "robot/control, robot/map",
        ),
        // Node and name as one.
        (
            "executor = [{ name = \"main\" }]\ngroup = [{ name = \"robot/control\", executor = \"main\" }]",
            "group `robot/control` of any node",
            "did you mean `node = \"robot\", name = \"control\"`?",
        ),
        (
            "callback = [{ name = \"robot/control/tick\" }]",
            "callback `robot/control/tick`",
            "robot/control/timer0, robot/map/timer0",
        ),
        (
            "chain = [{ name = \"c\", callbacks = [\"robot/map/timer0\", \"robot/map/scan\"] }]",
            "callback `robot/map/scan` of chain `c`",
            "robot/control/timer0",
        ),
    ] {
        let error = program(deployed(text)).unwrap_err();
        assert!(matches!(error, SpinError::Deployment(DeployError::Mismatch(Mismatch::Unknown { .. }))), "{error:?}");
        let said = error.to_string();
        assert!(said.contains(what) && said.contains(known) && said.contains("on_unknown"), "{said}");
        program(deployed(&format!("on_unknown = \"warn\"\n{text}"))).unwrap();
    }
}

/// A chain that only one of two robots has completely, and one that no robot has completely.
#[test]
fn chains_are_in_one_namespace() {
    let spin = |text: &str| {
        let context = Context::new(deployed(text));
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let mut kept = Vec::new();
        for (node, topic) in
            [("/left/camera", "image"), ("/left/plan", "image"), ("/right/plan", "image"), ("/map", "load")]
        {
            let name = node.rsplit('/').next().unwrap();
            let group = executor.create_group(GroupOptions::new(name).node(node), ());
            kept.push(group.create_local_subscription(topic, |(), _: Arc<u32>| {}).unwrap());
        }
        executor.spin(SpinOptions::spin_all())
    };
    let chain = |callbacks: &str| format!("chain = [{{ name = \"c\", callbacks = {callbacks} }}]");
    spin(&chain("[\"camera/image\", \"plan/image\"]")).unwrap();
    spin(&chain("[\"/map/load\", \"plan/image\"]")).unwrap();
    spin(&chain("[\"map/load\", \"left/plan/image\", \"/right/plan/image\"]")).unwrap();
    let error = spin(&chain("[\"map/load\", \"plan/image\"]")).unwrap_err().to_string();
    assert!(error.contains("no namespace has all of its callbacks; `/` lacks `plan/image`"), "{error}");
    let error = Deployment::parse(&chain("[\"*/plan/image\"]")).unwrap_err().to_string();
    assert!(error.contains("does not begin with `/`"), "{error}");
}

/// A program with 40 groups: the error has the name that was meant, and few others.
#[test]
fn a_misspelt_name_is_answered_by_the_one_that_was_meant() {
    let context = Context::new(deployed("callback = [{ name = \"n7/scan/timr0\" }]"));
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let mut kept = Vec::new();
    for number in 0..40 {
        let group = executor.create_group(format!("n{number}/scan").as_str(), ());
        kept.push(group.create_timer(Duration::from_secs(1), |(), _| {}).unwrap());
    }
    let error = executor.spin(SpinOptions::spin_all()).unwrap_err().to_string();
    assert!(error.contains("(did you mean `n7/scan/timer0`?)") && error.contains("and 35 more"), "{error}");
    assert!(error.len() < 400, "{error}");
}

#[test]
fn a_core_that_does_not_exist_is_an_error() {
    let error = program(deployed("executor = [{ name = \"main\", cores = [1000] }]")).unwrap_err();
    let online = CoreSet::online().unwrap();
    let said = "the deployment puts executor `main` on core 1000, which this machine does not have; choose from ";
    assert_eq!(error.to_string(), format!("{said}{online}"));
}

#[test]
fn patterns_that_contradict_each_other_are_an_error() {
    let text = "executor = [{ name = \"a\" }, { name = \"b\" }]
        group = [{ name = \"con*\", executor = \"a\" }, { name = \"*rol\", executor = \"b\" }]";
    let error = program(deployed(text)).unwrap_err();
    assert!(error.to_string().contains("group `control` of node `robot`"), "{error}");
}

#[test]
fn an_error_stays_one_until_it_is_fixed() {
    let context = Context::new(deployed("executor = [{ name = \"mian\" }]"));
    let executor = context.create_executor(ExecutorOptions::new("main"));
    for _ in 0..2 {
        assert!(matches!(executor.spin(SpinOptions::spin_all()), Err(SpinError::Deployment(_))));
    }
    let _fixed = context.create_executor(ExecutorOptions::new("mian"));
    executor.spin(SpinOptions::spin_all()).unwrap();
}

#[test]
fn no_executor_spins_while_another_one_finds_the_error() {
    for _ in 0..20 {
        // Writing a template takes some time, and precedes the check of names.
        let options = deployed("executor = [{ name = \"mian\" }]").deployment_template("/dev/null");
        let context = Context::new(options);
        let executors = ["a", "b"].map(|name| context.create_executor(ExecutorOptions::new(name)));
        thread::scope(|scope| {
            let spins = executors.each_ref().map(|executor| scope.spawn(|| executor.spin(SpinOptions::spin_all())));
            for spun in spins.map(|spin| spin.join().unwrap()) {
                assert!(matches!(spun, Err(SpinError::Deployment(_))), "{spun:?}");
            }
        });
    }
}

#[test]
fn priority_deadline_and_depth_come_from_the_file() {
    let order = |text: &str| {
        let context = Context::new(deployed(text));
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("g", Vec::new());
        let publisher = context.create_local_publisher::<u32>("t").unwrap();
        let _a = group.create_local_subscription(
            SubscriptionOptions::new("t").name("a"),
            |all: &mut Vec<_>, n: Arc<u32>| {
                all.push(format!("a{n}"));
            },
        );
        let _b = group.create_local_subscription(
            SubscriptionOptions::new("t").name("b"),
            |all: &mut Vec<_>, n: Arc<u32>| {
                all.push(format!("b{n}"));
            },
        );
        for number in 0..3 {
            publisher.publish(number);
        }
        executor.spin(SpinOptions::spin_all()).unwrap();
        drop((_a, _b));
        group.into_payload().unwrap().join(" ")
    };
    assert_eq!(order(""), "a0 b0 a1 b1 a2 b2");
    assert_eq!(order("callback = [{ name = \"b\", priority = 1 }]"), "b0 b1 b2 a0 a1 a2");
    assert_eq!(order("callback = [{ name = \"?\", depth = 1 }]"), "a2 b2");
    assert_eq!(order("chain = [{ name = \"c\", callbacks = [\"b\", \"a\"] }]"), "a0 a1 a2 b0 b1 b2");
    let edf = "executor = [{ name = \"main\", policy = \"edf\" }]\n";
    assert_eq!(order(&format!("{edf}callback = [{{ name = \"b\", deadline = \"1 ms\" }}]")), "b0 b1 b2 a0 a1 a2");
}

#[test]
fn an_executor_of_the_file_that_fails_ends_the_programs_spin_with_its_error() {
    let text = "executor = [{ name = \"other\" }]\ngroup = [{ name = \"bad\", executor = \"other\" }]";
    let context = Context::new(deployed(text).on_incident(|_| {}));
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let group = executor.create_group(GroupOptions::new("bad").on_panic(OnPanic::Halt), ());
    let _timer = group.create_timer(TimerOptions::one_shot(Duration::ZERO), |(), _| panic!("as expected")).unwrap();
    let error = executor.spin(SpinOptions::new()).unwrap_err();
    assert!(matches!(&error, SpinError::Panicked(incident) if incident.executor == "other"), "{error:?}");
    // The executor can spin again, and its companion with it.
    assert!(matches!(executor.spin(SpinOptions::new().timeout(Duration::from_millis(1))), Err(SpinError::Timeout)));
}

#[test]
fn nothing_of_the_files_executors_runs_outside_a_spin() {
    let text = "executor = [{ name = \"other\" }]\ngroup = [{ name = \"moved\", executor = \"other\" }]";
    let context = Context::new(deployed(text));
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let group = executor.create_group("moved", 0);
    let (send, ran) = channel();
    let timer = group
        .create_timer(Duration::from_micros(100), move |count, _| {
            *count += 1;
            send.send(*count).unwrap();
        })
        .unwrap();
    assert!(ran.try_recv().is_err(), "before");
    let stop = executor.handle();
    let spinning = thread::spawn(move || {
        executor.spin(SpinOptions::new()).unwrap();
        executor
    });
    ran.recv().unwrap();
    stop.halt();
    let executor = spinning.join().unwrap();
    let last = ran.try_iter().last();
    thread::yield_now();
    assert!(ran.try_recv().is_err(), "after {last:?}");
    drop(timer);
    assert!(group.into_payload().unwrap() >= 1);
    drop(executor);
}

#[test]
fn groups_may_come_before_their_executor() {
    let text = "executor = [{ name = \"late\" }]\ngroup = [{ name = \"g\", executor = \"late\" }]";
    let context = Context::new(deployed(text));
    let main = context.create_executor(ExecutorOptions::new("main"));
    let group = main.create_group("g", 0);
    let late = context.create_executor(ExecutorOptions::new("late"));
    let timer = group.create_timer(TimerOptions::one_shot(Duration::ZERO), |count, _| *count += 1).unwrap();
    late.spin(SpinOptions::spin_all()).unwrap();
    drop(timer);
    assert_eq!(group.into_payload().unwrap(), 1);
    drop(main);
}

#[test]
fn a_template_names_everything_and_can_be_loaded() {
    let file = std::env::temp_dir().join(format!("rospin-template-{}.toml", std::process::id()));
    program(ContextOptions::new().deployment_template(&file)).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let template = Deployment::parse(&text).unwrap();
    let names: Vec<_> = template.callbacks.iter().map(|callback| callback.name.as_str()).collect();
    assert_eq!(names, ["robot/control/timer0", "robot/map/timer0"]);
    assert_eq!(template.executor_of("robot", "map").unwrap().as_deref(), Some("main"));
    assert_eq!(template.executor("main").unwrap().policy.as_deref(), Some("fixed-priority"));
    // The comments are an example of a chain, with names of the program.
    let example: String =
        text.lines().skip_while(|line| *line != "# [[chain]]").map(|line| format!("{}\n", &line[2..])).collect();
    let example = Deployment::parse(&example).unwrap();
    assert_eq!(example.chains[0].callbacks, ["robot/control/timer0"], "the other callback is a timer, too: {text}");
    assert!(
        text.lines().position(|line| line.starts_with("# elsewhere = "))
            < text.lines().position(|line| line.starts_with('['))
    );
    // Loading the template changes nothing.
    let mut loaded = template;
    loaded.threads.clear();
    program(ContextOptions::new().deployment(loaded)).unwrap();
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_template_is_written_where_only_the_file_itself_can_be_written() {
    let folder = std::env::temp_dir().join(format!("rospin-template-folder-{}", std::process::id()));
    let file = folder.join("template.toml");
    // These names are taken, as if nobody could create files beside the template.
    for taken in ["part".to_owned(), format!("{}.part", std::process::id())] {
        std::fs::create_dir_all(folder.join(format!("template.toml.{taken}"))).unwrap();
    }
    std::fs::write(&file, "").unwrap();
    program(ContextOptions::new().deployment_template(&file)).unwrap();
    assert_eq!(Deployment::load(&file).unwrap().callbacks.len(), 2);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn parts_that_are_loaded_later_are_known_to_the_file_and_to_its_template() {
    let template = std::env::temp_dir().join(format!("rospin-template-later-{}.toml", std::process::id()));
    let file = "callback = [{ name = \"image\", priority = 7 }]";
    let context = Context::new(deployed(file).deployment_template(&template).loads_later(true));
    let executor = context.create_executor(ExecutorOptions::new("main"));
    executor.spin(SpinOptions::spin_all()).unwrap();
    assert!(!std::fs::read_to_string(&template).unwrap().contains("image"));

    let group = executor.create_group(GroupOptions::new("camera").node("camera"), ());
    for _ in 0..3 {
        let named = SubscriptionOptions::new("image");
        let _loaded = group.create_local_subscription(named, |(), _: Arc<u32>| {}).unwrap();
        context.write_template().unwrap();
    }
    executor.spin(SpinOptions::spin_all()).unwrap();
    let written = Deployment::load(&template).unwrap();
    let images: Vec<_> = written.callbacks.iter().filter(|callback| callback.name.ends_with("image")).collect();
    assert_eq!(images.len(), 1, "{images:?}");
    std::fs::remove_file(template).unwrap();
}

#[test]
fn a_file_that_contradicts_itself_is_an_error_also_if_parts_are_loaded_later() {
    let file = "executor = [{ name = \"a\" }, { name = \"b\" }]
        group = [{ name = \"con*\", executor = \"a\" }, { name = \"*rol\", executor = \"b\" }]";
    let spun = program(deployed(file).loads_later(true));
    assert!(matches!(spun, Err(SpinError::Deployment(DeployError::Mismatch(Mismatch::Ambiguous(_))))), "{spun:?}");
}

#[test]
fn a_template_of_an_odd_program_can_be_loaded() {
    let file = std::env::temp_dir().join(format!("rospin-odd-template-{}.toml", std::process::id()));
    let context = Context::new(ContextOptions::new().deployment_template(&file));
    let executors = ["main", "main", ""].map(|name| context.create_executor(ExecutorOptions::new(name)));
    let groups = executors.each_ref().map(|executor| executor.create_group("", ()));
    let odd = TimerOptions::periodic(Duration::MAX).deadline(Duration::MAX).name("a \"b\"\n");
    let _timer = groups[0].create_timer(odd, |(), _| {}).unwrap();
    let quoted = TimerOptions::periodic(Duration::MAX).name("c \"d\"");
    let _quoted = groups[0].create_timer(quoted, |(), _| {}).unwrap();
    let of_no_node = TimerOptions::periodic(Duration::MAX).name("_rospin/main");
    let _of_no_node = executors[0].create_group("_rospin/main", ()).create_timer(of_no_node, |(), _| {}).unwrap();
    executors[0].spin(SpinOptions::spin_all()).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(file).unwrap();
    Deployment::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(text.contains("d") && !text.contains("a \\\"b"), "what no file can name is left out: {text}");
    assert!(!text.contains("_rospin"), "what is an executor's own is left out: {text}");
}

#[test]
fn threads_of_a_middleware_have_what_the_file_says() {
    let core = last_core();
    let text = format!(
        "thread = [{{ name = \"dds-*\", scheduling = {{ nice = 19 }}, cores = [{core}] }},
                   {{ name = \"late-*\", cores = [{core}] }}]"
    );
    let context = Context::new(deployed(&text));
    let mine = || (CoreSet::of_current_thread().unwrap(), scheduling_of(ThreadId::current()).unwrap());
    let before = mine();
    let seen = context.start_threads("dds-receive", || thread::spawn(|| look("dds")));
    let seen = seen.join().unwrap();
    // Without rights the creator could not undo this niceness. So it does not take it, and the thread does not inherit
    // it.
    let nicest = OsScheduling::Other { nice: 19 };
    let undone = thread::spawn(move || {
        drop(ThreadOptions::new().scheduling(nicest).apply_for_now());
        scheduling_of(ThreadId::current()).unwrap()
    });
    let nice = if undone.join().unwrap() == before.1 { nicest } else { before.1 };
    assert_eq!((seen.scheduling, seen.cores.as_slice()), (nice, &[core][..]));
    assert_eq!(mine(), before, "the creator's own are as before");

    // A thread that was started elsewhere is found by its name.
    let (end, wait) = channel::<()>();
    let late = thread::Builder::new().name("late-1".to_owned());
    let late = late.spawn(move || {
        let _ = wait.recv();
        CoreSet::of_current_thread().unwrap()
    });
    while !threads_of_process().unwrap().iter().any(|(_, name)| name == "late-1") {
        thread::yield_now();
    }
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let timeout = SpinOptions::new().timeout(Duration::from_millis(1));
    assert!(matches!(executor.spin(timeout), Err(SpinError::Timeout)));
    drop(end);
    assert_eq!(late.unwrap().join().unwrap().as_slice(), [core]);
}

#[test]
fn a_pattern_of_threads_leaves_executors_alone() {
    let plan = |name: &str| format!("{{ name = \"{name}\", scheduling = {{ nice = 19 }} }}");
    let context = Context::new(deployed(&format!("thread = [{}, {}]", plan("users-*"), plan("spins-*"))));
    let executor = context.create_executor(ExecutorOptions::new("spins"));
    let mine = || scheduling_of(ThreadId::current()).unwrap();
    // This thread has the executor's name, but is not one of its threads.
    let (end, wait) = channel::<()>();
    let other = thread::Builder::new().name("spins-io".to_owned());
    let other = other.spawn(move || (wait.recv().unwrap_err(), mine())).unwrap();
    while !threads_of_process().unwrap().iter().any(|(_, name)| name == "spins-io") {
        thread::yield_now();
    }
    // This thread spins the executor, but has another name.
    let spinning = thread::Builder::new().name("users-own".to_owned()).spawn(move || {
        let before = mine();
        let timeout = SpinOptions::new().timeout(Duration::from_millis(1));
        assert!(matches!(executor.spin(timeout), Err(SpinError::Timeout)));
        assert_eq!(mine(), before);
    });
    spinning.unwrap().join().unwrap();
    drop(end);
    assert_eq!(other.join().unwrap().1, OsScheduling::Other { nice: 19 });
}
