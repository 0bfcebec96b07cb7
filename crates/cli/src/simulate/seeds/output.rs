//! The table, the JSON file and the report of `--seeds`.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use rospin_measure::machine::Machine;
use rospin_report::Failure;
use rospin_report::number;
use rospin_report::page::{self, ReportError, escape};
use rospin_report::text_table::Side;
use rospin_scenario::{Scenario, duration};
use serde_json::{Value, json};

use super::figures::{Figures, Percentile, Row};
use crate::simulate::options;
use crate::simulate::simulated::judge;
use crate::simulate::tables::{Figures as Table, ms};

/// Meaning of the columns.
const LEGEND: &str = "\
Times in ms from release to end. p50, p95, p99: the median over the simulations of the percentile in each of them, by nearest
rank; in brackets, the interval that has the true median with 95 % confidence, by order statistics: it takes 6 simulations.
misses: over all simulations. seeds: the simulations that have any. of seed: the first one with the longest time.";

/// The results of a scenario with many seeds.
pub(super) struct Many<'a> {
    pub(super) machine: Machine,
    pub(super) file: &'a Path,
    pub(super) scenario: &'a Scenario,
    pub(super) count: u64,
    pub(super) figures: Figures,
    /// The violations of the first simulation that has any.
    pub(super) violations: Option<String>,
}

impl Many<'_> {
    fn title(&self) -> String {
        if self.scenario.name.is_empty() { self.file.display().to_string() } else { self.scenario.name.clone() }
    }

    fn describe(&self) -> String {
        let first = self.scenario.seed;
        format!(
            "{} simulations of {}, seeds {first} to {}",
            self.count,
            duration::format(self.scenario.duration),
            first.wrapping_add(self.count - 1)
        )
    }

    /// Returns the tables of callbacks and of chains, without the latter if there are none.
    fn tables(&self) -> Vec<Table> {
        let both = [("callback", &self.figures.callbacks), ("chain", &self.figures.chains)];
        let tables = both.into_iter().filter(|(_, rows)| !rows.is_empty());
        tables.map(|(first, rows)| Table { header: header(first), rows: rows.iter().map(cells).collect() }).collect()
    }

    /// Returns a line for each callback that starved.
    fn starved(&self) -> Vec<String> {
        let starved = self.figures.callbacks.iter().filter(|row| !row.starved.is_empty());
        starved
            .map(|row| {
                let (seeds, first) = (row.starved.len(), row.starved[0]);
                format!("`{}` in {seeds} of {} simulations, first with seed {first}", row.name, self.count)
            })
            .collect()
    }

    /// Returns the sentence about the scheduler's rules.
    fn oracle_line(&self) -> &'static str {
        match self.violations {
            None => "Scheduler: kept its own rules in all simulations.",
            Some(_) => "Scheduler: broke a rule of its own; see below.",
        }
    }

    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}: {}\n", self.title(), self.describe())?;
        for line in self.starved() {
            writeln!(out, "STARVED: {line}.")?;
        }
        for table in self.tables() {
            writeln!(out, "{}", table.text())?;
        }
        writeln!(out, "{LEGEND}\n\n{}", self.oracle_line())
    }

    /// Returns the JSON file as text, ending in a line break.
    pub(super) fn json(&self) -> Result<String, serde_json::Error> {
        let rows = |rows: &[Row]| rows.iter().map(row_json).collect::<Vec<_>>();
        let executors = self.scenario.executors.iter();
        let document = json!({
            "command": options::NAME,
            "rospin_version": env!("CARGO_PKG_VERSION"),
            "machine": self.machine,
            "settings": {
                "file": self.file.display().to_string(),
                "scenario": self.scenario.name,
                "duration_s": self.scenario.duration.as_secs_f64(),
                "seed": self.scenario.seed,
                "seeds": self.count,
                "executors": executors
                    .map(|executor| json!({ "name": executor.name, "policy": executor.policy, "threads": executor.threads }))
                    .collect::<Vec<_>>(),
            },
            "units": {
                "p50_ms, p95_ms, p99_ms": "milliseconds from release to end: median over the simulations of the percentile by \
                                           nearest rank in each; null if nothing ran to its end",
                "low, high": "ends of the interval that has the true median with at least 95 % confidence, by order \
                              statistics (Conover 1999, section 3.2); null with fewer than 6 simulations",
                "longest_ms": "milliseconds from release to end, over all simulations",
                "longest_seed": "the first seed with that time",
                "misses": "over all simulations, as without --seeds; null without a deadline",
                "seeds_with_misses": "number of simulations that have any",
                "starved": "seeds with which the callback starved",
            },
            "violations": self.violations,
            "callbacks": rows(&self.figures.callbacks),
            "chains": rows(&self.figures.chains),
        });
        Ok(serde_json::to_string_pretty(&document)? + "\n")
    }

    /// Returns the HTML report.
    pub(super) fn page(&self) -> Result<String, ReportError> {
        let mut page = String::new();
        writeln!(page, "<h1>{}</h1>", escape(&self.title()))?;
        writeln!(page, "<p class=\"soft\">{}</p>", escape(&self.describe()))?;
        let class = if self.violations.is_some() { "verdict" } else { "soft" };
        writeln!(page, "<p class=\"{class}\">{}</p>", escape(self.oracle_line()))?;
        if let Some(violations) = &self.violations {
            writeln!(page, "<pre class=\"scroll\">{}</pre>", escape(violations))?;
        }
        for line in self.starved() {
            writeln!(page, "<p class=\"verdict\">Starved: {}.</p>", escape(&line))?;
        }
        for table in self.tables() {
            page::table(&mut page, &table.header, &table.rows)?;
        }
        writeln!(page, "<p class=\"soft\">{}</p>", escape(LEGEND))?;
        writeln!(page, "<h2>How it was simulated</h2>")?;
        let file = self.file.display().to_string();
        page::how_it_was_run(&mut page, &self.machine, &[("Scenario", file), ("Simulations", self.describe())])?;
        Ok(page::frame(&self.title(), &page))
    }

    /// Checks the results, for the exit code.
    pub(super) fn judge(&self) -> Result<(), Failure> {
        judge(self.file, self.violations.as_deref(), &self.starved())
    }
}

