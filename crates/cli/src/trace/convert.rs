//! `rospin trace convert`: recordings in other formats.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use rospin_report::Failure;
use rospin_trace::convert::{Format, write};
use rospin_trace::{Model, render};

use super::Files;

/// The formats on the command line. Text is written from the recordings themselves, the others from the model of them.
const FORMATS: [&str; 4] = ["perfetto", "mcap", "json", "text"];

// No doc comment: clap would show it as the description of the command.
#[derive(Args, Debug)]
pub(super) struct Options {
    #[command(flatten)]
    files: Files,

    /// Format: perfetto for ui.perfetto.dev, mcap for plots of each callback in Foxglove, json for programs, text for
    /// readers
    #[arg(long, value_parser = FORMATS)]
    to: String,

    /// File to write, which must not be there [default: the name of the recording with the format's ending; text: the
    /// terminal]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Reason for which the result could not be written.
#[derive(Debug, thiserror::Error)]
#[error("--output {}: cannot be written ({reason}); name a file that is not there", path.display())]
struct Unwritable {
    path: PathBuf,
    reason: io::Error,
}

/// Writes the recordings in the format that the options name, and prints the file's path to `out`. Text for which no
/// file is named goes to `out` itself.
pub(super) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let format = Format::ALL.into_iter().find(|(name, _)| *name == options.to).map(|(_, format)| format);
    let Some(format) = format else {
        let (recordings, faults) = options.files.open()?;
        let text: String = recordings.iter().map(render).collect();
        match &options.output {
            None => out.write_all(text.as_bytes())?,
            Some(path) => {
                let failed = |reason| Failure::input(Unwritable { path: path.clone(), reason });
                crate::deploy::write_new(path, &text).map_err(failed)?;
                writeln!(out, "Text: {}", path.display())?;
            }
        }
        return tell(&faults, out);
    };
    let (recordings, faults) = options.files.open()?;
    let model = Model::new(&recordings);
    let path = options.output.clone().unwrap_or_else(|| {
        let name = options.files.files[0].with_extension("");
        let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // The recording itself ends in .mcap.
        let tail = if format == Format::Mcap { "-callbacks" } else { "" };
        PathBuf::from(format!("{name}{tail}.{}", format.ending()))
    });
    write(&model, format, &path).map_err(|reason| Failure::input(Unwritable { path: path.clone(), reason }))?;
    writeln!(out, "Written: {}", path.display())?;
    tell(&faults, out)
}

/// Prints a line for each damaged place of the recordings.
fn tell(faults: &[String], out: &mut dyn Write) -> Result<(), Failure> {
    for fault in faults {
        writeln!(out, "Damaged: {fault}")?;
    }
    Ok(())
}
