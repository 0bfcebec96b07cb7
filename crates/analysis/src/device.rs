//! Requests to a device that is shared by priority, such as a GPU behind an accelerator: bounds of their response
//! times.
//!
//! A request is a job whose segments are not preempted: fixed priorities with deferred preemption. The analysis is that
//! of Bril, Lukkien and Verhaegh, "Worst-case response time analysis of real-time tasks under fixed-priority scheduling
//! with deferred preemption", Real-Time Systems 2009, with release jitter and, in place of tasks that are not trusted,
//! a bound of what their budget lets them use. Arrivals and starts at the same instant may come in any order.
//!
//! **Theorem.** Let *t0* be the start of the longest interval before a request's arrival in which the device always has
//! a request of the client or of a more urgent client without a budget. Only one segment of other clients is on the
//! device at *t0*, and no less urgent segment starts before the request has ended. So the last segment of the request
//! starts at the first *s* at which that segment, the earlier requests of the client, the request's own earlier
//! segments, and all work of more urgent clients that arrives until *s* have run. It runs to its end without
//! preemption. A client with a budget runs, in an interval of length *s*, for at most its capacity times (ceil(*s* /
//! period) + 1), and one segment.
//!
//! A device that picks segments ahead has, at *t0*, one segment of other clients and the one that follows it. After
//! that, the next segment of the request can be picked whenever one of another client can, so that nothing less urgent
//! comes between. So the same theorem holds with two segments at *t0*.
//!
//! On an urgent lane, the clients of other lanes are no clients of this device. A segment waits for the blocks and
//! copies of theirs that the device has begun: see [`among_blocks`].

use std::time::Duration;

use rospin_core::Priority;

/// A client of a device: its requests, as far as the analysis needs them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceClient {
    /// The priority. The larger number is more urgent.
    pub priority: Priority,
    /// The shortest time between two requests, apart from jitter. Zero: any number at any time, which only a budget
    /// bounds.
    pub period: Duration,
    /// The longest time by which a request may come later than its period says: the response time of what comes before
    /// it.
    pub jitter: Duration,
    /// The longest times of the request's segments, with their copies.
    pub segments: Vec<Duration>,
    /// The device time in each period of a client whose requests are not trusted: capacity and period. `segments` must
    /// hold its longest segment nevertheless, since no segment can be interrupted.
    pub budget: Option<(Duration, Duration)>,
}

/// The way in which a device goes from one segment to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct DeviceRules {
    /// The longest time for which the device is idle between two segments although requests wait.
    pub overhead: Duration,
    /// True if a segment may be picked before the one that runs has ended.
    pub is_ahead: bool,
}

impl DeviceRules {
    /// Creates rules: no time between two segments, and none picked ahead.
    #[must_use]
    pub const fn new() -> Self {
        Self { overhead: Duration::ZERO, is_ahead: false }
    }

    /// Sets the longest time for which the device is idle between two segments although requests wait.
    #[must_use]
    pub const fn overhead(mut self, overhead: Duration) -> Self {
        self.overhead = overhead;
        self
    }

    /// Sets whether a segment may be picked before the one that runs has ended.
    #[must_use]
    pub const fn ahead(mut self, is_ahead: bool) -> Self {
        self.is_ahead = is_ahead;
        self
    }
}

/// Returns the longest time of a segment on an urgent lane, which takes `alone` on an idle device, and has to wait
/// `times` for a block or a copy of other lanes, the longest of which takes `block`: a kernel waits for one block. A
/// copy waits for one copy of each other lane on devices that know no priorities of copies, such as those of CUDA, and
/// for one copy on others.
#[must_use]
pub fn among_blocks(alone: Duration, times: u32, block: Duration) -> Duration {
    alone.saturating_add(block.saturating_mul(times))
}

/// The largest number of steps to a fixed point. A system near full load gets no bound rather than a long wait.
const STEPS: usize = 100_000;

/// Returns a bound of each client's response times, from the request to its end, on a device with one lane. It is
/// `None` for clients that have a budget, no period or no segments, and for those whose busy window has no end.
#[must_use]
pub fn device_bounds(clients: &[DeviceClient], rules: DeviceRules) -> Vec<Option<Duration>> {
    let plans: Vec<Plan> = clients.iter().map(|client| Plan::new(client, nanos(rules.overhead))).collect();
    let blocks = if rules.is_ahead { 2 } else { 1 };
    plans.iter().enumerate().map(|(number, _)| bound(&plans, number, blocks).map(nanoseconds)).collect()
}

fn nanos(duration: Duration) -> u128 {
    duration.as_nanos()
}

