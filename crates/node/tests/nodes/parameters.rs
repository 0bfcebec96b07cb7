//! Parameters that several threads set.
//!
//! A reader gets a value that was set, and none that was certainly overwritten before it asked. Parameters that are
//! only set together are only seen together. The last value is what callbacks and the topic of events were told last,
//! and events tell each change once.

use std::sync::{Arc, Mutex};

use rospin_engine::Entity;
use rospin_node::interfaces::rcl_interfaces::ParameterEvent;
use rospin_node::{
    Node, Parameter, ParameterClient, ParameterServer, ParameterSetting, ParameterValue, ParametersCallback,
    SetParameterError, Subscription,
};

use super::rng::Rng;
use super::world::{Act, Feature, Stage, give_up, lock};

/// Multiples of this are not accepted.
const REJECTED: i64 = 7;
/// Parameters that are only set together.
const PAIR: [&str; 2] = ["left", "right"];

/// An attempt to set the parameter, with the moments at which it began and ended.
#[derive(Clone, Debug)]
struct Set {
    value: i64,
    begin: u64,
    /// The end; `None` while it goes on. `was_set` is false if it was refused.
    end: Option<u64>,
    was_set: bool,
}

#[derive(Default)]
struct Site {
    moment: u64,
    next: i64,
    sets: Vec<Set>,
    /// Values of the parameter and of the pair, as events and callbacks told them.
    events: Vec<i64>,
    pair_events: Vec<i64>,
    watched: Vec<i64>,
    /// Values of the pair that were set, and those of which nobody knows.
    pairs: Vec<i64>,
    doubtful: Vec<i64>,
    last_pair: i64,
}

impl Site {
    fn tick(&mut self) -> u64 {
        self.moment += 1;
        self.moment
    }
}

pub(crate) struct Parameters {
    stage: Stage,
    site: Arc<Mutex<Site>>,
    node: Node,
    level: Parameter<i64>,
    client: ParameterClient,
    _pair: [Parameter<i64>; 2],
    _server: ParameterServer,
    _check: ParametersCallback,
    _watch: Entity,
    _events: Subscription,
}

impl Parameters {
    pub(crate) fn new(stage: &Stage, rng: &mut Rng) -> Self {
        let site = Arc::<Mutex<Site>>::default();
        let node = stage.node("tuned");
        let level = node.declare_parameter("level", 0).unwrap();
        let pair = PAIR.map(|name| node.declare_parameter(name, 0).unwrap());
        let server = node.serve_parameters(stage.executor(rng)).unwrap();
        let check = node.add_on_set_parameters_callback(|settings: &[ParameterSetting]| {
            shuttle::thread::yield_now();
            let is_bad = |setting: &ParameterSetting| setting.value.as_i64().is_some_and(|value| value % REJECTED == 0);
            if settings.iter().any(is_bad) { Err("it is not accepted".to_owned()) } else { Ok(()) }
        });
        let told = Arc::clone(&site);
        let watch = node.create_post_set_parameters_callback(
            &stage.group(rng, "watch"),
            move |(): &mut (), settings: Vec<ParameterSetting>| {
                let mut site = lock(&told);
                let levels = settings.iter().filter(|setting| setting.name == "level");
                site.watched.extend(levels.filter_map(|setting| setting.value.as_i64()));
            },
        );
        let tool = stage.node("tool");
        let told = Arc::clone(&site);
        let book = stage.clone();
        let events = tool.create_parameter_event_subscription(
            &stage.group(rng, "events").clone(),
            move |(): &mut (), event: ParameterEvent| {
                let values = |name: &str| {
                    let named = event.changed_parameters.iter().filter(|parameter| parameter.name == name);
                    named.map(|parameter| parameter.value.integer_value).collect::<Vec<i64>>()
                };
                let [left, right] = PAIR.map(values);
                book.check(left == right, || format!("an event has {left:?} and {right:?} of a pair"));
                let mut site = lock(&told);
                site.events.extend(values("level"));
                site.pair_events.extend(left);
            },
        );
        let client = tool.create_parameter_client("/tuned").unwrap();
        Self {
            stage: stage.clone(),
            site,
            node,
            level,
            client,
            _pair: pair,
            _server: server,
            _check: check,
            _watch: watch.unwrap(),
            _events: events.unwrap(),
        }
    }

