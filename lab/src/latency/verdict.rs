//! The table's result in sentences, whichever contender is best.

use super::comparison::Comparison;
use super::figures::{Row, Standing, rows, standings};
use super::runner::RunResult;
use super::variant::{OURS, Structure, Variant};

/// The variant that the paper proposes.
const PROPOSED: Variant = Variant::real_time(Structure::FuturesRt);
/// Difference below which two latencies are the same, in percent of the proposal's. Two latencies are also the same if
/// they differ by less than the machine itself took, see [`machine_ms`].
const SAME_PERCENT: f64 = 1.0;

/// Largest number of variants that are named one by one where they miss the same deadlines. More of them are only
/// counted.
const NAMED: usize = 3;

/// Returns all sentences below the table.
pub(crate) fn sentence(comparison: &Comparison) -> String {
    let standings = standings(comparison);
    let rows = rows(comparison);
    let ours = standings.iter().find(|standing| standing.variant == OURS);
    let lacking = comparison.results.iter().filter(|result| result.variant == OURS).any(RunResult::lacks_something);
    let unfit = if lacking { "Without all that its threads should have: " } else { "" };
    let parts = [
        ours.map(|ours| {
            unfit.to_owned()
                + &deadlines(ours)
                + &analysis(&rows)
                + &proposed(&rows, comparison).unwrap_or_default()
                + "."
        }),
        others(&standings),
        ours.map(stalls),
    ];
    let text: Vec<String> = parts.into_iter().flatten().collect();
    if text.is_empty() { "Nothing was run.".to_owned() } else { text.join(" ") }
}

/// Returns a clause about the runs in which our variant keeps its deadlines.
fn deadlines(ours: &Standing) -> String {
    let name = OURS.name();
    let runs = format!("{} of {} {}", ours.good_runs, ours.runs, if ours.runs == 1 { "run" } else { "runs" });
    if ours.good_runs == ours.runs {
        return format!("{name} keeps every deadline at the 99th percentile in {runs}");
    }
    format!(
        "{name} keeps every deadline at the 99th percentile in {runs} only, and misses those of {}",
        topics(&ours.missing)
    )
}

/// Returns a clause about the 99th percentiles beside the bounds of the analysis with overheads; empty if none of them
/// has a bound.
fn analysis(rows: &[Row]) -> String {
    let own: Vec<_> = rows.iter().filter(|row| row.variant == OURS).collect();
    let above_ms = |row: &Row| Some(row.p99_ms? - row.real_bound_ms?);
    let Some((worst_ms, worst)) =
        own.iter().filter_map(|row| Some((above_ms(row)?, row))).max_by(|a, b| a.0.total_cmp(&b.0))
    else {
        return String::new();
    };
    let within = own.iter().filter(|row| above_ms(row).is_some_and(|ms| ms <= 0.0)).count();
    format!(
        ", and {within} of {} such percentiles are within the analysis with overheads ({} it, for topic {} of run {})",
        own.len(),
        signed(worst_ms),
        worst.topic + 1,
        worst.run,
    )
}

/// Returns a text for an excess in milliseconds, such as "at most 0.12 ms above", or "at least 0.12 ms below" if it is
/// negative.
fn signed(ms: f64) -> String {
    if ms < 0.0 { format!("at least {:.2} ms below", -ms) } else { format!("at most {ms:.2} ms above") }
}

