//! The system file of the program that runs: recorded in memory, and written when the recording ends.
//!
//! This works without the `rospin` command, which robots need not have. Learning needs neither the reader of MCAP nor
//! anything else that programs do not have, so it is no feature, and nothing is compiled anew for it.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rospin_core::recording::{Definition, Sink, Words};
use rospin_trace::{Model, ProcessName, Recording};

use crate::{LearnError, Options, learn};

/// The variable of the environment that names the system file to write. `%p` in it stands for the number of the
/// process.
pub const TEMPLATE: &str = "ROSPIN_SCENARIO_TEMPLATE";

/// The largest number of events that are kept: 54 MiB.
const EVENTS: usize = 1_000_000;
/// The largest number of definitions that are kept.
const DEFINITIONS: usize = 100_000;

/// Reasons for which a program cannot write its system file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// The folder in which the file would be created is not there.
    #[error("{TEMPLATE}: the folder {} is not there; create it", folder.display())]
    Folder {
        /// The missing folder.
        folder: PathBuf,
    },
}

/// Sink that keeps the first million events in memory. It writes the program's system file whenever it is flushed: at
/// the latest when the program's context is dropped.
pub struct ModelSink {
    path: PathBuf,
    process: ProcessName,
    definitions: Vec<Definition>,
    events: Vec<(u32, Words)>,
    left_out: u64,
    /// True if nothing has come since the last flush.
    is_learnt: bool,
    /// True if the file was created by this sink, which may write it again.
    is_own: bool,
    is_over: bool,
}

impl ModelSink {
    /// Creates a sink that writes to the file. Where it is there already, the number of the process is added to its
    /// name, so that nothing is overwritten.
    #[must_use]
    pub fn new(path: &Path, process: &ProcessName) -> Self {
        Self {
            path: path.to_owned(),
            process: process.clone(),
            definitions: Vec::new(),
            events: Vec::new(),
            left_out: 0,
            is_learnt: false,
            is_own: false,
            is_over: false,
        }
    }

    /// Returns the system file of what was recorded so far.
    ///
    /// # Errors
    /// If no callback ran.
    fn text(&self) -> Result<String, LearnError> {
        let events = self.events.iter().map(|(thread, words)| (*thread, words));
        let recording = Recording::of(&self.process, &self.definitions, events);
        let mut learned = learn(&Model::new(&[recording]), &Options::default())?;
        if let Some(first) = learned.remarks.top.first_mut() {
            *first = first.replacen("`rospin trace model`", &format!("`{TEMPLATE}`"), 1);
        }
        if self.left_out > 0 {
            let remark = format!(
                "The program went on after these events; {} more are left out, because memory is limited. `rospin \
                 trace record` has all of them.",
                self.left_out
            );
            learned.remarks.top.insert(1, remark);
        }
        Ok(learned.to_toml())
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        if self.is_own {
            return fs::write(&self.path, text);
        }
        let create = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path);
        let created = match create(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.path = beside(&self.path, self.process.process);
                create(&self.path)
            }
            created => created,
        };
        created?.write_all(text.as_bytes())?;
        self.is_own = true;
        Ok(())
    }
}

/// Returns the path with the number of the process before its ending.
fn beside(path: &Path, process: u32) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map_or_else(String::new, |ending| format!(".{}", ending.to_string_lossy()));
    path.with_file_name(format!("{stem}-{process}{ending}"))
}

#[expect(clippy::print_stderr, reason = "the sink has no other way to tell that it wrote no file")]
fn complain(path: &Path, error: &dyn std::error::Error) {
    eprintln!("rospin: the system file {} is not written: {error}", path.display());
}

impl Sink for ModelSink {
    fn define(&mut self, definition: &Definition) {
        if self.definitions.len() < DEFINITIONS {
            self.definitions.push(definition.clone());
            self.is_learnt = false;
        }
    }

    fn record(&mut self, thread: u32, events: &[Words]) {
        let kept = events.len().min(EVENTS - self.events.len());
        self.events.extend(events[..kept].iter().map(|words| (thread, *words)));
        self.left_out += (events.len() - kept) as u64;
        self.is_learnt &= events.is_empty();
    }

