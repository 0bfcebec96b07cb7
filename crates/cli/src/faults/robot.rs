//! Robots under a manual clock, each with one fault, and what every tool says of them.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::{ArgMatches, Command};
use rospin_engine::policy::POLICIES;
use rospin_engine::{
    ClockKind, Context, ContextOptions, ExecutorOptions, Instant, ManualClock, Priority, Recorder, SpinOptions,
    SubscriptionOptions, TimerOptions,
};
use rospin_report::Failure;
use rospin_scenario::Scenario;
use rospin_trace::live::{Feed, Item, Live};
use rospin_trace::monitor::Monitor;
use rospin_trace::{FileSink, FlightSink, ProcessName};

/// A scanner whose scans are filtered, a planner that is more urgent, and an arm with two timers in one group. Times in
/// milliseconds.
#[derive(Clone, Copy)]
pub(super) struct Robot {
    /// The time until which the program runs.
    pub(super) end: u64,
    pub(super) scan_period: u64,
    /// The number of messages for each scan.
    pub(super) scans: u32,
    pub(super) scan: u64,
    pub(super) plan: u64,
    pub(super) filter_depth: usize,
    /// The time for which the arm awaits something and holds its group.
    pub(super) arm_awaits: Option<u64>,
    /// The time between the creation of everything and the first spin.
    pub(super) spins_after: u64,
    /// A time at which the thread is not scheduled for a while: when, and for how long.
    pub(super) pause: Option<(u64, u64)>,
    /// The time at which the flight recorder begins: it has forgotten what was before.
    pub(super) flight_from: u64,
    /// True if only the first half of the recording was written when the program was killed.
    pub(super) is_killed: bool,
    /// Execution times in the system file: of a scan, and of a plan.
    pub(super) stated: (u64, u64),
}

pub(super) const SOUND: Robot = Robot {
    end: 2_000,
    scan_period: 25,
    scans: 1,
    scan: 1,
    plan: 5,
    filter_depth: 2,
    arm_awaits: None,
    spins_after: 0,
    pause: None,
    flight_from: 1_000,
    is_killed: false,
    stated: (1, 5),
};

/// Output of each tool.
pub(super) struct Said {
    /// Violations, in the order in which the monitor told of them.
    pub(super) monitor: Vec<String>,
    pub(super) top: String,
    pub(super) report: String,
    pub(super) page: String,
    /// The report of the flight recorder's file; `None` if it wrote none.
    pub(super) flight: Option<String>,
    /// The recording beside its simulation, by `rospin replay`.
    pub(super) replay: String,
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The head of the record that ends the data of an MCAP file.
const END: [u8; 9] = [0x0F, 4, 0, 0, 0, 0, 0, 0, 0];

/// Folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("rospin-faults-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Robot {
    fn system(&self) -> String {
        let (scan, plan) = self.stated;
        let arm = if self.arm_awaits.is_some() {
            "[[group]]\nname = \"arm\"\n[[callback]]\nname = \"arm/hold\"\nkind = \"timer\"\ngroup = \"arm\"\npriority = 3\n\
             period = \"100 ms\"\n[[callback]]\nname = \"arm/move\"\nkind = \"timer\"\ngroup = \"arm\"\npriority = 3\n\
             period = \"20 ms\"\n"
        } else {
            ""
        };
        format!(
            "duration = \"1 s\"\ntopics = [\"/scan\"]\n[[executor]]\nname = \"main\"\n\
             [[group]]\nname = \"scanner\"\n[[group]]\nname = \"filter\"\n[[group]]\nname = \"planner\"\n\
             [[callback]]\nname = \"scanner/scan\"\nkind = \"timer\"\ngroup = \"scanner\"\npriority = 0\nperiod = \"25 ms\"\n\
             execution = \"{scan} ms\"\npublishes = [\"/scan\"]\n\
             [[callback]]\nname = \"filter/filter\"\nkind = \"subscription\"\ngroup = \"filter\"\nsubscribes = \"/scan\"\n\
             priority = 5\nexecution = \"2 ms\"\ndepth = 2\n\
             [[callback]]\nname = \"planner/plan\"\nkind = \"timer\"\ngroup = \"planner\"\npriority = 10\n\
             period = \"50 ms\"\nexecution = \"{plan} ms\"\n{arm}"
        )
    }

    /// Runs the robot, and has every tool look at it.
    pub(super) fn run(self, name: &str) -> Said {
        let folder = Folder::new(name);
        let (file, system) = (folder.path("run.mcap"), folder.path("system.toml"));
        std::fs::write(&system, self.system()).unwrap();
        let monitor = Monitor::new(&Scenario::parse(&self.system()).unwrap(), None);
        let told = Arc::new(Mutex::new(Vec::new()));
        let push = Arc::clone(&told);
        monitor.on_violation(move |violation| push.lock().unwrap().push(violation.to_string()));
        self.spin(&monitor, &file, folder.path("flight.mcap"));
        let file = if self.is_killed { folder.path("killed.mcap") } else { file };
        let page = folder.path("page.html");
        let report = report_of(&[&file, &system], Some(&page));
        let flight = folder.path("flight-1.mcap");
        let said = Said {
            monitor: std::mem::take(&mut *told.lock().unwrap()),
            top: self.top(&std::fs::read(&file).unwrap()),
            report,
            page: std::fs::read_to_string(page).unwrap(),
            replay: output(
                crate::replay::command(),
                crate::replay::run,
                &[file.to_str().unwrap(), "--policy", "fixed-priority"],
            ),
            flight: flight.exists().then(|| report_of(&[&flight, &system], None)),
        };
        rospin_report::page::assert_self_contained(&said.page);
        said
    }

