//! Runs parts of an experiment in processes of their own.
//!
//! Memory and CPU are then those of one part, and no thread, priority or core setting of one run is left over in the
//! next. A child is this same program with a hidden option: it reads what to run from stdin and answers on stdout.

use std::env;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The hidden option of a child process.
pub(crate) const CHILD_OPTION: &str = "--order-on-stdin";
/// Intervals at which the parent checks if its children have ended: the shortest and the longest.
const POLL: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(50)];
/// Time that children may take beyond their run before they count as stuck.
const OVERTIME: Duration = Duration::from_secs(30);

/// Reasons for which a child gave no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChildError {
    /// The child could not be started, or its pipes failed.
    #[error("its process cannot be used: {0}")]
    Process(#[from] io::Error),
    /// The child ended without a result.
    #[error("its process ended without a result ({status}){said}")]
    Ended {
        /// Exit status of the child.
        status: ExitStatus,
        /// The last line that the child wrote to stderr, with a colon before it; empty if it wrote nothing.
        said: String,
    },
    /// The child did not end in time and was stopped.
    #[error("no result {} s after the run should have ended; its process was stopped", OVERTIME.as_secs())]
    Stuck,
    /// The child's answer is no valid result.
    #[error("its result cannot be read: {0}")]
    Malformed(serde_json::Error),
}

/// Runs a child of `experiment` for each order, all at the same time, and returns their answers in the order of the
/// orders. An order is what the child is asked to do. `duration` is the time that the children need; `progress` is told
/// the share of it that is over, from 0 to 1.
///
/// # Errors
/// As soon as a child cannot be started or fails, or when a child still runs long after `duration`. All children are
/// stopped then. Also if an answer cannot be read.
pub(crate) fn run<O: Serialize, A: DeserializeOwned>(
    experiment: &str,
    orders: &[O],
    duration: Duration,
    progress: &dyn Fn(f64),
) -> Result<Vec<A>, ChildError> {
    run_program(&env::current_exe()?, experiment, orders, duration, progress)
}

/// Runs children as [`run`] does. `begin` returns the command for the child whose order has this index in `orders`:
/// this program, or one that starts it.
pub(crate) fn run_commands<O: Serialize, A: DeserializeOwned>(
    begin: &dyn Fn(usize) -> Command,
    experiment: &str,
    orders: &[O],
    duration: Duration,
    progress: &dyn Fn(f64),
) -> Result<Vec<A>, ChildError> {
    let mut children = Family(Vec::new());
    for (number, order) in orders.iter().enumerate() {
        children.0.push(spawn(begin(number), experiment, order)?);
    }
    let pipes: Vec<_> = children.0.iter_mut().map(|child| (child.stdout.take(), child.stderr.take())).collect();
    thread::scope(|scope| {
        // All pipes are emptied while the children run, because a child blocks once its pipe is full.
        let readers: Vec<_> = pipes
            .into_iter()
            .map(|(stdout, stderr)| (scope.spawn(move || read_all(stdout)), scope.spawn(move || read_all(stderr))))
            .collect();
        let ended = children.wait(duration, progress);
        // Children that still run keep their pipes open.
        children.stop();
        let left: Vec<_> = readers
            .into_iter()
            .map(|(stdout, stderr)| (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default()))
            .collect();
        match ended? {
            End::Late => Err(ChildError::Stuck),
            End::Failed(number, status) => Err(ChildError::Ended { status, said: last_line(&left[number].1) }),
            End::Good => left.iter().map(|(answer, _)| read(answer)).collect(),
        }
    })
}

/// Runs children as [`run`] does, of `program`, which knows the same experiments as this one.
pub(crate) fn run_program<O: Serialize, A: DeserializeOwned>(
    program: &Path,
    experiment: &str,
    orders: &[O],
    duration: Duration,
    progress: &dyn Fn(f64),
) -> Result<Vec<A>, ChildError> {
    run_commands(&|_| Command::new(program), experiment, orders, duration, progress)
}

/// The way in which a family of children ended: all without an error; one with an error, whose number and exit status
/// are here; or not in time.
enum End {
    Good,
    Failed(usize, ExitStatus),
    Late,
}

/// Child processes that are stopped when this value is dropped.
struct Family(Vec<Child>);

