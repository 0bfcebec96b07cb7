//! Result files: checked before a run, which may take minutes, and written after it.

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::distrust::Distrust;

/// Reasons for which a result file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The path cannot be opened for writing, as was found before the run.
    #[error(
        "{option} {}: cannot be written ({reason}); name a file in an existing folder that you may write to",
        path.display()
    )]
    Unwritable {
        /// The command line option that named the path.
        option: &'static str,
        /// The path that was tried.
        path: PathBuf,
        /// The operating system's error.
        reason: io::Error,
    },
    /// The path that both options name, so that one result would overwrite the other.
    #[error("--json and --report both name {}; give each its own file", .0.display())]
    Same(PathBuf),
    /// Writing failed after the run, although the path could be opened before it.
    #[error("{option} {}: cannot be written ({reason})", path.display())]
    Write {
        /// The command line option that named the path.
        option: &'static str,
        /// The path that was written to.
        path: PathBuf,
        /// The operating system's error.
        reason: io::Error,
    },
}

/// The result files of a run, checked before the run.
pub struct Files {
    json: Option<PathBuf>,
    /// The report's path, or the reason for which there will be no report; `None` if no report was asked for.
    report: Option<Result<PathBuf, OutputError>>,
    distrust: Distrust,
}

impl Files {
    /// Returns true if a file will be written.
    #[must_use]
    pub const fn are_wanted(&self) -> bool {
        self.json.is_some() || self.report.is_some()
    }

    /// Checks that the result files can be written. Without `report`, the report goes to `default_report`, and is left
    /// out if that is `None` or cannot be written.
    ///
    /// # Errors
    /// If `json` or `report` cannot be written, or `json` is also the report's path.
    pub fn check(
        json: Option<&Path>,
        report: Option<&Path>,
        default_report: Option<&str>,
    ) -> Result<Self, OutputError> {
        let path = report.or(default_report.map(Path::new));
        if let Some(json) = json {
            check_writable("--json", json)?;
            if let Some(path) = path {
                check_distinct(json, path)?;
            }
        }
        let checked = path.map(|path| check_writable("--report", path).map(|()| path.to_owned()));
        let checked = if report.is_some() { checked.transpose()?.map(Ok) } else { checked };
        Ok(Self { json: json.map(Path::to_owned), report: checked, distrust: Distrust::default() })
    }

    /// Has readers told of these rows.
    #[must_use]
    pub(crate) fn with_distrust(mut self, distrust: &Distrust) -> Self {
        self.distrust = distrust.clone();
        self
    }

    /// Prints the rows that readers should not trust, and puts them into the report. Writes the files, and prints their
    /// paths to `out`, that of the report last. `json` and `report` return the contents. Each is called only if its
    /// file is wanted. If the report's default path cannot be written, the reason is printed in place of the path.
    ///
    /// # Errors
    /// If `json` or `report` returns an error, or a file or `out` cannot be written.
    pub fn write<J, R>(
        self,
        out: &mut dyn Write,
        json: impl FnOnce() -> Result<String, J>,
        report: impl FnOnce() -> Result<String, R>,
    ) -> Result<(), Failure>
    where
        J: Error + Send + Sync + 'static,
        R: Error + Send + Sync + 'static,
    {
        if let Some(text) = self.distrust.text() {
            write!(out, "{text}")?;
        }
        if let Some(path) = &self.json {
            write("--json", path, &json().map_err(Failure::run)?).map_err(Failure::run)?;
            writeln!(out, "Figures: {}", path.display())?;
        }
        match &self.report {
            Some(Ok(path)) => {
                let page = self.distrust.on_page(report().map_err(Failure::run)?);
                write("--report", path, &page).map_err(Failure::run)?;
                writeln!(out, "Report:  {}", path.display())?;
            }
            Some(Err(reason)) => writeln!(out, "No report: {reason}")?,
            None => {}
        }
        Ok(())
    }
}

/// Writer to stdout that goes on without its reader, for commands that write files besides:
/// `rospin analyze FILE --deploy OUT | head` writes the whole file. Once the reader has closed the pipe, what is
/// written is dropped.
pub struct WithoutReader<'a> {
    out: &'a mut dyn Write,
    is_closed: bool,
}

impl<'a> WithoutReader<'a> {
    /// Returns a writer to `out`.
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self { out, is_closed: false }
    }

    /// Returns `dropped` in place of the error of a reader that has gone.
    fn closed<T>(&mut self, result: io::Result<T>, dropped: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(dropped)
            }
            result => result,
        }
    }
}

impl Write for WithoutReader<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_closed {
            return Ok(bytes.len());
        }
        let written = self.out.write(bytes);
        self.closed(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_closed {
            return Ok(());
        }
        let flushed = self.out.flush();
        self.closed(flushed, ())
    }
}

/// Checks that a file can be written at `path`, without changing what is there.
fn check_writable(option: &'static str, path: &Path) -> Result<(), OutputError> {
    let existed = path.exists();
    let opened = OpenOptions::new().append(true).create(true).open(path);
    match opened {
        Ok(_) => {
            if !existed {
                // The check creates no lasting file, so a run that fails leaves no empty file behind.
                let _ = fs::remove_file(path);
            }
            Ok(())
        }
        Err(reason) => Err(OutputError::Unwritable { option, path: path.to_owned(), reason }),
    }
}

/// Returns an error if both options have the same absolute path. Two links to one file are not noticed.
fn check_distinct(json: &Path, report: &Path) -> Result<(), OutputError> {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if absolute(json) == absolute(report) {
        return Err(OutputError::Same(json.to_owned()));
    }
    Ok(())
}

/// Writes a whole result file. `option` is the command line option that named the path, for the error.
fn write(option: &'static str, path: &Path, content: &str) -> Result<(), OutputError> {
    fs::write(path, content).map_err(|reason| OutputError::Write { option, path: path.to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("rospin-lab-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn check_leaves_no_trace() {
        let folder = scratch("trace");
        let fresh = folder.join("fresh.json");
        check_writable("--json", &fresh).unwrap();
        assert!(!fresh.exists());

        let old = folder.join("old.json");
        fs::write(&old, "kept").unwrap();
        check_writable("--json", &old).unwrap();
        assert_eq!(fs::read_to_string(&old).unwrap(), "kept");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn unwritable_paths_name_option_path_and_fix() {
        let folder = scratch("unwritable");
        for path in [folder.join("missing/file.json"), folder.clone()] {
            let message = check_writable("--json", &path).unwrap_err().to_string();
            assert!(message.starts_with("--json "), "{message}");
            assert!(message.contains(&path.display().to_string()), "{message}");
            assert!(message.contains("existing folder"), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn report_that_nobody_asked_for_may_fail() {
        let page = || Ok::<_, OutputError>("page".to_owned());
        let files = Files::check(None, None, Some("/no/such/folder/file")).unwrap();
        let mut out = Vec::new();
        files.write(&mut out, page, page).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("No report: --report /no/such/folder/file"), "{text}");
        assert!(Files::check(None, Some(Path::new("/no/such/folder/file")), None).is_err());
    }

    #[test]
    fn one_file_for_two_results_is_refused() {
        assert!(check_distinct(Path::new("a"), Path::new("./a")).is_err());
        assert!(check_distinct(Path::new("a"), Path::new("b")).is_ok());
    }
}
