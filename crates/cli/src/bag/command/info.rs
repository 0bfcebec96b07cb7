//! `rospin bag info`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use jiff::tz::TimeZone;
use rospin_report::Failure;

use super::to_stderr;
use crate::bag::info::{Shown, print};
use crate::bag::read::Bag;

// No doc comment: clap would show it as the description of the command.
#[derive(Args, Debug)]
#[command(after_help = "\
A bag without metadata.yaml, such as one whose recorder was killed, is read from its files.

Examples:
  rospin bag info drive
  rospin bag info drive/drive_0.mcap
  rospin bag info -t drive                the names of its topics

Exit code: 0, 1 if a part of the bag is damaged, 2 if there is no bag.")]
pub(super) struct Options {
    /// Folder of the bag, or a file of one
    #[arg(value_name = "BAG")]
    bag: PathBuf,

    /// Prints only the names of topics
    #[arg(long, short)]
    topic_name: bool,

    /// Does nothing: files say what they are. `ros2` has it
    #[arg(long, short, value_name = "ID", hide = true)]
    storage: Option<String>,
}

/// Reason for which the content is not all that was recorded.
#[derive(Debug, thiserror::Error)]
#[error("a part of the bag could not be read")]
struct Damaged;

pub(super) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let bag = Bag::open(&options.bag).map_err(Failure::input)?;
    let tell = to_stderr();
    for damage in &bag.damages {
        tell(damage);
    }
    print(&bag, Shown { is_names_only: options.topic_name }, &TimeZone::system(), out)?;
    if bag.damages.is_empty() { Ok(()) } else { Err(Failure::run(Damaged)) }
}
