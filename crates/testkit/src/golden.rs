//! Golden traces: a scheduler's trace as text that a person can read and a test can compare.

use std::fmt::Write as _;
use std::path::Path;

use rospin_core::trace::TraceEvent;
use rospin_core::{Activation, Instant, Scheduler, ThreadIndex};

/// Environment variable that makes [`check`] write the files, if it is `1`.
pub const BLESS: &str = "ROSPIN_BLESS";

/// Formats a trace, one event per line: time, thread, event.
///
/// ```text
///    0.200s      ready  T0 (deadline 1.200s)
///    0.500s  t0  runs   T0 (released 0.200s)
///    1.000s  t0  ends   T0
/// ```
/// A line for a release has the time of the release. The scheduler may notice a timer's release later, so times can go
/// back there.
#[must_use]
pub fn render(events: &[(Instant, TraceEvent)], scheduler: &Scheduler) -> String {
    let mut text = String::new();
    let mut running: Vec<(ThreadIndex, Activation)> = Vec::new();
    for (number, (at, event)) in events.iter().enumerate() {
        let line = match event {
            TraceEvent::PollingPoint(thread) => polls(*thread, &events[number + 1..], scheduler),
            TraceEvent::Collected(_) => continue,
            TraceEvent::Released(activation) => ready(activation, scheduler),
            TraceEvent::Antedated(activation) => format!("    since  {}", name(activation, scheduler)),
            TraceEvent::Dispatched(thread, activation) => {
                running.push((*thread, *activation));
                runs(*thread, activation, scheduler)
            }
            TraceEvent::Suspended(activation) => left(&mut running, activation, "waits ", scheduler),
            TraceEvent::Completed(activation) => left(&mut running, activation, "ends  ", scheduler),
            TraceEvent::Overrun(id, count) => {
                let name = scheduler.entity(*id).map_or("?", |spec| spec.name.as_str());
                format!("    gives up {count} due time{} of {name}", if *count == 1 { "" } else { "s" })
            }
            other => format!("    {other:?}"),
        };
        let _ = writeln!(text, "{}  {line}", seconds(*at));
    }
    text
}

/// Formats a polling point with its ready set, which the trace has after it.
fn polls(thread: ThreadIndex, behind: &[(Instant, TraceEvent)], scheduler: &Scheduler) -> String {
    let collected = behind.iter().map_while(|(_, event)| match event {
        TraceEvent::Collected(activation) => Some(name(activation, scheduler)),
        _ => None,
    });
    format!("t{}  polls  {{{}}}", thread.0, collected.collect::<Vec<_>>().join(" "))
}

fn ready(activation: &Activation, scheduler: &Scheduler) -> String {
    let name = name(activation, scheduler);
    match activation.deadline {
        _ if activation.segment > 0 => format!("    ready  {name} again"),
        Instant::MAX => format!("    ready  {name}"),
        deadline => format!("    ready  {name} (deadline {})", seconds(deadline).trim_start()),
    }
}

fn runs(thread: ThreadIndex, activation: &Activation, scheduler: &Scheduler) -> String {
    let released = seconds(activation.release);
    format!("t{}  runs   {} (released {})", thread.0, name(activation, scheduler), released.trim_start())
}

/// Removes an activation from the `running` ones, and formats the line of it: its thread, the word `what`, and its
/// name.
fn left(
    running: &mut Vec<(ThreadIndex, Activation)>,
    activation: &Activation,
    what: &str,
    scheduler: &Scheduler,
) -> String {
    let same = |(_, known): &(ThreadIndex, Activation)| {
        (known.entity, known.sequence) == (activation.entity, activation.sequence)
    };
    let thread = match running.iter().position(same) {
        Some(at) => format!("t{}", running.remove(at).0.0),
        None => "t?".to_owned(),
    };
    format!("{thread}  {what} {}", name(activation, scheduler))
}

fn name<'a>(activation: &Activation, scheduler: &'a Scheduler) -> &'a str {
    scheduler.entity(activation.entity).map_or("?", |spec| spec.name.as_str())
}

fn seconds(at: Instant) -> String {
    let micros = at.as_nanos() / 1_000;
    let whole = micros / 1_000_000;
    let micros = micros % 1_000_000;
    match micros % 1_000 {
        0 => format!("{whole:>4}.{:03}s", micros / 1_000),
        _ => format!("{whole:>4}.{micros:06}s"),
    }
}

/// Compares `actual` with the file, or writes `actual` to the file if [`BLESS`] is `1`.
///
/// # Errors
/// The first difference and the fix, or the reason why the file cannot be read or written.
pub fn check(file: &Path, actual: &str) -> Result<(), String> {
    if std::env::var(BLESS).is_ok_and(|value| value == "1") {
        return std::fs::write(file, actual).map_err(|error| format!("{}: {error}", file.display()));
    }
    let hint = format!("if the new trace is right, {BLESS}=1 writes it");
    let expected = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}; {hint}", file.display()))?;
    if expected == actual {
        return Ok(());
    }
    let same = expected.lines().zip(actual.lines()).take_while(|(expected, actual)| expected == actual).count();
    Err(format!(
        "{}:{}: the trace differs from here on\nexpected: {}\nactual:   {}\n\nthe whole trace:\n{actual}\n{hint}",
        file.display(),
        same + 1,
        expected.lines().nth(same).unwrap_or("(end)"),
        actual.lines().nth(same).unwrap_or("(end)"),
    ))
}
