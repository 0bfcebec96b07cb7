//! Waits for accelerators: how long a callback awaits its requests to devices that other callbacks use, too.
//!
//! A device runs as many segments at a time as it has lanes. It does not preempt them, and picks anew between two of
//! them. These are server-based bounds as those of Kim, Patel, Wang and Rajkumar, "A server-based approach for
//! predictable GPU access with improved analysis", Journal of Systems Architecture 2018, with request-level preemption
//! as in PAAM (Enright et al. 2024), arrival curves and the jitter of suspension:
//!
//! - **Request-driven**: each request waits for at most one less urgent segment, and for the more urgent requests that
//!   may come until its last segment starts. The waits of a callback's requests are added.
//! - **Job-driven**: all requests of an activation together wait for no more urgent work than there is in its response
//!   time.
//!
//! The smaller one holds. While a request waits, no lane is idle; so on several lanes, the work of others is divided by
//! their number. One more less urgent segment a lane, except for its own, can then be there each time that a segment
//! begins to wait.
//!
//! A device with an urgent lane is two: that lane, whose requests wait for a block of the other one, and the other one,
//! whose segments are preempted.
//!
//! Theorems and proofs: `book/src/analysis/accelerators.md`.

use response_time_analysis::supply::Dedicated;

use crate::arrivals::Arrivals;
use crate::known::{GATHERING, Known};
use crate::system::{Callback, Policy, System};
use crate::window::Supply;

/// Name of this analysis.
pub(crate) const METHOD: &str = "server-based access to accelerators (Kim et al. 2018)";

/// Device that callbacks share.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) policy: Policy,
    pub(crate) lanes: u64,
    /// The urgent lane, on devices that have one beside a single ordinary lane.
    pub(crate) urgent: Option<Urgent>,
}

/// Urgent lane of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Urgent {
    /// Priority from which on requests use it.
    pub(crate) from: u32,
    /// Longest time in nanoseconds for which a segment of the other lane cannot be preempted.
    pub(crate) block: u64,
}

impl Device {
    /// Returns true if requests of that priority use the urgent lane.
    fn is_urgent(&self, priority: u32) -> bool {
        self.urgent.is_some_and(|urgent| priority >= urgent.from)
    }
}

/// Request that each activation of a callback sends to a device. Times are in nanoseconds, the longest ones.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Place of the device in [`System::devices`].
    pub(crate) device: usize,
    /// Priority of the request; `None` for that of the callback.
    pub(crate) priority: Option<u32>,
    /// Times of the segments; never empty.
    pub(crate) segments: Vec<u64>,
}

impl Request {
    /// Returns the time of all segments together.
    pub(crate) fn total(&self) -> u64 {
        self.segments.iter().sum()
    }

    fn longest(&self) -> u64 {
        self.segments.iter().copied().max().unwrap_or(0)
    }

    fn last(&self) -> u64 {
        self.segments.last().copied().unwrap_or(0)
    }

    /// Returns the priority, for a request of this callback.
    fn urgency(&self, of: &Callback) -> u32 {
        self.priority.unwrap_or(of.priority)
    }
}

/// Returns how long each callback awaits something in total; `None` for those whose waits have no bound yet. Each
/// search may spend `portion` units of work.
pub(crate) fn waits(known: &Known<'_>, portion: u64) -> Vec<Option<u64>> {
    let system = known.system;
    let of = |number: usize| {
        let plan = &system.callbacks[number];
        if plan.requests.is_empty() {
            return Some(plan.waits);
        }
        let own: u64 = plan.requests.iter().map(Request::total).sum();
        let mut devices = (0..system.devices.len()).map(|device| {
            known.budget.begin(portion);
            time_on(known, number, device)
        });
        let on_devices = devices.try_fold(0, |sum: u64, time| Some(sum.saturating_add(time?)))?;
        Some((plan.waits - own).saturating_add(on_devices)).filter(|wait| *wait <= system.limit)
    };
    (0..system.callbacks.len()).map(of).collect()
}

/// Returns how long an activation's requests to a device take in total, with all waiting; zero if it sends none, and
/// `None` if that has no bound.
pub(crate) fn time_on(known: &Known<'_>, callback: usize, device: usize) -> Option<u64> {
    let plan = &known.system.callbacks[callback];
    let requests: Vec<&Request> = plan.requests.iter().filter(|request| request.device == device).collect();
    let Some(least) = requests.iter().map(|request| request.urgency(plan)).min() else { return Some(0) };
    let mut each = 0_u64;
    let (mut own, mut blocked) = (0, 0);
    let whole = Queue::of(known, callback, device, least)?;
    for request in requests {
        let queue = Queue::of(known, callback, device, request.urgency(plan))?;
        each = each.saturating_add(queue.request(request)?);
        own += queue.total(request);
        blocked += queue.blocking(request.segments.len() as u64);
    }
    // The argument of the whole response holds for activations that do not overlap.
    if plan.in_flight > 1 {
        return Some(each);
    }
    let response = known.responses[callback]?;
    let blocked = if whole.policy == Policy::FixedPriority { blocked } else { 0 };
    let foreign = whole.foreign(response.saturating_add(1)).saturating_add(blocked);
    Some(each.min(own + foreign.div_ceil(whole.lanes)))
}

