//! Accelerators: lanes that run segments of requests, with the scheduling core deciding as in `rospin-accelerator`.
//!
//! To the core, each await that is a request is an entity of a reentrant group, and each segment an activation that is
//! released at the time of the request. So a request keeps its place in the order from segment to segment, and the
//! requests of one await run one after the other. An urgent lane has a scheduler of its own, and preempts the other one
//! between the blocks of a segment.
//!
//! The crate `rospin-accelerator` itself is above the engine, which the simulator does not use.

use std::collections::VecDeque;
use std::time::Duration;

use rospin_core::policy::{Edf, Fifo, FixedPriority};
use rospin_core::{
    Activation, EntityId, EntityKind, EntitySpec, GroupId, GroupKind, Instant, Policy, Priority, Scheduler, ThreadIndex,
};
use rospin_scenario::Scenario;
use rospin_scenario::draw::ExecutionTimes;

use crate::agenda::Happening;
use crate::driver::Driver;
use crate::error::SimulationError;
use crate::event::What;

/// Device with its lanes, and the requests that wait for it.
pub(crate) struct Device {
    /// The lanes that each run at their full speed.
    ordinary: Pool,
    /// The urgent lane, on devices that have one. Its segments preempt the ordinary lane's between two blocks.
    urgent: Option<Urgent>,
    /// Time of all segments that have started.
    pub(crate) busy: Duration,
}

/// Lanes with the requests that use them.
struct Pool {
    scheduler: Scheduler,
    group: GroupId,
    /// Segments on the lanes.
    lanes: Vec<Option<OnLane>>,
    /// Awaits that are requests to the device, by the index of their entity.
    clients: Vec<Client>,
}

/// Urgent lane.
struct Urgent {
    pool: Pool,
    /// Longest time for which a segment of the ordinary lane cannot be preempted.
    block: Duration,
}

/// Segment on a lane.
struct OnLane {
    activation: Activation,
    callback: usize,
    /// Time for which it has run before `since`.
    done: Duration,
    length: Duration,
    /// Time since which it has run; `None` while it is preempted, or waits for the end of a block.
    since: Option<Instant>,
}

impl OnLane {
    /// Returns the time of the segment's end if nothing preempts it; `None` while it is preempted.
    fn end(&self) -> Option<Instant> {
        Some(self.since? + (self.length - self.done))
    }

    /// Returns the time from `now` until the block that runs ends. One that could end now has just begun: the device
    /// does not wait for the host.
    fn until_block_end(&self, now: Instant, block: Duration) -> Duration {
        let Some(since) = self.since else { return Duration::ZERO };
        let done = self.done + (now - since);
        let into = Duration::from_nanos((done.as_nanos() % block.as_nanos().max(1)) as u64);
        (block - into).min(self.length - done)
    }
}

/// An await that is a request: its times, and its requests that have not ended.
struct Client {
    id: EntityId,
    segments: Vec<ExecutionTimes>,
    waiting: VecDeque<Request>,
}

/// Request that has not ended.
struct Request {
    callback: usize,
    /// Sequence number of the activation that awaits it.
    sequence: u64,
    requested: Instant,
    /// Lengths of the segments that have not started.
    left: VecDeque<Duration>,
}

/// Place of the device and of the client there to which an await sends its requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Port {
    device: usize,
    is_urgent: bool,
    client: usize,
}

/// For each callback, the ports of its awaits; `None` for awaits of other things.
pub(crate) type Ports = Vec<Vec<Option<Port>>>;

