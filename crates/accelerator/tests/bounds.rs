//! 10,000 random systems: no simulated request exceeds the bound of `rospin_analysis::device_bounds`.
//!
//! The simulation is the accelerator itself on the model device, so what is bounded is what runs.

#![expect(clippy::print_stdout, reason = "it says how tight the bounds are")]

use std::sync::Arc;
use std::time::Duration;

use rospin_accelerator::model::{ModelOptions, ModelWork, VirtualDevice};
use rospin_accelerator::{
    Accelerator, AcceleratorOptions, ClientOptions, Completion, Instant, Priority, Request, Segment,
};
use rospin_analysis::{DeviceClient, DeviceRules, among_blocks, device_bounds};

const SYSTEMS: u64 = 10_000;
/// The end of requests, in periods of the slowest client.
const PERIODS: u64 = 6;

/// A random number generator with a fixed seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// A client and the times of its requests.
struct Drawn {
    client: DeviceClient,
    /// The real lengths of its segments, if it lies. The analysis must know the longest.
    requests_us: Vec<u64>,
}

fn draw(dice: &mut Dice) -> Vec<Drawn> {
    let count = 2 + dice.below(5);
    let horizon = 20_000 * PERIODS;
    let has_flood = dice.below(3) == 0;
    (0..count)
        .map(|number| {
            let period = 2_000 + dice.below(18_000);
            // Between a quarter of the device and all of it, shared by the clients.
            let total = (period * (25 + dice.below(70)) / 100 / count).max(4);
            let segments = 1 + dice.below(4);
            let lengths: Vec<Duration> =
                (0..segments).map(|_| us((total / segments).max(1) + dice.below(50))).collect();
            let priority = Priority(dice.below(4) as u32);
            if has_flood && number == 0 {
                let budget = Some((us(200 + dice.below(800)), us(5_000 + dice.below(5_000))));
                let requests_us = (0..horizon / 400).map(|n| n * 400 + dice.below(400)).collect();
                let client = DeviceClient { priority, period: us(0), jitter: us(0), segments: lengths, budget };
                return Drawn { client, requests_us };
            }
            let jitter = if dice.below(2) == 0 { 0 } else { dice.below(period) };
            // The critical instant, random phases, or late first requests and punctual later ones.
            let phase = if dice.below(3) == 0 { 0 } else { dice.below(period) };
            let style = dice.below(3);
            let mut requests_us: Vec<u64> = (0..horizon / period)
                .map(|n| {
                    let late = match style {
                        0 if n == 0 => jitter,
                        0 => 0,
                        _ => dice.below(jitter + 1),
                    };
                    phase + n * period + late
                })
                .collect();
            requests_us.sort_unstable();
            let client =
                DeviceClient { priority, period: us(period), jitter: us(jitter), segments: lengths, budget: None };
            Drawn { client, requests_us }
        })
        .collect()
}

/// A way in which the accelerator uses the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// One lane, whose next segment is picked after the end of the one before.
    OneLane,
    /// One lane, whose next segment is picked this long before the end of the one before.
    Ahead(Duration),
    /// A lane for clients of priority 2 and 3 that preempts between the blocks of this length, and another one.
    Urgent(Duration),
}

/// The priority from which on clients use the urgent lane.
const URGENT: Priority = Priority(2);

/// Returns the longest response of each client.
fn simulate(drawn: &[Drawn], way: Way) -> Vec<Duration> {
    let (lanes, block, accelerator) = match way {
        Way::OneLane => (1, Duration::ZERO, AcceleratorOptions::new()),
        Way::Ahead(before_end) => (1, Duration::ZERO, AcceleratorOptions::new().ahead(before_end)),
        Way::Urgent(block) => (2, block, AcceleratorOptions::new().urgent(URGENT)),
    };
    let device = Arc::new(VirtualDevice::new(ModelOptions::new().lanes(lanes)));
    let gpu = Accelerator::new(Arc::clone(&device), accelerator);
    let mut clients = Vec::new();
    let mut events = Vec::new();
    for (number, Drawn { client, requests_us }) in drawn.iter().enumerate() {
        let mut options = ClientOptions::new("client").priority(client.priority).depth(usize::MAX);
        if let Some((capacity, period)) = client.budget {
            options = options.budget(capacity, period);
        }
        clients.push(gpu.create_client(options).expect("a client"));
        events.extend(requests_us.iter().map(|at| (*at, number)));
    }
    events.sort_unstable();
    let mut open: Vec<(usize, Completion<VirtualDevice>)> = Vec::new();
    for (at, number) in events {
        device.run_until(Instant::ZERO + us(at));
        let segments = drawn[number].client.segments.iter();
        let request: Request<_> =
            segments.map(|length| Segment::new(ModelWork::kernel(*length).blocks(block)).bound(*length)).collect();
        open.push((number, clients[number].request(request).expect("room")));
    }
    device.run_until(Instant::ZERO + Duration::from_secs(10));
    let mut longest = vec![Duration::ZERO; drawn.len()];
    for (number, mut completion) in open {
        if let Some(outcome) = completion.try_take() {
            longest[number] = longest[number].max(outcome.expect("no failure").response());
        } else {
            assert!(drawn[number].client.budget.is_some(), "an honest request ends");
        }
    }
    longest
}

