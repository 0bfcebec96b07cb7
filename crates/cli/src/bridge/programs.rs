//! Topics in JSON of what the programs of rospin on this machine do: executors, callbacks with their bounds, misses.
//!
//! Programs are listened to only while somebody watches one of these topics, since that costs them a little. Each topic
//! has one message for each program and interval.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foxglove::{RawChannel, Schema};
use rospin_trace::live::{CallbackView, ExecutorView, QueueView};
use serde_json::{Value, json};

use super::shared::Shared;
use crate::top::programs::{Programs, Shown, Wanted};

/// A topic about programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum About {
    Programs,
    Executors,
    Callbacks,
    Misses,
    Queues,
    Losses,
}

const ALL: [About; 6] =
    [About::Programs, About::Executors, About::Callbacks, About::Misses, About::Queues, About::Losses];

/// Fields with their types in JSON schemas.
type Fields = &'static [(&'static str, &'static str)];

const PROGRAM: Fields = &[
    ("cpu", "number"),
    ("events_per_second", "number"),
    ("callbacks", "integer"),
    ("missed_total", "integer"),
    ("lost_total", "integer"),
    ("events_not_seen_total", "integer"),
    ("trouble", "string"),
];

const EXECUTOR: Fields = &[("name", "string"), ("policy", "string"), ("threads", "integer"), ("utilisation", "number")];

const CALLBACK: Fields = &[
    ("name", "string"),
    ("executor", "string"),
    ("group", "string"),
    ("kind", "string"),
    ("priority", "integer"),
    ("rate_hz", "number"),
    ("utilisation", "number"),
    ("runs_total", "integer"),
    ("execution_p50_ns", "integer"),
    ("execution_p99_ns", "integer"),
    ("execution_max_ns", "integer"),
    ("response_p99_ns", "integer"),
    ("response_max_ns", "integer"),
    ("response_max_total_ns", "integer"),
    ("waiting_ns", "integer"),
    ("period_ns", "integer"),
    ("deadline_ns", "integer"),
    ("bound_ns", "integer"),
    ("is_beyond_bound", "boolean"),
    ("missed_total", "integer"),
    ("lost_total", "integer"),
    ("queue_fill", "integer"),
    ("queue_fill_max", "integer"),
    ("queue_depth", "integer"),
];

const MISS: Fields = &[("callback", "string"), ("missed", "integer"), ("missed_total", "integer"), ("text", "string")];

const QUEUE: Fields =
    &[("topic", "string"), ("callback", "string"), ("fill", "integer"), ("fill_max", "integer"), ("depth", "integer")];

const LOSS: Fields = &[("of", "string"), ("cause", "string"), ("count", "integer"), ("total", "integer")];

impl About {
    /// Returns the name of the list in the topic's messages, and the fields of its elements. The topic of programs has
    /// its fields without a list.
    const fn content(self) -> (&'static str, Fields) {
        match self {
            Self::Programs => ("programs", PROGRAM),
            Self::Executors => ("executors", EXECUTOR),
            Self::Callbacks => ("callbacks", CALLBACK),
            Self::Misses => ("misses", MISS),
            Self::Queues => ("queues", QUEUE),
            Self::Losses => ("losses", LOSS),
        }
    }

    fn schema(self) -> Schema {
        let (name, fields) = self.content();
        let mut properties = json!({ "pid": { "type": "integer" }, "program": { "type": "string" } });
        let of_fields: BTreeMap<&str, Value> =
            fields.iter().map(|(field, of)| (*field, json!({ "type": of }))).collect();
        if self == Self::Programs {
            for (field, schema) in of_fields {
                properties[field] = schema;
            }
        } else {
            let items = json!({ "type": "object", "properties": of_fields });
            properties[name] = json!({ "type": "array", "items": items });
        }
        let schema = json!({ "type": "object", "title": format!("rospin.{name}"), "properties": properties });
        Schema::new(format!("rospin.{name}"), "jsonschema", schema.to_string().into_bytes())
    }

