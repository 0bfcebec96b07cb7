//! Table VI of the paper, once for each policy, for the terminal and the report.

use rospin_measure::stats::percentile;
use rospin_report::distrust::Distrust;

use super::comparison::Tracker;
use super::measure::{Mode, Row};
use super::setup::{Cell, Contender, PERIOD, PerTopic};

/// Largest relative error of a period that counts as held.
const TOLERANCE: f64 = 0.02;

/// A table of text cells, with a title.
pub(crate) struct Grid {
    pub(crate) title: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// Returns a grid for each policy, and one for the utilization.
pub(crate) fn grids(tracker: &Tracker) -> Vec<Grid> {
    let periods = tracker.contenders().map(|contender| periods(tracker, contender));
    periods.chain(std::iter::once(utilization(tracker))).collect()
}

/// Returns the mean periods under a policy, in each kind of time and in the paper.
fn periods(tracker: &Tracker, contender: Contender) -> Grid {
    let modes = tracker.modes();
    let mut header = vec!["robots/topic".to_owned()];
    for robots in &tracker.robots {
        header.extend(modes.iter().map(|mode| format!("{robots} {}", name(*mode))));
        header.push(format!("{robots} paper"));
    }
    let rows = PerTopic::ROWS.map(|per_topic| {
        let mut texts = vec![per_topic.label()];
        for &robots in &tracker.robots {
            let cell = Cell { robots, per_topic };
            let mean = |mode| tracker.row(contender, cell, mode).and_then(Row::mean_ms);
            texts.extend(modes.iter().map(|mode| number(mean(*mode))));
            texts.push(number(cell.paper_ms()));
        }
        texts
    });
    let title = format!("{} ({}): mean period in ms", contender.policy, contender.about);
    Grid { title, header, rows: rows.into() }
}

/// Returns the utilization by number of robots, from the median over all cells with that number.
fn utilization(tracker: &Tracker) -> Grid {
    let mut header = vec!["percent of a core".to_owned()];
    header.extend(tracker.robots.iter().map(|robots| format!("{robots} robots")));
    let line = |label: &str, of: &dyn Fn(&Row) -> f64| {
        let mut texts = vec![label.to_owned()];
        for robots in &tracker.robots {
            let rows = tracker.rows.iter().filter(|row| row.cell.robots == *robots);
            let median = percentile(&rows.map(of).collect::<Vec<_>>(), 50.0).unwrap_or_default();
            texts.push(format!("{:.0}", median * 100.0));
        }
        texts
    };
    let list = line("the list alone", &|row| row.times.list_utilization());
    let all = line("and all messages", &|row| row.times.utilization(row.cell.robots));
    Grid { title: "Utilization that is asked for".to_owned(), header, rows: vec![list, all] }
}

/// Returns the name of a kind of time in results.
pub(crate) const fn name(mode: Mode) -> &'static str {
    match mode {
        Mode::Real => "real",
        Mode::Virtual => "virtual",
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

/// Returns the grids as text for a terminal.
pub(crate) fn render(tracker: &Tracker) -> String {
    grids(tracker).iter().map(text).collect::<Vec<_>>().join("\n")
}

fn text(grid: &Grid) -> String {
    let width = |column: usize| {
        let cells = std::iter::once(&grid.header).chain(&grid.rows).map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..grid.header.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(
            |(n, (cell, width))| {
                if n == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") }
            },
        );
        cells.collect::<String>().trim_end().to_owned() + "\n"
    };
    let rows: String = grid.rows.iter().map(line).collect();
    format!("{}\n{}{rows}", grid.title, line(&grid.header))
}

/// Returns the result in a few sentences.
pub(crate) fn sentence(tracker: &Tracker) -> String {
    let mut said: Vec<String> = tracker.modes().into_iter().map(|mode| held(tracker, mode)).collect();
    let starved = tracker.rows.iter().filter(|row| row.contender.policy == "fixed-priority" && !fits(row));
    let starved: Vec<f64> = starved.map(|row| row.taken).collect();
    if !starved.is_empty() {
        said.push(format!(
            "Where the list alone takes longer than its period, no policy can hold it, and a more urgent timer leaves nothing \
             to the robots: {:.1} % of their messages are taken.",
            starved.into_iter().fold(0.0, f64::max) * 100.0,
        ));
    }
    said.join(" ")
}

/// Notes the cells in which something else took the processor from the list's callback.
pub(crate) fn distrust(tracker: &Tracker, distrust: &Distrust) {
    let preempted = |row: &&Row| row.mode == Mode::Real && row.times.list > tracker.list(row.cell.robots).mul_f64(1.1);
    for row in tracker.rows.iter().filter(preempted) {
        let cell =
            format!("{}, {} robots, {} a topic", row.contender.policy, row.cell.robots, row.cell.per_topic.label());
        distrust.note(cell, "the list took over 10 % longer than its work");
    }
}

/// Returns a sentence about the cells in which each policy holds the period, in this kind of time.
fn held(tracker: &Tracker, mode: Mode) -> String {
    let rows = |policy: &'static str| {
        tracker.rows.iter().filter(move |row| row.mode == mode && row.contender.policy == policy)
    };
    let held = |policy| rows(policy).filter(|row| fits(row) && holds(row)).count();
    let worst = |policy| rows(policy).filter_map(Row::mean_ms).fold(0.0, f64::max);
    format!(
        "In {} time, of {} cells in which the list itself leaves processor time (utilization below 1), the timer holds its \
         {} ms within {:.0} % in {} under rospin's fixed priority, in {} under fifo and in {} under E2; at worst of all cells \
         the period is {:.2}, {:.2} and {:.2} ms.",
        name(mode),
        rows("fixed-priority").filter(|row| fits(row)).count(),
        PERIOD.as_millis(),
        TOLERANCE * 100.0,
        held("fixed-priority"),
        held("fifo"),
        held("wait-set-e2"),
        worst("fixed-priority"),
        worst("fifo"),
        worst("wait-set-e2"),
    )
}

/// Returns true if the timer callback that sends the list of all robots takes less than its [`PERIOD`]. Otherwise no
/// policy can hold the period.
fn fits(row: &Row) -> bool {
    row.times.list_utilization() < 1.0
}

/// Returns true if the mean period differs from [`PERIOD`] by at most [`TOLERANCE`].
pub(crate) fn holds(row: &Row) -> bool {
    let period_ms = PERIOD.as_secs_f64() * 1e3;
    row.mean_ms().is_some_and(|mean| (mean - period_ms).abs() <= TOLERANCE * period_ms)
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn every_policy_has_a_grid_with_the_papers_values_beside() {
        let text = render(&testing::tracker());
        for row in ["wait-set-e2 (", "fifo (", "fixed-priority (", "Utilization", "the list alone"] {
            assert!(text.contains(row), "{text}");
        }
        assert!(text.contains("70 real") && text.contains("70 virtual") && text.contains("70 paper"), "{text}");
        assert!(text.contains("4.18"), "{text}");
    }

    #[test]
    fn the_sentence_counts_what_was_held_and_says_what_starved() {
        let said = sentence(&testing::tracker());
        assert!(said.contains("of 5 cells"), "{said}");
        assert!(said.contains("in 5 under rospin's fixed priority, in 0 under fifo and in 0 under E2"), "{said}");
        assert!(said.contains("0.5 % of their messages"), "{said}");
    }

    #[test]
    fn cells_in_which_the_list_was_preempted_are_named() {
        let (mut tracker, noted) = (testing::tracker(), Distrust::default());
        distrust(&tracker, &noted);
        assert_eq!(noted.text(), None);
        let robots = tracker.rows.iter().find(|row| row.mode == Mode::Real).unwrap().cell.robots;
        let asked = tracker.list(robots);
        let row = tracker.rows.iter_mut().find(|row| row.mode == Mode::Real).unwrap();
        row.times.list = 2 * asked;
        let name = format!(
            "- {}, {robots} robots, {} a topic: the list took",
            row.contender.policy,
            row.cell.per_topic.label()
        );
        distrust(&tracker, &noted);
        assert!(noted.text().is_some_and(|text| text.contains(&name)), "{name}: {noted:?}");
    }
}