    fn spin(self, monitor: &Monitor, file: &std::path::Path, flight: PathBuf) {
        let clock = ManualClock::new();
        let recorder = Recorder::new();
        let context = Context::new(ContextOptions::new().manual_clock(clock.clone()).recorder(recorder.clone()));
        let policy = POLICIES.iter().find(|policy| policy.name == "fixed-priority").unwrap();
        let executor = context.create_executor(ExecutorOptions::new("main").boxed_policy((policy.build)()));
        let process = ProcessName::of_this(0);
        recorder.start(FileSink::create(file, &process).unwrap()).unwrap();
        let note = recorder.clone();
        monitor.on_violation(move |violation| note.record_event(violation.at, &violation.event()));
        recorder.start(monitor.sink()).unwrap();
        let works = |of: u64| {
            let clock = clock.clone();
            move || clock.advance(ms(of))
        };
        let timer =
            |name: &str, of: u64, priority| TimerOptions::periodic(ms(of)).name(name).priority(Priority(priority));
        let scans = context.create_local_publisher::<u32>("/scan").unwrap();
        let (scan, plan, filter) = (works(self.scan), works(self.plan), works(2));
        let group = executor.create_group("scanner", ());
        let _scan = group.create_timer(timer("scanner/scan", self.scan_period, 0), move |(), _| {
            scan();
            (0..self.scans).for_each(|scan| _ = scans.publish(scan));
        });
        let group = executor.create_group("filter", ());
        let options = SubscriptionOptions::new("/scan").name("filter/filter").priority(Priority(5));
        let _filter =
            group.create_local_subscription(options.keep_last(self.filter_depth), move |(), _: Arc<u32>| filter());
        let group = executor.create_group("planner", ());
        let _plan = group.create_timer(timer("planner/plan", 50, 10), move |(), _| plan());
        let group = executor.create_group("arm", ());
        let handle = executor.handle();
        let _arm = self.arm_awaits.map(|awaits| {
            let hold = group.create_timer_async(timer("arm/hold", 100, 3), move |_, _| {
                let sleep = handle.sleep(ClockKind::Steady, ms(awaits));
                async move { _ = sleep.await }
            });
            (hold.unwrap(), group.create_timer(timer("arm/move", 20, 3), |(), _| {}).unwrap())
        });
        clock.advance(ms(self.spins_after));
        let now = || context.clock().now();
        let mut flight = Some(FlightSink::new(&flight, &process, Duration::from_secs(3600), 1));
        let mut pause = self.pause;
        while now() < Instant::from_nanos(self.end * 1_000_000) {
            let is_on = now() >= Instant::from_nanos(self.flight_from * 1_000_000);
            if let Some(sink) = flight.take_if(|_| is_on) {
                assert!(recorder.flush());
                recorder.start(sink).unwrap();
            }
            if self.is_killed && now() >= Instant::from_nanos(self.end * 500_000) {
                // A killed program leaves what was written by then, without the end.
                assert!(recorder.flush());
                let mut bytes = std::fs::read(file).unwrap();
                let end = bytes.windows(END.len()).rposition(|part| part == END).unwrap();
                bytes.truncate(end);
                std::fs::write(file.with_file_name("killed.mcap"), bytes).unwrap();
                break;
            }
            if let Some((_, length)) = pause.take_if(|(at, _)| now() >= Instant::from_nanos(*at * 1_000_000)) {
                clock.advance(ms(length));
            }
            if executor.spin(SpinOptions::spin_once().timeout(Duration::ZERO)).is_err() {
                clock.advance(executor.next_due().unwrap().saturating_since(now()));
            }
        }
        recorder.stop();
    }

    /// Returns what `rospin top` shows at the end, as text.
    fn top(&self, bytes: &[u8]) -> String {
        let (mut feed, mut live, mut end) = (Feed::default(), Live::default(), 0);
        let mut items = Vec::new();
        let _ = feed.push(bytes, |item| items.push(item));
        live.view(0);
        for item in items {
            if let Item::Event(recorded) = &item {
                end = recorded.at.as_nanos().max(end);
            }
            live.take(item);
        }
        let trouble = self.is_killed.then(|| "the program ended".to_owned());
        crate::top::text_of(live.view(end), trouble)
    }
}

/// Returns the report of a recording beside its system file. Writes its page, too.
fn report_of([file, system]: &[&PathBuf; 2], page: Option<&PathBuf>) -> String {
    let mut arguments = vec!["report", file.to_str().unwrap(), "--system", system.to_str().unwrap(), "--worst", "3"];
    if let Some(page) = page {
        arguments.extend(["--html", page.to_str().unwrap()]);
    }
    output(crate::trace::command(), crate::trace::run, &arguments)
}

/// Returns what a command prints.
fn output(command: Command, run: fn(&ArgMatches, &mut dyn Write) -> Result<(), Failure>, arguments: &[&str]) -> String {
    let matches = command.no_binary_name(true).try_get_matches_from(arguments).unwrap();
    let mut out = Vec::new();
    run(&matches, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}