/// Work of one callback that comes before a request.
struct Before {
    arrivals: Arrivals,
    /// Longest time from the release to which work in an interval belongs to the begin of that interval.
    carried: u64,
    /// Longest time after the request at which a release can still come before it; negative: before the request.
    /// `None`: any.
    until: Option<i64>,
    /// Device time of an activation that comes before; of the whole activation.
    cost: u64,
    whole: u64,
    /// Largest device time that it can have at the instant of the request, for a device that serves first come first.
    pending: Option<u64>,
}

impl Before {
    /// Returns the device time that comes before a request, in an interval of this length from the request on.
    fn until(&self, length: u64) -> u64 {
        let until = self.until.map_or(length as i64, |until| (length as i64).min(until.saturating_add(1)));
        let work = self.arrivals.number(self.carried.saturating_add_signed(until)).saturating_mul(self.cost);
        self.pending.map_or(work, |pending| work.min(pending))
    }

    /// Returns all of the callback's device time in an interval of this length.
    fn all(&self, length: u64) -> u64 {
        self.arrivals.number(self.carried.saturating_add(length)).saturating_mul(self.whole)
    }
}

/// Device as the requests of one callback see it.
struct Queue<'a> {
    known: &'a Known<'a>,
    policy: Policy,
    lanes: u64,
    before: Vec<Before>,
    /// Earlier activations of the callback that may be in flight: their arrivals, and the device time of one with the
    /// less urgent segments that may start before each of its segments.
    earlier: Option<(Arrivals, u64)>,
    /// Less urgent segments that may be on the device when a request comes, the longest one of each lane.
    first: u64,
    /// Less urgent segments on the other lanes when a request goes on after a segment.
    again: u64,
    /// Time for which each segment may have to wait for a block of the other lane, on an urgent lane.
    block: u64,
    /// True if urgent requests preempt these.
    is_preempted: bool,
}

impl<'a> Queue<'a> {
    /// Returns the queue before a request of that priority; `None` if something that it depends on has no bound.
    fn of(known: &'a Known<'a>, callback: usize, device: usize, priority: u32) -> Option<Self> {
        let system = known.system;
        let plan = &system.callbacks[callback];
        let on = &system.devices[device];
        let (policy, lanes) = (on.policy, on.lanes);
        let is_urgent = on.is_urgent(priority);
        let block = on.urgent.filter(|_| is_urgent).map_or(0, |urgent| urgent.block);
        let total = |request: &Request| request.total() + block * request.segments.len() as u64;
        let is_fixed = policy == Policy::FixedPriority;
        let mut before = Vec::new();
        let (mut first, mut again) = (Vec::new(), Vec::new());
        for (other, mate) in users(system, device).filter(|(other, _)| *other != callback) {
            let of_device = || mate.requests.iter().filter(|request| request.device == device);
            // Those of the same lane. An urgent request waits for blocks of the others only, and those others for all
            // of the urgent work, in whatever order it comes.
            let requests = || of_device().filter(|request| on.is_urgent(request.urgency(mate)) == is_urgent);
            let cost = if is_urgent { 0 } else { urgent_cost(on, mate, device) };
            if cost > 0 {
                let (arrivals, carried) = (known.arrivals[other].clone()?, known.responses[other]?);
                before.push(Before { arrivals, carried, until: None, cost, whole: cost, pending: None });
            }
            if requests().next().is_none() {
                continue;
            }
            let precedes = |request: &&Request| !is_fixed || request.urgency(mate) >= priority;
            let cost: u64 = requests().filter(precedes).map(total).sum();
            let whole: u64 = requests().map(total).sum();
            let until = order(policy, plan, mate);
            let segment = |is_behind: bool| {
                requests().filter(|it| is_behind != precedes(it)).map(|it| it.longest() + block).max()
            };
            let (is_first, is_again) = match (policy, until) {
                (Policy::FixedPriority, _) => (segment(true), segment(true)),
                (_, None) => (None, None),
                (_, Some(until)) => (segment(false).filter(|_| until < 0), segment(false)),
            };
            // At most as many segments of a callback as it has activations in flight.
            let copies = usize::try_from(lanes.min(u64::from(mate.in_flight))).unwrap_or(1);
            first.extend(is_first.into_iter().flat_map(|segment| std::iter::repeat_n(segment, copies)));
            again.extend(is_again.into_iter().flat_map(|segment| std::iter::repeat_n(segment, copies)));
            // A less urgent request delays by one segment at most, however long its callback's response is.
            if cost == 0 && is_fixed {
                continue;
            }
            let (arrivals, response) = (known.arrivals[other].clone()?, known.responses[other]?);
            let single = matches!(&arrivals, Arrivals::Repeated { gap, burst: 1, .. } if whole <= *gap);
            // A response ends with the request's own cost. So a request whose whole cost falls into an interval was
            // released at most the longest response, less that cost, before the interval.
            let early = if single && until.is_none() { cost.min(response) } else { 0 };
            let largest = requests().map(total).max().unwrap_or(0);
            let pending = (policy == Policy::Fifo).then(|| largest.saturating_mul(u64::from(mate.in_flight)));
            before.push(Before { arrivals, carried: response - early, until, cost, whole, pending });
        }
        let longest = |mut segments: Vec<u64>, count: u64| -> u64 {
            segments.sort_unstable_by(|one, other| other.cmp(one));
            segments.into_iter().take(usize::try_from(count).unwrap_or(0)).sum()
        };
        let (first, again) = (longest(first, lanes), longest(again, lanes - 1));
        let earlier = if plan.in_flight > 1 {
            let own = plan.requests.iter().filter(|request| request.device == device);
            let each = own.map(|request| total(request) + first + request.segments.len() as u64 * again).sum();
            Some((known.arrivals[callback].as_ref()?.later(known.responses[callback]?), each))
        } else {
            None
        };
        known.budget.spend(GATHERING * before.len() as u64);
        let is_preempted = on.urgent.is_some() && !is_urgent;
        Some(Self { known, policy, lanes, before, earlier, first, again, block, is_preempted })
    }