/// Returns a clause about the largest excess of our latency over the proposal's in the same run; `None` unless both
/// were run.
fn proposed(rows: &[Row], comparison: &Comparison) -> Option<String> {
    let of_theirs = |row: &Row| {
        rows.iter().find(|other| other.variant == PROPOSED && other.run == row.run && other.topic == row.topic)
    };
    let pairs = rows.iter().filter(|row| row.variant == OURS).filter_map(|row| {
        let theirs_ms = of_theirs(row)?.p99_ms?;
        let same_ms = machine_ms(comparison, row).max(theirs_ms * SAME_PERCENT / 100.0);
        Some((row.p99_ms? - theirs_ms, same_ms, row))
    });
    let pairs: Vec<_> = pairs.collect();
    let behind: Vec<_> = pairs.iter().filter(|(ms, same_ms, _)| ms > same_ms).collect();
    let name = PROPOSED.name();
    let Some((worst_ms, _, worst)) = behind.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else {
        let text = format!(
            "; it is never behind {name} of the same run by more than {SAME_PERCENT} % or what the machine took"
        );
        return (!pairs.is_empty()).then_some(text);
    };
    Some(format!(
        "; it is behind {name} of the same run in {} of {} figures, by {worst_ms:.2} ms at most (topic {}, run {})",
        behind.len(),
        pairs.len(),
        worst.topic + 1,
        worst.run,
    ))
}

/// Returns the time in milliseconds that the machine itself took from a topic in a run, under our variant or under the
/// proposed one, whichever was worse: the lateness with which it woke its most urgent thread, or the time that stalls
/// took of the topic's periods, whichever is longer. Both are 99th percentiles.
fn machine_ms(comparison: &Comparison, row: &Row) -> f64 {
    let ours_or_theirs = |result: &&RunResult| [OURS, PROPOSED].contains(&result.variant) && result.run == row.run;
    let both = comparison.results.iter().filter(ours_or_theirs).map(|result| &result.published.stalls);
    both.map(|stalls| stalls.p99_ms.max(stalls.taken_p99_ms[row.topic])).fold(0.0, f64::max)
}

/// Returns sentences about the other variants that keep the deadlines, and those that do not; `None` if there are no
/// others.
fn others(standings: &[Standing]) -> Option<String> {
    let others: Vec<_> = standings.iter().filter(|standing| standing.variant != OURS).collect();
    let (good, bad): (Vec<_>, Vec<_>) = others.into_iter().partition(|standing| standing.missing.is_empty());
    let names = |standings: &[&Standing]| {
        standings.iter().map(|standing| standing.variant.name()).collect::<Vec<_>>().join(", ")
    };
    let good_text = (!good.is_empty()).then(|| format!("All deadlines are kept by {}, too.", names(&good)));
    let bad_text = (!bad.is_empty()).then(|| format!("Deadlines are missed by {}.", by_topics(&bad)));
    let text: Vec<_> = [good_text, bad_text].into_iter().flatten().collect();
    (!text.is_empty()).then(|| text.join(" "))
}

/// Returns a list such as "a, b (topics 1 to 3); c (topic 1)". Variants that miss the deadlines of the same topics are
/// named together.
fn by_topics(standings: &[&Standing]) -> String {
    let mut groups: Vec<(&[usize], Vec<&str>)> = Vec::new();
    for standing in standings {
        let name = standing.variant.name();
        match groups.iter_mut().find(|(missing, _)| *missing == standing.missing) {
            Some((_, names)) => names.push(name),
            None => groups.push((&standing.missing, vec![name])),
        }
    }
    let group = |(missing, names): &(&[usize], Vec<&str>)| {
        // The table marks all of them. The sentence names a few.
        let who = if names.len() > NAMED { format!("{} variants", names.len()) } else { names.join(", ") };
        format!("{who} ({})", topics(missing))
    };
    groups.iter().map(group).collect::<Vec<_>>().join("; ")
}

/// Returns a text such as "topic 1", "topics 1 to 3" or "topics 1, 4" for ascending indices of topics.
fn topics(missing: &[usize]) -> String {
    match missing {
        [only] => format!("topic {}", only + 1),
        [first, .., last] if last - first + 1 == missing.len() => format!("topics {} to {}", first + 1, last + 1),
        _ => {
            let numbers: Vec<_> = missing.iter().map(|topic| (topic + 1).to_string()).collect();
            format!("topics {}", numbers.join(", "))
        }
    }
}

