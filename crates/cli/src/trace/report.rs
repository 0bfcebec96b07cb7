//! `rospin trace report`: what a recording says.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use rospin_report::text_table::{self, terminal_width};
use rospin_report::{Failure, timeline};

use super::facts::{Facts, facts};
use super::{Files, choice, html, violations};
use rospin_trace::Model;

// No doc comment: clap would show it as the description of the command.
#[derive(Args, Debug)]
pub(super) struct Options {
    #[command(flatten)]
    files: Files,

    /// Writes the report as an HTML page to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Number of activations that went worst: late ones first, then those that waited longest
    #[arg(long, default_value_t = 10, value_name = "NUMBER")]
    worst: usize,

    /// Compares the recording with this system file: arrivals, execution times, deadlines, chains and queues
    #[arg(long, value_name = "FILE")]
    system: Option<PathBuf>,

    /// Compares it with the bounds of the system, too, which `rospin analyze FILE --bounds BOUNDS` wrote
    #[arg(long, value_name = "BOUNDS", requires = "system")]
    bounds: Option<PathBuf>,

    /// Shows the worst activations of this callback only
    #[arg(long, value_name = "NAME")]
    callback: Option<String>,

    #[command(flatten)]
    part: choice::Part,
}

/// Mistakes in the command line.
#[derive(Debug, thiserror::Error)]
enum Mistake {
    #[error("--callback {name}: the recording has no such callback; it has {known}")]
    Callback { name: String, known: String },
    #[error("--html {}: cannot be written: {reason}", path.display())]
    Html { path: PathBuf, reason: io::Error },
}

/// Prints the report to `out`, and writes it as an HTML page if the options name a file.
pub(super) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let (mut recordings, faults) = options.files.open()?;
    let window = options.part.cut(&mut recordings).map_err(Failure::input)?;
    let model = Model::new(&recordings);
    let choice = options.part.choose(&model, window).map_err(Failure::input)?;
    let callback = match &options.callback {
        None => None,
        Some(name) => {
            let labels: Vec<String> = (0..model.callbacks.len()).map(|callback| model.label(callback)).collect();
            let place = labels.iter().position(|label| label == name);
            let place = place.or_else(|| model.callbacks.iter().position(|callback| callback.name == *name));
            let mistake = || Mistake::Callback { name: name.clone(), known: labels.join(", ") };
            Some(place.ok_or_else(|| Failure::input(mistake()))?)
        }
    };
    let notes = recordings.iter().flat_map(|recording| recording.notes.clone()).collect();
    let facts = facts(&model, &choice, &faults, (options.worst, callback)).with_remarks(notes);
    let (found, remarks) = match &options.system {
        None => (violations::of_model(&model), Vec::new()),
        Some(system) => violations::against(system, options.bounds.as_deref(), (&recordings, choice.from_ns))?,
    };
    let facts = facts.with_remarks(remarks).with_violations(&violations::chosen(found, &choice));
    // Before the text, whose reader may end early.
    if let Some(path) = &options.html {
        let page = html::render(&facts).map_err(Failure::run)?;
        let failed = |reason| Failure::input(Mistake::Html { path: path.clone(), reason });
        fs::write(path, page).map_err(failed)?;
    }
    print(&facts, out)?;
    if let Some(path) = &options.html {
        writeln!(out, "Report: {}", path.display())?;
    }
    Ok(())
}

fn print(facts: &Facts, out: &mut dyn Write) -> io::Result<()> {
    facts.summary.iter().chain(&facts.alarms).try_for_each(|line| writeln!(out, "{line}"))?;
    for table in &facts.tables {
        writeln!(out, "\n{}\n{}\n", table.title, table.sentence)?;
        write!(out, "{}", text_table::render(&table.header, &table.rows))?;
    }
    if facts.worst.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nThe worst activations")?;
    for (number, worst) in facts.worst.iter().enumerate() {
        writeln!(out, "\n{}. {}\n", number + 1, worst.text)?;
        write!(out, "{}", timeline::render(&worst.timeline, terminal_width()))?;
    }
    Ok(())
}