fn nanoseconds(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// A client in nanoseconds. Overheads belong to the segments before which they occur.
struct Plan {
    priority: Priority,
    period: u128,
    jitter: u128,
    total: u128,
    last: u128,
    longest: u128,
    budget: Option<(u128, u128)>,
}

impl Plan {
    fn new(client: &DeviceClient, overhead: u128) -> Self {
        let segments = || client.segments.iter().map(|segment| nanos(*segment) + overhead);
        Self {
            priority: client.priority,
            period: nanos(client.period),
            jitter: nanos(client.jitter),
            total: segments().sum(),
            last: segments().next_back().unwrap_or(0),
            longest: segments().max().unwrap_or(0),
            budget: client.budget.map(|(capacity, period)| (nanos(capacity), nanos(period).max(1))),
        }
    }

    /// Returns the device time of the requests that arrive in an interval of length `t`, both ends included; `None` if
    /// they have no bound.
    fn work(&self, t: u128) -> Option<u128> {
        let by_arrivals = (t + self.jitter).checked_div(self.period).map(|periods| (periods + 1) * self.total);
        let by_budget = self.budget.map(|(capacity, period)| capacity * (t.div_ceil(period) + 1) + self.longest);
        // Requests that a client with a budget still has from earlier periods are no arrivals in this window, so only
        // the budget bounds their time on the device.
        if self.budget.is_some() { by_budget } else { by_arrivals }
    }
}

/// Returns the bound of a client; `blocks` less urgent segments may be on the device when its request comes.
fn bound(plans: &[Plan], number: usize, blocks: u128) -> Option<u128> {
    let own = &plans[number];
    if own.budget.is_some() || own.period == 0 || own.total == 0 {
        return None;
    }
    let others = || plans.iter().enumerate().filter(|(other, _)| *other != number).map(|(_, other)| other);
    let is_urgent = |other: &&Plan| other.priority >= own.priority;
    let may_block = |other: &&Plan| other.priority < own.priority || other.budget.is_some();
    let blocking = blocks * others().filter(may_block).map(|other| other.longest).max().unwrap_or(0);
    let interference =
        |t: u128| others().filter(is_urgent).try_fold(0_u128, |sum, other| sum.checked_add(other.work(t)?));
    let mut response = 0;
    let mut start = 0;
    // Each turn is a request of the busy window. The window ends with a request that ends before the next one arrives.
    for earlier in 0..STEPS as u128 {
        let before = blocking + earlier * own.total + own.total - own.last;
        start = fixed_point(start, |s| Some(before + interference(s)?))?;
        let arrival = (earlier * own.period).saturating_sub(own.jitter);
        response = response.max(start + own.last - arrival);
        // The client's next request arrives after the end, and what is more urgent and waits then does not belong to
        // this window only if its end is the end of all. So the window goes on until the work that has arrived is done.
        let end = start + own.last;
        let arrived = blocking + (earlier + 1) * own.total + interference(end)?;
        let next = ((earlier + 1) * own.period).saturating_sub(own.jitter);
        if next > end && next > fixed_point(arrived, |t| Some(blocking + (earlier + 1) * own.total + interference(t)?))?
        {
            return Some(response);
        }
    }
    None
}

/// Returns the first fixed point of `of` from `from` on. Returns `None` if `of` does, or if [`STEPS`] steps do not
/// reach one.
fn fixed_point(from: u128, of: impl Fn(u128) -> Option<u128>) -> Option<u128> {
    let mut at = from;
    for _ in 0..STEPS {
        let next = of(at)?;
        if next <= at {
            return Some(at);
        }
        at = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn client(priority: u32, period: u64, segments: &[u64]) -> DeviceClient {
        let segments = segments.iter().copied().map(ms).collect();
        DeviceClient { priority: Priority(priority), period: ms(period), jitter: ms(0), segments, budget: None }
    }

    #[test]
    fn the_most_urgent_client_waits_for_one_foreign_segment() {
        let clients = [client(9, 20, &[2, 1]), client(5, 50, &[4, 6]), client(1, 100, &[5, 5, 5])];
        assert_eq!(device_bounds(&clients, DeviceRules::new())[0], Some(ms(6 + 3)));
    }

    #[test]
    fn a_device_that_picks_ahead_keeps_an_urgent_client_waiting_for_two_foreign_segments() {
        let clients = [client(9, 20, &[2, 1]), client(5, 50, &[4, 6]), client(1, 100, &[5, 5, 5])];
        assert_eq!(device_bounds(&clients, DeviceRules::new().ahead(true))[0], Some(ms(6 + 6 + 3)));
        assert_eq!(among_blocks(ms(3), 2, ms(4)), ms(11));
    }

    #[test]
    fn the_deferred_preemption_of_the_last_segment_counts() {
        // The last segment of the less urgent client starts at 3 at the latest, before the second request of the other
        // one at 4.
        let clients = [client(9, 4, &[1]), client(1, 20, &[2, 3])];
        // The urgent one waits for 3. The other one: 1 + 2 start at 0, and at 3 the last segment starts and ends at 6.
        assert_eq!(device_bounds(&clients, DeviceRules::new()), [Some(ms(4)), Some(ms(6))]);
    }

    #[test]
    fn a_later_request_of_the_busy_window_may_be_the_worst() {
        // Bril et al. 2009 show that a look at the first request of a window is not enough: the last segment keeps the
        // more urgent client waiting, which then delays the requests after it. In tenths of a millisecond: the first
        // request ends at 11 + 20 + 30. The third one, released at 140, starts its last segment after 82 of earlier
        // requests, its own 11 and four requests of the other client, at 173.
        let tenths = |mut client: DeviceClient| {
            client.period /= 10;
            client.segments.iter_mut().for_each(|segment| *segment /= 10);
            client
        };
        let clients = [tenths(client(9, 50, &[20])), tenths(client(1, 70, &[11, 30]))];
        assert_eq!(device_bounds(&clients, DeviceRules::new())[1], Some(ms(173 + 30 - 140) / 10));
    }

    #[test]
    fn too_much_work_has_no_bound_and_a_budget_gives_one() {
        let mut clients = [client(9, 0, &[5]), client(1, 20, &[4])];
        assert_eq!(device_bounds(&clients, DeviceRules::new()), [None, None]);
        clients[0].budget = Some((ms(2), ms(10)));
        // One segment of 5 is on the device; then two capacities and a segment, and a capacity more for each 10 ms of
        // the wait.
        assert_eq!(device_bounds(&clients, DeviceRules::new()), [None, Some(ms(5 + 2 * 2 + 2 + 5 + 4))]);
    }
}