/// Returns a sentence about the single messages that missed their deadline under our variant, and the stalls of its
/// runs.
fn stalls(ours: &Standing) -> String {
    let Standing { missed_deadlines, sent, stalls, stall_max_ms, .. } = ours;
    format!(
        "Beyond the 99th percentile, {} missed {missed_deadlines} of {sent} deadlines; meanwhile the core itself \
         stood still for more than 1 ms {stalls} times, for {stall_max_ms:.2} ms at most.",
        OURS.name(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn without(structure: Structure) -> Comparison {
        let mut comparison = testing::comparison();
        comparison.results.retain(|result| result.variant != Variant::real_time(structure));
        comparison
    }

    #[test]
    fn win_in_full() {
        assert_eq!(
            sentence(&testing::comparison()),
            "rospin-rt keeps every deadline at the 99th percentile in 2 of 2 runs, and 10 of 10 such \
             percentiles are within the analysis with overheads (at least 0.05 ms below it, for topic 5 of run 2); it is never behind \
             futures-rt of the same run by more than 1 % or what the machine took. All deadlines are kept by futures-rt, too. \
             Deadlines are missed by tokio (topics 1 to 3). Beyond the 99th percentile, rospin-rt missed 0 of 1850 \
             deadlines; meanwhile the core itself stood still for more than 1 ms 6 times, for 1.50 ms at most."
        );
    }

    #[test]
    fn loss_is_said_as_plainly() {
        let mut comparison = testing::comparison();
        comparison.results[5] = testing::result(Structure::RospinRt, 2, [2_350, 21_000, 13_000, 36_400, 173_750]);
        let text = sentence(&comparison);
        assert!(text.contains("in 1 of 2 runs only, and misses those of topic 2"), "{text}");
        let above = "9 of 10 such percentiles are within the analysis with overheads (at most 14.65 ms above it, for topic 2 of run 2)";
        assert!(text.contains(above), "{text}");
        let behind = "behind futures-rt of the same run in 2 of 10 figures, by 14.80 ms at most (topic 2, run 2)";
        assert!(text.contains(behind), "{text}");
    }

    #[test]
    fn what_the_machine_cannot_tell_apart_is_the_same() {
        let mut comparison = testing::comparison();
        comparison.results[5] = testing::result(Structure::RospinRt, 2, [2_150, 6_250, 13_000, 36_400, 173_750]);
        assert!(sentence(&comparison).contains("behind futures-rt of the same run in 1 of 10 figures, by 0.05 ms"));
        comparison.results[5].published.stalls.p99_ms = 0.06;
        assert!(sentence(&comparison).contains("never behind futures-rt"));
    }

    #[test]
    fn what_was_not_run_is_not_spoken_of() {
        assert!(!sentence(&without(Structure::FuturesRt)).contains("futures-rt"));
        let text = sentence(&without(Structure::RospinRt));
        assert_eq!(text, "All deadlines are kept by futures-rt, too. Deadlines are missed by tokio (topics 1 to 3).");
    }

    #[test]
    fn missing_rights_are_said_first() {
        let mut comparison = testing::comparison();
        comparison.results[2].published.threads[0].shortfalls = vec!["not SCHED_FIFO 24: no".to_owned()];
        let text = sentence(&comparison);
        assert!(text.starts_with("Without all that its threads should have: rospin-rt keeps"), "{text}");
    }

    #[test]
    fn many_alike_are_counted() {
        let mut comparison = testing::comparison();
        for structure in [Structure::Futures, Structure::TokioRt, Structure::WaitSet] {
            comparison.results.push(testing::result(structure, 1, [70_000, 76_000, 68_000, 50_000, 80_000]));
        }
        assert!(sentence(&comparison).contains("Deadlines are missed by 4 variants (topics 1 to 3)."));
    }

    #[test]
    fn topics_are_listed_briefly() {
        assert_eq!((topics(&[2]), topics(&[0, 1, 2])), ("topic 3".to_owned(), "topics 1 to 3".to_owned()));
        assert_eq!(topics(&[0, 3]), "topics 1, 4");
    }
}