fn header(first: &'static str) -> Vec<(&'static str, Side)> {
    let titles = ["runs", "p50", "p95", "p99", "longest", "of seed", "deadline", "misses", "seeds"];
    std::iter::once((first, Side::Left)).chain(titles.map(|title| (title, Side::Right))).collect()
}

fn cells(row: &Row) -> Vec<String> {
    let dash = || "-".to_owned();
    let time = |of: &Option<Percentile>| {
        let interval = |(low, high): (f64, f64)| format!(" [{low:.3}, {high:.3}]");
        let text = |of: &Percentile| format!("{:.3}{}", of.value, of.interval.map_or_else(String::new, interval));
        of.as_ref().map_or_else(dash, text)
    };
    let mut cells = vec![row.name.clone(), row.runs.to_string()];
    cells.extend(row.percentiles.iter().map(time));
    cells.push(row.longest.map_or_else(dash, |(longest, _)| format!("{longest:.3}")));
    cells.push(row.longest.map_or_else(dash, |(_, seed)| seed.to_string()));
    cells.push(row.deadline.map_or_else(dash, |deadline| number::plain(ms(deadline))));
    cells.push(row.deadline.map_or_else(dash, |_| row.misses.to_string()));
    cells.push(row.deadline.map_or_else(dash, |_| row.missing.to_string()));
    cells
}

fn row_json(row: &Row) -> Value {
    let percentile = |of: Option<Percentile>| {
        let interval = of.and_then(|of| of.interval).unzip();
        of.map(|of| json!({ "value": of.value, "low": interval.0, "high": interval.1 }))
    };
    let [p50, p95, p99] = row.percentiles.map(percentile);
    json!({
        "name": row.name,
        "runs": row.runs,
        "p50_ms": p50,
        "p95_ms": p95,
        "p99_ms": p99,
        "longest_ms": row.longest.map(|(longest, _)| longest),
        "longest_seed": row.longest.map(|(_, seed)| seed),
        "misses": row.deadline.map(|_| row.misses),
        "seeds_with_misses": row.deadline.map(|_| row.missing),
        "starved": row.starved,
    })
}