/// Returns the bounds of the clients; `None` for those that have none, or that do not use the urgent lane.
fn bounds_of(clients: &[DeviceClient], way: Way) -> Vec<Option<Duration>> {
    match way {
        Way::OneLane => device_bounds(clients, DeviceRules::new()),
        Way::Ahead(_) => device_bounds(clients, DeviceRules::new().ahead(true)),
        Way::Urgent(block) => {
            let is_urgent = |client: &&DeviceClient| client.priority >= URGENT;
            let mut urgent: Vec<DeviceClient> = clients.iter().filter(is_urgent).cloned().collect();
            for segment in urgent.iter_mut().flat_map(|client| &mut client.segments) {
                *segment = among_blocks(*segment, 1, block);
            }
            let mut bounds = device_bounds(&urgent, DeviceRules::new()).into_iter();
            clients.iter().map(|client| if is_urgent(&client) { bounds.next().flatten() } else { None }).collect()
        }
    }
}

/// Draws so many systems, and compares the longest responses with the bounds. Returns the shares of the clients that
/// have a bound, and of bounds that are reached.
fn compare(name: &str, systems: u64, way_of: impl Fn(&mut Dice) -> Way) -> (f64, f64) {
    let mut bounded = 0_u64;
    let mut unbounded = 0_u64;
    let mut ratios = 0.0;
    let mut reached = 0_u64;
    for seed in 0..systems {
        let mut dice = Dice(seed);
        let drawn = draw(&mut dice);
        let way = way_of(&mut dice);
        let clients: Vec<DeviceClient> = drawn.iter().map(|drawn| drawn.client.clone()).collect();
        let bounds = bounds_of(&clients, way);
        for (number, (bound, longest)) in bounds.iter().zip(simulate(&drawn, way)).enumerate() {
            let Some(bound) = bound else {
                unbounded += 1;
                continue;
            };
            assert!(longest <= *bound, "seed {seed}, {way:?}, client {number}: {longest:?} > {bound:?}\n{clients:?}");
            bounded += 1;
            reached += u64::from(longest == *bound);
            ratios += bound.as_secs_f64() / longest.as_secs_f64();
        }
    }
    println!(
        "{name}: {systems} systems, {bounded} clients with a bound and {unbounded} without: bounds are {:.3} times \
         the longest simulated response in the mean, and {reached} of them are reached",
        ratios / bounded as f64
    );
    (bounded as f64 / (bounded + unbounded) as f64, reached as f64 / bounded as f64)
}

#[test]
fn no_simulated_request_exceeds_its_bound() {
    let (bounded, _) = compare("one lane", SYSTEMS, |_| Way::OneLane);
    assert!(bounded > 0.8, "{bounded}");
}

#[test]
fn no_request_to_a_lane_that_picks_ahead_exceeds_its_bound() {
    let (bounded, _) = compare("ahead", SYSTEMS, |dice| Way::Ahead(us(1 + dice.below(3_000))));
    assert!(bounded > 0.8, "{bounded}");
}

#[test]
fn no_request_to_an_urgent_lane_exceeds_its_bound() {
    let (bounded, _) = compare("urgent lane", SYSTEMS, |dice| Way::Urgent(us(20 + dice.below(200))));
    // Half of the clients use the other lane.
    assert!(bounded > 0.3, "{bounded}");
}
