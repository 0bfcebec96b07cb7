//! The machine's overheads: from the file of `rospin doctor --json`, from the command line, or none.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rospin_analysis::Overheads;
use serde_json::Value;

use super::options::{OverheadOptions, check_us};

/// Reasons for which overheads cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum OverheadError {
    #[error("--overheads {}: cannot be read ({reason}); `rospin doctor --json FILE` writes one", path.display())]
    Unreadable { path: PathBuf, reason: io::Error },
    #[error("--overheads {}: {reason}; `rospin doctor --json FILE` writes one", path.display())]
    Malformed { path: PathBuf, reason: String },
}

/// Returns the overheads that the options name, rounded up to nanoseconds. Those that they leave out are taken from the
/// options' file, or are zero without a file.
pub(super) fn read(options: &OverheadOptions) -> Result<Overheads, OverheadError> {
    let [dispatch, wake_up, receive] = options.overheads.as_deref().map_or(Ok([0.0; 3]), file)?;
    let time =
        |given: Option<f64>, otherwise: f64| Duration::from_nanos((given.unwrap_or(otherwise) * 1e3).ceil() as u64);
    Ok(Overheads {
        dispatch: time(options.dispatch_us, dispatch),
        wake_up: time(options.wake_up_us, wake_up),
        receive: time(options.receive_us, receive),
    })
}

/// Returns the overheads in the file at `path`, as [`parse`] does.
fn file(path: &Path) -> Result<[f64; 3], OverheadError> {
    let unreadable = |reason| OverheadError::Unreadable { path: path.to_owned(), reason };
    let text = fs::read_to_string(path).map_err(unreadable)?;
    parse(&text).map_err(|reason| OverheadError::Malformed { path: path.to_owned(), reason })
}

/// Returns the overheads in the JSON file of `rospin doctor`, in microseconds: of dispatch, wake-up and receiving.
fn parse(text: &str) -> Result<[f64; 3], String> {
    let document: Value = serde_json::from_str(text).map_err(|error| format!("this is no JSON ({error})"))?;
    let read = |name: &str| {
        let us = document["overheads_us"][name].as_f64();
        let us = us.ok_or_else(|| format!("`overheads_us` has no number `{name}`"))?;
        check_us(us).map_err(|fix| format!("`{name}` of `overheads_us` is {us}: {fix}"))
    };
    Ok([read("dispatch")?, read("wake_up")?, read("receive")?])
}

/// Returns the overheads in words; `None` if all are zero.
pub(super) fn describe(overheads: &Overheads) -> Option<String> {
    let Overheads { dispatch, wake_up, receive } = overheads;
    (*overheads != Overheads::default())
        .then(|| format!("dispatch {dispatch:?}, wake-up {wake_up:?}, receive {receive:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_the_doctor() {
        let text = r#"{ "overheads_us": { "dispatch": 0.2, "wake_up": 12, "receive": 0.4 } }"#;
        assert_eq!(parse(text), Ok([0.2, 12.0, 0.4]));
        for (text, expected) in [
            ("", "this is no JSON"),
            ("{}", "`overheads_us` has no number `dispatch`"),
            (
                r#"{ "overheads_us": { "dispatch": 1, "wake_up": -1, "receive": 0.4 } }"#,
                "`wake_up` of `overheads_us` is -1",
            ),
        ] {
            assert!(parse(text).unwrap_err().contains(expected), "{text}");
        }
    }

    #[test]
    fn the_command_line_goes_before_the_file() {
        let options =
            OverheadOptions { overheads: None, dispatch_us: Some(1.5), wake_up_us: None, receive_us: Some(0.0001) };
        let overheads = read(&options).unwrap();
        assert_eq!((overheads.dispatch, overheads.wake_up), (Duration::from_nanos(1_500), Duration::ZERO));
        assert_eq!(overheads.receive, Duration::from_nanos(1), "rounded up");
        assert_eq!(describe(&overheads).unwrap(), "dispatch 1.5µs, wake-up 0ns, receive 1ns");
        assert_eq!(describe(&Overheads::default()), None);
    }
}