/// Returns the accelerators of a scenario, and for each callback the ports of its awaits. `priorities` are those of the
/// callbacks. The error is a refusal of a scheduler.
pub(crate) fn devices(
    scenario: &Scenario,
    priorities: &[Priority],
    seed: u64,
) -> Result<(Vec<Device>, Ports), SimulationError> {
    let mut devices = Vec::new();
    let mut ports: Ports = scenario.callbacks.iter().map(|plan| vec![None; plan.awaits.len()]).collect();
    for (number, accelerator) in scenario.accelerators.iter().enumerate() {
        let mut ordinary = Pool::new(&accelerator.policy, accelerator.lanes);
        let mut urgent = Pool::new(&accelerator.policy, 1);
        for (callback, plan) in scenario.callbacks.iter().enumerate() {
            for (place, pause) in plan.awaits.iter().enumerate() {
                if pause.accelerator.as_ref() != Some(&accelerator.name) {
                    continue;
                }
                let own = priorities.get(callback).copied().unwrap_or_default();
                let priority = pause.priority.map_or(own, Priority);
                let is_urgent = accelerator.urgent.is_some_and(|from| priority.0 >= from);
                let pool = if is_urgent { &mut urgent } else { &mut ordinary };
                let mut spec = EntitySpec::new(&plan.name, EntityKind::Waitable, pool.group).priority(priority);
                spec.deadline = plan.relative_deadline();
                let id = pool.scheduler.add_entity(spec).map_err(SimulationError::Refused)?;
                let draws = |(segment, time)| {
                    ExecutionTimes::new(time, seed, &format!("{} segment {place}.{segment}", plan.name))
                };
                ports[callback][place] = Some(Port { device: number, is_urgent, client: pool.clients.len() });
                let segments = pause.segments.iter().enumerate().map(draws).collect();
                pool.clients.push(Client { id, segments, waiting: VecDeque::new() });
            }
        }
        let block = accelerator.block;
        let urgent = accelerator.urgent.map(|_| Urgent { pool: urgent, block });
        devices.push(Device { ordinary, urgent, busy: Duration::ZERO });
    }
    Ok((devices, ports))
}

impl Pool {
    fn new(policy: &str, lanes: u16) -> Self {
        let policy: Box<dyn Policy> = match policy {
            "edf" => Box::new(Edf::new()),
            "fifo" => Box::new(Fifo::new()),
            _ => Box::new(FixedPriority::new()),
        };
        let mut scheduler = Scheduler::new(policy);
        let group = scheduler.add_group(GroupKind::Reentrant);
        Self { scheduler, group, lanes: (0..lanes).map(|_| None).collect(), clients: Vec::new() }
    }

    /// Gives an idle lane the segment that comes first in the order of the policy, which does not run yet. Returns
    /// false if no segment waits.
    fn bind(&mut self, lane: usize, now: Instant) -> bool {
        // A turn without a segment takes an activation out of the ready set.
        while let Some(activation) = self.scheduler.next(now, ThreadIndex(lane as u16)) {
            let request = self.clients[activation.entity.index()].waiting.front_mut();
            let Some((length, callback)) = request.and_then(|it| Some((it.left.pop_front()?, it.callback))) else {
                self.scheduler.complete(now, &activation);
                continue;
            };
            self.lanes[lane] = Some(OnLane { activation, callback, done: Duration::ZERO, length, since: None });
            return true;
        }
        false
    }
}

impl Device {
    /// Returns true if an urgent segment waits for the end of a block.
    fn waits_for_block(&self) -> bool {
        let on = self.urgent.as_ref().and_then(|urgent| urgent.pool.lanes[0].as_ref());
        on.is_some_and(|on| on.since.is_none())
    }

    /// Returns the pool of a lane, and the lane's number in it. The urgent lane comes after the others.
    fn pool_of(&mut self, lane: usize) -> Option<(&mut Pool, usize)> {
        let ordinary = self.ordinary.lanes.len();
        if lane < ordinary {
            return Some((&mut self.ordinary, lane));
        }
        Some((&mut self.urgent.as_mut()?.pool, lane - ordinary))
    }
}

