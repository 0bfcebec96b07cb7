//! All measurements of a run: each in processes of its own, in turns over the rounds.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::children::{self, ChildError};
use crate::middleware::Process;

use super::cell::{Cell, Place};
use super::comparison::{Figures, Row};
use super::flood;
use super::hosts::Hosts;
use super::measure::{Answer, Order, Sample};
use super::options::NAME;
use super::options::Options;
use super::peer::Peer;

/// Name of the program whose allocator counts. It is expected in the folder of this program.
const COUNTING: &str = "rospin-counting";
/// Length of each measurement in the run that counts allocations.
const COUNTED: Duration = Duration::from_millis(100);
/// Time that the processes of a measurement take to start and to find each other.
const OVERHEAD: Duration = Duration::from_millis(700);

/// Results of all measurements: a row for each cell, and remarks for the reader.
pub(crate) struct Measured {
    pub(crate) rows: Vec<Row>,
    pub(crate) remarks: Vec<String>,
}

/// Measures all cells. Where two hosts cannot be created, their cells are left out, and a remark says so.
///
/// # Errors
/// If this program's own path cannot be found. A cell that could not be measured in any round has no figures, and a
/// remark.
pub(crate) fn run(options: &Options, cells: &[Cell]) -> Result<Measured, ChildError> {
    let program = env::current_exe()?;
    let counting = Some(program.with_file_name(COUNTING)).filter(|counting| counting.exists());
    let mut remarks = Vec::new();
    if counting.is_none() {
        remarks.push(format!("allocations were not counted: the program {COUNTING} is not beside this one"));
    }
    let mut bench = Bench { program, hosts: None, options, number: 0 };
    let wants_hosts = cells.iter().any(|cell| cell.place == Place::Hosts);
    if wants_hosts {
        match Hosts::make() {
            Ok(hosts) => bench.hosts = Some(hosts),
            Err(reason) => remarks.push(format!("SKIPPED two hosts: {reason}")),
        }
    }
    let has_hosts = bench.hosts.is_some();
    let cells: Vec<Cell> = cells.iter().copied().filter(|cell| cell.place != Place::Hosts || has_hosts).collect();
    let length = (options.seconds * 2 + OVERHEAD) * cells.len() as u32;
    let progress = options.outputs.progress(options.rounds as usize, length);
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); cells.len()];
    let mut counted = vec![None; cells.len()];
    let mut failed = vec![false; cells.len()];
    for round in 1..=options.rounds {
        progress.begin(&format!("round {round}"));
        for (number, cell) in cells.iter().enumerate() {
            progress.at(number as f64 / cells.len() as f64);
            match bench.measure(*cell, options.seconds) {
                Ok(sample) => samples[number].push(sample),
                Err(reason) if !failed[number] => {
                    failed[number] = true;
                    remarks.push(format!("{cell}: {reason}"));
                }
                Err(_) => {}
            }
            if let (1, Place::Process, Some(program)) = (round, cell.place, &counting) {
                counted[number] = bench.count(*cell, program.clone());
            }
        }
        progress.end();
    }
    let rows = cells.iter().zip(samples).zip(counted).map(|((cell, samples), counted)| {
        let figures: Vec<Figures> = samples.iter().filter_map(|sample| Figures::of(*cell, sample)).collect();
        let figures = Figures::median(&figures);
        let figures = figures.map(|figures| Figures { allocations_per_message: counted, ..figures });
        Row { cell: *cell, figures }
    });
    Ok(Measured { rows: rows.collect(), remarks })
}

/// Starter of the processes that take measurements.
struct Bench<'a> {
    /// Path of the program that is started.
    program: PathBuf,
    /// The two hosts; `None` if no cell needs them, or they could not be created.
    hosts: Option<Hosts>,
    options: &'a Options,
    /// The number of the last measurement, which gives each one another domain than the 39 before it.
    number: u16,
}

impl Bench<'_> {
    /// Takes both measurements of a cell, each for `duration`.
    fn measure(&mut self, cell: Cell, duration: Duration) -> Result<Sample, ChildError> {
        // Another domain for each measurement, because the previous one may not have ended yet.
        self.number = (self.number + 1) % 40;
        let domain_id = 60 + self.number;
        let hosts = (cell.place == Place::Hosts).then(Hosts::addresses);
        let process = Process { domain_id, number: 0, hosts };
        let drive = Order { cell, process: process.clone(), echoes: false, duration };
        let echo = Order { echoes: true, process: Process { number: 1, ..process.clone() }, ..drive.clone() };
        let orders = match cell.place {
            Place::Process | Place::Peer => vec![drive],
            Place::Processes | Place::Hosts | Place::Flood | Place::KeepAll => vec![drive, echo],
        };
        let peer = self.options.peer.as_deref().filter(|_| cell.place == Place::Peer);
        let _peer = peer.map(|command| Peer::start(command, cell.middleware, &process)).transpose()?;
        let begin = |number: usize| match &self.hosts {
            Some(hosts) if cell.place == Place::Hosts => hosts.command(number, &self.program),
            _ => Command::new(&self.program),
        };
        let answers = children::run_commands(&begin, NAME, &orders, duration * 2 + OVERHEAD, &|_| {})?;
        Ok(combined(answers))
    }

    /// Returns the number of allocations for each message, from a run of the program that counts; `None` if that run
    /// failed or did not count.
    fn count(&mut self, cell: Cell, counting: PathBuf) -> Option<f64> {
        let program = std::mem::replace(&mut self.program, counting);
        let sample = self.measure(cell, COUNTED);
        self.program = program;
        let sample = sample.ok()?;
        Some(sample.usage.allocations? as f64 / sample.sent.max(1) as f64)
    }
}

/// Returns the driving end's sample, with the other end's cost added to it.
fn combined(answers: Vec<Answer>) -> Sample {
    let (mut sample, mut other) = (Sample::default(), None);
    let (mut published, mut heard) = (None, None);
    for answer in answers {
        match answer {
            Answer::Drove(driven) => sample = driven,
            Answer::Echoed(usage) => other = Some(usage),
            Answer::Published(figures) => published = Some(figures),
            Answer::Heard(figures) => heard = Some(figures),
        }
    }
    if let (Some(published), Some(heard)) = (published, heard) {
        return flood::combined(&published, heard);
    }
    if let Some(other) = other {
        sample.usage = sample.usage.plus(other);
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::super::usage::Usage;
    use super::*;

    #[test]
    fn the_cost_is_that_of_both_ends() {
        let usage = Usage { cpu_s: 1.0, wake_ups: 3, allocations: None };
        let driven = Sample { per_s: 7.0, usage, ..Sample::default() };
        let sample = combined(vec![Answer::Drove(driven), Answer::Echoed(usage)]);
        assert_eq!((sample.per_s, sample.usage.cpu_s, sample.usage.wake_ups), (7.0, 2.0, 6));
    }
}
