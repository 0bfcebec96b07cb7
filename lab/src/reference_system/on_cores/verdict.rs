//! The answer in words, whichever way it comes out.

use super::super::runner::Variant;
use super::rows::{PHASES, Row};

/// Executors that answer "one executor with several threads".
const SHARED: [Variant; 2] = [Variant::PriorityShared, Variant::PriorityReentrant];
/// Executors that answer "several executors with one thread each".
const PARTITIONED: [Variant; 2] = [Variant::PriorityMulti, Variant::PriorityPartitioned];

/// Share of the larger figure by which two may differ and still count as the same.
const SAME: f64 = 0.01;

/// Returns the answer: for each number of cores, which is better in the longest hot path from the lidars' due times,
/// and which has the lower bound. It takes the better executor of each kind.
pub(super) fn sentence(rows: &[Row]) -> String {
    let mut numbers: Vec<u16> = rows.iter().map(|row| row.cores).collect();
    numbers.dedup();
    let sentences: Vec<String> = numbers.into_iter().filter_map(|cores| on_cores(rows, cores)).collect();
    if sentences.is_empty() {
        return "To compare, run one executor with several threads (priority-shared, priority-reentrant) and several with \
                one (priority-multi, priority-partitioned)."
            .to_owned();
    }
    sentences.join(" ")
}

fn on_cores(rows: &[Row], cores: u16) -> Option<String> {
    let of = |variants: [Variant; 2]| {
        rows.iter().filter(move |row| row.cores == cores && variants.contains(&row.executor)).collect::<Vec<_>>()
    };
    let (shared, partitioned) = (of(SHARED), of(PARTITIONED));
    if shared.is_empty() || partitioned.is_empty() {
        return None;
    }
    let longest = |row: &Row| row.simulated.from_due_max_ms;
    let bound = |row: &Row| row.bounds.hot_path_ms;
    let runs = between("the longest hot path from the lidars' due times", [&shared, &partitioned], longest);
    let phases = format!("in {PHASES} other phases of the timers it");
    let phases = between(&phases, [&shared, &partitioned], |row| row.any_phase_max_ms);
    let bounds = between("the lowest bound of it", [&shared, &partitioned], bound);
    let mut text = format!("On {cores} cores, {runs}; {phases}; {bounds}.");
    let measured = |row: &Row| row.measured.and_then(|measured| measured.from_due_max_ms);
    if [&shared, &partitioned].iter().all(|rows| rows.iter().any(|row| measured(row).is_some())) {
        let measured = between("the longest that was measured", [&shared, &partitioned], measured);
        text.push_str(&format!(" On this machine, {measured}."));
    }
    if let Some(without) = rows.iter().find(|row| row.cores == cores && row.executor == Variant::WaitSetMulti) {
        let took = longest(without).map_or_else(|| "let nothing through".to_owned(), |ms| format!("took {ms:.1} ms"));
        text.push_str(&format!(" Without priorities, {} {took}.", without.executor.name()));
    }
    let lost: Vec<&str> = shared
        .iter()
        .chain(&partitioned)
        .filter(|row| row.simulated.missed_front_lidar > 0 || row.simulated.drops_mean.is_none_or(|drops| drops > 0.0))
        .map(|row| row.executor.name())
        .collect();
    if !lost.is_empty() {
        text.push_str(&format!(" Samples were lost under {}.", lost.join(" and ")));
    }
    Some(text)
}

/// Returns a clause that compares the least `value` of the first kind, one executor with several threads, with that of
/// the second, several executors with one.
fn between(what: &str, [shared, partitioned]: [&[&Row]; 2], value: impl Fn(&Row) -> Option<f64>) -> String {
    let least = |rows: &[&Row]| {
        let of = |row: &&Row| value(row).map(|value| (value, row.executor.name()));
        rows.iter().filter_map(of).min_by(|one, other| one.0.total_cmp(&other.0))
    };
    let text = |ms: f64, name: &str| format!("{ms:.1} ms in {name}");
    match (least(shared), least(partitioned)) {
        (Some((one, shared)), Some((several, partitioned))) if (one - several).abs() <= SAME * one.max(several) => {
            format!("{what} is the same: {} and {}", text(one, shared), text(several, partitioned))
        }
        (Some((one, shared)), Some((several, partitioned))) => {
            let (better, other) =
                if one < several { ("one executor", "several") } else { ("several executors", "one") };
            let ratio = one.max(several) / one.min(several);
            let (first, second) = (text(one, shared), text(several, partitioned));
            format!("{what} is {ratio:.2} times as long with {other} as with {better} ({first}, {second})")
        }
        (Some((one, shared)), None) => format!("{what} is {}, and several executors have none", text(one, shared)),
        (None, Some((several, partitioned))) => {
            format!("{what} is {}, and one executor has none", text(several, partitioned))
        }
        (None, None) => format!("{what} is known for neither"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{row, rows};
    use super::*;

    #[test]
    fn both_sides_are_told_for_each_number_of_cores() {
        assert_eq!(
            sentence(&rows()),
            "On 2 cores, the longest hot path from the lidars' due times is the same: 35.2 ms in priority-shared and 35.3 ms \
             in priority-partitioned; in 20 other phases of the timers it is the same: 55.2 ms in priority-shared and 55.3 ms in priority-partitioned; the lowest bound of it is 83.3 ms in priority-partitioned, and one executor has none. On \
             this machine, the longest that was measured is the same: 40.0 ms in priority-shared and 40.1 ms in \
             priority-partitioned. Without priorities, wait-set-multi took 50.6 ms. On 4 cores, the longest hot path from the \
             lidars' due times is 1.25 times as long with several as with one executor (28.2 ms in priority-reentrant, 35.3 ms \
             in priority-partitioned); in 20 other phases of the timers it is 1.15 times as long with several as with one executor (48.2 ms in priority-reentrant, 55.3 ms in priority-partitioned); the lowest bound of it is 1.42 times as long with one as with several executors (118.0 \
             ms in priority-reentrant, 83.3 ms in priority-partitioned)."
        );
    }

    #[test]
    fn what_is_the_same_is_no_win() {
        let rows = [row(Variant::PriorityShared, 2, 35.2, None), row(Variant::PriorityMulti, 2, 35.24, None)];
        let text = sentence(&rows);
        assert!(
            text.contains("due times is the same: 35.2 ms in priority-shared and 35.2 ms in priority-multi"),
            "{text}"
        );
        assert!(text.contains("the lowest bound of it is known for neither"), "{text}");
    }

    #[test]
    fn losses_are_named() {
        let mut rows = rows();
        rows[1].simulated.missed_front_lidar = 3;
        assert!(sentence(&rows).contains("took 50.6 ms. Samples were lost under priority-partitioned. On 4 cores"));
    }

    #[test]
    fn one_kind_alone_is_no_comparison() {
        assert!(sentence(&rows()[..2]).starts_with("To compare, run one executor with several threads"));
    }
}
