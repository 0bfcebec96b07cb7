//! Transitions of a managed node, which several threads ask for.
//!
//! Its callbacks never run at the same time, and each begins in the state to which those before it led. Each request is
//! answered once, with the state that its callbacks led to, and each callback was asked for by one request.

use std::sync::{Arc, Mutex};

use rospin_node::lifecycle::{Fault, State, Transition, TransitionError};
use rospin_node::{Lifecycle, LifecycleHandle, LifecycleNode};

use super::rng::Rng;
use super::world::{Act, Feature, Stage, give_up, lock, node_options};

/// A naive machine that follows the callbacks.
struct Site {
    state: State,
    is_running: bool,
    /// True after a callback that broke, until `on_error` has run.
    is_broken: bool,
    /// Results of the transitions in their order: the state, and whether all went well.
    ends: Vec<(State, bool)>,
    /// The answers that requests got, and the number of requests whose answer nobody waited for.
    answers: Vec<(State, bool)>,
    given_up: usize,
    rng: Rng,
}

struct Device {
    stage: Stage,
    site: Arc<Mutex<Site>>,
}

impl Device {
    /// Runs a callback that begins in one of the states `from`, and leads to `to`.
    fn run(&self, name: &str, previous: State, from: &[State], to: State) -> Result<(), Fault> {
        let outcome = {
            let mut site = lock(&self.site);
            let is_alone = !std::mem::replace(&mut site.is_running, true);
            self.stage.check(is_alone, || format!("{name} runs beside another callback of the node"));
            let state = site.state;
            let begins = from.contains(&state) && previous == state && !site.is_broken;
            self.stage.check(begins, || format!("{name} runs in {state}, and is told of {previous}"));
            site.rng.below(10)
        };
        self.stage.note(format!("{name} in {previous}: {outcome}"));
        shuttle::thread::yield_now();
        let mut site = lock(&self.site);
        site.is_running = false;
        match outcome {
            0 => {
                // A node that cannot shut down has ended nevertheless.
                site.state = if to == State::Finalized { to } else { previous };
                let state = site.state;
                site.ends.push((state, false));
                Err(Fault::Failure("as asked".to_owned()))
            }
            1 => {
                site.is_broken = true;
                Err(std::io::Error::other("as asked").into())
            }
            _ => {
                site.state = to;
                site.ends.push((to, true));
                Ok(())
            }
        }
    }

    fn recover(&self, previous: State) -> Result<(), Fault> {
        let mut site = lock(&self.site);
        let begins = std::mem::take(&mut site.is_broken) && previous == site.state;
        self.stage.check(begins, || format!("on_error runs after nothing broke in {previous}"));
        let recovers = site.rng.percent(70);
        self.stage.note(format!("on_error: {recovers}"));
        site.state = if recovers { State::Unconfigured } else { State::Finalized };
        let state = site.state;
        site.ends.push((state, false));
        if recovers { Ok(()) } else { Err(Fault::Failure("as asked".to_owned())) }
    }
}

impl Lifecycle for Device {
    fn on_configure(&mut self, _: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        self.run("on_configure", previous, &[State::Unconfigured], State::Inactive)
    }

    fn on_cleanup(&mut self, _: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        self.run("on_cleanup", previous, &[State::Inactive], State::Unconfigured)
    }

    fn on_activate(&mut self, _: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        self.run("on_activate", previous, &[State::Inactive], State::Active)
    }

    fn on_deactivate(&mut self, _: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        self.run("on_deactivate", previous, &[State::Active], State::Inactive)
    }

    fn on_shutdown(&mut self, _: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        let from = [State::Unconfigured, State::Inactive, State::Active];
        self.run("on_shutdown", previous, &from, State::Finalized)
    }

    fn on_error(&mut self, _: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
        self.recover(previous)
    }
}

pub(crate) struct Transitions {
    stage: Stage,
    site: Arc<Mutex<Site>>,
    node: LifecycleNode<Device>,
}

impl Transitions {
    pub(crate) fn new(stage: &Stage, rng: &mut Rng) -> Self {
        let site = Arc::new(Mutex::new(Site {
            state: State::Unconfigured,
            is_running: false,
            is_broken: false,
            ends: Vec::new(),
            answers: Vec::new(),
            given_up: 0,
            rng: Rng::new(rng.next()),
        }));
        let device = Device { stage: stage.clone(), site: Arc::clone(&site) };
        let node = LifecycleNode::new(&stage.ros, stage.executor(rng), node_options("arm"), device).unwrap();
        Self { stage: stage.clone(), site, node }
    }

    async fn ask(&self, mut rng: Rng) {
        let transition = match rng.below(16) {
            0..=4 => Transition::Configure,
            5..=8 => Transition::Activate,
            9..=11 => Transition::Deactivate,
            12..=14 => Transition::Cleanup,
            _ => Transition::Shutdown,
        };
        self.stage.note(format!("asks to {}", transition.label()));
        let request = self.node.request(transition);
        if rng.percent(20) {
            lock(&self.site).given_up += 1;
            drop(request);
            return;
        }
        if rng.percent(20) {
            // Whoever gives up may have had the answer.
            match give_up(request, rng.below(3)) {
                Some(outcome) => self.answered(transition, outcome),
                None => lock(&self.site).given_up += 1,
            }
            return;
        }
        self.answered(transition, request.await);
    }

    fn answered(&self, transition: Transition, outcome: Result<State, TransitionError>) {
        self.stage.note(format!("{}: {outcome:?}", transition.label()));
        let answer = match outcome {
            Ok(state) => (state, true),
            Err(TransitionError::Failed { state, .. } | TransitionError::Broke { state, .. }) => (state, false),
            Err(TransitionError::Refused { .. }) => return,
            Err(error) => {
                self.stage.check(false, || format!("{}: {error}", transition.label()));
                return;
            }
        };
        lock(&self.site).answers.push(answer);
    }
}

impl Feature for Transitions {
    fn act(&self, mut rng: Rng) -> Act<'_> {
        Box::pin(async move {
            if rng.percent(80) {
                self.ask(rng).await;
            } else {
                let state = self.node.state();
                self.stage.check(state != State::Unknown, || "the node's state is unknown".to_owned());
            }
        })
    }

    fn quiet(&self) {
        let expected = lock(&self.site).state;
        let state = self.node.state();
        self.stage.check(state == expected, || format!("the node is {state}, and its callbacks led to {expected}"));
    }

    fn end(&self) {
        let (mut answers, ends, given_up) = {
            let site = lock(&self.site);
            (site.answers.clone(), site.ends.clone(), site.given_up)
        };
        let mut unanswered = 0;
        for end in &ends {
            match answers.iter().position(|answer| answer == end) {
                Some(place) => drop(answers.swap_remove(place)),
                None => unanswered += 1,
            }
        }
        self.stage
            .check(answers.is_empty(), || format!("requests were answered by {answers:?}, and there were {ends:?}"));
        self.stage.check(unanswered <= given_up, || format!("{unanswered} transitions were not answered: {ends:?}"));
    }
}