    async fn set(&self, mut rng: Rng) {
        let (value, place) = {
            let mut site = lock(&self.site);
            site.next += 1;
            let begin = site.tick();
            let value = site.next;
            site.sets.push(Set { value, begin, end: None, was_set: false });
            (value, site.sets.len() - 1)
        };
        self.stage.note(format!("sets {value}"));
        let local = |outcome: Result<(), SetParameterError>| match outcome {
            Err(SetParameterError::Rejected { .. }) => Some(false),
            Ok(()) => Some(true),
            Err(_) => None,
        };
        let was_set = match rng.below(4) {
            0 => local(self.level.set(value)),
            1 => local(self.node.set_parameter("level", value)),
            2 => local(self.node.set_parameters_atomically([ParameterSetting::new("level", value)])),
            _ => Some(self.client.set_one("level", value).await.is_ok()),
        };
        self.stage.note(format!("set {value}: {was_set:?}"));
        let is_right = was_set == Some(value % REJECTED != 0);
        self.stage.check(is_right, || format!("the value {value} was set: {was_set:?}"));
        let mut site = lock(&self.site);
        let now = site.tick();
        site.sets[place].end = Some(now);
        site.sets[place].was_set = was_set == Some(true);
    }

    async fn read(&self, mut rng: Rng) {
        let begin = lock(&self.site).tick();
        let value = match rng.below(3) {
            0 => Some(self.level.get()),
            1 => self.node.parameter("level").and_then(|value| value.as_i64()),
            _ => self.client.get_one::<i64>("level").await.ok(),
        };
        self.stage.note(format!("reads {value:?}"));
        let rule = {
            let site = lock(&self.site);
            let source = site.sets.iter().find(|set| Some(set.value) == value);
            match (value, source) {
                (Some(0), None) => overwritten(&site.sets, 0, begin),
                (Some(value), Some(set)) if value % REJECTED != 0 => {
                    overwritten(&site.sets, set.end.unwrap_or(u64::MAX), begin)
                }
                _ => Some("a value that nobody set".to_owned()),
            }
        };
        self.stage.check(rule.is_none(), || format!("a reader got {value:?}: {}", rule.unwrap_or_default()));
    }

    async fn set_pair(&self, mut rng: Rng) {
        let value = {
            let mut site = lock(&self.site);
            site.last_pair += 1;
            while site.last_pair % REJECTED == 0 {
                site.last_pair += 1;
            }
            site.last_pair
        };
        self.stage.note(format!("sets the pair to {value}"));
        let settings = PAIR.map(|name| ParameterSetting::new(name, value));
        if rng.percent(50) {
            let outcome = self.node.set_parameters_atomically(settings);
            self.stage.check(outcome.is_ok(), || format!("the pair was not set: {outcome:?}"));
            lock(&self.site).pairs.push(value);
        } else if rng.percent(60) {
            let outcome = self.client.set_atomically(settings).await;
            self.stage.check(outcome.is_ok(), || format!("the pair was not set: {outcome:?}"));
            lock(&self.site).pairs.push(value);
        } else {
            lock(&self.site).doubtful.push(value);
            drop(give_up(self.client.set_atomically(settings), rng.below(3)));
        }
    }

    async fn read_pair(&self) {
        let values = self.client.get(&PAIR).await;
        let is_right = values.as_ref().is_ok_and(|values| values.len() == 2 && values[0] == values[1]);
        self.stage.check(is_right, || format!("parameters that are set together are {values:?}"));
    }

    fn last(&self) -> i64 {
        self.node.parameter("level").and_then(|value: ParameterValue| value.as_i64()).unwrap_or(-1)
    }
}

/// Returns an explanation if a value that was set by `end` had certainly been overwritten when a reader began.
fn overwritten(sets: &[Set], end: u64, begin: u64) -> Option<String> {
    let by = sets.iter().find(|set| set.was_set && set.begin > end && set.end.is_some_and(|end| end < begin))?;
    Some(format!("{} had been set since", by.value))
}

impl Feature for Parameters {
    fn act(&self, mut rng: Rng) -> Act<'_> {
        Box::pin(async move {
            match rng.below(10) {
                0..=3 => self.set(rng).await,
                4..=6 => self.read(rng).await,
                7..=8 => self.set_pair(rng).await,
                _ => self.read_pair().await,
            }
        })
    }

    fn quiet(&self) {}

    fn end(&self) {
        let last = self.last();
        let site = lock(&self.site);
        let mut events = site.events.clone();
        let last_event = events.last().copied().unwrap_or(0);
        let last_watched = site.watched.last().copied().unwrap_or(0);
        events.sort_unstable();
        let set = site.sets.iter().filter(|set| set.was_set);
        let mut set: Vec<i64> = set.map(|set| set.value).collect();
        set.sort_unstable();
        let mut pairs = [site.pairs.clone(), site.doubtful.clone()].concat();
        pairs.sort_unstable();
        let mut pair_events = site.pair_events.clone();
        pair_events.sort_unstable();
        drop(site);
        self.stage.check(events == set, || format!("events tell of {events:?}, and {set:?} were set"));
        self.stage
            .check(pair_events == pairs, || format!("events tell of pairs {pair_events:?}, and {pairs:?} were set"));
        self.stage.check(last_event == last, || format!("the value is {last}, and the last event has {last_event}"));
        self.stage
            .check(last_watched == last, || format!("the value is {last}, and a callback got {last_watched} last"));
    }
}
