//! Accelerators that callbacks share: hand-computed examples, random systems, and systems without a bound.

use std::time::Duration;

use rospin_analysis::{Analysis, AnalysisError, Report};
use rospin_core::{EntityKind, GroupKind};
use rospin_scenario::draw::Stream;
use rospin_scenario::{Accelerator, Await, Callback, Chain, ExecutionTime, Executor, Group, Scenario};
use rospin_sim::Simulation;

use crate::common::{bounded, seeds, us};

/// Optimised builds look at more systems.
const SYSTEMS: u64 = if cfg!(debug_assertions) { 400 } else { 10_000 };

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn fixed(time_us: u64) -> ExecutionTime {
    ExecutionTime::Fixed(us(time_us))
}

/// A system with an executor and a core for each callback: 1 ms on the processor, a request of these segments, and 1 ms
/// after it. Numbers are periods in ms and segments in ms; the first callback is the most urgent one.
fn three(policy: &str, lanes: u16, periods: [u64; 3]) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.duration = ms(2_000);
    let mut gpu = Accelerator::new("gpu");
    gpu.policy = policy.to_owned();
    gpu.lanes = lanes;
    scenario.accelerators.push(gpu);
    let segments: [&[u64]; 3] = [&[2, 1], &[4, 6], &[5, 5, 5]];
    for (number, (segments, period)) in segments.iter().zip(periods).enumerate() {
        let name = ["high", "middle", "low"][number];
        scenario.executors.push(Executor::new(name));
        scenario.groups.push(Group::new(name, name));
        let mut callback = Callback::new(name, EntityKind::Timer, name);
        callback.period = Some(ms(period));
        callback.priority = Some(9 - number as u32);
        callback.execution = fixed(1_000);
        let segments = segments.iter().map(|segment| fixed(segment * 1_000)).collect();
        callback.awaits.push(Await::request("gpu", segments, fixed(1_000)));
        scenario.callbacks.push(callback);
    }
    scenario
}

fn bounds(report: &Report) -> Vec<Option<u64>> {
    let whole = |bound: Duration| u64::try_from(bound.as_millis()).expect("short");
    report.callbacks.iter().map(|callback| callback.bound.map(whole)).collect()
}

/// Kim et al. 2018 by hand. The urgent one: 6 of the longest less urgent segment, 3 of its own, 2 on the processor. The
/// middle one begins its last segment after 5 of the low one, 4 of its own, and two urgent requests, 3 each, at 15, and
/// ends at 21. The low one begins its last segment after 10 of its own, two urgent requests and a middle one, at 26,
/// and ends at 31.
#[test]
fn requests_wait_for_one_less_urgent_segment_and_all_more_urgent_requests() {
    let report = Analysis::new(&three("fixed-priority", 1, [20, 50, 100])).run().unwrap();
    assert_eq!(bounds(&report), [Some(11), Some(23), Some(33)]);
    let gpu = &report.accelerators[0];
    assert!((gpu.utilization - (0.15 + 0.2 + 0.15)).abs() < 1e-9);
    let uses: Vec<_> = gpu.uses.iter().map(|one| (one.own, one.bound)).collect();
    assert_eq!(uses, [(ms(3), Some(ms(9))), (ms(10), Some(ms(21))), (ms(15), Some(ms(31)))]);
}

/// One request of each other callback: 10 + 15, 3 + 15 and 3 + 10, whatever the urgency.
#[test]
fn first_come_first_served_waits_for_one_request_of_each_other() {
    let report = Analysis::new(&three("fifo", 1, [40, 50, 100])).run().unwrap();
    assert_eq!(bounds(&report), [Some(30), Some(30), Some(30)]);
}

/// With as many lanes as callbacks, nobody waits for long; with more, nobody waits at all beyond the analysis' shares
/// of others.
#[test]
fn lanes_share_the_work() {
    let one = bounds(&Analysis::new(&three("fixed-priority", 1, [20, 50, 100])).run().unwrap());
    let two = bounds(&Analysis::new(&three("fixed-priority", 2, [20, 50, 100])).run().unwrap());
    let many = bounds(&Analysis::new(&three("fixed-priority", 64, [20, 50, 100])).run().unwrap());
    assert!(many[2] < two[2] && two[2] < one[2], "{one:?} {two:?} {many:?}");
    let seen = Simulation::new(&three("fixed-priority", 3, [20, 50, 100])).unwrap().run().unwrap();
    assert_eq!(
        seen.callbacks.iter().map(|callback| callback.response.max).collect::<Vec<_>>(),
        [ms(5), ms(12), ms(17)]
    );
}

