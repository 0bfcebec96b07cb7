//! Response times of a program with nobody watching it and with somebody, in turns, in one run.
//!
//! A thread publishes every half a millisecond; a callback works for 50 microseconds and publishes to a second one,
//! which does so, too. The watcher is a process of its own, which reads and counts as `rospin top` does.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rospin::{Context, ContextOptions, ExecutorOptions, SpinOptions};
use rospin_trace::live::{Feed, Live};
use rospin_trace::places;

const TURNS: usize = 12;
const MESSAGES: usize = 4_000;
const PERIOD: Duration = Duration::from_micros(500);
const WORK: Duration = Duration::from_micros(50);

fn work() {
    let begun = Instant::now();
    while begun.elapsed() < WORK {
        std::hint::spin_loop();
    }
}

/// Watches the process as `rospin top` does, until this one is ended.
fn watch(pid: u32) -> std::io::Result<()> {
    let found = places::programs().into_iter().find(|(of, _)| *of == pid);
    let (_, socket) = found.ok_or(std::io::ErrorKind::NotFound)?;
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(b"live\n")?;
    let mut feed = Feed::default();
    let mut live = Live::default();
    let mut bytes = vec![0; 1 << 18];
    let mut shown = Instant::now();
    loop {
        let count = stream.read(&mut bytes)?;
        feed.push(&bytes[..count], |item| live.take(item)).map_err(std::io::Error::other)?;
        if shown.elapsed() > Duration::from_secs(1) {
            shown = Instant::now();
            std::hint::black_box(live.view(0));
        }
    }
}

fn percentile(latencies: &mut [Duration], percent: usize) -> f64 {
    latencies.sort_unstable();
    latencies[(latencies.len() * percent).div_ceil(100) - 1].as_secs_f64() * 1e6
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

#[expect(clippy::print_stdout, reason = "its result")]
fn main() -> rospin::Result<()> {
    if let Some(pid) = std::env::var("ROSPIN_BENCH_WATCHES").ok().and_then(|pid| pid.parse().ok()) {
        return Ok(watch(pid)?);
    }
    rospin::monitoring::open_live_door();
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let group = executor.create_group("group", ());
    let first = context.create_local_publisher::<Instant>("first")?;
    let second = context.create_local_publisher::<Instant>("second")?;
    let latencies = Arc::new(Mutex::new(Vec::with_capacity(MESSAGES)));
    let noted = Arc::clone(&latencies);
    let handle = executor.handle();
    let _first = group.create_local_subscription("first", move |(), sent: Arc<Instant>| {
        work();
        second.publish(*sent);
    })?;
    let _second = group.create_local_subscription("second", move |(), sent: Arc<Instant>| {
        work();
        let mut noted = noted.lock().expect("nobody panicked");
        noted.push(sent.elapsed());
        if noted.len() == MESSAGES {
            handle.halt();
        }
    })?;
    let turn = || -> rospin::Result<[f64; 2]> {
        latencies.lock().expect("nobody panicked").clear();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let begun = Instant::now();
                for number in 0..MESSAGES as u32 * 2 {
                    if latencies.lock().expect("nobody panicked").len() == MESSAGES {
                        return;
                    }
                    std::thread::sleep((begun + PERIOD * number).saturating_duration_since(Instant::now()));
                    first.publish(Instant::now());
                }
            });
            executor.spin(SpinOptions::new())
        })?;
        let mut latencies = latencies.lock().expect("nobody panicked");
        Ok([percentile(&mut latencies, 50), percentile(&mut latencies, 99)])
    };
    turn()?;
    let mut alone = Vec::new();
    let mut watched = Vec::new();
    for number in 0..TURNS {
        alone.push(turn()?);
        let mut watcher = watcher()?;
        watched.push(turn()?);
        watcher.kill()?;
        watcher.wait()?;
        // The recorder is off again once the program knows that the watcher is gone.
        std::thread::sleep(Duration::from_millis(700));
        if number % 4 == 3 {
            println!("{} of {TURNS} turns", number + 1);
        }
    }
    for (place, name) in ["p50", "p99"].iter().enumerate() {
        let of = |turns: &[[f64; 2]]| median(turns.iter().map(|turn| turn[place]).collect());
        let changes = alone.iter().zip(&watched).map(|(alone, watched)| (watched[place] / alone[place] - 1.0) * 100.0);
        println!(
            "{name}: {:.1} us alone, {:.1} us watched; {:+.1} % in the median turn",
            of(&alone),
            of(&watched),
            median(changes.collect())
        );
    }
    Ok(())
}

/// Starts this program as a watcher, and waits until the recorder is on.
fn watcher() -> rospin::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env("ROSPIN_BENCH_WATCHES", std::process::id().to_string()).stdout(Stdio::null());
    let child = command.spawn()?;
    while !rospin::recording::Recorder::of_process().is_on() {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(child)
}