impl Family {
    /// Waits until all children have ended, one has failed, or [`OVERTIME`] after `duration` is over. Children may
    /// still run then.
    fn wait(&mut self, duration: Duration, progress: &dyn Fn(f64)) -> io::Result<End> {
        let start = Instant::now();
        let poll = (duration / 20).clamp(POLL[0], POLL[1]);
        loop {
            let mut running = false;
            for (number, child) in self.0.iter_mut().enumerate() {
                match child.try_wait()? {
                    Some(status) if !status.success() => return Ok(End::Failed(number, status)),
                    Some(_) => {}
                    None => running = true,
                }
            }
            if !running {
                progress(1.0);
                return Ok(End::Good);
            }
            let elapsed = start.elapsed();
            if elapsed > duration + OVERTIME {
                return Ok(End::Late);
            }
            progress((elapsed.as_secs_f64() / duration.as_secs_f64().max(1e-9)).min(1.0));
            thread::sleep(poll);
        }
    }

    /// Kills the children that still run, and waits until all have ended.
    fn stop(&mut self) {
        for child in &mut self.0 {
            // For a child that has ended, this only waits, and the standard library remembers its status.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Starts a child of `experiment`, and writes its order to its stdin.
fn spawn(mut command: Command, experiment: &str, order: &impl Serialize) -> io::Result<Child> {
    // The command's allocator would otherwise reserve 1 GiB, and a child that locks its memory would have the kernel
    // provide all of it.
    if env::var_os("MIMALLOC_ARENA_RESERVE").is_none() {
        command.env("MIMALLOC_ARENA_RESERVE", "64MiB");
    }
    let mut child = command
        .args([experiment, CHILD_OPTION])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    // Dropping the handle closes the pipe, which marks the end of the order.
    stdin.write_all(&serde_json::to_vec(order)?)?;
    Ok(child)
}

/// Returns all that a child writes to a pipe until it closes it.
fn read_all(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // The text before an error is still useful.
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

fn read<A: DeserializeOwned>(answer: &[u8]) -> Result<A, ChildError> {
    serde_json::from_slice(answer).map_err(ChildError::Malformed)
}

/// Returns the last line of a child's stderr that is not empty, with a colon before it; an empty text if there is none.
fn last_line(complaint: &[u8]) -> String {
    let text = String::from_utf8_lossy(complaint);
    match text.lines().rfind(|line| !line.trim().is_empty()) {
        Some(line) => format!(": {}", line.trim().trim_start_matches("error: ")),
        None => String::new(),
    }
}

/// Error of a child that did not understand its order.
#[derive(Debug, thiserror::Error)]
#[error("{CHILD_OPTION} is for this program's own use: it expects an order on stdin ({0})")]
pub(crate) struct OrderError(#[from] serde_json::Error);

/// Reads the order from `input`, which is stdin. The child calls it.
pub(crate) fn read_order<O: for<'de> Deserialize<'de>>(input: impl Read) -> Result<O, OrderError> {
    Ok(serde_json::from_reader(input)?)
}

/// Writes the answer to `out`, which is stdout. The child calls it.
pub(crate) fn write_answer(out: &mut dyn Write, answer: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, answer)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_answers_survive_the_pipe() {
        let order = ("fifo-single".to_owned(), Duration::from_millis(7));
        let bytes = serde_json::to_vec(&order).unwrap();
        assert_eq!(read_order::<(String, Duration)>(bytes.as_slice()).unwrap(), order);
        let mut bytes = Vec::new();
        write_answer(&mut bytes, &order).unwrap();
        assert_eq!(read::<(String, Duration)>(&bytes).unwrap(), order);
        assert!(matches!(read::<u32>(b"{"), Err(ChildError::Malformed(_))));
    }

    #[test]
    fn complaint_is_its_last_line() {
        assert_eq!(last_line(b""), "");
        assert_eq!(last_line(b"warning\nerror: no such core\n\n"), ": no such core");
    }

    #[test]
    fn someone_typing_the_hidden_option_is_told() {
        let error = read_order::<u32>(&b""[..]).unwrap_err().to_string();
        assert!(error.starts_with(CHILD_OPTION), "{error}");
    }
}