    fn flush(&mut self) {
        if self.is_over || std::mem::replace(&mut self.is_learnt, true) {
            return;
        }
        // A process that runs no callback, such as one that starts others, leaves no file.
        let Ok(text) = self.text() else { return };
        if let Err(error) = self.write(&text) {
            self.is_over = true;
            complain(&self.path, &error);
        }
    }
}

/// Returns the sink that writes the system file which [`TEMPLATE`] names; `None` if it is not set, or empty.
/// `steady_ns` is the time on the steady clock now.
///
/// # Errors
/// If the folder of the file is not there.
pub fn sink_from_env(steady_ns: u64) -> Result<Option<ModelSink>, SinkError> {
    sink_for(std::env::var_os(TEMPLATE), steady_ns)
}

fn sink_for(template: Option<OsString>, steady_ns: u64) -> Result<Option<ModelSink>, SinkError> {
    let Some(path) = template.filter(|path| !path.is_empty()) else { return Ok(None) };
    let path = match path.to_str() {
        Some(path) => PathBuf::from(path.replace("%p", &std::process::id().to_string())),
        None => PathBuf::from(path),
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(SinkError::Folder { folder: folder.to_owned() });
    }
    Ok(Some(ModelSink::new(&path, &ProcessName::of_this(steady_ns))))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rospin_core::recording::{Event, Step};
    use rospin_core::{EntityKind, Instant};

    use super::*;

    #[test]
    fn folders_must_be_there() {
        let error = sink_for(Some("/nowhere/system.toml".into()), 0).err().unwrap().to_string();
        assert_eq!(error, "ROSPIN_SCENARIO_TEMPLATE: the folder /nowhere is not there; create it");
        assert!(sink_for(Some("".into()), 0).unwrap().is_none() && sink_for(None, 0).unwrap().is_none());
    }

    /// A program that ends has its sinks flushed twice. The file is gone in between, so that it is seen whether it is
    /// written.
    #[test]
    fn nothing_is_learnt_twice() {
        let folder = std::env::temp_dir().join(format!("rospin-learn-twice-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("system.toml");
        let mut sink = ModelSink::new(&path, &ProcessName::of_this(0));
        sink.define(&Definition::Executor { executor: 0, name: "main".into(), policy: "fifo".into(), threads: 1 });
        sink.define(&Definition::Entity {
            executor: 0,
            entity: 1,
            account: 1,
            name: "lidar".into(),
            group: "lidar".into(),
            excludes: true,
            kind: EntityKind::Timer,
            priority: 1,
            deadline: None,
            period: Some(Duration::from_millis(10)),
            rules: None,
        });
        let run = |sink: &mut ModelSink, sequence: u64| {
            let step = Step { executor: 0, entity: 1, sequence, segment: 0 };
            let ms = |ms| Instant::from_millis(sequence * 10 + ms);
            let events = [
                (ms(0), Event::Released { step, release: ms(0), deadline: Instant::MAX }),
                (ms(0), Event::Dispatched { step, thread: 0, release: ms(0), cpu_ns: 0 }),
                (ms(1), Event::Completed { step, deadline: Instant::MAX, cpu_ns: 0 }),
            ];
            sink.record(1, &events.map(|(at, event)| event.encode(at)));
        };
        for sequence in 0..3 {
            run(&mut sink, sequence);
        }
        sink.flush();
        fs::remove_file(&path).unwrap();
        sink.flush();
        assert!(!path.exists(), "nothing has come since");
        run(&mut sink, 3);
        sink.flush();
        assert!(path.exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn memory_is_limited() {
        let mut sink = ModelSink::new(Path::new("/nowhere"), &ProcessName::of_this(0));
        let events = vec![[0; 6]; EVENTS / 2 + 1];
        sink.record(1, &events);
        sink.record(1, &events);
        assert_eq!((sink.events.len(), sink.left_out), (EVENTS, 2));
        // Nothing is written, because no callback ran.
        sink.flush();
        assert!(!sink.is_own && !sink.is_over);
    }
}
