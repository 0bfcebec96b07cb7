//! Runs parts of experiments in processes of their own.
//!
//! Memory and CPU are then those of one part, and no thread, priority or core setting of one is left over in the next. The
//! child is this same program with a hidden option: it reads what to run from stdin and answers on stdout.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The hidden option of a child process.
pub(crate) const CHILD_OPTION: &str = "--order-on-stdin";

/// How often the parent looks whether the child is done, at most and at least.
const POLL: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(50)];
/// How long a child may take beyond its run before it counts as stuck.
const OVERTIME: Duration = Duration::from_secs(30);

/// Why a child gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChildError {
    /// It could not be started or talked to.
    #[error("its process cannot be used: {0}")]
    Process(#[from] io::Error),
    /// It ended without an answer.
    #[error("its process ended without a result ({status}){said}")]
    Ended {
        /// How it ended.
        status: ExitStatus,
        /// The last line that it wrote to stderr, with what introduces it.
        said: String,
    },
    /// It did not end in time and was stopped.
    #[error("no result {} s after the run should have ended; its process was stopped", OVERTIME.as_secs())]
    Stuck,
    /// What came back is no answer.
    #[error("its result cannot be read: {0}")]
    Malformed(serde_json::Error),
}

/// Has a child of `program` obey the order, which takes about `duration`; `progress` is told the share that is done.
pub(crate) fn ask<O: Serialize, A: DeserializeOwned>(
    program: &Path,
    experiment: &str,
    order: &O,
    duration: Duration,
    progress: &dyn Fn(f64),
) -> Result<A, ChildError> {
    let mut child = spawn(program, experiment, order)?;
    let (status, answer, complaint) = wait(&mut child, duration, progress)?;
    let Some(status) = status else {
        return Err(ChildError::Stuck);
    };
    if !status.success() {
        return Err(ChildError::Ended { status, said: last_line(&complaint) });
    }
    serde_json::from_slice(&answer).map_err(ChildError::Malformed)
}

fn spawn<O: Serialize>(program: &Path, experiment: &str, order: &O) -> io::Result<Child> {
    let mut child = Command::new(program)
        .args(["lab", experiment, CHILD_OPTION])
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
fn wait(child: &mut Child, duration: Duration, progress: &dyn Fn(f64)) -> io::Result<Left> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        // Both pipes have to be emptied while the child runs, or it blocks once they are full.
        let stdout = scope.spawn(move || read_all(stdout));
        let stderr = scope.spawn(move || read_all(stderr));
        let status = wait_for_exit(child, duration, progress);
        let answer = stdout.join().unwrap_or_default();
        let complaint = stderr.join().unwrap_or_default();
        Ok((status?, answer, complaint))
    })
}

fn wait_for_exit(child: &mut Child, duration: Duration, progress: &dyn Fn(f64)) -> io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    let poll = (duration / 20).clamp(POLL[0], POLL[1]);
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
        progress((elapsed.as_secs_f64() / duration.as_secs_f64().max(1e-9)).min(1.0));
        thread::sleep(poll);
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
pub(crate) fn read_order<O: DeserializeOwned>(input: impl Read) -> Result<O, OrderError> {
    Ok(serde_json::from_reader(input)?)
}

/// The child's side: writes the answer.
pub(crate) fn write_answer<A: Serialize>(out: &mut dyn Write, answer: &A) -> io::Result<()> {
    serde_json::to_writer(&mut *out, answer)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

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
