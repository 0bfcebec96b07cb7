//! `rospin trace model`: the system file of what was recorded, and its differences from another one.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use rospin_learn::{Comparison, Structure, learn};
use rospin_report::page::columns;
use rospin_report::text_table::{self, Side};
use rospin_report::{Failure, number};
use rospin_scenario::duration;
use rospin_trace::Model;

use super::Files;
use crate::isolated::{Template, isolate};
use crate::scenario_file;

/// The difference of execution times up to which they are called alike, in percent.
const ALIKE: f64 = 5.0;
/// The difference of execution times up to which they are called alike, however many percent it is, since percents of
/// short times say little.
const NEAR: Duration = Duration::from_micros(50);

// No doc comment: clap would show it as the description of the command.
#[derive(Args, Debug)]
pub(super) struct Options {
    #[command(flatten)]
    files: Files,

    /// System file to write, which must not be there [default: the terminal]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Percent that are added to the longest execution time of each callback
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = |text: &str| percent(text, 0.0, 1000.0))]
    #[arg(allow_negative_numbers = true)]
    margin: f64,

    /// Percent of each callback's activations whose execution times count: with 99, the longest of a hundred does not
    #[arg(long, value_name = "PERCENT", default_value = "100", value_parser = |text: &str| percent(text, 1.0, 100.0))]
    #[arg(allow_negative_numbers = true)]
    percentile: f64,

    /// Percent of a callback's activations that must have published somewhere; what is rarer becomes a comment
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = |text: &str| percent(text, 0.0, 100.0))]
    #[arg(allow_negative_numbers = true)]
    rare: f64,

    /// Includes the callbacks that every node has: those of its parameters, its types and its log
    #[arg(long)]
    internals: bool,

    /// Gives each callback group a thread of its own, as TIER IV's callback_isolated_executor does: the groups of this
    /// template, which its dry run writes. A trace of rclcpp does not tell groups
    #[arg(long, value_name = "TEMPLATE")]
    isolate: Option<PathBuf>,

    /// Number of the machine's cores, for which `rospin analyze --assign picas` then chooses; a recording does not tell
    /// it [default: as many as threads, 64 at most]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=64))]
    cores: Option<u16>,

    /// Says what is different in this system file: callbacks, edges and chains, for which the exit code is 1, settings,
    /// and execution times, which are compared without the margin. Writes a file only with --output
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
}

fn percent(text: &str, min: f64, max: f64) -> Result<f64, String> {
    number::parse(text, "percent", min, max)
}

/// Reasons for which there is no system file, or it is not as expected.
#[derive(Debug, thiserror::Error)]
enum ModelFailure {
    #[error("--output {}: cannot be written ({reason}); name a file that is not there", path.display())]
    Unwritable { path: PathBuf, reason: io::Error },
    #[error("the recording and {} differ in structure: {}", path.display(), number::counted(*differences as u64, "difference"))]
    Differs { path: PathBuf, differences: usize },
}

pub(super) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    // Before the recording, which may take a while to read.
    let other = options.compare.as_deref().map(scenario_file::read).transpose().map_err(Failure::input)?;
    let template = options.isolate.as_deref().map(Template::read).transpose().map_err(Failure::input)?;
    let (recordings, faults) = options.files.open()?;
    let model = Model::new(&recordings);
    let Options { margin, percentile, rare, internals, .. } = *options;
    let mut how = rospin_learn::Options { margin, percentile, rare, has_internals: internals };
    let mut learned = learn(&model, &how).map_err(Failure::input)?;
    let isolated = template.as_ref().map(|template| isolate(&mut learned.scenario, template)).unwrap_or_default();
    let damaged = faults.iter().map(|fault| format!("Damaged: {fault}"));
    learned.scenario.cores = options.cores.or(learned.scenario.cores);
    let notes = recordings.iter().flat_map(|recording| recording.notes.clone());
    learned.remarks.top.splice(1..1, notes.chain(isolated).chain(damaged));
    match &options.output {
        Some(path) => {
            let failed = |reason| Failure::input(ModelFailure::Unwritable { path: path.clone(), reason });
            crate::deploy::write_new(path, &learned.to_toml()).map_err(failed)?;
            writeln!(out, "System: {}", path.display())?;
        }
        None if other.is_none() => out.write_all(learned.to_toml().as_bytes())?,
        None => {}
    }
    let (Some(path), Some(other)) = (&options.compare, other) else { return Ok(()) };
    how.margin = 0.0;
    let mut measured = learn(&model, &how).map_err(Failure::input)?;
    template.as_ref().map(|template| isolate(&mut measured.scenario, template));
    let comparison = Comparison::of(&measured.scenario, &other);
    out.write_all(told(&comparison).as_bytes())?;
    match comparison.structure.len() {
        0 => Ok(()),
        differences => Err(Failure::run(ModelFailure::Differs { path: path.clone(), differences })),
    }
}

/// Returns the comparison as tables.
fn told(comparison: &Comparison) -> String {
    let [callbacks, edges, chains] = comparison.common;
    let mut text = format!("In both: {callbacks} callbacks, {edges} edges, {chains} chains of the file.\n");
    for (title, differences) in [("Structure", &comparison.structure), ("Settings", &comparison.settings)] {
        if differences.is_empty() {
            text += &format!("{title}: no difference.\n");
            continue;
        }
        let mut header = columns(["what", "of", "recorded", "file"]);
        header.iter_mut().for_each(|column| column.1 = Side::Left);
        let row = |one: &Structure| vec![one.what.to_owned(), one.name.clone(), one.recorded.clone(), one.file.clone()];
        let rows: Vec<_> = differences.iter().map(row).collect();
        text += &format!("\n{title}\n\n{}\n", text_table::render(&header, &rows));
    }
    let all = comparison.executions.len();
    let [alike, near] = [Duration::ZERO, NEAR].map(|time| comparison.alike(ALIKE, time));
    let within = duration::format(NEAR);
    text += &format!("Execution times of {all}: {alike} within {ALIKE} %, {near} within {ALIKE} % or {within}.\n");
    let mut others: Vec<_> = comparison.executions.iter().filter(|one| one.percent().abs() > ALIKE).collect();
    others.sort_by(|one, other| other.percent().abs().total_cmp(&one.percent().abs()));
    if !others.is_empty() {
        let row = |one: &&rospin_learn::Execution| {
            let [recorded, file] = [one.recorded, one.file].map(duration::format);
            vec![one.callback.clone(), recorded, file, format!("{:+.1} %", one.percent())]
        };
        let rows: Vec<_> = others.iter().map(row).collect();
        text += &format!("\n{}", text_table::render(&columns(["callback", "recorded", "file", "difference"]), &rows));
    }
    text
}
