//! Recordings in other formats.

mod activations;
pub mod perfetto;

use std::fs::OpenOptions;
use std::io;
use std::path::Path;

use crate::model::Model;

/// A format that recordings are converted to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Perfetto: tracks of threads, flows along messages, counters of queues.
    Perfetto,
    /// MCAP with the response of each activation in a channel of its callback, for plots. The recording itself is MCAP,
    /// too: it has the events.
    Mcap,
    /// The model as JSON.
    Json,
}

impl Format {
    /// All formats, with their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("perfetto", Self::Perfetto), ("mcap", Self::Mcap), ("json", Self::Json)];

    /// Returns the ending of files in the format.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Perfetto => "perfetto-trace",
            Self::Mcap => "mcap",
            Self::Json => "json",
        }
    }
}

/// Writes the model into a new file.
///
/// # Errors
/// If the file is there already, or cannot be written.
pub fn write(model: &Model, format: Format, path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    match format {
        Format::Perfetto => io::Write::write_all(&mut file, &perfetto::encode(model)),
        Format::Mcap => activations::write(model, file),
        Format::Json => {
            let mut out = io::BufWriter::new(file);
            serde_json::to_writer_pretty(&mut out, model)?;
            io::Write::flush(&mut out)
        }
    }
}
