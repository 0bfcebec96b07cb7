//! Each oracle finds violations of its rule.
//!
//! Flawed policies break rules by themselves. The driver's rules are broken by giving the oracles another scenario
//! than the one that runs, or other events than those that happen.

use rospin_core::policy::private::Hooks;
use rospin_core::policy::{self, Ordered, View};
use rospin_core::{Activation, EntityId, EntityKind, EntitySpec, GroupId, GroupKind, Instant, Order, Policy};
use rospin_scenario::Scenario;
use rospin_sim::oracle::{Oracles, Rule};
use rospin_sim::{Event, Observer, Simulation, What};

/// Number of random scenarios that a mutant may survive.
const SCENARIOS: u64 = 200;

/// Wraps a policy.
type Change = fn(Box<dyn Policy>) -> Box<dyn Policy>;

/// The difference between a mutant and the given scenario.
#[derive(Default)]
struct Mutant {
    /// Change of the scenario that is run or, with `told`, of the one that the oracles get.
    change: Option<fn(&mut Scenario)>,
    told: Option<fn(&mut Scenario)>,
    policy: Option<Change>,
    /// The events that the oracles get in place of one event.
    events: Option<fn(&Event) -> Vec<Event>>,
}

struct Shim<'a, 'b>(&'b mut Oracles<'a>, fn(&Event) -> Vec<Event>);

impl Observer for Shim<'_, '_> {
    fn observe(&mut self, event: &Event) {
        self.1(event).iter().for_each(|event| self.0.observe(event));
    }
}

/// Returns the rules that the oracles find broken under one seed.
fn broken(mutant: &Mutant, seed: u64) -> Vec<Rule> {
    let (mut run, mut told) = (crate::common::random(seed), crate::common::random(seed));
    if let Some(change) = mutant.change {
        change(&mut run);
        change(&mut told);
    }
    if let Some(change) = mutant.told {
        change(&mut told);
    }
    if run.check().is_err() || told.check().is_err() {
        return Vec::new();
    }
    let mut oracles = Oracles::new(&told);
    let mut shim = Shim(&mut oracles, mutant.events.unwrap_or(|event| vec![*event]));
    let mut simulation = Simulation::new(&run).unwrap();
    if let Some(change) = mutant.policy {
        for executor in &run.executors {
            let policy = change(policy::by_name(&executor.policy).unwrap());
            simulation = simulation.policy(&executor.name, policy).unwrap();
        }
    }
    simulation.observe(&mut shim).run().unwrap();
    if let Some(report) = oracles.report("again") {
        assert!(report.contains("[[executor]]") && report.ends_with("replay: again\n"), "{report}");
    }
    oracles.violations().iter().map(|violation| violation.rule).collect()
}

/// Checks that the oracle of `rule` finds the mutant, in some of the scenarios.
fn assert_found(mutant: &Mutant, rule: Rule) {
    let found = (0..SCENARIOS).filter(|seed| broken(mutant, *seed).contains(&rule)).count();
    assert!(found > 0, "nobody noticed: {rule}");
}

#[test]
fn without_a_mutation_nothing_is_found() {
    for seed in 0..SCENARIOS {
        assert_eq!(broken(&Mutant::default(), seed), [], "seed {seed}");
    }
}

// ---- policies ----

/// A policy with a flaw.
struct Flawed {
    inner: Box<dyn Hooks>,
    flaw: Flaw,
    count: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    /// Loses every seventh activation.
    Forgets,
    /// Returns nothing in every seventh pick.
    IsLazy,
    /// Hides that suspended callbacks hold their groups, so that none inherits.
    InheritsNothing,
}

impl Flawed {
    fn boxed(inner: Box<dyn Policy>, flaw: Flaw) -> Box<dyn Policy> {
        Box::new(Self { inner: inner.with_hooks(), flaw, count: 0 })
    }

    fn is_seventh(&mut self, flaw: Flaw) -> bool {
        self.count += u64::from(self.flaw == flaw);
        self.flaw == flaw && self.count.is_multiple_of(7)
    }
}

