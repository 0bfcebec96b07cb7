//! Programs that are watched while they run. Each test runs this file's program again as a process of its own.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rospin::{ContextOptions, Middlewares, RosArguments};
use rospin_trace::live::{Feed, Live};
use rospin_trace::{Model, Recording, places};

const LIMIT: Duration = Duration::from_secs(30);
const IS_CHILD: &str = "ROSPIN_TEST_CHILD";

/// The program that is watched: a node with a timer.
#[test]
fn program() {
    if std::env::var_os(IS_CHILD).is_none() {
        return;
    }
    let ros = rospin::init_with(ContextOptions::new(), Middlewares::InProcess, RosArguments::default()).unwrap();
    let node = ros.create_node("robot").unwrap();
    let mut runs = 0;
    let _timer = node.create_timer(Duration::from_millis(2), move |_| {
        runs += 1;
        if runs == 50 {
            std::io::stdout().write_all(b"ready\n").unwrap();
        }
    });
    ros.spin().unwrap();
}

/// A program that runs, in a folder of its own.
struct Program {
    child: Child,
    folder: PathBuf,
}

impl Program {
    fn start(name: &str, is_live: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("rospin-live-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        Self { child: Self::command(is_live, &folder).spawn().unwrap(), folder }
    }

    fn command(is_live: &str, runtime: &Path) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["program", "--exact", "--nocapture"]).env(IS_CHILD, "1").env("XDG_RUNTIME_DIR", runtime);
        command.env(places::LIVE, is_live).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    fn socket(&self) -> PathBuf {
        self.folder.join(format!("rospin/{}.sock", self.child.id()))
    }

    /// Sends a request once the program listens.
    fn ask(&self, request: &str) -> UnixStream {
        let begun = Instant::now();
        loop {
            match UnixStream::connect(self.socket()) {
                Ok(mut stream) => {
                    // The program does not read a request that is too long.
                    let _ = stream.write_all(format!("{request}\n").as_bytes());
                    stream.set_read_timeout(Some(LIMIT)).unwrap();
                    return stream;
                }
                Err(error) => assert!(begun.elapsed() < LIMIT, "{error}"),
            }
            thread::yield_now();
        }
    }

    fn says(&self, request: &str) -> String {
        let mut line = String::new();
        BufReader::new(self.ask(request)).read_line(&mut line).unwrap();
        line
    }

    /// Waits until the program has such a thread, or no more.
    fn until_thread(&self, name: &str, is_there: bool) {
        let begun = Instant::now();
        let threads = || fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap().flatten();
        let comm = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        while threads().any(|task| comm(task).trim() == name) != is_there {
            assert!(begun.elapsed() < LIMIT, "thread {name}: {is_there} is still to come");
            thread::yield_now();
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Somebody who watches a program.
struct Watcher {
    stream: UnixStream,
    feed: Feed,
    live: Live,
}

impl Watcher {
    fn of(program: &Program) -> Self {
        Self { stream: program.ask("live"), feed: Feed::default(), live: Live::default() }
    }

    /// Reads what the program does until its timer ran, and returns its name.
    fn watch(&mut self) -> String {
        let mut bytes = [0; 4096];
        loop {
            let count = self.stream.read(&mut bytes).unwrap();
            assert!(count > 0, "the program ended");
            self.feed.push(&bytes[..count], |item| self.live.take(item)).unwrap();
            let view = self.live.view(0);
            if let Some(timer) = view.callbacks.iter().find(|callback| callback.kind == "timer" && callback.runs > 0) {
                return timer.name.clone();
            }
        }
    }
}

#[test]
fn a_program_is_recorded_only_while_somebody_watches() {
    let program = Program::start("watched", "1");
    program.until_thread("rospin-live", true);
    program.until_thread("rospin-record", false);
    let mut one = Watcher::of(&program);
    let mut other = Watcher::of(&program);
    assert_eq!(one.watch(), other.watch());
    program.until_thread("rospin-record", true);
    drop(one);
    other.watch();
    drop(other);
    program.until_thread("rospin-record", false);
    program.until_thread("rospin-live-con", false);
    let data = fs::metadata(program.folder.join("rospin")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&data.permissions()) & 0o777, 0o700);
}

#[test]
fn a_program_that_runs_is_recorded_into_a_file() {
    let program = Program::start("recorded", "");
    let file = program.folder.join("a recording.mcap");
    let request = format!("record {}", file.display());
    let mut recording = program.ask(&request);
    let mut line = [0; 3];
    recording.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"ok\n");
    // Somebody watches at the same time, and sees the timer run, so that the file has it, too.
    Watcher::of(&program).watch();
    assert!(program.says(&request).starts_with("error: ") && program.says(&request).contains("cannot be created"));
    recording.write_all(b"stop\n").unwrap();
    recording.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"ok\n");
    let recordings = Recording::open(&file).unwrap();
    assert_eq!(recordings[0].faults, []);
    let model = Model::new(&recordings);
    assert!(model.callbacks.iter().any(|callback| !callback.activations.is_empty()));
    program.until_thread("rospin-record", false);
}

#[test]
fn mistakes_are_told() {
    let program = Program::start("mistakes", "1");
    assert!(program.says("record here.mcap").contains("a path that begins with /"));
    assert!(program.says("nonsense").contains("`live`, `record FILE` or `trigger REASON`"));
    assert!(program.says("").contains("`live`"));
    assert_eq!(program.says("trigger it went wrong"), "ok\n");
    // The program closes the connection while it is still being written to.
    assert!(!program.ask(&"x".repeat(10_000)).read_to_string(&mut String::new()).is_ok_and(|count| count > 0));
    program.until_thread("rospin-live-con", false);
    let mut watchers: Vec<Watcher> = (0..8).map(|_| Watcher::of(&program)).collect();
    for watcher in &mut watchers {
        watcher.watch();
    }
    assert!(program.says("live").contains("8 others watch"));
    drop(watchers.pop());
    let is_refused = || {
        let mut begin = [0; 6];
        program.ask("live").read_exact(&mut begin).unwrap();
        begin == *b"error:"
    };
    while is_refused() {}
}

#[test]
fn a_program_that_cannot_be_watched_goes_on_and_says_nothing() {
    let program = Program::start("off", "0");
    program.until_thread("rospin-live", false);
    for (runtime, is_live) in [(Path::new("/proc"), "1"), (program.folder.as_path(), "0")] {
        let mut child = Program::command(is_live, runtime).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with("ready")), "it ended");
        child.kill().unwrap();
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, "");
        child.wait().unwrap();
    }
    assert!(!program.folder.join("rospin").exists());
}