    /// Returns the message about a program; `None` if there is nothing to tell.
    fn message(self, shown: &Shown, bounds: &BTreeMap<String, Duration>) -> Option<Value> {
        let view = &shown.view;
        let list: Vec<Value> = match self {
            Self::Programs => return Some(program(shown)),
            Self::Executors => view.executors.iter().map(executor).collect(),
            Self::Callbacks => view.callbacks.iter().map(|of| callback(of, bounds)).collect(),
            Self::Misses => misses(shown),
            Self::Queues => view.queues.iter().map(queue).collect(),
            Self::Losses => view.losses.iter().filter_map(|of| serde_json::to_value(of).ok()).collect(),
        };
        if self == Self::Misses && list.is_empty() {
            return None;
        }
        let mut message = json!({ "pid": shown.pid, "program": shown.name });
        message[self.content().0] = Value::Array(list);
        Some(message)
    }
}

fn program(shown: &Shown) -> Value {
    let view = &shown.view;
    let missed: u64 = view.callbacks.iter().map(|callback| callback.missed_total).sum();
    let lost: u64 = view.losses.iter().map(|loss| loss.total).sum();
    json!({
        "pid": shown.pid,
        "program": shown.name,
        "cpu": shown.cpu(),
        "events_per_second": view.events as f64 * 1e9 / view.interval_ns.max(1) as f64,
        "callbacks": view.callbacks.len(),
        "missed_total": missed,
        "lost_total": lost,
        "events_not_seen_total": view.dropped_total,
        "trouble": shown.trouble.clone().unwrap_or_default(),
    })
}

fn executor(of: &ExecutorView) -> Value {
    json!({ "name": of.name, "policy": of.policy, "threads": of.threads, "utilisation": of.utilisation })
}

fn callback(of: &CallbackView, bounds: &BTreeMap<String, Duration>) -> Value {
    let bound = bounds.get(&of.name).map(|bound| u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX));
    let beyond = bound.zip(of.response_max_total_ns).map(|(bound, longest)| longest > bound);
    let mut value = json!({
        "name": of.name,
        "executor": of.executor,
        "group": of.group,
        "kind": of.kind,
        "priority": of.priority,
        "rate_hz": of.rate_hz,
        "utilisation": of.utilisation,
        "runs_total": of.runs_total,
        "missed_total": of.missed_total,
        "lost_total": of.lost_total,
    });
    // A figure that is not known yet has no key in the message.
    let known = [
        ("execution_p50_ns", of.execution.map(|summary| summary.p50_ns)),
        ("execution_p99_ns", of.execution.map(|summary| summary.p99_ns)),
        ("execution_max_ns", of.execution.map(|summary| summary.max_ns)),
        ("response_p99_ns", of.response.map(|summary| summary.p99_ns)),
        ("response_max_ns", of.response.map(|summary| summary.max_ns)),
        ("response_max_total_ns", of.response_max_total_ns),
        ("waiting_ns", of.waiting_ns),
        ("period_ns", of.period_ns),
        ("deadline_ns", of.deadline_ns),
        ("bound_ns", bound),
        ("queue_fill", of.queue_fill.map(|fill| fill.0)),
        ("queue_fill_max", of.queue_fill.map(|fill| fill.1)),
        ("queue_depth", of.queue_depth),
    ];
    for (name, number) in known {
        if let Some(number) = number {
            value[name] = json!(number);
        }
    }
    if let Some(beyond) = beyond {
        value["is_beyond_bound"] = json!(beyond);
    }
    value
}

fn queue(of: &QueueView) -> Value {
    let taken_by = of.callback.as_deref().unwrap_or_default();
    json!({
        "topic": of.topic, "callback": taken_by, "fill": of.fill, "fill_max": of.fill_max, "depth": of.depth
    })
}

/// Returns the callbacks that missed deadlines in the interval, and those that should have run and have not.
fn misses(shown: &Shown) -> Vec<Value> {
    let mut list = Vec::new();
    for of in shown.view.callbacks.iter().filter(|of| of.missed > 0) {
        let text = format!("{} missed {} deadlines", of.name, of.missed);
        list.push(json!({
            "callback": of.name, "missed": of.missed, "missed_total": of.missed_total, "text": text
        }));
    }
    for of in &shown.view.overdue {
        list.push(json!({ "callback": of.callback, "missed": 0, "text": of.text }));
    }
    list
}

/// The topics about programs.
pub(super) struct Live {
    shared: Arc<Shared>,
    channels: Vec<(About, Arc<RawChannel>)>,
    bounds: BTreeMap<String, Duration>,
    /// The programs, while somebody watches.
    programs: Option<Programs>,
}