    /// Returns the time of a request's segments together, with the blocks that they may have to wait for.
    fn total(&self, request: &Request) -> u64 {
        request.total() + self.block * request.segments.len() as u64
    }

    /// Returns the longest time for which less urgent segments are on the lanes while a request of so many segments
    /// waits, summed up over the lanes.
    fn blocking(&self, segments: u64) -> u64 {
        self.first + segments.saturating_sub(1).saturating_mul(self.again)
    }

    /// Returns all device time of other callbacks in an interval of this length, or that of requests that come before
    /// where the device has priorities.
    fn foreign(&self, length: u64) -> u64 {
        let is_fixed = self.policy == Policy::FixedPriority;
        let of = |work: &Before| if is_fixed { work.until(length) } else { work.all(length) };
        self.before.iter().fold(0, |sum: u64, work| sum.saturating_add(of(work)))
    }

    /// Returns the longest time from a request to its end.
    fn request(&self, request: &Request) -> Option<u64> {
        // A segment that may be preempted counts as one that has not begun until it ends.
        let last = if self.is_preempted { 0 } else { request.last() + self.block };
        let own = self.total(request) - last;
        let blocked = self.blocking(request.segments.len() as u64);
        let start = |at: u64| {
            let length = at.saturating_add(1);
            let others = self.before.iter().fold(blocked, |sum, work| sum.saturating_add(work.until(length)));
            match &self.earlier {
                // Requests of one callback run one after the other, so that lanes may be idle while one of them waits.
                Some((arrivals, each)) => {
                    let ahead = arrivals.number(length).saturating_sub(1).saturating_mul(*each);
                    own.saturating_add(others).saturating_add(ahead)
                }
                None => own.saturating_add(others.div_ceil(self.lanes)),
            }
        };
        let found = if start(0) == 0 {
            0
        } else {
            let (budget, limit) = (self.known.budget, self.known.system.limit);
            let weight = 1 + self.before.iter().map(|work| work.arrivals.weight()).sum::<u64>();
            budget.fixed_point(&Supply::Whole(Dedicated::new()), limit, own, weight, start)?
        };
        Some(found.saturating_add(last))
    }
}

/// Returns the device time on the urgent lane that an activation of the callback asks for.
fn urgent_cost(on: &Device, plan: &Callback, device: usize) -> u64 {
    let requests = plan.requests.iter().filter(|request| request.device == device);
    requests.filter(|request| on.is_urgent(request.urgency(plan))).map(Request::total).sum()
}

/// Returns the callbacks that use a device, by their numbers.
pub(crate) fn users(system: &System, device: usize) -> impl Iterator<Item = (usize, &Callback)> {
    let uses = move |plan: &Callback| plan.requests.iter().any(|request| request.device == device);
    system.callbacks.iter().enumerate().filter(move |(_, plan)| uses(plan))
}

/// Returns the longest time after a request of `plan` at which a request of `mate` comes before it; `None` if there is
/// no such limit, or if priorities decide.
fn order(policy: Policy, plan: &Callback, mate: &Callback) -> Option<i64> {
    match policy {
        Policy::Fifo => Some(0),
        Policy::Edf => match (plan.deadline, mate.deadline) {
            (Some(own), Some(its)) => Some(own as i64 - its as i64),
            // Requests without a deadline come last.
            (Some(_), None) => Some(i64::MIN),
            (None, _) => None,
        },
        _ => None,
    }
}

impl System {
    /// Returns for each device the share of its time that is asked for.
    pub(crate) fn device_loads(&self) -> Vec<f64> {
        let rates = self.rates();
        let load = |device: usize| {
            let of = |(number, plan): (usize, &Callback)| {
                let requests = plan.requests.iter().filter(|request| request.device == device);
                rates[number] * requests.map(Request::total).sum::<u64>() as f64
            };
            users(self, device).map(of).sum::<f64>() / self.devices[device].lanes as f64
        };
        (0..self.devices.len()).map(load).collect()
    }
}
