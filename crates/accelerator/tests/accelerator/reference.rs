//! Random histories, compared with a naive accelerator that searches plain lists.

use proptest::prelude::*;
use rospin_accelerator::Discipline;

use super::*;

const CLIENTS: usize = 4;

#[derive(Clone, Debug)]
struct Step {
    /// The time since the step before, in milliseconds.
    after: u64,
    client: usize,
    segments: Vec<u64>,
    /// The time after the request at which its future is dropped.
    cancel_after: Option<u64>,
}

fn step() -> impl Strategy<Value = Step> {
    let segments = prop::collection::vec(1..6u64, 1..4);
    (0..8u64, 0..CLIENTS, segments, prop::option::weighted(0.2, 0..15u64))
        .prop_map(|(after, client, segments, cancel_after)| Step { after, client, segments, cancel_after })
}

/// A request of the naive accelerator.
#[derive(Clone)]
struct Naive {
    client: usize,
    requested: u64,
    left: std::collections::VecDeque<u64>,
    runs: bool,
    cancelled: bool,
    end: Option<u64>,
}

/// A segment on a lane: its end, the number of its start, its request.
type OnLane = Option<(u64, u64, usize)>;

struct Reference {
    discipline: Discipline,
    priorities: [u32; CLIENTS],
    deadlines: [u64; CLIENTS],
    requests: Vec<Naive>,
    lanes: Vec<OnLane>,
    starts: u64,
}

impl Reference {
    fn start(&mut self, now: u64) {
        for lane in 0..self.lanes.len() {
            if self.lanes[lane].is_some() {
                continue;
            }
            // The first request of each client that is not over, unless it runs.
            let first = |client| {
                let is_open = |request: &Naive| {
                    request.client == client && request.end.is_none() && (request.runs || !request.cancelled)
                };
                let first = self.requests.iter().position(is_open)?;
                if self.requests[first].runs { None } else { Some(first) }
            };
            let ready = (0..CLIENTS).filter_map(first);
            let key = |request: &usize| {
                let Naive { client, requested, .. } = self.requests[*request];
                let urgency = match self.discipline {
                    Discipline::Priority => u64::from(u32::MAX - self.priorities[client]),
                    Discipline::Edf => requested + self.deadlines[client],
                    _ => 0,
                };
                (urgency, requested, client)
            };
            let Some(best) = ready.min_by_key(key) else { return };
            let request = &mut self.requests[best];
            request.runs = true;
            let length = request.left.pop_front().expect("a segment");
            self.lanes[lane] = Some((now + length, self.starts, best));
            self.starts += 1;
        }
    }

    fn run_until(&mut self, until: u64) {
        while let Some((end, _, best)) = self.lanes.iter().flatten().min().copied().filter(|(end, ..)| *end <= until) {
            let lane = self.lanes.iter().position(|lane| lane.is_some_and(|on| on.2 == best)).expect("a lane");
            self.lanes[lane] = None;
            let request = &mut self.requests[best];
            request.runs = false;
            if request.left.is_empty() && !request.cancelled {
                request.end = Some(end);
            }
            self.start(end);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Request(usize),
    Cancel(usize),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_naive_accelerator_ends_every_request_at_the_same_time(
        steps in prop::collection::vec(step(), 1..25),
        discipline in prop::sample::select(vec![Discipline::Priority, Discipline::Edf, Discipline::Fifo]),
        lanes in 1..4usize,
        priorities in prop::array::uniform4(0..3u32),
        deadlines in prop::array::uniform4(1..40u64),
    ) {
        let device = Arc::new(VirtualDevice::new(ModelOptions::new().lanes(lanes).compute_engines(lanes)));
        let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new().discipline(discipline));
        let create = |n: usize| {
            let options = ClientOptions::new("client").priority(Priority(priorities[n])).deadline(ms(deadlines[n]));
            gpu.create_client(options.depth(100)).unwrap()
        };
        let clients: Vec<_> = (0..CLIENTS).map(create).collect();
        let mut reference =
            Reference { discipline, priorities, deadlines, requests: Vec::new(), lanes: vec![None; lanes], starts: 0 };
        let mut events = Vec::new();
        let mut now = 0;
        for (number, step) in steps.iter().enumerate() {
            now += step.after;
            events.push((now, Event::Request(number)));
            events.extend(step.cancel_after.map(|after| (now + after, Event::Cancel(number))));
        }
        events.sort();
        let mut completions: Vec<_> = steps.iter().map(|_| None).collect();
        for (time, event) in events {
            device.run_until(at(time));
            reference.run_until(time);
            match event {
                Event::Request(number) => {
                    let Step { client, segments, .. } = &steps[number];
                    completions[number] = Some(clients[*client].request(request(segments)).unwrap());
                    let left = segments.iter().copied().collect();
                    reference.requests.push(Naive {
                        client: *client, requested: time, left, runs: false, cancelled: false, end: None,
                    });
                    reference.start(time);
                }
                Event::Cancel(number) => {
                    if reference.requests[number].end.is_none() {
                        reference.requests[number].cancelled = true;
                        completions[number] = None;
                    }
                }
            }
        }
        device.run();
        reference.run_until(u64::MAX);
        for (completion, naive) in completions.iter_mut().zip(&reference.requests) {
            prop_assert_eq!(completion.as_mut().map(end), naive.end);
        }
        drop(completions);
        prop_assert_eq!(gpu.requests_in_memory(), 0);
    }
}
