//! Experiments that were left out when this program was built. They are listed, and say how to build them.

use std::io::Write;

use clap::{Arg, ArgMatches, Command};
use rospin_report::Failure;

use crate::experiment::Experiment;

/// An experiment behind a feature that this program was built without. The feature has the name of the experiment.
pub(crate) struct LeftOut {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
}

/// The experiment was left out.
#[derive(Debug, thiserror::Error)]
#[error(
    "{name}: this program was built without it; build with --features {name}, as in `cargo run --release --manifest-path lab/Cargo.toml --features {name} -- {name}`"
)]
struct NotBuilt {
    name: &'static str,
}

impl Experiment for LeftOut {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn command(&self) -> Command {
        // Its options are not known here.
        let options = Arg::new("options").num_args(0..).allow_hyphen_values(true).trailing_var_arg(true).hide(true);
        let note = format!("This program was built without it: build with --features {}.", self.name);
        Command::new(self.name).about(self.about).after_help(note).arg(options)
    }

    fn run(&self, _: &ArgMatches, _: &mut dyn Write) -> Result<(), Failure> {
        Err(Failure::input(NotBuilt { name: self.name }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_how_to_build_it_whatever_its_options() {
        let left_out = LeftOut { name: "moon-landing", about: "A landing" };
        for options in [&[][..], &["--planet", "moon"]] {
            let matches = left_out.command().no_binary_name(true).try_get_matches_from(options).unwrap();
            let Err(Failure::Input(error)) = left_out.run(&matches, &mut Vec::new()) else { panic!("not refused") };
            assert!(error.to_string().contains("build with --features moon-landing"), "{error}");
        }
    }
}
