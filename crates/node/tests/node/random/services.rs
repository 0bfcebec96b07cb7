//! Calls of services: each is answered once, by the service that it was sent to, or ends with the right error.

use std::collections::VecDeque;

use rospin_node::{CallError, Client, Service, ServiceOptions};

use super::{Awaited, Rng, Shared, Stage, explore};
use crate::in_process::{Double, Number};

/// The end of a call, as the model knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Open,
    Answered,
    /// There was no service.
    Unavailable,
    /// The request was displaced, or the service went.
    Unanswered,
}

/// The model: the ends of all calls, and the requests that wait in the service's queue.
#[derive(Default)]
struct Model {
    ends: Vec<End>,
    queue: VecDeque<i64>,
    depth: usize,
    is_there: bool,
}

impl Model {
    fn call(&mut self) -> i64 {
        let id = self.ends.len() as i64;
        self.ends.push(if self.is_there { End::Open } else { End::Unavailable });
        if self.is_there {
            self.queue.push_back(id);
            if self.queue.len() > self.depth {
                self.end_oldest(End::Unanswered);
            }
        }
        id
    }

    fn end_oldest(&mut self, end: End) -> Option<i64> {
        let id = self.queue.pop_front()?;
        self.ends[id as usize] = end;
        Some(id)
    }
}

struct World {
    stage: Stage,
    model: Shared<Model>,
    server: Option<Service>,
    clients: [Client<Double>; 2],
    calls: Vec<(i64, Awaited<Result<Number, CallError>>)>,
}

impl World {
    fn new() -> Self {
        let stage = Stage::new();
        let clients = ["one", "two"].map(|name| {
            let node = stage.ros.create_node(name).unwrap();
            node.create_client::<Double>("double").unwrap()
        });
        Self { stage, model: Shared::new(), server: None, clients, calls: Vec::new() }
    }

    fn serve(&mut self, rng: &mut Rng) {
        if self.server.is_some() {
            return;
        }
        let depth = 1 + rng.below(4);
        self.model.with(|model| (model.depth, model.is_there) = (depth, true));
        let (model, pace) = (self.model.clone(), self.stage.pace.clone());
        let answer = move |request: Number| {
            pace.step();
            let next = model.with(|model| model.end_oldest(End::Answered));
            assert_eq!(next, Some(request.data), "requests come in their order, and once");
            Number { data: 2 * request.data }
        };
        let group = self.stage.any_executor(rng).create_group("server", ());
        let node = self.stage.ros.create_node("server").unwrap();
        let options = ServiceOptions::new("double").keep_last(depth);
        let made = node.on(&group).create_service::<Double, _>(options, move |(): &mut (), request| answer(request));
        self.server = Some(made.unwrap());
    }

    fn stop_serving(&mut self) {
        if self.server.take().is_some() {
            self.model.with(|model| {
                while model.end_oldest(End::Unanswered).is_some() {}
                model.is_there = false;
            });
        }
    }

    fn call(&mut self, rng: &mut Rng) {
        let id = self.model.with(Model::call);
        let call = self.clients[rng.below(2)].call(Number { data: id });
        // Some callers are not interested in the answer.
        if rng.percent(85) {
            self.calls.push((id, Awaited::new(call)));
        }
    }

    /// Polls the calls, and judges those that end. Returns those that go on.
    fn poll(&mut self) {
        let model = self.model.clone();
        self.calls.retain_mut(|(id, call)| {
            let Some(outcome) = call.poll() else {
                return true;
            };
            let end = model.with(|model| model.ends[*id as usize]);
            let is_right = match &outcome {
                Ok(number) => end == End::Answered && number.data == 2 * *id,
                Err(CallError::Unavailable { .. }) => end == End::Unavailable,
                Err(CallError::Unanswered { .. }) => end == End::Unanswered,
                Err(_) => false,
            };
            assert!(is_right, "call {id} is {end:?}, and ends with {outcome:?}");
            false
        });
    }
}

#[test]
fn every_call_is_answered_once_or_fails() {
    explore(|rng| {
        let mut world = World::new();
        for _ in 0..40 {
            match rng.below(10) {
                0 => world.serve(rng),
                1 if rng.percent(50) => world.stop_serving(),
                2..=5 => world.call(rng),
                6 => world.poll(),
                7 => world.stage.advance(rng),
                _ => world.stage.spin_some(rng),
            }
        }
        world.stage.settle();
        world.poll();
        world.stop_serving();
        world.stage.settle();
        world.poll();
        let open: Vec<i64> = world.calls.iter().map(|(id, _)| *id).collect();
        assert!(open.is_empty(), "{open:?} have no answer, and there is nobody any more who could give one");
    });
}
