//! TIER IV's `callback_isolated_executor`: rclcpp systems in which each callback group has a thread of its own, which a
//! YAML file configures.
//!
//! Its dry run writes a template with an id for each group: the node and the callbacks of the group, as in
//! `/fusion@Subscription(/objects)@Timer(100000000)`. So the template also says which groups a system has, which no
//! trace does. The configurator of agnocast reads the same file with more sections, and `/fusion/*` for all groups of a
//! node.

mod entry;
mod fill;
mod layout;
mod template;

use std::collections::BTreeSet;

use rospin_engine::EntityKind;
use rospin_scenario::{Executor, Group, Scenario};
use rospin_trace::ros2::callback_name;

pub(crate) use entry::Format;
pub(crate) use fill::{Filled, fill};
pub(crate) use template::Template;
use template::{Id, Member, Members};

/// The policy of rclcpp's executors with one thread.
const POLICY: &str = "wait-set-e2";
/// The number of cores that all threads share if there are more threads than this.
const CORES: u16 = 64;

/// Returns the places of the callbacks of a system that each id stands for. An id that lists its callbacks takes
/// precedence over one for the whole node.
fn members_of_all(scenario: &Scenario, ids: &[Id]) -> Vec<Vec<usize>> {
    let mut taken = BTreeSet::new();
    let mut found = vec![Vec::new(); ids.len()];
    for (id, found) in ids.iter().zip(&mut found) {
        if let Members::Of(listed) = &id.members {
            *found = members(scenario, id, listed, &taken);
            taken.extend(found.iter().copied());
        }
    }
    for (id, found) in ids.iter().zip(&mut found) {
        if id.members == Members::Rest {
            *found = rest_of_node(scenario, &id.node, ids, &taken);
            taken.extend(found.iter().copied());
        }
    }
    found
}

/// Returns the places of the callbacks of a node that are not taken, nor belong to a node of another id that is in its
/// namespace.
fn rest_of_node(scenario: &Scenario, node: &str, ids: &[Id], taken: &BTreeSet<usize>) -> Vec<usize> {
    let is_within = |name: &str, node: &str| {
        name.strip_prefix(node.trim_start_matches('/')).is_some_and(|rest| rest.starts_with('/'))
    };
    let is_it = |place: &usize| {
        let name = &scenario.callbacks[*place].name;
        let is_deeper = |id: &Id| id.node.len() > node.len() && is_within(name, &id.node);
        is_within(name, node) && !taken.contains(place) && !ids.iter().any(is_deeper)
    };
    (0..scenario.callbacks.len()).filter(is_it).collect()
}

/// Returns the places of the callbacks of a system that the id lists. Timers with the same period in a node cannot be
/// told apart, so the id gets those that no earlier id has, which `taken` contains.
fn members(scenario: &Scenario, id: &Id, listed: &[Member], taken: &BTreeSet<usize>) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    let timers = format!("{}/timer", id.node.trim_start_matches('/'));
    for member in listed {
        let is_it = |place: &usize| {
            let callback = &scenario.callbacks[*place];
            // A name that several callbacks have goes on with whose it is.
            let named = |name: &str| {
                callback.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
            };
            let fits = match member {
                Member::Timer(period_ns) => {
                    let number = callback.name.strip_prefix(&timers);
                    let is_timer = number.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
                    is_timer && callback.period.is_some_and(|period| period.as_nanos() == u128::from(*period_ns))
                }
                Member::Other(kind, of) => callback.kind == *kind && named(&callback_name(&id.node, of)),
            };
            fits && !taken.contains(place) && !found.contains(place)
        };
        let place = (0..scenario.callbacks.len()).find(is_it);
        found.extend(place);
    }
    found
}

/// Gives each callback group of the template an executor with one thread, as `callback_isolated_executor` does. Returns
/// sentences about what the template lacks.
pub(crate) fn isolate(scenario: &mut Scenario, template: &Template) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut of_wildcards = BTreeSet::new();
    for (id, found) in template.ids.iter().zip(members_of_all(scenario, &template.ids)) {
        if id.members == Members::Rest {
            of_wildcards.extend(found);
        } else if !found.is_empty() {
            groups.push((&id.node, found));
        }
    }
    // Groups without callbacks are gone before the new names are chosen.
    for (place, found) in groups.iter().map(|(_, found)| found).enumerate() {
        found.iter().for_each(|callback| scenario.callbacks[*callback].group = moved(place));
    }
    scenario.groups.retain(|group| scenario.callbacks.iter().any(|callback| callback.group == group.name));
    scenario.executors.retain(|executor| scenario.groups.iter().any(|group| group.executor == executor.name));
    for (place, (node, found)) in groups.iter().enumerate() {
        let same = |range: &[(&str, Vec<usize>)]| range.iter().filter(|(other, _)| other == node).count();
        let short = node.trim_start_matches('/');
        let wanted = if same(&groups) == 1 { short.to_owned() } else { format!("{short} {}", same(&groups[..=place])) };
        let name = free_name(scenario, &wanted);
        let mut executor = Executor::new(&name);
        POLICY.clone_into(&mut executor.policy);
        scenario.executors.push(executor);
        scenario.groups.push(Group::new(&name, &name));
        found.iter().for_each(|callback| scenario.callbacks[*callback].group.clone_from(&name));
    }
    let threads: u32 = scenario.executors.iter().map(|executor| u32::from(executor.threads)).sum();
    scenario.cores = (threads > u32::from(CORES)).then_some(CORES);
    let mut notes = vec![
        "Groups and executors are those of callback_isolated_executor: a thread for each group of its template."
            .to_owned(),
    ];
    let in_groups: BTreeSet<usize> = groups.iter().flat_map(|(_, found)| found.iter().copied()).collect();
    let is_missing = |place: &usize| !in_groups.contains(place) && !of_wildcards.contains(place);
    let missing = names(scenario, (0..scenario.callbacks.len()).filter(is_missing));
    if !missing.is_empty() {
        notes.push(format!("The template does not have these callbacks, which stay where they were: {missing}."));
    }
    let unknown = names(scenario, of_wildcards.into_iter());
    if !unknown.is_empty() {
        notes.push(format!(
            "`/*` in the template does not tell the groups of these callbacks, which stay where they were: {unknown}."
        ));
    }
    notes
}

/// Returns the names of callbacks.
fn names(scenario: &Scenario, places: impl Iterator<Item = usize>) -> String {
    places.map(|place| scenario.callbacks[place].name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns the name of the group in that place while its callbacks move. No group can have it.
fn moved(place: usize) -> String {
    format!("\0{place}")
}

/// Returns the name, with a number if an executor or a group has it already.
fn free_name(scenario: &Scenario, wanted: &str) -> String {
    let is_used = |name: &String| {
        scenario.groups.iter().any(|group| group.name == *name)
            || scenario.executors.iter().any(|executor| executor.name == *name)
    };
    let numbered = (2..).map(|number| format!("{wanted} ({number})"));
    std::iter::once(wanted.to_owned()).chain(numbered).find(|name| !is_used(name)).unwrap_or_default()
}

/// Returns the kind of callbacks that the word of an id stands for.
fn kind_of(word: &str) -> Option<EntityKind> {
    match word {
        "Subscription" => Some(EntityKind::Subscription),
        "Service" => Some(EntityKind::Service),
        "Client" => Some(EntityKind::Client),
        _ => None,
    }
}
