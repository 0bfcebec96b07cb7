//! The simulator's own random scenarios, which have everything: whatever is not refused stays below its bounds, and
//! nothing panics or goes on for ever.

use std::time::Duration;

use rospin_analysis::Analysis;
use rospin_core::EntityKind;
use rospin_scenario::{ExecutionTime, Pattern, Release, Scenario};
use rospin_sim::Simulation;

use crate::scenarios;

const SCENARIOS: u64 = 4_000;

/// Takes out what would be refused most often.
fn tame(scenario: &mut Scenario, seed: u64) {
    scenario.faults.clear();
    scenario.duration *= 2;
    for (number, executor) in scenario.executors.iter_mut().enumerate() {
        executor.start = Duration::ZERO;
        executor.stop = None;
        if seed % 8 > 4 {
            executor.threads = 1;
            executor.cores = vec![number as u16 % scenario.cores.unwrap_or(1)];
        } else if seed % 8 > 2 {
            executor.cores.clear();
        }
    }
    if (3..5).contains(&(seed % 8)) {
        scenario.cores = Some(scenario.executors.iter().map(|executor| executor.threads).sum());
    }
    for number in 0..scenario.callbacks.len() {
        let callback = &mut scenario.callbacks[number];
        if let ExecutionTime::Fixed(Duration::ZERO) | ExecutionTime::List(_) = callback.execution {
            callback.execution = ExecutionTime::Fixed(Duration::from_millis(1));
        }
        callback.period = callback.period.map(|period| period * 8);
        let name = callback.name.clone();
        if callback.kind != EntityKind::Timer {
            let ms = Duration::from_millis;
            let pattern =
                Pattern::Periodic { period: ms(150 + seed % 100), offset: ms(seed % 7), jitter: ms(seed % 20) };
            scenario.releases.push(Release::new([name], pattern));
        }
    }
    scenario.releases.retain(|release| release.to.len() == 1);
}

#[test]
#[expect(clippy::print_stderr, reason = "how much was compared is worth knowing")]
fn nothing_exceeds_its_bound() {
    let (mut analysed, mut bounds, mut reasons) = (0, 0, std::collections::BTreeMap::new());
    for seed in scenarios::seeds::chosen(SCENARIOS) {
        let mut scenario = scenarios::random(seed);
        if seed % 8 > 0 {
            tame(&mut scenario, seed);
        }
        let report = match Analysis::new(&scenario).run() {
            Ok(report) => report,
            Err(error) => {
                let reason = format!("{error:?}").split([' ', '(']).next().unwrap_or_default().to_owned();
                *reasons.entry(reason).or_insert(0) += 1;
                continue;
            }
        };
        analysed += 1;
        let outcome = Simulation::new(&scenario).unwrap().run().unwrap();
        let replay = format!("ROSPIN_TEST_SEED={seed} cargo test -p rospin-analysis --test bounds anything");
        for (callback, seen) in report.callbacks.iter().zip(&outcome.callbacks) {
            let Some(bound) = callback.bound else { continue };
            bounds += 1;
            let (name, seen) = (&callback.name, seen.response.max);
            assert!(seen <= bound, "`{name}` took {seen:?}, the bound is {bound:?}: {}\n{replay}", callback.method);
            let dropped = outcome.callbacks.iter().find(|other| other.name == *name).map_or(0, |other| other.dropped);
            assert!(callback.may_lose || dropped == 0, "`{name}` lost {dropped} messages\n{replay}");
        }
        for (chain, seen) in report.chains.iter().zip(&outcome.chains) {
            let (name, seen) = (&chain.name, seen.latency.max);
            assert!(chain.latency.is_none_or(|bound| seen <= bound), "`{name}` took {seen:?}\n{replay}");
        }
    }
    eprintln!("{analysed} analysed, {bounds} bounds; refused: {reasons:?}");
    assert!(scenarios::seeds::chosen(SCENARIOS).count() < 1_000 || analysed > 1_500, "{analysed} analysed");
}
