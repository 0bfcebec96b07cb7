//! The check: the same decisions as in the recording, or the first one that differs.

use std::io::{self, Write};
use std::path::PathBuf;

use rospin_engine::{Policy, policy};
use rospin_report::Failure;
use rospin_trace::Recording;
use rospin_trace::replay::{AsRecorded, Policies, Replayed, Verdict, check};

use super::Options;

/// Reasons for which there is nothing to compare, and differences.
#[derive(Debug, thiserror::Error)]
enum CheckError {
    #[error("{}: has no executor `{name}`; it has {known}", path.display())]
    Unknown { path: PathBuf, name: String, known: String },
    #[error("{}: nothing can be compared: {reason}", path.display())]
    Nothing { path: PathBuf, reason: String },
    #[error("{count} of {executors} executors differ from the recording")]
    Differs { count: usize, executors: usize },
}

pub(super) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let chosen = options.against.clone().map(|name| {
        move |_: &str, _: &str| -> Result<Box<dyn Policy>, String> { policy::by_name(&name).map_err(|e| e.to_string()) }
    });
    let policies: &dyn Policies = chosen.as_ref().map_or(&AsRecorded, |chosen| chosen as &dyn Policies);
    let (mut executors, mut differing) = (0, 0);
    for file in &options.files {
        for path in Recording::files(file).map_err(Failure::input)? {
            // One at a time: a recording of hours takes gigabytes.
            for recording in Recording::open(&path).map_err(Failure::input)? {
                let replayed = of_file(options, &recording, policies)?;
                executors += replayed.len();
                differing += replayed.iter().filter(|of| matches!(of.verdict, Verdict::Differs(_))).count();
                print(options, &recording, &replayed, out)?;
            }
        }
    }
    if differing > 0 {
        return Err(Failure::run(CheckError::Differs { count: differing, executors }));
    }
    Ok(())
}

/// Replays the executors of a recording, or the one that the options name, and returns the verdict on each.
///
/// # Errors
/// If there is no executor, none of that name, or none that can be checked.
fn of_file(options: &Options, recording: &Recording, policies: &dyn Policies) -> Result<Vec<Replayed>, Failure> {
    let mut replayed = check(recording, policies);
    let path = || recording.path.clone();
    if let Some(name) = &options.executor {
        let known: Vec<String> = replayed.iter().map(|of| of.executor.clone()).collect();
        replayed.retain(|of| of.executor == *name);
        if replayed.is_empty() {
            let unknown = CheckError::Unknown { path: path(), name: name.clone(), known: known.join(", ") };
            return Err(Failure::input(unknown));
        }
    }
    let reason = replayed.iter().map(|of| match &of.verdict {
        Verdict::NotChecked(reason) => Some(format!("{}: {reason}", of.executor)),
        _ => None,
    });
    // True also if there is no executor at all.
    if let Some(reasons) = reason.collect::<Option<Vec<String>>>() {
        let reason = reasons.into_iter().next().unwrap_or_else(|| "it has no executor".to_owned());
        return Err(Failure::input(CheckError::Nothing { path: path(), reason }));
    }
    Ok(replayed)
}

fn print(options: &Options, recording: &Recording, replayed: &[Replayed], out: &mut dyn Write) -> io::Result<()> {
    if options.quiet && replayed.iter().all(|of| of.verdict == Verdict::Same) {
        return Ok(());
    }
    writeln!(out, "{}", recording.path.display())?;
    recording.faults.iter().try_for_each(|fault| writeln!(out, "  damaged: {fault}"))?;
    replayed.iter().try_for_each(|of| writeln!(out, "{of}"))
}
