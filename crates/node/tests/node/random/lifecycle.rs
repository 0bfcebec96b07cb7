//! Transitions of a managed node, whose callbacks succeed, fail, break or panic as the program says.

use std::collections::VecDeque;

use rospin_node::lifecycle::{Fault, State, Transition, TransitionError};
use rospin_node::{Lifecycle, LifecycleHandle, LifecycleNode, NodeOptions};

use super::{Awaited, Pace, Rng, Shared, Stage, explore};

/// The outcome that a callback of the device has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Succeeds,
    Fails,
    Breaks,
    Panics,
}

/// The callbacks that ran, and the outcomes of those to come.
#[derive(Default)]
struct Script {
    called: Vec<(&'static str, State)>,
    outcomes: VecDeque<Outcome>,
}

struct Device {
    script: Shared<Script>,
    pace: Pace,
}

impl Device {
    fn run(&mut self, callback: &'static str, previous: State) -> Result<(), Fault> {
        self.pace.step();
        let outcome = self.script.with(|script| {
            script.called.push((callback, previous));
            script.outcomes.pop_front().unwrap_or(Outcome::Succeeds)
        });
        match outcome {
            Outcome::Succeeds => Ok(()),
            Outcome::Fails => Err(Fault::Failure("as asked".to_owned())),
            Outcome::Breaks => Err(std::io::Error::other("as asked").into()),
            Outcome::Panics => panic!("as asked"),
        }
    }
}

impl Lifecycle for Device {
    fn on_configure(&mut self, _: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        self.run("configure", previous)
    }
    fn on_cleanup(&mut self, _: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        self.run("cleanup", previous)
    }
    fn on_activate(&mut self, _: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        self.run("activate", previous)
    }
    fn on_deactivate(&mut self, _: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        self.run("deactivate", previous)
    }
    fn on_shutdown(&mut self, _: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        self.run("shutdown", previous)
    }
    fn on_error(&mut self, _: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        self.run("error", previous)
    }
}

/// The result of a transition: the state that it leads to, and the kind of error, if it is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Told {
    state: State,
    kind: &'static str,
}

/// A naive machine: it takes the requests in order, and the outcomes as the callbacks do.
struct Machine {
    state: State,
    called: Vec<(&'static str, State)>,
}

impl Machine {
    /// Returns the callback of a transition and the state that it leads to; `None` if it does not begin here.
    fn leads(&self, transition: Transition) -> Option<(&'static str, State)> {
        use State::{Active, Finalized, Inactive, Unconfigured};
        match (transition, self.state) {
            (Transition::Configure, Unconfigured) => Some(("configure", Inactive)),
            (Transition::Cleanup, Inactive) => Some(("cleanup", Unconfigured)),
            (Transition::Activate, Inactive) => Some(("activate", Active)),
            (Transition::Deactivate, Active) => Some(("deactivate", Inactive)),
            (Transition::Shutdown, Unconfigured | Inactive | Active) => Some(("shutdown", Finalized)),
            _ => None,
        }
    }

    fn go(&mut self, transition: Transition, outcomes: &mut VecDeque<Outcome>) -> Told {
        let Some((callback, to)) = self.leads(transition) else {
            return Told { state: self.state, kind: "refused" };
        };
        let from = self.state;
        self.called.push((callback, from));
        let kind = match outcomes.pop_front().unwrap_or(Outcome::Succeeds) {
            Outcome::Succeeds => {
                self.state = to;
                "done"
            }
            Outcome::Fails => {
                // A node that cannot shut down has ended nevertheless.
                self.state = if transition == Transition::Shutdown { State::Finalized } else { from };
                "failed"
            }
            Outcome::Breaks | Outcome::Panics => {
                self.called.push(("error", from));
                let recovers = outcomes.pop_front().unwrap_or(Outcome::Succeeds) == Outcome::Succeeds;
                self.state = if recovers { State::Unconfigured } else { State::Finalized };
                "broke"
            }
        };
        Told { state: self.state, kind }
    }
}

fn told(outcome: Result<State, TransitionError>) -> Told {
    match outcome {
        Ok(state) => Told { state, kind: "done" },
        Err(TransitionError::Refused { state, .. }) => Told { state, kind: "refused" },
        Err(TransitionError::Failed { state, .. }) => Told { state, kind: "failed" },
        Err(TransitionError::Broke { state, .. }) => Told { state, kind: "broke" },
        Err(other) => panic!("{other}"),
    }
}

fn any_outcome(rng: &mut Rng) -> Outcome {
    match rng.below(10) {
        0 => Outcome::Fails,
        1 => Outcome::Breaks,
        2 => Outcome::Panics,
        _ => Outcome::Succeeds,
    }
}

/// The likely next transitions are asked for more often, so that programs get somewhere.
fn any_transition(rng: &mut Rng) -> Transition {
    match rng.below(12) {
        0..=3 => Transition::Configure,
        4..=6 => Transition::Activate,
        7..=8 => Transition::Deactivate,
        9..=10 => Transition::Cleanup,
        _ => Transition::Shutdown,
    }
}

#[test]
fn transitions_lead_where_a_naive_machine_goes() {
    explore(|rng| {
        let stage = Stage::new();
        let script = Shared::<Script>::new();
        let device = Device { script: script.clone(), pace: stage.pace.clone() };
        let executor = stage.any_executor(rng).handle();
        let node = LifecycleNode::new(&stage.ros, &executor, NodeOptions::new("arm"), device).unwrap();
        let mut machine = Machine { state: State::Unconfigured, called: Vec::new() };
        let mut outcomes = VecDeque::new();
        let mut requests = VecDeque::new();
        for _ in 0..30 {
            match rng.below(4) {
                // At most 16 transitions wait.
                0..=1 if requests.len() < 12 => {
                    let transition = any_transition(rng);
                    requests.push_back((transition, Awaited::new(node.request(transition))));
                    // A transition has at most two callbacks.
                    for _ in 0..2 {
                        let outcome = any_outcome(rng);
                        outcomes.push_back(outcome);
                        script.with(|script| script.outcomes.push_back(outcome));
                    }
                }
                2 => stage.settle(),
                _ => stage.spin_some(rng),
            }
            while let Some((transition, request)) = requests.front_mut()
                && let Some(outcome) = request.poll()
            {
                let expected = machine.go(*transition, &mut outcomes);
                assert_eq!(told(outcome), expected, "after {transition:?}");
                requests.pop_front();
            }
        }
        stage.settle();
        for (transition, mut request) in requests {
            let outcome = request.poll().expect("every request has its turn");
            assert_eq!(told(outcome), machine.go(transition, &mut outcomes), "after {transition:?}");
        }
        assert_eq!(node.state(), machine.state);
        assert_eq!(script.with(|script| std::mem::take(&mut script.called)), machine.called);
    });
}
