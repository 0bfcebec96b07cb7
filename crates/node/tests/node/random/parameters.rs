//! Parameters that several ways set, against a plain map; and callbacks, which see every change in its order.

use std::collections::BTreeMap;

use rospin_node::{
    NodeOptions, Parameter, ParameterClient, ParameterOptions, ParameterSetting, ParameterValue, SetParameterError,
};

use super::{Awaited, Rng, Shared, Stage, explore, is_among};

/// The value that a callback does not accept.
const REJECTED: i64 = 13;

/// Values by their names.
type Values = Vec<(String, i64)>;

/// The parameters, and the changes that were accepted.
#[derive(Default)]
struct Naive {
    values: BTreeMap<String, i64>,
    changes: BTreeMap<String, Vec<i64>>,
}

impl Naive {
    fn accepts(&self, settings: &[(String, i64)]) -> bool {
        settings.iter().all(|(name, value)| {
            // `level` has a range, and nobody declares `nothing`.
            let is_in_range = name != "level" || (0..=20).contains(value);
            self.values.contains_key(name) && is_in_range && *value != REJECTED
        })
    }

    /// Sets all of them or none. Returns true if they are set.
    fn set(&mut self, settings: &[(String, i64)]) -> bool {
        let is_set = self.accepts(settings);
        if is_set {
            self.values.extend(settings.iter().cloned());
            for (name, value) in settings {
                self.changes.entry(name.clone()).or_default().push(*value);
            }
        }
        is_set
    }
}

const NAMES: [&str; 3] = ["level", "rate", "nothing"];

fn any_settings(rng: &mut Rng, most: usize) -> Values {
    let mut settings = BTreeMap::new();
    for _ in 0..=rng.below(most) {
        settings.insert(NAMES[rng.below(3).min(rng.below(4))].to_owned(), rng.below(26) as i64 - 2);
    }
    settings.into_iter().collect()
}

fn plain(settings: &[ParameterSetting]) -> Values {
    let value = |setting: &ParameterSetting| {
        let value = setting.value.as_i64().unwrap_or_else(|| panic!("no integer: {setting:?}"));
        (setting.name.clone(), value)
    };
    settings.iter().map(value).collect()
}

struct World {
    stage: Stage,
    node: rospin_node::Node,
    client: ParameterClient,
    handles: [Parameter<i64>; 2],
    naive: Naive,
    /// Requests of the client that are on their way.
    asked: Vec<(Values, Awaited<bool>)>,
}

impl World {
    fn judge(&self) {
        for (name, value) in &self.naive.values {
            assert_eq!(self.node.parameter(name), Some(ParameterValue::from(*value)), "{name}");
        }
        for handle in &self.handles {
            assert_eq!(handle.get(), self.naive.values[handle.name()]);
        }
    }

    /// Sets parameters here, in one of three ways.
    fn set(&mut self, rng: &mut Rng) {
        let settings = any_settings(rng, 2);
        let (name, value) = settings[0].clone();
        let handle = self.handles.iter().find(|handle| handle.name() == name);
        let (settings, outcome): (_, Result<(), SetParameterError>) = match (rng.below(3), handle) {
            (0, Some(handle)) => (vec![(name, value)], handle.set(value)),
            (1, _) => (vec![(name.clone(), value)], self.node.set_parameter(&name, value)),
            _ => {
                let all = settings.iter().map(|(name, value)| ParameterSetting::new(name.clone(), *value));
                (settings.clone(), self.node.set_parameters_atomically(all))
            }
        };
        let expected = self.naive.set(&settings);
        assert_eq!(outcome.is_ok(), expected, "{settings:?}: {outcome:?}");
    }

    /// Has the client set parameters. They are set when the service's callback runs.
    fn ask(&mut self, rng: &mut Rng) {
        let settings = any_settings(rng, 2);
        let all: Vec<_> = settings.iter().map(|(name, value)| ParameterSetting::new(name.clone(), *value)).collect();
        let call = self.client.set_atomically(all);
        self.asked.push((settings, Awaited::new(async { call.await.is_ok() })));
    }
}

#[test]
fn parameters_agree_with_their_last_accepted_values_and_callbacks_see_each_change() {
    explore(|rng| {
        let stage = Stage::new();
        let options = NodeOptions::new("node").start_parameter_services(false);
        let node = stage.ros.create_node(options).unwrap();
        let level = node.declare_parameter("level", ParameterOptions::from(1).range(0..=20)).unwrap();
        let rate = node.declare_parameter("rate", 2).unwrap();
        // It declares a parameter of its own, of which the watcher is not to be told.
        let _server = node.serve_parameters(&stage.any_executor(rng).handle()).unwrap();
        let _check = node.add_on_set_parameters_callback(|settings| {
            let is_bad = settings.iter().any(|setting| setting.value == ParameterValue::from(REJECTED));
            if is_bad { Err("it is not accepted".to_owned()) } else { Ok(()) }
        });
        let seen = Shared::<BTreeMap<String, Vec<i64>>>::new();
        let (log, pace) = (seen.clone(), stage.pace.clone());
        let group = stage.any_executor(rng).create_group("watcher", ());
        let _watch = node
            .create_post_set_parameters_callback(&group, move |(), settings: Vec<ParameterSetting>| {
                pace.step();
                log.with(|seen| {
                    for (name, value) in plain(&settings) {
                        seen.entry(name).or_default().push(value);
                    }
                });
            })
            .unwrap();
        let tool = stage.ros.create_node("tool").unwrap();
        let client = tool.create_parameter_client("/node").unwrap();
        let mut naive = Naive::default();
        naive.values.extend([("level".to_owned(), 1), ("rate".to_owned(), 2)]);
        let mut world = World { stage, node, client, handles: [level, rate], naive, asked: Vec::new() };
        for _ in 0..40 {
            match rng.below(5) {
                0..=1 => world.set(rng),
                // Between the request and the answer the program does not know what is set, so it waits for it.
                2 => world.ask(rng),
                _ => world.stage.spin_some(rng),
            }
            if !world.asked.is_empty() {
                for _ in 0..4 {
                    world.stage.settle();
                }
                for (settings, mut answer) in std::mem::take(&mut world.asked) {
                    let expected = world.naive.set(&settings);
                    assert_eq!(answer.poll(), Some(expected), "{settings:?}");
                }
            }
            world.judge();
        }
        world.stage.settle();
        for (name, changes) in &world.naive.changes {
            // Several changes before the callback runs are one, with the last value.
            let seen = seen.with(|seen| seen.remove(name).unwrap_or_default());
            assert!(is_among(&seen, changes), "{name}: {seen:?} of {changes:?}");
            assert_eq!(seen.last(), changes.last(), "{name}");
        }
        assert!(seen.with(|seen| seen.is_empty()), "only what was accepted is told");
    });
}
