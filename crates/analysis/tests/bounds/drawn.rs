//! Parts of random systems and of their simulations that several generators share.

use std::time::Duration;

use rospin_core::EntityKind;
use rospin_scenario::draw::Stream;
use rospin_scenario::{Callback, Chain, Pattern, Release, Scenario};

/// Adds a callback to a system: one that takes the messages of the callback `from`, in the chain that ends there or a
/// new one; or else a timer with this period; or else one that is released from outside, at this period with jitter in
/// one of three systems.
pub(crate) fn add_callback(
    scenario: &mut Scenario,
    rng: &mut Stream,
    mut callback: Callback,
    from: Option<usize>,
    period: Duration,
) {
    match (from, callback.kind) {
        (Some(from), _) => {
            let (name, from_name) = (callback.name.clone(), scenario.callbacks[from].name.clone());
            scenario.callbacks[from].publishes.push(name.clone());
            match scenario.chains.iter_mut().find(|chain| chain.callbacks.last() == Some(&from_name)) {
                Some(chain) => chain.callbacks.push(name),
                None => scenario.chains.push(Chain::new(format!("to {name}"), 1, [from_name, name])),
            }
        }
        (None, EntityKind::Timer) => callback.period = Some(period),
        (None, _) => {
            let jitter = if rng.below(3) == 0 { period / 2 } else { Duration::ZERO };
            let pattern = Pattern::Periodic { period, offset: Duration::ZERO, jitter };
            scenario.releases.push(Release::new([callback.name.clone()], pattern));
        }
    }
    scenario.callbacks.push(callback);
}

/// Draws other phases of timers and releases: in one of three simulations all of them begin together, or a nanosecond
/// apart.
pub(crate) fn draw_phases(scenario: &mut Scenario, rng: &mut Stream) {
    let together = rng.below(3) == 0;
    let mut phase = |period: Duration| {
        if together { Duration::from_nanos(rng.below(2)) } else { period.mul_f64(rng.below(1_000) as f64 / 1_000.0) }
    };
    for callback in &mut scenario.callbacks {
        callback.offset = callback.period.map(&mut phase);
    }
    for release in &mut scenario.releases {
        if let Pattern::Periodic { period, offset, .. } = &mut release.pattern {
            *offset = phase(*period);
        }
    }
}
