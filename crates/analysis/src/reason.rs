//! Reasons for which a callback has no bound: what asks for too much time, and the smallest change that gives one.
//!
//! Bounds depend on each other, so a missing one often makes others missing. The reason is looked for where that
//! begins: at a publisher without a bound, then at what asks for more time than there is.

use std::time::Duration;

use crate::budget::Stop;
use crate::known::Solution;
use crate::remedies::{self, Trials};
use crate::report::Unbounded;
use crate::starvation;
use crate::system::{Policy, System};

/// Reason for which a callback has no bound.
pub(crate) struct Reason {
    /// The reason in words: which callbacks ask for too much time.
    pub(crate) why: String,
    /// Changes, each of which alone gives a bound, in words.
    pub(crate) changes: Vec<String>,
}

impl Reason {
    fn new(why: String) -> Self {
        Self { why, changes: Vec::new() }
    }

    /// Returns all of it in words.
    pub(crate) fn words(&self) -> String {
        format!("{}{}", self.why, remedies::words(&self.changes))
    }
}

/// Returns the reason for which a callback has no bound.
pub(crate) fn of(system: &System, solution: &Solution, trials: &Trials, starves: &[bool], callback: usize) -> Reason {
    let root = root(system, solution, callback);
    let mut reason = match solution.found[root].stop {
        Stop::Work => Reason::new("the search ran out of work, or was stopped, before one was found".to_owned()),
        Stop::Limit(_) | Stop::Other => overload(system, solution, trials, starves, (root, callback)),
    };
    if root != callback {
        reason.why = format!("`{}` has none, which releases it: {}", system.callbacks[root].name, reason.why);
    }
    reason
}

/// Returns the kind of that reason.
pub(crate) fn kind(system: &System, solution: &Solution, starves: &[bool], callback: usize) -> Unbounded {
    starvation::kind(system, starves, root(system, solution, callback), callback)
}

/// Returns the first callback without a bound on the way of the messages to this one.
fn root(system: &System, solution: &Solution, callback: usize) -> usize {
    let mut root = callback;
    // Messages flow in no circle.
    while let Some(publisher) =
        system.callbacks[root].publishers.iter().find(|publisher| solution.found[**publisher].bound.is_none())
    {
        root = *publisher;
    }
    root
}

/// Returns what asks for too much time where the first of the two callbacks runs, and what gives the second one a bound.
fn overload(
    system: &System,
    solution: &Solution,
    trials: &Trials,
    starves: &[bool],
    (root, callback): (usize, usize),
) -> Reason {
    let plan = &system.callbacks[root];
    let executor = &system.executors[plan.executor];
    if let Some(place) = (0..system.callbacks.len())
        .find(|other| solution.waits[*other].is_none() && system.callbacks[*other].executor == plan.executor)
    {
        return Reason::new(format!("the wait of `{}` for an accelerator has no bound", system.callbacks[place].name));
    }
    if system.moves(plan.executor) {
        let names: Vec<_> =
            system.cores[executor.core].executors.iter().map(|host| system.executors[*host].name.as_str()).collect();
        return Reason::new(format!(
            "executors that share cores ({}) are counted as if each delayed all others: give each one core",
            names.join(", ")
        ));
    }
    let mut reason = if executor.threads > 1 {
        Reason::new(on_threads(system, solution, starves, root))
    } else {
        on_thread(system, solution, root)
    };
    if reason.changes.is_empty() {
        reason.changes = remedies::of(system, trials, root, callback);
    }
    if !remedies::are_tried(system) {
        reason.why += &remedies::not_tried();
    }
    reason
}

/// Returns the share of time that work, and the share that waits ask for, of some callbacks.
fn shares(system: &System, solution: &Solution, of: impl Fn(usize) -> bool) -> (f64, f64) {
    let rates = system.rates();
    let members = || (0..system.callbacks.len()).filter(|member| of(*member));
    let work = members().map(|member| rates[member] * system.callbacks[member].cost() as f64).sum();
    let waits = members().map(|member| rates[member] * solution.waits[member].unwrap_or(0) as f64).sum();
    (work, waits)
}