/// The theorem by hand, for the urgent request on two lanes: 6 and 5 of less urgent segments may be there when it
/// comes, and 6 on the other lane when it goes on after its first segment of 2. Two lanes share these 17, so its last
/// segment begins at 10.5 and ends at 11.5, and there are 2 on the processor.
#[test]
fn each_segment_on_several_lanes_may_wait_for_less_urgent_ones() {
    let report = Analysis::new(&three("fixed-priority", 2, [1_000, 1_000, 1_000])).run().unwrap();
    assert_eq!(report.callbacks[0].bound, Some(us(13_500)));
}

/// Two requests of one activation that each might meet the urgent work: together they do so only once, as the response
/// shows.
#[test]
fn the_smaller_of_request_driven_and_job_driven_holds() {
    let mut scenario = three("fixed-priority", 1, [50, 50, 100]);
    scenario.callbacks.remove(1);
    let low = &mut scenario.callbacks[1];
    low.awaits = (0..3).map(|_| Await::request("gpu", vec![fixed(1_000)], fixed(1_000))).collect();
    // Request-driven: 3 times 1 and 3. Job-driven: 3 and 3.
    assert_eq!(bounds(&Analysis::new(&scenario).run().unwrap())[1], Some(4 + 3 + 3));
}

/// The published bound, in its model: a device with one lane, and callbacks with a period, each with a core for itself
/// and requests of one segment. `callbacks` are in order of urgency: period, time on the processor, and segments, in
/// microseconds.
///
/// Kim et al. 2018: a request waits for the longest less urgent segment, and for as many requests of each more urgent
/// callback as its period fits into the wait, and one more that is carried in. The waits of a callback's requests are
/// added up (request-driven); or one such segment for each request, and the more urgent requests of the whole response
/// (job-driven). The smaller one holds. Returns the response of each callback, and `None` from the first one on that
/// exceeds its period.
fn published(callbacks: &[(u64, u64, Vec<u64>)]) -> Vec<Option<u64>> {
    let mut responses = Vec::new();
    for (number, (period, processor, segments)) in callbacks.iter().enumerate() {
        let (own, requests) = (segments.iter().sum::<u64>(), segments.len() as u64);
        let blocking = callbacks[number + 1..].iter().flat_map(|(_, _, segments)| segments).max().copied().unwrap_or(0);
        let urgent = |length: u64| -> u64 {
            let of = |(period, _, segments): &(u64, u64, Vec<u64>)| {
                (length.div_ceil(*period) + 1) * segments.iter().sum::<u64>()
            };
            callbacks[..number].iter().map(of).sum()
        };
        let fixed_point = |of: &dyn Fn(u64) -> u64| {
            let mut at = 0;
            while at <= *period && of(at) > at {
                at = of(at);
            }
            at
        };
        let request_driven = requests * fixed_point(&|wait| blocking + urgent(wait));
        let alone = processor + own;
        let job_driven = fixed_point(&|response| alone + requests * blocking + urgent(response)) - alone;
        let response = alone + request_driven.min(job_driven);
        if response > *period {
            break;
        }
        responses.push(Some(response));
    }
    responses.resize(callbacks.len(), None);
    responses
}