impl Policy for Flawed {
    fn name(&self) -> &'static str {
        "flawed"
    }
    fn register(&mut self, id: EntityId, spec: &EntitySpec) {
        let gives_group_away = spec.releases_group_at_await || self.flaw == Flaw::InheritsNothing;
        self.inner.register(id, &spec.clone().releases_group_at_await(gives_group_away));
    }
    fn unregister(&mut self, id: EntityId, spec: &EntitySpec) {
        self.inner.unregister(id, spec);
    }
    fn release(&mut self, activation: &Activation) {
        if !self.is_seventh(Flaw::Forgets) {
            self.inner.release(activation);
        }
    }
    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        if self.is_seventh(Flaw::IsLazy) { None } else { self.inner.pick(view) }
    }
    fn group_freed(&mut self, group: GroupId) {
        self.inner.group_freed(group);
    }
    fn withdraw(&mut self, activation: &Activation) {
        self.inner.withdraw(activation);
    }
    fn has_candidates(&self) -> bool {
        self.inner.has_candidates()
    }
    fn with_hooks(self: Box<Self>) -> Box<dyn Hooks> {
        self
    }
}

impl Hooks for Flawed {
    fn orders_by_release(&self) -> bool {
        self.inner.orders_by_release()
    }
}

/// Policy that dispatches last in, first out.
#[derive(Default)]
struct Backwards;

impl Order for Backwards {
    type Key = std::cmp::Reverse<u64>;
    fn name(&self) -> &'static str {
        "fifo"
    }
    fn key(&self, activation: &Activation) -> Self::Key {
        std::cmp::Reverse(activation.sequence)
    }
}

#[test]
fn a_policy_that_forgets() {
    let policy: Change = |inner| Flawed::boxed(inner, Flaw::Forgets);
    assert_found(&Mutant { policy: Some(policy), ..Mutant::default() }, Rule::NothingLost);
}

#[test]
fn a_policy_that_is_lazy() {
    let policy: Change = |inner| Flawed::boxed(inner, Flaw::IsLazy);
    assert_found(&Mutant { policy: Some(policy), ..Mutant::default() }, Rule::WorkConservation);
}

#[test]
fn a_policy_without_priority_inheritance() {
    let policy: Change = |inner| Flawed::boxed(inner, Flaw::InheritsNothing);
    assert_found(&Mutant { policy: Some(policy), ..Mutant::default() }, Rule::Order);
}

#[test]
fn a_policy_in_the_wrong_order() {
    for name in ["fifo", "fixed-priority", "edf", "wait-set-e1", "wait-set-e2"] {
        let change: fn(&mut Scenario) = match name {
            "fifo" => |scenario| all_policies(scenario, "fifo"),
            "fixed-priority" => |scenario| all_policies(scenario, "fixed-priority"),
            "edf" => |scenario| all_policies(scenario, "edf"),
            "wait-set-e1" => |scenario| all_policies(scenario, "wait-set-e1"),
            _ => |scenario| all_policies(scenario, "wait-set-e2"),
        };
        let policy: Change = |_| Box::new(Ordered::<Backwards>::new());
        assert_found(&Mutant { change: Some(change), policy: Some(policy), ..Mutant::default() }, Rule::Order);
    }
}

fn all_policies(scenario: &mut Scenario, name: &str) {
    scenario.executors.iter_mut().for_each(|executor| name.clone_into(&mut executor.policy));
}

/// Timers inside of the ready set differ from timers outside of it.
#[test]
fn the_other_wait_set() {
    let change = |scenario: &mut Scenario| all_policies(scenario, "wait-set-e1");
    let told = |scenario: &mut Scenario| all_policies(scenario, "wait-set-e2");
    assert_found(&Mutant { change: Some(change), told: Some(told), ..Mutant::default() }, Rule::Order);
}

// ---- the driver ----

fn told(change: fn(&mut Scenario)) -> Mutant {
    Mutant { told: Some(change), ..Mutant::default() }
}

fn events(change: fn(&Event) -> Vec<Event>) -> Mutant {
    Mutant { events: Some(change), ..Mutant::default() }
}

fn instead(event: &Event, what: What) -> Event {
    let mut other = *event;
    other.what = what;
    other
}

#[test]
fn groups_that_do_not_exclude() {
    let exclusive = |scenario: &mut Scenario| {
        scenario.groups.iter_mut().for_each(|group| group.kind = GroupKind::MutuallyExclusive);
    };
    assert_found(&told(exclusive), Rule::GroupExclusion);
}

