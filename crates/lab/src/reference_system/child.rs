//! Runs each executor in a process of its own.
//!
//! Memory and CPU are then those of one executor, and no thread, priority or core setting of one run is
//! left over in the next. The child is this same program with a hidden option: it reads what to run from
//! stdin and answers on stdout.

use std::env;
use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::options::CHILD_OPTION;
use super::runner::{RunError, RunResult, Runner, Settings, Variant};

/// How often the parent looks whether the child is done.
const POLL: Duration = Duration::from_millis(50);
/// How long a child may take beyond its run before it counts as stuck.
const OVERTIME: Duration = Duration::from_secs(30);

/// What a child is told.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Order {
    variant: Variant,
    settings: Settings,
}

/// Runs an executor in a child process.
pub(crate) struct ChildProcess;

impl Runner for ChildProcess {
    fn run(&self, variant: Variant, settings: &Settings, progress: &dyn Fn(f64)) -> Result<RunResult, RunError> {
        let executor = variant.name();
        let failed = |reason| RunError::Process { executor, reason };
        let mut child = spawn(&Order { variant, settings: *settings }).map_err(failed)?;
        let (status, answer, complaint) = wait(&mut child, settings, progress).map_err(failed)?;
        let Some(status) = status else {
            return Err(RunError::Stuck { executor, overtime: OVERTIME });
        };
        if !status.success() {
            return Err(RunError::Ended { executor, status, said: last_line(&complaint) });
        }
        serde_json::from_slice(&answer).map_err(|reason| RunError::Malformed { executor, reason })
    }
}

fn spawn(order: &Order) -> io::Result<Child> {
    let mut child = Command::new(env::current_exe()?)
        .args(["lab", "reference-system", CHILD_OPTION])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    // Dropping the handle closes the pipe, which ends the order.
    stdin.write_all(&serde_json::to_vec(order)?)?;
    Ok(child)
}

/// What a child left: its status, stdout and stderr.
type Left = (Option<ExitStatus>, Vec<u8>, Vec<u8>);

/// Waits until the child has ended; the status is `None` when it had to be stopped.
fn wait(child: &mut Child, settings: &Settings, progress: &dyn Fn(f64)) -> io::Result<Left> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        // Both pipes have to be emptied while the child runs, or it blocks once they are full.
        let stdout = scope.spawn(move || read_all(stdout));
        let stderr = scope.spawn(move || read_all(stderr));
        let status = wait_for_exit(child, settings.duration, progress);
        let answer = stdout.join().unwrap_or_default();
        let complaint = stderr.join().unwrap_or_default();
        Ok((status?, answer, complaint))
    })
}

fn wait_for_exit(child: &mut Child, duration: Duration, progress: &dyn Fn(f64)) -> io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            progress(1.0);
            return Ok(Some(status));
        }
        let elapsed = start.elapsed();
        if elapsed > duration + OVERTIME {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        progress((elapsed.as_secs_f64() / duration.as_secs_f64()).min(1.0));
        thread::sleep(POLL);
    }
}

fn read_all(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // What came before an error is still worth having.
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

fn last_line(complaint: &[u8]) -> String {
    let text = String::from_utf8_lossy(complaint);
    match text.lines().rfind(|line| !line.trim().is_empty()) {
        Some(line) => format!(": {}", line.trim().trim_start_matches("error: ")),
        None => String::new(),
    }
}

/// Why a child did not understand its order.
#[derive(Debug, thiserror::Error)]
#[error("{CHILD_OPTION} is for this program's own use: it expects an order on stdin ({0})")]
pub(crate) struct OrderError(#[from] serde_json::Error);

/// The child's side: reads the order.
pub(crate) fn read_order(input: impl Read) -> Result<(Variant, Settings), OrderError> {
    let order: Order = serde_json::from_reader(input)?;
    Ok((order.variant, order.settings))
}

/// The child's side: writes the result.
pub(crate) fn write_result(out: &mut dyn Write, result: &RunResult) -> io::Result<()> {
    serde_json::to_writer(&mut *out, result)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn order_and_result_survive_the_pipe() {
        let order = Order { variant: Variant::FifoSingle, settings: testing::settings() };
        let bytes = serde_json::to_vec(&order).unwrap();
        let (variant, settings) = read_order(bytes.as_slice()).unwrap();
        assert_eq!(Order { variant, settings }, order);

        let result = testing::results().remove(0);
        let mut bytes = Vec::new();
        write_result(&mut bytes, &result).unwrap();
        assert_eq!(serde_json::from_slice::<RunResult>(&bytes).unwrap(), result);
    }

    #[test]
    fn complaint_is_its_last_line() {
        assert_eq!(last_line(b""), "");
        assert_eq!(last_line(b"warning\nerror: no such core\n\n"), ": no such core");
    }

    #[test]
    fn someone_typing_the_hidden_option_is_told() {
        let error = read_order(&b""[..]).unwrap_err().to_string();
        assert!(error.starts_with(CHILD_OPTION), "{error}");
    }
}