/// Where the published bound holds, ours does, too, and is at most as large.
#[test]
#[expect(clippy::print_stderr, reason = "the figures are asked for")]
fn no_bound_exceeds_the_published_one() {
    let (mut compared, mut smaller) = (0, 0);
    for seed in seeds::chosen(SYSTEMS) {
        let rng = &mut Stream::new(seed, "published");
        let count = 2 + rng.below(4);
        let mut callbacks: Vec<_> = (0..count)
            .map(|_| {
                let period = [2_000, 3_000, 4_000, 6_000, 12_000][rng.below(5) as usize];
                let segments = (0..1 + rng.below(3)).map(|_| 1 + rng.below(period / (4 * count))).collect::<Vec<_>>();
                (period, 10 * (1 + segments.len() as u64), segments)
            })
            .collect();
        callbacks.sort();
        let mut scenario = Scenario::default();
        scenario.duration = us(24_000);
        scenario.accelerators.push(Accelerator::new("gpu"));
        scenario.cores = Some(count as u16);
        for (number, (period, _, segments)) in callbacks.iter().enumerate() {
            let name = format!("c{number}");
            let mut executor = Executor::new(name.clone());
            executor.cores = vec![number as u16];
            scenario.executors.push(executor);
            scenario.groups.push(Group::new(name.clone(), name.clone()));
            let mut callback = Callback::new(name.clone(), EntityKind::Timer, name);
            callback.period = Some(us(*period));
            callback.priority = Some(count as u32 - number as u32);
            callback.execution = fixed(10);
            callback.awaits = segments.iter().map(|it| Await::request("gpu", vec![fixed(*it)], fixed(10))).collect();
            scenario.callbacks.push(callback);
        }
        let published = published(&callbacks);
        let Ok(report) = Analysis::new(&scenario).run() else {
            assert!(published.contains(&None), "{seed}: {callbacks:?} {published:?}");
            continue;
        };
        for (ours, theirs) in report.callbacks.iter().zip(published) {
            let Some(theirs) = theirs.map(us) else { break };
            let ours = ours.bound.unwrap_or(Duration::MAX);
            assert!(ours <= theirs, "{seed}: {ours:?} instead of {theirs:?}: {callbacks:?}");
            compared += 1;
            smaller += u64::from(ours < theirs);
        }
    }
    eprintln!("{compared} bounds, {smaller} of them smaller than the published ones");
    assert!(smaller > compared / 4 && compared > 100, "{smaller} of {compared}");
}

/// The urgent one waits for a block of 1 before each of its two segments, 3 of its own, and 2 on the processor. The
/// middle one ends on the device after 5 of the low one, 10 of its own, and two urgent requests, 3 each, at 21. The low
/// one ends after 15 of its own, a middle one, and two urgent ones, at 31.
#[test]
fn requests_on_an_urgent_lane_wait_for_blocks_and_preempt_the_others() {
    let mut scenario = three("fixed-priority", 1, [20, 50, 100]);
    scenario.accelerators[0].urgent = Some(9);
    scenario.accelerators[0].block = ms(1);
    let report = Analysis::new(&scenario).run().unwrap();
    assert_eq!(bounds(&report), [Some(7), Some(23), Some(33)]);
    let seen = Simulation::new(&scenario).unwrap().run().unwrap();
    let longest: Vec<Duration> = seen.callbacks.iter().map(|callback| callback.response.max).collect();
    // All three come at once: the low one begins first where it is the first to ask, and is preempted after its block.
    assert!(longest[0] <= ms(7) && longest[0] >= ms(5), "{longest:?}");
    assert!(longest[1] <= ms(23) && longest[2] <= ms(33), "{longest:?}");
}

#[test]
fn an_overloaded_accelerator_is_named_with_its_load() {
    let mut scenario = three("fixed-priority", 1, [20, 50, 100]);
    scenario.callbacks[2].period = Some(us(21_740));
    let error = Analysis::new(&scenario).run().unwrap_err();
    assert!(matches!(error, AnalysisError::AcceleratorOverloaded { .. }));
    let expected = "accelerator `gpu` is overloaded, so that waits for it have no bound: 104.0 % of its time is asked for, by high, \
                    middle, low; shorten a segment";
    assert!(error.to_string().starts_with(expected), "{error}");
}

