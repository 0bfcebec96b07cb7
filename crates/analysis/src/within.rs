//! Arrivals inside a busy window.

use crate::arrivals::Arrivals;
use crate::known::Known;

/// Returns the arrivals from the beginning of a busy window on, by callback; none for callbacks that are not `inside`.
/// `None` if arrivals from outside have no bound.
pub(crate) fn arrivals(known: &Known<'_>, inside: &[bool]) -> Option<Vec<Arrivals>> {
    let system = known.system;
    let mut found = vec![Arrivals::Sum(Vec::new()); system.callbacks.len()];
    // Publishers come before receivers in this order.
    for &receiver in system.order.iter().filter(|receiver| inside[**receiver]) {
        let plan = &system.callbacks[receiver];
        let sent = |place: usize| {
            let follows = inside[plan.publishers[place]] && plan.ways[place].longest == 0;
            // A message that takes time may have been sent before the window began, and still arrive in it.
            if follows { Some(found[plan.publishers[place]].clone()) } else { known.sent(receiver, place) }
        };
        let all = |outside: &Arrivals, places: Vec<usize>| {
            let own = (!outside.is_never()).then(|| Some(outside.clone()));
            let parts: Option<Vec<_>> = own.into_iter().chain(places.into_iter().map(sent)).collect();
            parts.map(Arrivals::sum)
        };
        found[receiver] = if plan.is_join() {
            // When the window begins, some topic of the join has no message: the join would be ready otherwise.
            let input = |input: usize| all(&plan.joined[input].arrivals, plan.of_input(input).collect());
            let inputs = (0..plan.joined.len()).map(input).collect::<Option<Vec<_>>>()?;
            Arrivals::Joined { inputs, depth: plan.depth }
        } else {
            all(&plan.source, (0..plan.publishers.len()).collect())?
        };
    }
    Some(found)
}
