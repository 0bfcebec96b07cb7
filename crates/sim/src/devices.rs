//! Accelerators: lanes that run segments of requests, with the scheduling core deciding as in `rospin-accelerator`.
//!
//! To the core, each await that is a request is an entity of a reentrant group, and each segment an activation that is
//! released at the time of the request. So a request keeps its place in the order from segment to segment, and the
//! requests of one await run one after the other.
//!
//! The crate `rospin-accelerator` itself is above the engine, which the simulator does not use.

use std::collections::VecDeque;
use std::time::Duration;

use rospin_core::policy::{Edf, Fifo, FixedPriority};
use rospin_core::{
    Activation, EntityId, EntityKind, EntitySpec, GroupKind, Instant, Policy, Priority, Scheduler, ThreadIndex,
};
use rospin_scenario::Scenario;
use rospin_scenario::draw::ExecutionTimes;

use crate::agenda::Happening;
use crate::driver::Driver;
use crate::error::SimulationError;
use crate::event::What;

/// Device with its lanes, and the requests that wait for it.
pub(crate) struct Device {
    scheduler: Scheduler,
    /// Segments on the lanes.
    lanes: Vec<Option<Activation>>,
    /// Awaits that are requests to the device, by the index of their entity.
    clients: Vec<Client>,
    /// Time of all segments that have started.
    pub(crate) busy: Duration,
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
        let policy: Box<dyn Policy> = match accelerator.policy.as_str() {
            "edf" => Box::new(Edf::new()),
            "fifo" => Box::new(Fifo::new()),
            _ => Box::new(FixedPriority::new()),
        };
        let mut scheduler = Scheduler::new(policy);
        let group = scheduler.add_group(GroupKind::Reentrant);
        let mut clients = Vec::new();
        for (callback, plan) in scenario.callbacks.iter().enumerate() {
            for (place, pause) in plan.awaits.iter().enumerate() {
                if pause.accelerator.as_ref() != Some(&accelerator.name) {
                    continue;
                }
                let own = priorities.get(callback).copied().unwrap_or_default();
                let mut spec = EntitySpec::new(&plan.name, EntityKind::Waitable, group)
                    .priority(pause.priority.map_or(own, Priority));
                spec.deadline = plan.relative_deadline();
                let id = scheduler.add_entity(spec).map_err(SimulationError::Refused)?;
                let draws = |(segment, time)| {
                    ExecutionTimes::new(time, seed, &format!("{} segment {place}.{segment}", plan.name))
                };
                ports[callback][place] = Some(Port { device: number, client: clients.len() });
                let segments = pause.segments.iter().enumerate().map(draws).collect();
                clients.push(Client { id, segments, waiting: VecDeque::new() });
            }
        }
        let lanes = (0..accelerator.lanes).map(|_| None).collect();
        devices.push(Device { scheduler, lanes, clients, busy: Duration::ZERO });
    }
    Ok((devices, ports))
}

impl Driver<'_> {
    /// Sends the request of an await to its accelerator.
    pub(crate) fn request(&mut self, port: Port, callback: usize, sequence: u64) {
        let client = &mut self.devices[port.device].clients[port.client];
        let left = client.segments.iter_mut().map(ExecutionTimes::draw).collect();
        client.waiting.push_back(Request { callback, sequence, requested: self.now, left });
        let (id, is_first) = (client.id, client.waiting.len() == 1);
        self.emit(self.callbacks[callback].executor, What::Requested(callback, port.device));
        if is_first {
            self.devices[port.device].scheduler.release(self.now, id);
        }
        self.start_segments(port.device);
    }

    /// Ends the segment on a lane, and the request if that was the last one.
    pub(crate) fn segment_ended(&mut self, device: usize, lane: usize) {
        let Device { scheduler, lanes, clients, .. } = &mut self.devices[device];
        let Some(activation) = lanes[lane].take() else { return };
        scheduler.complete(self.now, &activation);
        let client = &mut clients[activation.entity.index()];
        // The request of the segment is the first one of its client until it ends.
        let Some(request) = client.waiting.front() else { return };
        let (callback, sequence, is_over) = (request.callback, request.sequence, request.left.is_empty());
        if is_over {
            client.waiting.pop_front();
        }
        if let Some(next) = client.waiting.front() {
            scheduler.release(next.requested, client.id);
        }
        self.emit(self.callbacks[callback].executor, What::SegmentEnded(callback, device, lane));
        if is_over {
            self.awaited(callback, sequence);
        }
        self.start_segments(device);
    }

    /// Gives idle lanes the segments that come first in the order of the policy.
    fn start_segments(&mut self, device: usize) {
        for lane in 0..self.devices[device].lanes.len() {
            let Device { scheduler, lanes, clients, busy } = &mut self.devices[device];
            if lanes[lane].is_some() {
                continue;
            }
            let Some(activation) = scheduler.next(self.now, ThreadIndex(lane as u16)) else { return };
            let request = clients[activation.entity.index()].waiting.front_mut();
            let Some((length, callback)) = request.and_then(|it| Some((it.left.pop_front()?, it.callback))) else {
                scheduler.complete(self.now, &activation);
                continue;
            };
            lanes[lane] = Some(activation);
            *busy += length;
            self.agenda.push(self.now + length, Happening::SegmentEnded(device, lane));
            self.emit(self.callbacks[callback].executor, What::SegmentStarted(callback, device, lane));
        }
    }
}