/// Callbacks on one to four cores with requests to one or two devices.
fn random(seed: u64) -> Scenario {
    let rng = &mut Stream::new(seed, "accelerators");
    let mut scenario = Scenario::default();
    scenario.seed = seed;
    scenario.duration = us(60_000);
    let devices = 1 + rng.below(2);
    for number in 0..devices {
        let mut device = Accelerator::new(format!("d{number}"));
        Accelerator::POLICIES[[0, 0, 0, 1, 2][rng.below(5) as usize]].clone_into(&mut device.policy);
        device.lanes = [1, 1, 1, 2, 3][rng.below(5) as usize];
        if device.lanes == 1 && rng.below(3) == 0 {
            device.urgent = Some(1 + rng.below(3) as u32);
            device.block = us(1 + rng.below(100));
        }
        scenario.accelerators.push(device);
    }
    let executors = 1 + rng.below(4);
    for number in 0..executors {
        let mut executor = Executor::new(format!("x{number}"));
        ["fixed-priority", "fixed-priority", "edf", "fifo"][rng.below(4) as usize].clone_into(&mut executor.policy);
        executor.cores = vec![number as u16];
        scenario.executors.push(executor);
    }
    scenario.cores = Some(executors as u16);
    let count = 2 + rng.below(4);
    for number in 0..count {
        let mut group = Group::new(format!("g{number}"), format!("x{}", rng.below(executors)));
        if rng.below(6) == 0 {
            group.kind = GroupKind::Reentrant;
        }
        scenario.groups.push(group);
        let period = [2_000, 3_000, 4_000, 6_000, 12_000][rng.below(5) as usize];
        let mut timer = Callback::new(format!("c{number}"), EntityKind::Timer, format!("g{number}"));
        timer.period = Some(us(period));
        timer.offset = Some(us(if rng.below(3) == 0 { 0 } else { rng.below(period) }));
        timer.priority = Some(rng.below(4) as u32);
        timer.execution = fixed(5 + rng.below(period / 20));
        let mut callback = timer.clone();
        let is_chain = rng.below(3) == 0;
        if is_chain {
            callback.name = format!("s{number}");
            callback.kind = EntityKind::Subscription;
            (callback.period, callback.offset) = (None, None);
            callback.deadline = (rng.below(2) == 0).then_some(us(period));
            timer.publishes.push(callback.name.clone());
            scenario.chains.push(Chain::new(format!("k{number}"), 0, [&timer.name, &callback.name]));
            scenario.callbacks.push(timer);
        }
        let awaits = rng.below(3);
        let share = period * (20 + rng.below(60)) / 100 / count;
        for _ in 0..awaits {
            let segments = 1 + rng.below(3);
            let each = (share / awaits / segments).max(1);
            let draw = |_| match rng.below(8) {
                0 => fixed(0),
                1 => ExecutionTime::Uniform(us(1), us(each)),
                _ => fixed(each),
            };
            let segments = (0..segments).map(draw).collect();
            let device = format!("d{}", rng.below(devices));
            let mut request = Await::request(device, segments, fixed(rng.below(period / 30)));
            request.priority = (rng.below(3) == 0).then(|| rng.below(4) as u32);
            callback.awaits.push(request);
        }
        if awaits > 0 && rng.below(5) == 0 {
            callback.awaits.push(Await::new(fixed(rng.below(300)), fixed(10)));
        }
        callback.releases_group_at_await = awaits > 0 && rng.below(4) == 0;
        callback.max_in_flight = (rng.below(2) == 0).then_some(1);
        scenario.callbacks.push(callback);
    }
    scenario.check().unwrap_or_else(|error| panic!("{seed}: {error}\n{}", scenario.to_toml()));
    scenario
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures are asked for")]
fn no_simulation_exceeds_a_bound() {
    let seeds = seeds::chosen(SYSTEMS);
    let all = seeds.clone().count() as u64 == SYSTEMS;
    let mut waited = 0;
    let compared = bounded::compare(seeds, random, |scenario, _, outcome| {
        let mut free = scenario.clone();
        for device in &mut free.accelerators {
            device.lanes = 64;
            device.urgent = None;
            device.block = Duration::ZERO;
        }
        let free = Simulation::new(&free).unwrap().run().unwrap();
        let pairs = free.callbacks.iter().zip(&outcome.callbacks);
        waited += pairs.filter(|(free, seen)| seen.response.max > free.response.max).count() as u64;
    });
    eprintln!(
        "{SYSTEMS} systems, {} bounds and {} without: mean of longest seen / bound {:.3}, largest {:.3}; {waited} callbacks are \
         slower than with a lane for each",
        compared.bounds,
        compared.unbounded,
        compared.mean(),
        compared.largest
    );
    if all {
        assert!(waited > SYSTEMS / 4 && compared.largest > 0.999 && compared.mean() > 0.4, "{compared:?} {waited}");
    }
}
