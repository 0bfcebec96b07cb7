//! Systems that are learnt from recordings of the engine, beside the systems that ran.
//!
//! A scenario runs on the engine under a manual clock while it is recorded. What is learnt from the recording must be a
//! valid system that survives its own text, and must have the scenario's callbacks, edges and execution times as far as
//! they occurred.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rospin_core::recording::{Definition, Sink, Words};
use rospin_engine::Recorder;
use rospin_learn::{Comparison, Learned, Options, learn};
use rospin_scenario::{Callback, Scenario};
use rospin_trace::{Model, ProcessName, Recording};

use crate::manual;
use crate::parity::Generator;

/// Number of random scenarios that a run of the test learns. Optimised builds learn more.
const RANDOM_SCENARIOS: u64 = if cfg!(debug_assertions) { 500 } else { 800 };

/// Definitions, and events with their threads.
type Contents = (Vec<Definition>, Vec<(u32, Words)>);

/// Sink whose contents outlive the recording.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Contents>>);

impl Sink for Memory {
    fn define(&mut self, definition: &Definition) {
        self.0.lock().unwrap().0.push(definition.clone());
    }

    fn record(&mut self, thread: u32, events: &[Words]) {
        self.0.lock().unwrap().1.extend(events.iter().map(|words| (thread, *words)));
    }

    fn flush(&mut self) {}
}

/// Returns what is learnt from a run of the scenario without a margin; `None` if no callback ran.
fn learnt(scenario: &Scenario) -> Option<Learned> {
    let (recorder, memory) = (Recorder::new(), Memory::default());
    recorder.set_capacity(1 << 18);
    recorder.start(memory.clone()).unwrap();
    manual::run_recorded(scenario, recorder.clone()).expect("the engine runs it");
    recorder.stop();
    let memory = memory.0.lock().unwrap();
    let process = ProcessName { name: "test".into(), process: 1, host: String::new(), system_offset_ns: 0 };
    let recording = Recording::of(&process, &memory.0, memory.1.iter().map(|(thread, words)| (*thread, words)));
    let model = Model::new(&[recording]);
    assert_eq!(model.dropped, 0);
    let mut options = Options::default();
    (options.margin, options.rare) = (0.0, 0.0);
    learn(&model, &options).ok()
}

fn longest(callback: &Callback) -> Duration {
    callback.awaits.iter().map(|one| one.run.longest()).sum::<Duration>() + callback.execution.longest()
}

#[test]
fn random_systems_are_learnt_as_far_as_they_ran() {
    let (mut callbacks, mut edges) = (0, 0);
    for seed in 0..RANDOM_SCENARIOS {
        let mut scenario = Generator::scenario(seed);
        let written = scenario.to_toml();
        assert_eq!(Scenario::parse(&written).as_ref(), Ok(&scenario), "seed {seed}\n{written}");
        // Under the manual clock, what comes from outside is published by the thread that runs a callback, and looks as
        // if it came from there. So do callbacks of executors that preempt others.
        scenario.releases.clear();
        if scenario.executors.len() > 1 {
            continue;
        }
        let Some(learned) = learnt(&scenario) else { continue };
        let text = learned.to_toml();
        assert_eq!(Scenario::parse(&text).as_ref(), Ok(&learned.scenario), "seed {seed}\n{text}");
        assert_eq!(learned.scenario.check_flow(1e9), Ok(()), "seed {seed}\n{text}");
        let comparison = Comparison::of(&learned.scenario, &scenario);
        let there: BTreeSet<&str> = learned.scenario.callbacks.iter().map(|callback| callback.name.as_str()).collect();
        let by_topic = |name: &str| {
            let callback = scenario.callbacks.iter().find(|callback| callback.name == name);
            callback.is_some_and(|callback| callback.subscribes.is_some())
        };
        for difference in comparison.structure.iter().filter(|one| one.what == "edge") {
            let (from, to) = difference.name.split_once(" > ").unwrap();
            // Messages of other sources than topics leave no events: their edges are guesses.
            let is_known = by_topic(to) && there.contains(from) && there.contains(to);
            let is_wrong = difference.recorded == "yes" && by_topic(to);
            let is_missing = difference.file == "yes" && is_known && !learned.to_toml().contains("closes a circle");
            assert!(!is_wrong && !is_missing, "seed {seed}: {difference:?}\n{text}");
        }
        if scenario.faults.is_empty() {
            for execution in &comparison.executions {
                let callback = scenario.callbacks.iter().find(|callback| callback.name == execution.callback).unwrap();
                let most = longest(callback).mul_f64(1.01) + Duration::from_nanos(1 + callback.awaits.len() as u64);
                assert!(execution.recorded <= most, "seed {seed}: {execution:?}\n{text}");
            }
        }
        callbacks += comparison.common[0];
        edges += comparison.common[1];
    }
    assert!(callbacks > 300 && edges > 20, "{callbacks} {edges}");
}

#[test]
fn the_reference_system_is_learnt_as_it_is() {
    let text = include_str!("../../../crates/scenario/scenarios/reference_system.toml");
    let scenario = Scenario::parse(text).unwrap();
    let learned = learnt(&scenario).unwrap();
    let comparison = Comparison::of(&learned.scenario, &scenario);
    assert_eq!(comparison.structure, []);
    assert_eq!(comparison.settings, []);
    assert_eq!(comparison.common, [36, 29, 8]);
    assert_eq!(comparison.alike(1.0, Duration::ZERO), 36);
}
