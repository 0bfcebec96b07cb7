//! Calls of services, one of which calls another one and may come and go.
//!
//! A server runs at most once for each call. A call is answered after that run, with its result. It fails only if the
//! server was away at some moment in between, or may have been displaced in a short queue.

use std::sync::{Arc, Mutex};

use rospin_engine::Payload;
use rospin_node::{CallError, Client, Node, Service, ServiceInterface, ServiceOptions, ServicePart};
use serde::{Deserialize, Serialize};

use super::rng::Rng;
use super::world::{Act, Feature, Stage, give_up, lock};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Number {
    data: i64,
}

enum Double {}

impl ServiceInterface for Double {
    type Request = Number;
    type Response = Number;
    const TYPE: &str = "test_interfaces/srv/Double";
}

impl ServicePart<Double> for Number {}

/// The answer of the outer service if the inner one fails.
const FAILED: i64 = -1;

#[derive(Default)]
struct Site {
    /// By call: how often the server ran.
    runs: Vec<u32>,
    /// The number of times that the server began to come or go, or has come or gone.
    changes: u64,
    is_there: bool,
    is_changing: bool,
    server: Option<Service>,
}

pub(crate) struct Services {
    stage: Stage,
    site: Arc<Mutex<Site>>,
    node: Node,
    clients: [Client<Double>; 2],
    outer: Client<Double>,
    _relay: Service,
    /// The depth of the server's queue.
    depth: usize,
    comes_and_goes: bool,
}

impl Services {
    pub(crate) fn new(stage: &Stage, rng: &mut Rng) -> Self {
        let node = stage.node("server");
        let clients = ["one", "two"].map(|name| stage.node(name).create_client::<Double>("double").unwrap());
        let relay = stage.node("relay");
        let inner = relay.create_client::<Double>("double").unwrap();
        let group = stage.group(rng, "relay");
        let answer = move |_: Payload<()>, request: Number| {
            let call = inner.call(request);
            async move { call.await.unwrap_or(Number { data: FAILED }) }
        };
        let relay = relay.on(&group).create_service::<Double, _>("relay", answer).unwrap();
        let outer = stage.node("three").create_client::<Double>("relay").unwrap();
        let depth = if rng.percent(20) { 1 } else { 100 };
        let (stage, site) = (stage.clone(), Arc::default());
        let services =
            Self { stage, site, node, clients, outer, _relay: relay, depth, comes_and_goes: rng.percent(40) };
        services.serve(rng);
        services
    }

    fn serve(&self, rng: &mut Rng) {
        lock(&self.site).changes += 1;
        let options = ServiceOptions::new("double").keep_last(self.depth);
        let (site, stage) = (Arc::clone(&self.site), self.stage.clone());
        let run = move |request: &Number| {
            stage.note(format!("the server runs for call {}", request.data));
            let runs = {
                let mut site = lock(&site);
                let runs = &mut site.runs[request.data as usize];
                *runs += 1;
                *runs
            };
            stage.check(runs == 1, || format!("the server ran {runs} times for one call"));
            Number { data: 2 * request.data }
        };
        let on = self.node.on(&self.stage.group(rng, "server"));
        let server = match rng.below(3) {
            0 => on.create_service::<Double, _>(options, move |(): &mut (), request: Number| run(&request)),
            1 => {
                let (stage, seed) = (self.stage.clone(), rng.next());
                let answer = move |_: Payload<()>, request: Number| {
                    let answer = run(&request);
                    let sleep = stage.sleep(&mut Rng::new(seed ^ request.data as u64), 3);
                    async move {
                        let _ = sleep.await;
                        answer
                    }
                };
                on.create_service::<Double, _>(options, answer)
            }
            _ => {
                let group = self.stage.executor(rng).create_reentrant_group("server");
                self.node.on(&group).create_service::<Double, _>(options, move |request: Number| run(&request))
            }
        };
        let mut site = lock(&self.site);
        site.server = Some(server.expect("the name is valid"));
        site.is_there = true;
        site.changes += 1;
    }

    /// Has the server go, and another one come.
    fn replace(&self, rng: &mut Rng) {
        let server = {
            let mut site = lock(&self.site);
            if std::mem::replace(&mut site.is_changing, true) {
                return;
            }
            site.is_there = false;
            site.changes += 1;
            site.server.take()
        };
        self.stage.note("the server goes".to_owned());
        drop(server);
        self.serve(rng);
        self.stage.note("a server has come".to_owned());
        lock(&self.site).is_changing = false;
    }

    fn begin(&self) -> (i64, bool, u64) {
        let mut site = lock(&self.site);
        site.runs.push(0);
        (site.runs.len() as i64 - 1, site.is_there, site.changes)
    }

    async fn call(&self, client: &Client<Double>, may_fail: bool) {
        let (id, was_there, changes) = self.begin();
        self.stage.note(format!("call {id}"));
        let outcome = client.call(Number { data: id }).await;
        self.stage.note(format!("call {id} ends: {outcome:?}"));
        let (runs, is_there) = {
            let site = lock(&self.site);
            (site.runs[id as usize], was_there && site.changes == changes)
        };
        let has_failed = match &outcome {
            Ok(number) if may_fail && number.data == FAILED => true,
            Ok(number) => {
                let is_right = number.data == 2 * id && runs == 1;
                self.stage
                    .check(is_right, || format!("call {id} got {}, and the server ran {runs} times", number.data));
                false
            }
            Err(CallError::Unavailable { .. } | CallError::Unanswered { .. }) => true,
            Err(error) => {
                self.stage.check(false, || format!("call {id}: {error}"));
                true
            }
        };
        let may = !is_there || self.depth == 1;
        self.stage.check(!has_failed || may, || format!("call {id} failed although its server was there: {outcome:?}"));
    }
}

impl Feature for Services {
    fn act(&self, mut rng: Rng) -> Act<'_> {
        Box::pin(async move {
            let client = rng.below(2);
            match rng.below(10) {
                0..=4 => self.call(&self.clients[client], false).await,
                5 => self.call(&self.outer, true).await,
                6..=7 => {
                    let (id, ..) = self.begin();
                    self.stage.note(format!("call {id}, which is given up"));
                    drop(give_up(self.clients[client].call(Number { data: id }), rng.below(3)));
                }
                8 if self.comes_and_goes => self.replace(&mut rng),
                _ => {
                    self.clients[client].wait_for_service().await;
                    self.stage.note("the service is there".to_owned());
                }
            }
        })
    }

    fn quiet(&self) {}

    fn end(&self) {
        let site = lock(&self.site);
        let is_lost = self.depth > 1 && !self.comes_and_goes && site.runs.contains(&0);
        self.stage.check(!is_lost, || "a request got lost on its way to the server".to_owned());
    }
}
