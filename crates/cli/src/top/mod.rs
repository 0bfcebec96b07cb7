//! `rospin top`: what the programs of this machine do while they run.

mod app;
mod columns;
mod kernel;
mod lines;
pub(crate) mod programs;
mod screen;
#[cfg(test)]
mod tests;
mod web;

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use rospin_analysis::Analysis;
use rospin_report::{Failure, number, text_table};
use serde::Serialize;

use self::app::App;
use self::columns::Column;
use self::kernel::KernelThread;
use self::programs::{Programs, Shown, Wanted};
use self::web::state::{Chain, nanoseconds};
use crate::scenario_file;

pub(crate) const NAME: &str = "top";

/// The time until a program that was connected to has told its names.
const GREETING: Duration = Duration::from_millis(400);

/// Shows what the programs of this machine do: callbacks, threads, queues, losses
#[derive(Args, Debug)]
#[command(after_help = "\
A program that calls rospin::init can be watched, unless ROSPIN_LIVE is 0 for it. While nobody watches, that costs it nothing; while
somebody does, it records its events, about a tenth of a microsecond each. Nothing is compiled anew. Keys: ? says them.

Examples:
  rospin top
  rospin top --name robot --system robot.toml     with the bounds of the analysis
  rospin top --once | less                        as text, and end
  rospin top --json --interval 10 >> robot.jsonl  an object for each interval
  rospin top --web                                a page for the browser: graph, lateness, queues, who waits for whom

The page is at http://127.0.0.1:8770/, for this machine alone: from another one, ssh -L 8770:localhost:8770 robot. With --address
everybody who reaches that address can read it; nobody can change anything. /state is what it shows, as JSON, and /events a stream
of it (server-sent events).

Exit code: 0, 1 if no program is there with --once, 2 if an option or the system file is wrong.")]
struct Options {
    /// Watches only the process with this number; may be given several times
    #[arg(long, value_name = "N")]
    pid: Vec<u32>,

    /// Watches only programs with this text in their name
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,

    /// Length of an interval in seconds, for which rates and times are shown [default: 1, with --web 0.5]
    #[arg(long, short, value_name = "SECONDS", value_parser = |text: &str| number::parse_seconds(text, 0.1, 3600.0))]
    interval: Option<Duration>,

    /// Shows the bounds that the analysis proves for this system file beside the times
    #[arg(long, value_name = "FILE")]
    system: Option<PathBuf>,

    /// Sorts callbacks by this column
    #[arg(long, value_name = "COLUMN", value_enum, hide_possible_values = true, default_value = "util")]
    sort: Column,

    /// Shows only what has this text in its name, executor, group or program
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,

    /// Shows the callbacks that every node has, too: those of its parameters and its log
    #[arg(long)]
    internals: bool,

    /// Prints one interval as text, and ends
    #[arg(long)]
    once: bool,

    /// Prints each interval as text, as it does where there is no terminal
    #[arg(long)]
    plain: bool,

    /// Prints each interval as a JSON object in a line
    #[arg(long, conflicts_with = "plain")]
    json: bool,

    /// Serves a page for the browser, until Ctrl-C
    #[arg(long, conflicts_with_all = ["once", "plain", "json", "sort", "filter", "internals"])]
    web: bool,

    /// The port of the page; 0 takes one that is free
    #[arg(long, value_name = "N", requires = "web", default_value_t = web::PORT)]
    port: u16,

    /// The address of the page, where others can read it, too: 0.0.0.0 is every address of this machine
    #[arg(long, value_name = "ADDRESS", requires = "web", default_value = "127.0.0.1")]
    address: String,
}

/// Bounds that the analysis proves for a system file.
#[derive(Default)]
pub(crate) struct Proven {
    /// Bounds by callback; `None` without a system file.
    pub(crate) bounds: Option<BTreeMap<String, Duration>>,
    chains: Vec<Chain>,
}

/// Reasons for which nothing can be shown.
#[derive(Debug, thiserror::Error)]
enum TopFailure {
    #[error(
        "no program that can be watched runs here{0}; one that calls rospin::init can be, unless ROSPIN_LIVE is 0 for it, and only by \
         its own user or root"
    )]
    Nobody(String),
    #[error("{}: the system cannot be analysed: {reason}", path.display())]
    System { path: PathBuf, reason: rospin_analysis::AnalysisError },
    #[error("the terminal cannot be used ({0}); --plain prints text")]
    Terminal(std::io::Error),
}

/// Returns the subcommand with all options.
pub(crate) fn command() -> Command {
    Options::augment_args(Command::new(NAME))
}

