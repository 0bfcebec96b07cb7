//! `rospin lab timers`: measures if timers fire at their full rate, and how late their callbacks start.
//!
//! `loops` are the contenders, two of which are in `timerfd` and `rcl`. `load` is the busy executor beside them.
//! `verdict`, `table`, `plots`, `json` and `report` show the results.

mod comparison;
mod contender;
mod figures;
mod json;
mod load;
mod loops;
mod options;
mod plots;
mod rcl;
mod report;
mod table;
#[cfg(test)]
mod testing;
mod timerfd;
mod verdict;

use std::io::Write;
use std::thread;

use clap::{ArgMatches, Command, FromArgMatches};
use rospin_measure::machine::Machine;
use rospin_measure::setup::{Setup, SetupError};
use rospin_measure::timer::{LoopError, Turn};
use rospin_report::Failure;
use rospin_report::output_options;

use crate::experiment::Experiment;

use self::comparison::Comparison;
use self::contender::{Contender, Load};
use self::figures::Row;
use self::load::BusyExecutor;
use self::loops::TurnError;
use self::options::{DEFAULT_REPORT, Options};
use self::rcl::RclTimer;

/// The experiment `timers`.
pub(crate) struct Timers;

impl Experiment for Timers {
    fn name(&self) -> &'static str {
        "timers"
    }

    fn about(&self) -> &'static str {
        "Timers from 100 Hz to 10 kHz: whether all fire, and how late, idle and beside a busy executor"
    }

    fn command(&self) -> Command {
        output_options::command::<Options>(self.name(), DEFAULT_REPORT).about(self.about())
    }

    fn run(&self, matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
        let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
        let files = options.outputs.files(Some(DEFAULT_REPORT)).map_err(Failure::input)?;
        let setup = Setup::find(options.core).map_err(|error| match error {
            SetupError::Core(_) => Failure::input(error),
            error => Failure::run(error),
        })?;
        let mut contenders = options.contenders();
        let mut remarks = Vec::new();
        let mut rcl = None;
        if contenders.contains(&Contender::Rcl) {
            match RclTimer::find() {
                Ok(found) => rcl = Some(found),
                Err(error) if contenders.len() == 1 => return Err(Failure::input(error)),
                Err(error) => {
                    remarks.push(format!("SKIPPED: {}: {error}.", Contender::Rcl.name()));
                    contenders.retain(|contender| *contender != Contender::Rcl);
                }
            }
        }
        let rows = run_all(&options, &contenders, rcl.as_ref(), &setup).map_err(Failure::run)?;
        let (duration, rounds) = (options.duration, options.rounds);
        let comparison = Comparison { machine: Machine::read(), setup, duration, rounds, remarks, rows };
        writeln!(out, "{}", table::render(&comparison))?;
        for said in verdict::sentences(&comparison) {
            writeln!(out, "{said}")?;
        }
        writeln!(out)?;
        files.write(out, || json::render(&comparison), || report::render(&comparison))
    }
}

/// Runs all turns, and returns the rows by rate, load and contender.
fn run_all(
    options: &Options,
    contenders: &[Contender],
    rcl: Option<&RclTimer>,
    setup: &Setup,
) -> Result<Vec<Row>, TurnError> {
    let rates = options.rates();
    let rows_of = |rate| {
        let of_load = move |load| contenders.iter().map(move |contender| Row::new(*contender, load, rate));
        Load::ALL.into_iter().flat_map(of_load)
    };
    let length = options.duration * (contenders.len() * Load::ALL.len()) as u32;
    let progress = options.outputs.progress(rates.len(), length);
    let mut all = Vec::new();
    for rate in rates {
        progress.begin(&format!("{rate} Hz"));
        let mut rows: Vec<Row> = rows_of(rate).collect();
        let turns = rows.len() * options.rounds as usize;
        for number in 0..turns {
            let (round, place) = (number / rows.len(), place(number, rows.len()));
            progress.at(number as f64 / turns as f64);
            take_turn(&mut rows[place], options.turn(rate, round as u32), rcl, setup)?;
        }
        progress.end();
        all.append(&mut rows);
    }
    Ok(all)
}

/// Returns the index of the row for a turn. `number` is that of the turn, over all rounds, and `of` the number of rows,
/// each of which has one turn a round. In each round the order begins one row later, and every other round goes through
/// it backwards. The kernel has moved other threads away from the core of the busy executor, so the contender after it
/// has the core to itself for a moment. This advantage should not always go to the same contender.
const fn place(number: usize, of: usize) -> usize {
    let (round, step) = (number / of, number % of);
    let step = if round % 2 == 0 { step } else { of - 1 - step };
    (step + round) % of
}

/// Runs one turn on a thread of its own, which has no settings from earlier turns, and adds its result to the row.
fn take_turn(row: &mut Row, turn: Turn, rcl: Option<&RclTimer>, setup: &Setup) -> Result<(), TurnError> {
    let busy = (row.load == Load::Busy).then(|| BusyExecutor::start(&setup.busy)).transpose()?;
    let contender = row.contender;
    let late_us = thread::scope(|scope| {
        let thread = thread::Builder::new().name(contender.name().to_owned());
        let run = || loops::run(contender, rcl, &setup.timer, turn);
        let thread = thread.spawn_scoped(scope, run).map_err(LoopError::Start)?;
        thread.join().map_err(|_| LoopError::Panicked(contender.name()))?
    })?;
    busy.map_or(Ok(()), BusyExecutor::stop)?;
    row.add(turn.firings, &late_us);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_has_a_turn_each_round_and_different_neighbours() {
        let orders: Vec<Vec<usize>> =
            (0..4).map(|round| (0..4).map(|step| place(round * 4 + step, 4)).collect()).collect();
        assert_eq!(orders, [[0, 1, 2, 3], [0, 3, 2, 1], [2, 3, 0, 1], [2, 1, 0, 3]]);
    }

    #[test]
    fn a_short_run_gives_every_row_and_both_files() {
        let folder = std::env::temp_dir().join(format!("rospin-lab-{}-timers", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (report, json) = (folder.join("r.html"), folder.join("r.json"));
        let command = Timers.command().no_binary_name(true);
        let files = ["--report", report.to_str().unwrap(), "--json", json.to_str().unwrap()];
        let short = ["--quiet", "--duration=0.06", "--rounds=2", "--rates=100,1000"];
        let matches = command.try_get_matches_from([&short[..], &files].concat()).unwrap();
        let mut out = Vec::new();
        Timers.run(&matches, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().last().unwrap(), format!("Report:  {}", report.display()));
        let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
        let rows = document["rows"].as_array().unwrap();
        let skipped = document["remarks"].as_array().unwrap().len();
        assert_eq!(rows.len(), (Contender::ALL.len() - skipped) * Load::ALL.len() * 2, "{text}");
        assert_eq!(text.matches("SKIPPED: rcl: ").count(), skipped, "{text}");
        assert!(rows.iter().all(|row| row["expected"].as_u64().unwrap() >= 6), "{text}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