#[test]
fn callbacks_that_run_too_often_at_once() {
    let one = |scenario: &mut Scenario| {
        scenario.callbacks.iter_mut().for_each(|callback| callback.max_in_flight = Some(1));
    };
    assert_found(&told(one), Rule::GroupExclusion);
}

#[test]
fn threads_that_do_not_wake() {
    // To an oracle that does not see the wake-up, the wake-up is missing.
    let asleep = |event: &Event| if matches!(event.what, What::Woken(_)) { Vec::new() } else { vec![*event] };
    assert_found(&events(asleep), Rule::WorkConservation);
}

#[test]
fn a_core_that_nobody_uses() {
    assert_found(&told(|scenario| scenario.cores = Some(4)), Rule::WorkConservation);
}

#[test]
fn os_priorities_that_are_ignored() {
    let inverted = |scenario: &mut Scenario| {
        scenario.executors.iter_mut().for_each(|executor| executor.os_priority = 5 - executor.os_priority);
    };
    assert_found(&told(inverted), Rule::WorkConservation);
}

#[test]
fn threads_on_cores_of_others() {
    assert_found(
        &told(|scenario| scenario.executors.iter_mut().for_each(|x| x.cores = vec![0])),
        Rule::WorkConservation,
    );
}

#[test]
fn lost_notifications() {
    let silent = |event: &Event| {
        if matches!(event.what, What::NotificationLost(_)) { Vec::new() } else { vec![*event] }
    };
    assert_found(&events(silent), Rule::NothingLost);
}

#[test]
fn lost_messages() {
    let silent = |event: &Event| if matches!(event.what, What::Dropped(..)) { Vec::new() } else { vec![*event] };
    assert_found(&events(silent), Rule::NothingLost);
}

#[test]
fn queues_that_grow() {
    let shallow = |scenario: &mut Scenario| scenario.callbacks.iter_mut().for_each(|callback| callback.depth = 1);
    assert_found(&told(shallow), Rule::NothingLost);
}

#[test]
fn due_times_that_are_given_up_in_silence() {
    use rospin_core::trace::TraceEvent;
    let silent = |event: &Event| match event.what {
        What::Scheduler(_, TraceEvent::Overrun(..)) => Vec::new(),
        _ => vec![*event],
    };
    assert_found(&events(silent), Rule::NothingLost);
}

#[test]
fn timers_that_nobody_wakes_for() {
    let earlier = |scenario: &mut Scenario| {
        let timers = scenario.callbacks.iter_mut().filter(|callback| callback.kind == EntityKind::Timer);
        timers.for_each(|timer| timer.offset = Some(std::time::Duration::ZERO));
    };
    let idle = |scenario: &mut Scenario| {
        scenario.callbacks.retain(|callback| callback.kind == EntityKind::Timer);
        scenario.chains.clear();
        scenario.releases.clear();
        scenario.faults.clear();
        scenario.callbacks.iter_mut().for_each(|timer| timer.publishes.clear());
    };
    assert_found(&Mutant { change: Some(idle), told: Some(earlier), ..Mutant::default() }, Rule::NothingLost);
}

#[test]
fn a_spin_that_starts_early() {
    let later = |scenario: &mut Scenario| {
        scenario.executors.iter_mut().for_each(|executor| executor.start += std::time::Duration::from_millis(1));
    };
    assert_found(&told(later), Rule::SpinContract);
}

#[test]
fn what_runs_before_the_spin() {
    let silent = |event: &Event| if matches!(event.what, What::SpinStarted) { Vec::new() } else { vec![*event] };
    assert_found(&events(silent), Rule::SpinContract);
}

#[test]
fn what_starts_after_the_halt() {
    // The oracles see a halt of the executor after the first millisecond.
    let early = |event: &Event| {
        let halt = instead(event, What::Halted);
        if event.at > Instant::from_millis(0) { vec![halt, *event] } else { vec![*event] }
    };
    assert_found(&events(early), Rule::SpinContract);
}

#[test]
fn what_runs_after_the_spin_returned() {
    use rospin_core::trace::TraceEvent;
    let early = |event: &Event| match event.what {
        What::Scheduler(_, TraceEvent::Dispatched(..)) => vec![*event, instead(event, What::SpinReturned)],
        _ => vec![*event],
    };
    assert_found(&events(early), Rule::SpinContract);
}