/// Runs the command. `out` is stdout.
pub(crate) fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
    let proven = options.system.as_deref().map(prove).transpose()?.unwrap_or_default();
    let mut programs = Programs::new(Wanted { pids: options.pid.clone(), name: options.name.clone() });
    if options.web {
        programs.explain_waits();
        let interval = options.interval.unwrap_or(Duration::from_millis(500));
        return web::run(&options.address, options.port, interval, &mut programs, proven, out);
    }
    let interval = options.interval.unwrap_or(Duration::from_secs(1));
    let mut app = App {
        bounds: proven.bounds,
        interval,
        sort: Some(options.sort),
        filter: options.filter.clone(),
        has_internals: options.internals,
        ..App::default()
    };
    if options.once || options.plain || options.json || !std::io::stdout().is_terminal() {
        return print(&options, &mut app, &mut programs, out);
    }
    screen::run(&mut app, &mut programs).map_err(|error| Failure::run(TopFailure::Terminal(error)))
}

/// Returns what the analysis proves for a system file.
pub(crate) fn prove(path: &Path) -> Result<Proven, Failure> {
    let system = scenario_file::read(path).map_err(Failure::input)?;
    let failed = |reason| Failure::input(TopFailure::System { path: path.to_owned(), reason });
    let report = Analysis::new(&system).run().map_err(failed)?;
    let mut chains = Vec::new();
    for chain in &system.chains {
        let found = report.chains.iter().find(|of| of.name == chain.name);
        chains.push(Chain {
            name: chain.name.clone(),
            callbacks: chain.callbacks.clone(),
            bound_ns: found.and_then(|of| of.latency).map(nanoseconds),
            deadline_ns: chain.deadline.map(nanoseconds),
        });
    }
    let bound = |callback: rospin_analysis::CallbackBound| Some((callback.name, callback.bound?));
    let bounds = report.callbacks.into_iter().filter_map(bound).collect();
    Ok(Proven { bounds: Some(bounds), chains })
}

/// Prints intervals as text or JSON.
fn print(options: &Options, app: &mut App, programs: &mut Programs, out: &mut dyn Write) -> Result<(), Failure> {
    programs.look();
    thread::sleep(GREETING);
    // What happened until now is no whole interval.
    programs.show();
    let width = text_table::terminal_width();
    loop {
        thread::sleep(app.interval);
        app.update(programs.show(), |_| None);
        if options.once && app.programs.is_empty() {
            let who = |pid: &u32| format!(" with the number {pid}");
            let whose = options.pid.iter().map(who).collect::<Vec<_>>().join(" or");
            let named = options.name.as_ref().map(|name| format!(" with `{name}` in its name"));
            return Err(Failure::run(TopFailure::Nobody(whose + &named.unwrap_or_default())));
        }
        if options.json {
            writeln!(out, "{}", json(app))?;
        } else {
            writeln!(out, "{}", lines::text(app, width))?;
        }
        out.flush()?;
        if options.once {
            return Ok(());
        }
        programs.look();
    }
}

/// Returns what is shown of one program, as text. For tests.
#[cfg(test)]
pub(crate) fn text_of(view: rospin_trace::live::View, trouble: Option<String>) -> String {
    let program = Shown { pid: 7, name: "robot".to_owned(), view, threads: Vec::new(), trouble };
    let mut app = App { interval: Duration::from_secs(1), ..App::default() };
    app.update(vec![program], |_| None);
    lines::text(&app, 160)
}

/// An interval as JSON.
#[derive(Serialize)]
struct Interval<'a> {
    interval_s: f64,
    programs: Vec<Program<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bounds_ns: Option<BTreeMap<String, u64>>,
}

#[derive(Serialize)]
struct Program<'a> {
    pid: u32,
    name: &'a str,
    /// The reason for which it is not watched any more.
    trouble: Option<&'a str>,
    #[serde(flatten)]
    view: &'a rospin_trace::live::View,
    kernel_threads: &'a [KernelThread],
}

impl<'a> From<&'a Shown> for Program<'a> {
    fn from(shown: &'a Shown) -> Self {
        let Shown { pid, name, view, threads, trouble } = shown;
        Self { pid: *pid, name, trouble: trouble.as_deref(), view, kernel_threads: threads }
    }
}

fn json(app: &App) -> String {
    let ns = |(name, bound): (&'_ String, &Duration)| (name.clone(), nanoseconds(*bound));
    let bounds_ns = app.bounds.as_ref().map(|bounds| bounds.iter().map(ns).collect());
    let programs = app.programs.iter().map(Program::from).collect();
    let interval = Interval { interval_s: app.interval.as_secs_f64(), programs, bounds_ns };
    // Neither a map with other keys than text nor a failing writer is involved.
    serde_json::to_string(&interval).unwrap_or_default()
}