impl Driver<'_> {
    /// Sends the request of an await to its accelerator.
    pub(crate) fn request(&mut self, port: Port, callback: usize, sequence: u64) {
        let device = &mut self.devices[port.device];
        let pool = match &mut device.urgent {
            Some(urgent) if port.is_urgent => &mut urgent.pool,
            _ => &mut device.ordinary,
        };
        let client = &mut pool.clients[port.client];
        let left = client.segments.iter_mut().map(ExecutionTimes::draw).collect();
        client.waiting.push_back(Request { callback, sequence, requested: self.now, left });
        if client.waiting.len() == 1 {
            pool.scheduler.release(self.now, client.id);
        }
        self.emit(self.callbacks[callback].executor, What::Requested(callback, port.device));
        self.start_segments(port.device);
    }

    /// Ends the segment on a lane if it ends now, and the request if that was the last one.
    pub(crate) fn segment_ended(&mut self, device: usize, lane: usize) {
        let Some((pool, place)) = self.devices[device].pool_of(lane) else { return };
        // A segment that was preempted ends later than it was expected to.
        let Some(on) = pool.lanes[place].take_if(|on| on.end() == Some(self.now)) else { return };
        pool.scheduler.complete(self.now, &on.activation);
        let client = &mut pool.clients[on.activation.entity.index()];
        // The request of the segment is the first one of its client until it ends.
        let Some(request) = client.waiting.front() else { return };
        let (callback, sequence, is_over) = (request.callback, request.sequence, request.left.is_empty());
        if is_over {
            client.waiting.pop_front();
        }
        if let Some(next) = client.waiting.front() {
            pool.scheduler.release(next.requested, client.id);
        }
        self.emit(self.callbacks[callback].executor, What::SegmentEnded(callback, device, lane));
        if is_over {
            self.awaited(callback, sequence);
        }
        self.start_segments(device);
    }

    /// Has the urgent segment that waits for the end of a block preempt the other lane's.
    pub(crate) fn block_ended(&mut self, device: usize) {
        let Device { ordinary, urgent: Some(urgent), .. } = &mut self.devices[device] else { return };
        let waits = urgent.pool.lanes[0].as_ref().is_some_and(|on| on.since.is_none());
        if !waits {
            return;
        }
        if let Some(on) = ordinary.lanes.iter_mut().flatten().next()
            && let Some(since) = on.since.take()
        {
            on.done += self.now - since;
        }
        let lane = ordinary.lanes.len();
        self.run_on(device, lane);
    }

    /// Gives idle lanes the segments that come first in the order of the policy. Where there is an urgent lane, a block
    /// of the other one begins before the next urgent segment, as on a device that does not wait for its host.
    fn start_segments(&mut self, device: usize) {
        let urgent_runs = self.devices[device].urgent.as_ref().is_some_and(|urgent| {
            let on = urgent.pool.lanes[0].as_ref();
            on.is_some_and(|on| on.since.is_some())
        });
        if urgent_runs {
            return;
        }
        for lane in 0..self.devices[device].ordinary.lanes.len() {
            let is_waited_for = self.devices[device].waits_for_block();
            let ordinary = &mut self.devices[device].ordinary;
            let begins = match &ordinary.lanes[lane] {
                // One that is preempted goes on, since nothing urgent runs any more.
                Some(on) => on.since.is_none(),
                None => !is_waited_for && ordinary.bind(lane, self.now),
            };
            if begins {
                self.run_on(device, lane);
            }
        }
        self.start_urgent(device);
    }

    /// Gives the urgent lane its next segment, if there is one: now, or at the end of the block that runs.
    fn start_urgent(&mut self, device: usize) {
        let Device { ordinary, urgent: Some(urgent), .. } = &mut self.devices[device] else { return };
        let is_bound = urgent.pool.lanes[0].is_some();
        if !is_bound && !urgent.pool.bind(0, self.now) {
            return;
        }
        let block = urgent.block;
        let lane = ordinary.lanes.len();
        let running = ordinary.lanes.iter().flatten().find(|on| on.since.is_some());
        match running {
            // It asked for the end of the block when it was bound.
            Some(_) if is_bound => {}
            Some(on) => {
                let wait = on.until_block_end(self.now, block);
                self.agenda.push(self.now + wait, Happening::BlockEnded(device));
            }
            None => self.run_on(device, lane),
        }
    }

    /// Lets the segment that a lane has run from now on.
    fn run_on(&mut self, device: usize, lane: usize) {
        let Some((pool, place)) = self.devices[device].pool_of(lane) else { return };
        let Some(on) = &mut pool.lanes[place] else { return };
        on.since = Some(self.now);
        let (callback, length, done) = (on.callback, on.length, on.done);
        self.agenda.push(self.now + (length - done), Happening::SegmentEnded(device, lane));
        if done.is_zero() {
            self.devices[device].busy += length;
            self.emit(self.callbacks[callback].executor, What::SegmentStarted(callback, device, lane));
        }
    }
}
