//! Random histories, compared with a naive accelerator that searches plain lists.

use proptest::prelude::*;
use rospin_accelerator::Discipline;

use super::*;

const CLIENTS: usize = 4;
/// A millisecond in nanoseconds.
const MS: u64 = 1_000_000;

/// Returns the length in nanoseconds of a segment of so many milliseconds: the `nth` one of the step with that number.
/// Lengths differ by less than a microsecond, so that no two segments end at the same time. Which end is reported first
/// then would decide where a segment that is picked ahead goes.
fn length(ms: u64, step: usize, nth: usize) -> u64 {
    ms * MS + (step as u64 * 379 + nth as u64 * 83 + 1) % 997
}

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

/// A request of the naive accelerator. Times are in nanoseconds.
#[derive(Clone)]
struct Naive {
    client: usize,
    requested: u64,
    left: std::collections::VecDeque<u64>,
    begun: usize,
    /// The number of its segments on lanes.
    runs: usize,
    cancelled: bool,
    end: Option<u64>,
}

/// A segment on a lane.
#[derive(Clone)]
struct OnLane {
    request: usize,
    nth: usize,
    length: u64,
}

/// A lane: its segments, of which the first one runs, with the time and the number of its start.
#[derive(Clone, Default)]
struct NaiveLane {
    segments: Vec<OnLane>,
    started: u64,
    number: u64,
}

struct Reference {
    discipline: Discipline,
    priorities: [u32; CLIENTS],
    deadlines: [u64; CLIENTS],
    ahead: u64,
    requests: Vec<Naive>,
    lanes: Vec<NaiveLane>,
    starts: u64,
    /// The expected lengths by client and place in the request.
    expected: std::collections::BTreeMap<(usize, usize), u64>,
    /// The time of the last event.
    decided: u64,
}

impl Reference {
    fn start(&mut self, now: u64) {
        for lane in 0..self.lanes.len() {
            if self.lanes[lane].segments.is_empty() {
                self.start_on(lane, now);
            }
        }
        for lane in 0..self.lanes.len() {
            if self.decision(lane).is_some_and(|at| at <= now) {
                self.start_on(lane, now);
            }
        }
    }

    /// The time from which on a lane may have a second segment.
    fn decision(&self, lane: usize) -> Option<u64> {
        let lane = &self.lanes[lane];
        let [running] = &lane.segments[..] else { return None };
        if self.ahead == 0 {
            return None;
        }
        let client = self.requests[running.request].client;
        let expected = self.expected.get(&(client, running.nth))?;
        Some(lane.started + expected.saturating_sub(self.ahead))
    }

    fn start_on(&mut self, lane: usize, now: u64) {
        // The first request of each client that has a segment left, unless another lane has one of the client.
        let first = |client| {
            let elsewhere = self.lanes.iter().enumerate().any(|(number, on)| {
                number != lane && on.segments.iter().any(|on| self.requests[on.request].client == client)
            });
            let has_more = |request: &Naive| request.client == client && !request.cancelled && !request.left.is_empty();
            self.requests.iter().position(|request| has_more(request) && !elsewhere)
        };
        let ready = (0..CLIENTS).filter_map(first);
        let key = |request: &usize| {
            let Naive { client, requested, .. } = self.requests[*request];
            let urgency = match self.discipline {
                Discipline::Priority => u64::from(u32::MAX - self.priorities[client]),
                Discipline::Edf => requested + self.deadlines[client] * MS,
                _ => 0,
            };
            (urgency, requested, client)
        };
        let Some(best) = ready.min_by_key(key) else { return };
        let request = &mut self.requests[best];
        let length = request.left.pop_front().expect("a segment");
        let nth = request.begun;
        request.begun += 1;
        request.runs += 1;
        let place = &mut self.lanes[lane];
        if place.segments.is_empty() {
            place.started = now;
            place.number = self.starts;
        }
        self.starts += 1;
        place.segments.push(OnLane { request: best, nth, length });
    }

    fn run_until(&mut self, until: u64) {
        loop {
            let end_of = |lane: &NaiveLane| lane.segments.first().map(|on| (lane.started + on.length, lane.number));
            let end = (0..self.lanes.len()).filter_map(|n| Some((end_of(&self.lanes[n])?, n))).min();
            let decision =
                (0..self.lanes.len()).filter_map(|lane| self.decision(lane)).filter(|at| *at > self.decided).min();
            let Some(((end, _), lane)) = end else { return };
            if let Some(at) = decision.filter(|at| *at < end) {
                if at > until {
                    return;
                }
                self.decided = at;
                self.start(at);
                continue;
            }
            if end > until {
                return;
            }
            let on = self.lanes[lane].segments.remove(0);
            self.lanes[lane].started = end;
            self.lanes[lane].number = self.starts;
            self.starts += 1;
            let request = &mut self.requests[on.request];
            request.runs -= 1;
            if request.left.is_empty() && request.runs == 0 && !request.cancelled {
                request.end = Some(end);
            }
            let known = self.expected.entry((request.client, on.nth)).or_insert(on.length);
            *known = if on.length < *known { on.length } else { *known + (on.length - *known) / 8 };
            self.decided = end;
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
        ahead in 0..4u64,
    ) {
        let device = Arc::new(VirtualDevice::new(ModelOptions::new().lanes(lanes).compute_engines(lanes)));
        let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new().discipline(discipline).ahead(ms(ahead)));
        let create = |n: usize| {
            let options = ClientOptions::new("client").priority(Priority(priorities[n])).deadline(ms(deadlines[n]));
            gpu.create_client(options.depth(100)).unwrap()
        };
        let clients: Vec<_> = (0..CLIENTS).map(create).collect();
        let mut reference =
            Reference {
                discipline, priorities, deadlines, ahead: ahead * MS, requests: Vec::new(),
                lanes: vec![NaiveLane::default(); lanes], starts: 0, expected: Default::default(), decided: 0,
            };
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
            reference.run_until(time * MS);
            reference.decided = time * MS;
            match event {
                Event::Request(number) => {
                    let Step { client, segments, .. } = &steps[number];
                    let lengths = segments.iter().enumerate().map(|(nth, ms)| length(*ms, number, nth));
                    let left: std::collections::VecDeque<u64> = lengths.collect();
                    let work = |ns: &u64| Segment::new(ModelWork::kernel(std::time::Duration::from_nanos(*ns)));
                    completions[number] = Some(clients[*client].request(left.iter().map(work).collect()).unwrap());
                    reference.requests.push(Naive {
                        client: *client, requested: time * MS, left, begun: 0, runs: 0, cancelled: false, end: None,
                    });
                    reference.start(time * MS);
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
            let end = completion.as_mut().map(|completion| result(completion).unwrap().finished.as_nanos());
            prop_assert_eq!(end, naive.end);
        }
        drop(completions);
        prop_assert_eq!(gpu.requests_in_memory(), 0);
    }
}
