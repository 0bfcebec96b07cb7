//! Pictures of critical instants: the callbacks that run from there until a response has ended.
//!
//! The analysis makes scenarios that begin with a critical instant, and the simulator runs them. The picture shows the
//! longest response in these simulations. It can really happen; the bound is at least as long.

use std::fmt::Write;
use std::time::Duration;

use rospin_analysis::Analysis;
use rospin_engine::Instant;
use rospin_engine::trace::TraceEvent;
use rospin_report::page::{ReportError, escape};
use rospin_report::svg::PlotError;
use rospin_report::text_table::terminal_width;
use rospin_report::timeline::{self, Activation, Timeline};
use rospin_scenario::Scenario;
use rospin_sim::{Event, Outcome, Run, Simulation, What};

use super::analyzed::Analyzed;

/// Largest number of activations in the simulation of one critical instant, which then takes no more than some
/// milliseconds. The simulated time is halved until it has no more of them.
const ACTIVATIONS_MAX: f64 = 100_000.0;
/// Largest number of pictures of callbacks and chains whose deadline is not proven to hold.
pub(super) const SHOWN_MAX: usize = 3;

/// Picture of the longest response of a callback or chain after a critical instant, in simulations.
pub(super) struct Picture {
    /// The name of the callback or chain.
    pub(super) name: String,
    /// Time that the analysis proves for every response; `None` if there is no bound.
    pub(super) bound: Option<Duration>,
    /// Time from the release to the end of the response.
    pub(super) response: Duration,
    /// The callbacks that ran from the critical instant to the end of the response.
    pub(super) timeline: Timeline,
}

/// A piece of an activation that ran without preemption: its callback, the activation's release, and when the piece
/// began and ended.
struct Piece {
    callback: usize,
    release: Instant,
    from: Instant,
    to: Instant,
}

/// Returns the picture of a callback or a chain; `None` if nothing can be simulated, or no run of it ends in a
/// simulation.
pub(super) fn picture(analyzed: &Analyzed, name: &str) -> Option<Picture> {
    let scenario = &analyzed.scenario;
    let all = super::rows::callbacks(analyzed).into_iter().chain(super::rows::chains(analyzed));
    let bound = all.filter(|row| row.name == name).find_map(|row| row.bound);
    let analysis = Analysis::new(scenario).overheads(analyzed.overheads);
    let mut longest: Option<(Duration, Instant, Instant, Vec<Piece>)> = None;
    for mut worst in analysis.critical_instants(horizon(scenario, bound)) {
        while worst.check_flow(ACTIVATIONS_MAX).is_err() && worst.duration > Duration::from_nanos(1) {
            worst.duration /= 2;
        }
        let Some(outcome) = Simulation::new(&worst).ok().and_then(|simulation| simulation.trace().run().ok()) else {
            continue;
        };
        let Some((response, release)) = longest_of(&worst, &outcome, name) else { continue };
        if longest.as_ref().is_none_or(|(known, ..)| response > *known) {
            longest = Some((response, release, release + response, pieces(&worst, &outcome)));
        }
    }
    let (response, release, end, pieces) = longest?;
    let begin = busy_since(&pieces, release);
    Some(Picture { name: name.to_owned(), bound, response, timeline: cut(scenario, &pieces, begin, end) })
}

/// Returns the length of a simulation that is long enough for a busy window: twice the bound, or four of the longest
/// periods if there is no bound; at least the longest period, and a millisecond.
fn horizon(scenario: &Scenario, bound: Option<Duration>) -> Duration {
    let period = scenario.callbacks.iter().filter_map(|callback| callback.period).max().unwrap_or_default();
    bound.map_or(4 * period, |bound| 2 * bound).max(period).max(Duration::from_millis(1))
}

/// Returns the longest response of the callback with this name, or the longest latency of the chain with it, and its
/// release; `None` if nothing of that name ran to its end.
fn longest_of(scenario: &Scenario, outcome: &Outcome, name: &str) -> Option<(Duration, Instant)> {
    // If several responses are equally long, the first one is shown.
    let first_longest = |one: &(Duration, Instant), other: &(Duration, Instant)| {
        if other.0 > one.0 || other.0 == one.0 && other.1 < one.1 { *other } else { *one }
    };
    let runs = outcome.runs_of(scenario, name).map(|run: &Run| (run.response(), run.release));
    let chain = scenario.chains.iter().position(|chain| chain.name == name);
    let instances = chain.into_iter().flat_map(|chain| &outcome.chains[chain].instances);
    let instances = instances.map(|(release, latency)| (*latency, *release));
    runs.chain(instances).reduce(|one, other| first_longest(&one, &other))
}

