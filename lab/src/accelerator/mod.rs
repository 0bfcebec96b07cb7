//! `rospin lab accelerator`: camera pipelines of three criticalities share one device.
//!
//! The device is the model device of rospin's accelerator, in virtual or in real time, or a GPU. `workload` is the
//! pipelines, `contender` the ways in which they reach the device, `device` their work on it, `launch` their common
//! interface, and `virtual_time` and `real_time` run them. `on_cuda` and `on_wgpu` have the kernels of real devices,
//! whose lengths `measure` finds. `table`, `verdict`, `json` and `report` show the results.

mod comparison;
mod contender;
mod device;
mod figures;
mod json;
mod launch;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod measure;
#[cfg(feature = "cuda")]
mod on_cuda;
#[cfg(feature = "wgpu")]
mod on_wgpu;
mod options;
mod real_time;
mod report;
mod table;
mod verdict;
mod virtual_time;
mod workload;

use std::io::Write;
use std::time::Duration;

use clap::{ArgMatches, Command, FromArgMatches};
use rospin_measure::machine::Machine;
use rospin_report::Failure;
use rospin_report::output_options;

use crate::experiment::Experiment;

use self::comparison::{Comparison, Time};
use self::contender::Contender;
use self::device::Device;
use self::options::{DEFAULT_REPORT, Options};
use self::workload::Lengths;

/// The experiment `accelerator`.
pub(crate) struct AcceleratorExperiment;

impl Experiment for AcceleratorExperiment {
    fn name(&self) -> &'static str {
        "accelerator"
    }

    fn about(&self) -> &'static str {
        "Pipelines of three criticalities share a device: how long the critical one waits for the others"
    }

    fn command(&self) -> Command {
        output_options::command::<Options>(self.name(), DEFAULT_REPORT).about(self.about())
    }

    fn run(&self, matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
        let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
        options.check().map_err(Failure::input)?;
        #[cfg(feature = "cuda")]
        if options.order_on_stdin {
            let order = crate::children::read_order(std::io::stdin().lock()).map_err(Failure::input)?;
            let answer = on_cuda::obey(&order)?;
            return Ok(crate::children::write_answer(out, &answer)?);
        }
        let files = options.outputs.files(Some(DEFAULT_REPORT)).map_err(Failure::input)?;
        let comparison = match options.device {
            Device::Model => run_all(&options).map_err(Failure::run)?,
            #[cfg(feature = "wgpu")]
            Device::Wgpu => on_wgpu::run_all(&options)?,
            #[cfg(feature = "cuda")]
            Device::Cuda => on_cuda::run_all(&options)?,
            #[cfg(not(all(feature = "cuda", feature = "wgpu")))]
            _ => unreachable!("the options were checked"),
        };
        writeln!(out, "{}", table::render(&comparison))?;
        for said in verdict::sentences(&comparison) {
            writeln!(out, "{said}")?;
        }
        writeln!(out)?;
        files.write(out, || json::render(&comparison), || report::render(&comparison))
    }
}

/// The time beside a segment's own in real time on the model device: a thread's wake-up on an ordinary machine.
const WAKE_UPS: Duration = Duration::from_micros(170);

/// Runs all contenders on the model device: in virtual time, and then in real time unless the options leave that out.
fn run_all(options: &Options) -> std::io::Result<Comparison> {
    let pipelines = workload::pipelines(options.load, [Lengths::SHORT, Lengths::LAYER, Lengths::LAYER]);
    let mut rows = Vec::new();
    let contenders = Contender::on(Device::Model);
    for contender in contenders {
        rows.push(virtual_time::run(*contender, &pipelines, options.virtual_duration));
    }
    let mut shortfalls = Vec::new();
    if !options.virtual_only {
        let progress = options.outputs.progress(contenders.len(), options.duration);
        for contender in contenders {
            progress.begin(contender.name());
            let (row, missing) = real_time::run(*contender, &pipelines, options, &progress)?;
            rows.push(row);
            shortfalls = missing;
            progress.end();
        }
    }
    Ok(Comparison {
        machine: Machine::read(),
        device: Device::Model,
        device_name: "a model: one compute engine, one copy engine, kernels that are preempted between blocks"
            .to_owned(),
        load: options.load,
        durations: [(Time::Virtual, options.virtual_duration), (Time::Real, options.duration)],
        shortfalls,
        overheads: [WAKE_UPS; 2],
        pipelines,
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_in_virtual_time_keeps_its_promises_and_gives_both_files() {
        let folder = std::env::temp_dir().join(format!("rospin-lab-{}-accelerator", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (report, json) = (folder.join("r.html"), folder.join("r.json"));
        let files = ["--report", report.to_str().unwrap(), "--json", json.to_str().unwrap()];
        let command = AcceleratorExperiment.command().no_binary_name(true);
        let arguments = [&["--virtual-only", "--virtual-duration=20"][..], &files].concat();
        let mut out = Vec::new();
        AcceleratorExperiment.run(&command.try_get_matches_from(arguments).unwrap(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("kept: ") && !text.contains("NOT kept"), "{text}");
        let page = std::fs::read_to_string(&report).unwrap();
        rospin_report::page::assert_self_contained(&page);
        let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
        assert_eq!(document["rows"].as_array().unwrap().len(), Contender::on(Device::Model).len());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_short_run_in_real_time_has_every_row() {
        let options = ["--quiet", "--duration=0.5", "--virtual-duration=1"];
        let command = AcceleratorExperiment.command().no_binary_name(true);
        let options = Options::from_arg_matches(&command.try_get_matches_from(options).unwrap()).unwrap();
        let comparison = run_all(&options).unwrap();
        assert_eq!(comparison.rows.len(), 2 * Contender::on(Device::Model).len());
        // Nothing but the number of frames is certain on a busy machine.
        assert!(comparison.rows.iter().all(|row| row.pipelines.iter().all(|figures| figures.frames > 0)));
    }
}