impl Live {
    pub(super) fn new(shared: &Arc<Shared>, bounds: BTreeMap<String, Duration>) -> Self {
        let mut channels = Vec::new();
        for about in ALL {
            let topic = format!("/rospin/{}", about.content().0);
            let builder = shared.context.channel_builder(&topic).message_encoding("json").schema(about.schema());
            if shared.choice.takes_topic(&topic)
                && let Ok(channel) = builder.build_raw()
            {
                channels.push((about, channel));
            }
        }
        Self { shared: Arc::clone(shared), channels, bounds, programs: None }
    }

    /// Ends an interval: sends what the programs did in it to those that watch.
    pub(super) fn tick(&mut self) {
        let mut wanted = Vec::new();
        for (about, channel) in &self.channels {
            let watchers = self.shared.watchers_of(channel.id());
            if !watchers.is_empty() {
                wanted.push((*about, channel, watchers));
            }
        }
        if wanted.is_empty() {
            self.programs = None;
            return;
        }
        let Some(programs) = &mut self.programs else {
            let mut programs = Programs::new(Wanted::default());
            programs.look();
            // Rates are counted from now on: the next tick tells the first ones.
            programs.show();
            self.programs = Some(programs);
            return;
        };
        let shown = programs.show();
        programs.look();
        let time = self.shared.now_ns();
        for (about, channel, watchers) in wanted {
            for program in &shown {
                let Some(message) = about.message(program, &self.bounds) else { continue };
                let text = message.to_string();
                for watcher in &watchers {
                    watcher.send(channel, text.as_bytes(), time);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rospin_trace::live::{OverdueView, View};

    use super::*;

    fn shown() -> Shown {
        let callback = CallbackView {
            name: "lidar".to_owned(),
            response_max_total_ns: Some(7_000),
            missed: 2,
            missed_total: 5,
            ..CallbackView::default()
        };
        let overdue = OverdueView {
            place: callback.place,
            callback: "lidar".to_owned(),
            for_ns: 1,
            is_at_least: false,
            limit_ns: None,
            culprit: None,
            text: "lidar has not run".to_owned(),
        };
        let view = View { callbacks: vec![callback], overdue: vec![overdue], ..View::default() };
        Shown { pid: 7, name: "robot".to_owned(), view, ..Shown::default() }
    }

    /// Checks that a value has fields of the schema only, with the types that it names.
    fn check(value: &Value, schema: &Value) {
        match schema["type"].as_str().unwrap() {
            "object" => {
                for (name, field) in value.as_object().unwrap() {
                    assert!(schema["properties"].get(name).is_some(), "{name}");
                    check(field, &schema["properties"][name]);
                }
            }
            "array" => value.as_array().unwrap().iter().for_each(|element| check(element, &schema["items"])),
            "integer" => assert!(value.is_u64(), "{value}"),
            "number" => assert!(value.is_number(), "{value}"),
            "boolean" => assert!(value.is_boolean(), "{value}"),
            _ => assert!(value.is_string(), "{value}"),
        }
    }

    #[test]
    fn messages_are_as_their_schemas_say() {
        let bounds = BTreeMap::from([("lidar".to_owned(), Duration::from_nanos(6_000))]);
        for about in ALL {
            let schema: Value = serde_json::from_slice(&about.schema().data).unwrap();
            let message = about.message(&shown(), &bounds).unwrap();
            assert_eq!(message["pid"], 7);
            check(&message, &schema);
        }
    }

    #[test]
    fn callbacks_stand_beside_their_bounds_and_misses_are_told() {
        let bounds = BTreeMap::from([("lidar".to_owned(), Duration::from_nanos(6_000))]);
        let callbacks = About::Callbacks.message(&shown(), &bounds).unwrap();
        assert_eq!(callbacks["callbacks"][0]["bound_ns"], 6_000);
        assert_eq!(callbacks["callbacks"][0]["is_beyond_bound"], true);
        let misses = About::Misses.message(&shown(), &bounds).unwrap();
        assert_eq!(misses["misses"][0]["missed_total"], 5);
        assert_eq!(misses["misses"][1]["text"], "lidar has not run");
        assert_eq!(About::Misses.message(&Shown::default(), &bounds), None);
    }
}