/// Returns the pieces of a simulation's trace in which one callback ran without preemption, in the order in which they
/// ended.
fn pieces(scenario: &Scenario, outcome: &Outcome) -> Vec<Piece> {
    let firsts: Vec<usize> = scenario.executors.iter().fold(vec![0], |mut firsts, executor| {
        firsts.push(firsts.last().copied().unwrap_or(0) + usize::from(executor.threads));
        firsts
    });
    let count = firsts.last().copied().unwrap_or(0);
    // For each thread, the activation that it runs, and the time since when it has a core.
    let mut running: Vec<Option<(usize, Instant)>> = vec![None; count];
    let mut since: Vec<Option<Instant>> = vec![None; count];
    let mut pieces = Vec::new();
    let mut end = |running: Option<(usize, Instant)>, since: &mut Option<Instant>, at: Instant| {
        if let (Some((callback, release)), Some(from)) = (running, *since)
            && from < at
        {
            pieces.push(Piece { callback, release, from, to: at });
        }
        *since = Some(at);
    };
    for Event { at, executor, what, .. } in &outcome.trace {
        let place = |thread: u16| firsts[*executor] + usize::from(thread);
        match *what {
            What::Placed(thread, _) => since[thread] = Some(*at),
            What::Displaced(thread, _) => {
                end(running[thread], &mut since[thread], *at);
                since[thread] = None;
            }
            What::Scheduler(Some(callback), TraceEvent::Dispatched(thread, activation)) => {
                let thread = place(thread.0);
                since[thread] = Some(*at);
                running[thread] = Some((callback, activation.release));
            }
            What::Scheduler(Some(callback), TraceEvent::Suspended(activation) | TraceEvent::Completed(activation)) => {
                let threads = firsts[*executor]..firsts[*executor + 1];
                let is_it = |thread: &usize| running[*thread] == Some((callback, activation.release));
                if let Some(thread) = threads.into_iter().find(is_it) {
                    end(running[thread], &mut since[thread], *at);
                    running[thread] = None;
                }
            }
            _ => {}
        }
    }
    pieces
}

/// Returns the critical instant: the last time up to `release` at which all activations that were released before had
/// ended.
fn busy_since(pieces: &[Piece], release: Instant) -> Instant {
    let mut begin = release;
    loop {
        let open = pieces.iter().filter(|piece| piece.release < begin && piece.to > begin);
        match open.map(|piece| piece.release).min() {
            Some(earlier) => begin = earlier,
            None => return begin,
        }
    }
}

/// Returns the timeline of the pieces from `begin`, the critical instant, to `end`, with a row for each callback that
/// ran. Its times count from `begin`.
fn cut(scenario: &Scenario, pieces: &[Piece], begin: Instant, end: Instant) -> Timeline {
    let mut known = Vec::new();
    let after = |at: Instant| at.saturating_since(begin).as_nanos() as u64;
    let mut activations = Vec::new();
    for piece in pieces.iter().filter(|piece| piece.from < end && piece.to > begin) {
        let is_first = !known.contains(&(piece.callback, piece.release));
        known.push((piece.callback, piece.release));
        let start_ns = after(piece.from);
        activations.push(Activation {
            callback: piece.callback,
            thread: None,
            release_ns: if is_first { after(piece.release) } else { start_ns },
            start_ns,
            end_ns: after(piece.to.min(end)),
        });
    }
    let mut timeline = timeline::by_callback(scenario, &activations, after(end));
    timeline.rows.retain(|row| !row.bars.is_empty());
    timeline
}

impl Picture {
    /// Returns one line with the longest response and the bound, for the text and the page.
    pub(super) fn describe(&self) -> String {
        let bound = self.bound.map_or("there is no bound".to_owned(), |bound| format!("the bound is {bound:?}"));
        format!("From the critical instant of `{}`: {:?} until it has ended; {bound}.", self.name, self.response)
    }

    /// Returns the picture as text for a terminal.
    pub(super) fn text(&self) -> String {
        format!("{}\n{}", self.describe(), timeline::render(&self.timeline, terminal_width()))
    }

    /// Appends the picture to an HTML page.
    pub(super) fn html(&self, page: &mut String) -> Result<(), ReportError> {
        let drawn = |timeline: &Timeline| -> Result<String, PlotError> { timeline::plot(timeline) };
        writeln!(page, "<h2>Critical instant of {}</h2>", escape(&self.name))?;
        writeln!(page, "<p>{}</p>", escape(&self.describe()))?;
        timeline::legend(page, std::slice::from_ref(&self.timeline))?;
        writeln!(page, "<figure class=\"scroll\">{}</figure>", drawn(&self.timeline)?)?;
        Ok(())
    }
}
