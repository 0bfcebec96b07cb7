//! The result in a few sentences: if rospin or the ordinary lock is better, and if rospin keeps its promises.

use super::comparison::Comparison;
use super::figures::Row;
use super::interference::Case;

/// Time below which the waits of an urgent callback must be at the 99.9th percentile, in microseconds.
pub(crate) const LIMIT_US: f64 = 1000.0;

/// Promise of rospin, with the measured result in its text. `kept` is true if the result keeps it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Promise {
    pub(crate) text: String,
    pub(crate) kept: bool,
}

/// Returns the case with the shorter wait at the 99.9th percentile: rospin beside all ordinary threads, or the ordinary
/// lock. `None` unless both were run.
pub(crate) fn winner(comparison: &Comparison) -> Option<Case> {
    let worst = |case| comparison.row(case)?.worst_p999();
    let (rospin, lock) = (worst(Case::All)?, worst(Case::StdMutex)?);
    Some(if rospin <= lock { Case::All } else { Case::StdMutex })
}

/// Returns the sentences below the table, in the terminal and the report.
pub(crate) fn sentences(comparison: &Comparison) -> Vec<String> {
    let mut said: Vec<String> = winner_sentence(comparison).into_iter().collect();
    said.extend(promises(comparison).into_iter().map(|Promise { text, kept }| {
        let verdict = if kept { "kept" } else { "NOT kept" };
        format!("{verdict}: {text}")
    }));
    let idle = |row: &&Row| row.case != Case::Nothing && row.operations == 0;
    for row in comparison.rows.iter().filter(idle) {
        said.push(format!("{}: the ordinary threads got to nothing, so that it says nothing.", row.case.name()));
    }
    said.extend(throttled(comparison));
    said
}

/// Returns the sentence about the winner; `None` unless rospin beside all ordinary threads and the ordinary lock were
/// both run.
fn winner_sentence(comparison: &Comparison) -> Option<String> {
    let worst = |case| comparison.row(case)?.worst_p999();
    let (rospin, lock) = (worst(Case::All)?, worst(Case::StdMutex)?);
    let name = if winner(comparison)? == Case::All { "rospin" } else { "the ordinary lock" };
    Some(format!(
        "{name} wins: beside ordinary threads and a hog, rospin's urgent side waits {rospin:.0} us at the 99.9th percentile, an \
         urgent loop with a std::sync::Mutex {lock:.0} us."
    ))
}

/// Returns a promise for each case of rospin that has figures.
pub(crate) fn promises(comparison: &Comparison) -> Vec<Promise> {
    let rows = comparison.rows.iter().filter(|row| row.case.is_rospin());
    let promise = |row: &Row| {
        let worst = row.worst_p999()?;
        let text = format!(
            "beside `{}`, timer, message and own calls of an urgent callback wait less than {LIMIT_US:.0} us at the 99.9th \
             percentile: {worst:.0} us at worst; {} of {} due times.",
            row.case.name(),
            row.fired(),
            row.expected
        );
        Some(Promise { text, kept: worst < LIMIT_US && row.is_complete() })
    };
    rows.filter_map(promise).collect()
}

/// Returns a remark if the kernel may have throttled the real-time threads: if the hog alone takes nearly all that they
/// may have. Otherwise, or without a limit, returns `None`.
fn throttled(comparison: &Comparison) -> Option<String> {
    let share = comparison.throttle?;
    let turn = &comparison.turn;
    let hog = turn.burst.as_secs_f64() / (turn.burst + turn.pause).as_secs_f64();
    // The urgent executor needs a part of the share, too.
    (hog > share - 0.1).then(|| {
        format!(
            "The hog takes {:.0} % of the core, and the kernel stops real-time threads at {:.0} % (sched_rt_runtime_us): some \
             of the waits may be that. Choose a shorter --burst.",
            hog * 100.0,
            share * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn sentences_say_who_won_and_what_is_kept() {
        let said = sentences(&testing::comparison()).join("\n");
        assert!(said.contains("rospin wins") && said.contains("std::sync::Mutex 50000 us"), "{said}");
        assert_eq!((said.matches("\nkept: ").count(), said.matches("NOT kept").count()), (6, 0), "{said}");
        assert!(!said.contains("sched_rt_runtime_us"), "{said}");
    }

    #[test]
    fn what_waits_too_long_or_is_missing_is_told() {
        let mut comparison = testing::comparison();
        comparison.rows[1].expected += 2;
        comparison.rows[2].own = comparison.rows[6].timer;
        comparison.rows[3].operations = 0;
        comparison.throttle = Some(0.9);
        let said = sentences(&comparison).join("\n");
        assert_eq!(said.matches("NOT kept").count(), 2, "{said}");
        assert!(said.contains("got to nothing") && said.contains("sched_rt_runtime_us"), "{said}");
    }

    #[test]
    fn nobody_wins_alone() {
        let mut comparison = testing::comparison();
        comparison.rows.truncate(2);
        assert_eq!(winner(&comparison), None);
        assert_eq!(promises(&comparison).len(), 2);
    }
}