/// Returns the reason on one thread: work and waits ask for more than its time, or those of other executors come too
/// densely.
fn on_thread(system: &System, solution: &Solution, callback: usize) -> Reason {
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    let shares_core = |other: usize| {
        let host = &system.executors[system.callbacks[other].executor];
        system.callbacks[other].executor == plan.executor
            || (host.core == executor.core && host.os_priority >= executor.os_priority)
    };
    let (work, waits) = shares(system, solution, shares_core);
    let name = &executor.name;
    if waits > 0.0 && work + waits >= 1.0 {
        let why = format!(
            "the work on the thread of `{name}` asks for {:.1} % of its time, and what is awaited there, most of it by \
             `{}`, for {:.1} %",
            work * 100.0,
            longest_wait(system, solution, &shares_core),
            waits * 100.0
        );
        let enough = ((1.0 - work) / waits * 100.0).floor();
        let shorter = (enough > 0.0).then(|| format!("if no wait is longer than {enough:.0} % of what it is now"));
        return Reason { why, changes: shorter.into_iter().collect() };
    }
    let limit = Duration::from_nanos(system.limit);
    let mut outside = (0..system.callbacks.len()).filter(|other| shares_core(*other)).flat_map(|other| {
        let publishers = system.callbacks[other].publishers.iter();
        publishers.filter(|publisher| !shares_core(**publisher)).map(move |publisher| (other, *publisher))
    });
    let why = match outside.next() {
        Some((receiver, publisher)) => format!(
            "messages from `{}` to `{}` come from another executor, and may come so densely that the thread of `{name}`, at \
             {:.1} % of its time, is busy for longer than {limit:?}; on one executor they would not",
            system.callbacks[publisher].name,
            system.callbacks[receiver].name,
            work * 100.0
        ),
        None => format!(
            "the thread of `{name}`, at {:.1} % of its time, may be busy for longer than {limit:?} without a pause",
            work * 100.0
        ),
    };
    Reason::new(why)
}

/// Returns the name of the callback that waits for the largest share of time.
fn longest_wait<'a>(system: &'a System, solution: &Solution, of: &impl Fn(usize) -> bool) -> &'a str {
    let rates = system.rates();
    let members = (0..system.callbacks.len()).filter(|member| of(*member));
    let shares = members.map(|member| {
        (system.callbacks[member].name.as_str(), rates[member] * solution.waits[member].unwrap_or(0) as f64)
    });
    shares.max_by(|one, other| one.1.total_cmp(&other.1)).map_or("", |(name, _)| name)
}

/// Returns the reason on several threads: the group, what may keep all threads busy meanwhile, and if it may starve.
fn on_threads(system: &System, solution: &Solution, starves: &[bool], callback: usize) -> String {
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    let (own, waits) = shares(system, solution, |other| other == callback || plan.mates.contains(&other));
    let (all, _) = shares(system, solution, |other| system.callbacks[other].executor == plan.executor);
    let held = if plan.holds_group() || plan.mates.iter().any(|mate| system.callbacks[*mate].holds_group()) {
        format!(", and keeps its group for {:.1} % of the time while it waits", waits * 100.0)
    } else {
        String::new()
    };
    let others = format!(
        "group `{}` asks for {:.1} % of a thread{held}, and the rest of `{}` for {:.1} %",
        plan.group,
        own * 100.0,
        executor.name,
        (all - own).max(0.0) * 100.0
    );
    let why = match (executor.policy, plan.mates.first()) {
        (Policy::WaitSet { .. }, Some(mate)) if starves[callback] => format!(
            ", which may keep its {} threads busy whenever the group has something to run; it may starve, because a wait set \
             with several threads passes over a group that is held, as by `{}`",
            executor.threads, system.callbacks[*mate].name
        ),
        _ if starves[callback] => format!(
            ", which may keep its {} threads busy whenever the group has something to run: it may starve",
            executor.threads
        ),
        _ => match starvation::circle(system, callback) {
            Some((one, other)) => format!(
                "; no bound is known, because groups `{}` and `{}` send to each other, so that what waits in one may grow \
                 with what waits in the other",
                system.callbacks[one].group, system.callbacks[other].group
            ),
            None => "; no bound is known, nor a way in which it could starve".to_owned(),
        },
    };
    format!("{others}{why}")
}
