//! The result in a few sentences: which contender is best, and if rospin keeps its promises.

use super::comparison::Comparison;
use super::contender::{Contender, Load};
use super::figures::Row;

/// Largest ratio of rospin's jitter to the floor's, at the 99th percentile.
pub(crate) const FLOOR_FACTOR: f64 = 1.3;
/// Largest increase of rospin's jitter by a busy executor of lower priority, as a share of the jitter without it.
pub(crate) const BUSY_WORSE: f64 = 0.2;
/// Rate in hertz for which the two limits are promised.
const PROMISED_HZ: u32 = 1000;

/// Promise of rospin, with the measured result in its text. `kept` is true if the result keeps it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Promise {
    pub(crate) text: String,
    pub(crate) kept: bool,
}

/// Returns the contender with the lowest 99th percentile of those that fired every time; `None` if none did. The floor
/// does not take part.
pub(crate) fn winner(comparison: &Comparison, load: Load, rate_hz: u32) -> Option<Contender> {
    let rows = comparison.rows.iter().filter(|row| (row.load, row.rate_hz) == (load, rate_hz));
    let runs = rows.filter(|row| row.contender != Contender::Floor && row.is_complete());
    let runs = runs.filter_map(|row| Some((row.contender, row.p99()?)));
    runs.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(contender, _)| contender)
}

/// Returns the sentences below the table, in the terminal and the report.
pub(crate) fn sentences(comparison: &Comparison) -> Vec<String> {
    let mut said = vec![winner_sentence(comparison)];
    said.extend(incomplete(comparison));
    said.extend(promises(comparison).into_iter().map(|Promise { text, kept }| {
        let verdict = if kept { "kept" } else { "NOT kept" };
        format!("{verdict}: {text}")
    }));
    if !comparison.setup.is_real_time() {
        let missing = comparison.setup.missing.join("; ");
        said.push(format!("Measured without real-time priorities, which the promises are about: {missing}."));
    }
    said.extend(comparison.remarks.iter().cloned());
    said
}

/// Returns a sentence about the contender that wins most comparisons.
fn winner_sentence(comparison: &Comparison) -> String {
    let rates = comparison.rates();
    let cases = rates.iter().flat_map(|rate| Load::ALL.map(|load| winner(comparison, load, *rate)));
    let winners: Vec<Contender> = cases.flatten().collect();
    let wins = |contender| winners.iter().filter(|winner| **winner == contender).count();
    let best = Contender::ALL.into_iter().max_by_key(|contender| wins(*contender));
    let Some(best) = best.filter(|best| wins(*best) > 0) else {
        return "Nobody but the floor fired every time.".to_owned();
    };
    let of = rates.len() * Load::ALL.len();
    format!(
        "{} wins {} of {of} comparisons (fires every time, with the least jitter at the 99th percentile but for the floor).",
        best.name(),
        wins(best),
    )
}

/// Returns a sentence about contenders that did not fire at their full rate; `None` if all did.
fn incomplete(comparison: &Comparison) -> Option<String> {
    let rows = comparison.rows.iter().filter(|row| !row.is_complete());
    let said = rows.map(|row| {
        let seconds = row.expected as f64 / f64::from(row.rate_hz);
        let (name, load) = (row.contender.name(), row.load.name());
        format!("{name} at {} Hz {load}: {:.0} Hz", row.rate_hz, row.fired as f64 / seconds)
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| format!("Did not fire at their rate: {}.", said.join(", ")))
}

/// Returns the promises that the run has figures for.
pub(crate) fn promises(comparison: &Comparison) -> Vec<Promise> {
    let mut promises: Vec<Promise> = complete(comparison).into_iter().collect();
    promises.extend(Load::ALL.into_iter().filter_map(|load| near_floor(comparison, load)));
    promises.extend(undisturbed(comparison));
    promises
}

/// Returns the promise that rospin fires at its full rate; `None` if rospin was not run, likewise for the two promises
/// below.
fn complete(comparison: &Comparison) -> Option<Promise> {
    let rows: Vec<&Row> = comparison.rows.iter().filter(|row| row.contender == Contender::Rospin).collect();
    let off = rows.iter().map(|row| row.fired.abs_diff(row.expected)).max()?;
    let text = format!("rospin fires as often as it should, within 1, at every rate: {off} off at worst.");
    Some(Promise { text, kept: rows.iter().all(|row| row.is_complete()) })
}

/// Returns the promise that rospin's jitter is near the floor's under this load.
fn near_floor(comparison: &Comparison, load: Load) -> Option<Promise> {
    let factor = comparison.to_floor(comparison.row(Contender::Rospin, load, PROMISED_HZ)?)?;
    let text = format!(
        "at {PROMISED_HZ} Hz, {}, rospin's jitter at the 99th percentile is at most {FLOOR_FACTOR} times the floor's: {factor:.2} \
         times.",
        load.name()
    );
    Some(Promise { text, kept: factor <= FLOOR_FACTOR })
}

/// Returns the promise that a busy executor of lower priority hardly changes rospin's jitter.
fn undisturbed(comparison: &Comparison) -> Option<Promise> {
    let change = |contender| {
        let p99 = |load| comparison.row(contender, load, PROMISED_HZ)?.p99();
        Some(p99(Load::Busy)? / p99(Load::Idle)? - 1.0)
    };
    let rospin = change(Contender::Rospin)?;
    let floor =
        change(Contender::Floor).map_or(String::new(), |floor| format!(" (the floor's by {:+.0} %)", floor * 100.0));
    let text = format!(
        "at {PROMISED_HZ} Hz, a busy executor of lower priority makes that at most {:.0} % worse: it changes by {:+.0} %{floor}.",
        BUSY_WORSE * 100.0,
        rospin * 100.0,
    );
    Some(Promise { text, kept: rospin <= BUSY_WORSE })
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn the_least_jitter_wins_among_those_that_fired_every_time() {
        let mut comparison = testing::comparison();
        assert_eq!(winner(&comparison, Load::Idle, 1000), Some(Contender::Rospin));
        for row in comparison.rows.iter_mut().filter(|row| row.contender == Contender::Rospin) {
            row.fired -= 2;
        }
        assert_eq!(winner(&comparison, Load::Idle, 1000), Some(Contender::Timerfd));
        assert!(promises(&comparison).iter().any(|promise| !promise.kept && promise.text.contains("2 off")));
    }

    #[test]
    fn sentences_say_who_won_who_did_not_fire_and_what_is_kept() {
        let said = sentences(&testing::comparison()).join("\n");
        assert!(said.contains("rospin wins 4 of 4"), "{said}");
        assert!(said.contains("task-a-timer at 1000 Hz idle: 600 Hz"), "{said}");
        assert!(said.contains("kept: at 1000 Hz, idle, rospin's") && said.contains(": 1.20 times."), "{said}");
        assert!(said.contains("it changes by +10 % (the floor's by +10 %)"), "{said}");
        assert!(!said.contains("NOT kept"), "{said}");
    }

    #[test]
    fn nothing_is_promised_about_what_was_not_run() {
        let mut comparison = testing::comparison();
        comparison.rows.retain(|row| row.contender == Contender::TaskPerTimer);
        assert_eq!(promises(&comparison), []);
        assert!(sentences(&comparison)[0].starts_with("Nobody"));
    }
}
