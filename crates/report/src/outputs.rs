//! Result files: checked before a run of a minute, written after it.

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::Failure;

/// Why a result file cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The path was tried before the run and cannot be opened for writing.
    #[error(
        "{option} {}: cannot be written ({reason}); name a file in an existing folder that you may write to",
        path.display()
    )]
    Unwritable {
        /// The command line option that named the path.
        option: &'static str,
        /// The path.
        path: PathBuf,
        /// What the operating system said.
        reason: io::Error,
    },
    /// Two results would overwrite each other.
    #[error("--json and --report both name {}; give each its own file", .0.display())]
    Same(PathBuf),
    /// Writing failed although the path could be opened before.
    #[error("{option} {}: cannot be written ({reason})", path.display())]
    Write {
        /// The command line option that named the path.
        option: &'static str,
        /// The path.
        path: PathBuf,
        /// What the operating system said.
        reason: io::Error,
    },
}

/// The result files of a run, checked before it.
pub struct Files {
    json: Option<PathBuf>,
    /// The path, or why there will be no report; `None` if nobody wants one.
    report: Option<Result<PathBuf, OutputError>>,
}

impl Files {
    /// A file that was asked for has to be writable; a report that nobody asked for goes to `default_report`, and is left
    /// out if that is not possible.
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
        Ok(Self { json: json.map(Path::to_owned), report: checked })
    }

    /// Writes them, and says on `out` where they are, the report last.
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
        if let Some(path) = &self.json {
            write("--json", path, &json().map_err(Failure::run)?).map_err(Failure::run)?;
            writeln!(out, "Figures: {}", path.display())?;
        }
        match &self.report {
            Some(Ok(path)) => {
                write("--report", path, &report().map_err(Failure::run)?).map_err(Failure::run)?;
                writeln!(out, "Report:  {}", path.display())?;
            }
            Some(Err(reason)) => writeln!(out, "No report: {reason}")?,
            None => {}
        }
        Ok(())
    }
}

/// Checks that a file can be written at `path`, without changing what is there.
fn check_writable(option: &'static str, path: &Path) -> Result<(), OutputError> {
    let existed = path.exists();
    let opened = OpenOptions::new().append(true).create(true).open(path);
    match opened {
        Ok(_) => {
            if !existed {
                // Only a trial: a run that fails leaves no empty file behind. Whatever is there is
                // written over at the end anyway.
                let _ = fs::remove_file(path);
            }
            Ok(())
        }
        Err(reason) => Err(OutputError::Unwritable { option, path: path.to_owned(), reason }),
    }
}

/// Refuses two options that name one file.
fn check_distinct(json: &Path, report: &Path) -> Result<(), OutputError> {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if absolute(json) == absolute(report) {
        return Err(OutputError::Same(json.to_owned()));
    }
    Ok(())
}

/// Writes a whole result file.
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
