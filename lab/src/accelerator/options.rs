//! The options of `rospin lab accelerator`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use rospin_report::number;
use rospin_report::output_options::OutputOptions;

use super::device::Device;

/// Default path of the report.
pub(crate) const DEFAULT_REPORT: &str = "rospin-accelerator.html";

/// Runs pipelines of three criticalities on one device: how long the critical one waits, and which deadlines are
/// missed.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
The model device needs no GPU: kernels have exact lengths and are preempted between blocks of 100 us, and an engine takes the most \
urgent lane first. On \
a real device, the segments are real kernels: normalisation, convolutions and matrix products. They are measured first, and so many \
of them make a segment that it takes as long as on the model.

Examples:
  rospin lab accelerator
  rospin lab accelerator --load 0.8 --virtual-only
  rospin lab accelerator --duration 60 --json accelerator.json
  rospin lab accelerator --device wgpu --adapter llvmpipe
  rospin lab accelerator --device cuda --load 0.6 --recordings gpu && rospin trace report gpu/urgent-lane-and-two.mcap")]
pub(crate) struct Options {
    /// The device that the pipelines share
    #[arg(long, value_name = "DEVICE", default_value = "model")]
    pub(crate) device: Device,

    /// The adapter whose name contains this, in any case, such as llvmpipe; with --device wgpu
    #[arg(long, value_name = "NAME")]
    pub(crate) adapter: Option<String>,

    /// How long each contender runs in real time, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) duration: Duration,

    /// How long each contender runs in virtual time, in seconds of that time
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = parse_seconds)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) virtual_duration: Duration,

    /// Share of the device's time that the pipelines ask for
    #[arg(long, value_name = "SHARE", default_value = "0.9", value_parser = parse_load)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) load: f64,

    /// Records the device behind rospin in real time into this folder, a file for each contender
    #[arg(long, value_name = "FOLDER")]
    pub(crate) recordings: Option<PathBuf>,

    /// Only in virtual time, which only the model device has
    #[arg(long)]
    pub(crate) virtual_only: bool,

    /// For processes of the contenders that have one for each pipeline
    #[cfg(feature = "cuda")]
    #[arg(long, hide = true)]
    pub(crate) order_on_stdin: bool,

    #[command(flatten)]
    pub(crate) outputs: OutputOptions,
}

impl Options {
    /// Checks that this program can do everything that the options ask for together.
    ///
    /// # Errors
    /// If it cannot. The error names the obstacle and the fix.
    pub(crate) fn check(&self) -> Result<(), Conflict> {
        let device = self.device;
        if !device.is_built() {
            return Err(Conflict::NotBuilt { name: device.name() });
        }
        if device != Device::Model && self.virtual_only {
            return Err(Conflict::NotVirtual { name: device.name() });
        }
        if device != Device::Wgpu && self.adapter.is_some() {
            return Err(Conflict::NoAdapter { name: device.name() });
        }
        Ok(())
    }
}

/// Options that contradict each other, or that this program cannot fulfil.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum Conflict {
    /// The device was left out when the program was built.
    #[error(
        "--device {name}: this program was built without it; build with --features {name}, as in `cargo run --release --manifest-path lab/Cargo.toml --features {name} -- accelerator --device {name}`"
    )]
    NotBuilt {
        /// Name of the device, which is also that of the feature.
        name: &'static str,
    },
    /// Virtual time is asked for on a real device.
    #[error("--virtual-only: the device {name} runs in real time only; leave it out, or give --device model")]
    NotVirtual {
        /// Name of the device.
        name: &'static str,
    },
    /// An adapter is named for a device that has none.
    #[error("--adapter: the device {name} has no adapters; add --device wgpu")]
    NoAdapter {
        /// Name of the device.
        name: &'static str,
    },
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    number::parse_seconds(text, 0.1, 36_000.0)
}

fn parse_load(text: &str) -> Result<f64, String> {
    number::parse(text, "a share of the device's time", 0.45, 0.98)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rospin_report::output_options::FromArguments;

    #[test]
    fn impossible_values_name_the_option() {
        for (option, value) in [("--duration", "0"), ("--load", "1"), ("--load", "0.1"), ("--virtual-duration", "-1")] {
            let error = Options::from_arguments(&[option, value]).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(option), "{error}");
        }
        assert_eq!(Options::from_arguments(&[]).unwrap().load, 0.9);
    }

    #[test]
    fn a_device_that_is_not_there_and_what_it_does_not_have_are_refused() {
        let checked = |arguments: &[&str]| Options::from_arguments(arguments).unwrap().check();
        assert_eq!(checked(&["--virtual-only"]), Ok(()));
        assert_eq!(checked(&["--adapter", "llvmpipe"]), Err(Conflict::NoAdapter { name: "model" }));
        let refused = checked(&["--device", "wgpu", "--virtual-only"]).unwrap_err().to_string();
        let reason = if cfg!(feature = "wgpu") { "real time only" } else { "build with --features wgpu" };
        assert!(refused.contains(reason), "{refused}");
    }
}
