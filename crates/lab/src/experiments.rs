//! The table of experiments. To add one: a new file that implements [`Experiment`], and one line in
//! [`EXPERIMENTS`].

use std::error::Error;
use std::io::{self, Write};

use clap::{ArgMatches, Command};

use crate::callback_order::CallbackOrder;
use crate::inversion::Inversion;
use crate::latency::Latency;
use crate::reference_system::ReferenceSystem;
use crate::throughput::ThroughputExperiment;
use crate::timers::Timers;
use crate::tracker::TrackerExperiment;

/// Every experiment, in the order in which `rospin lab list` shows them.
pub(crate) static EXPERIMENTS: &[&dyn Experiment] =
    &[&ReferenceSystem, &CallbackOrder, &TrackerExperiment, &Latency, &Timers, &Inversion, &ThroughputExperiment];

/// One experiment: `rospin lab NAME`.
pub(crate) trait Experiment: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// One line for the list.
    fn about(&self) -> &'static str;
    /// Its subcommand with all options.
    fn command(&self) -> Command;
    /// Runs it; `out` is stdout.
    fn run(&self, matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure>;
}

/// Why an experiment gave no result; decides the exit code.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// What the user asked for cannot be done.
    #[error("{0}")]
    Input(Box<dyn Error + Send + Sync>),
    /// It was asked for properly and went wrong.
    #[error("{0}")]
    Run(Box<dyn Error + Send + Sync>),
    /// The result could not be printed.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// What the user asked for cannot be done, because of `error`.
    pub(crate) fn input(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Input(Box::new(error))
    }

    /// It went wrong because of `error`.
    pub(crate) fn run(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Run(Box::new(error))
    }
}

/// Looks an experiment up by name.
pub(crate) fn find(name: &str) -> Option<&'static dyn Experiment> {
    EXPERIMENTS.iter().copied().find(|experiment| experiment.name() == name)
}
