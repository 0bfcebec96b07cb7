//! Selection of parameter names by prefix and depth.

use crate::interfaces::rcl_interfaces::ListParametersResult;

/// Separator of the parts of a name.
const SEPARATOR: char = '.';

/// Value that stands for an unlimited depth.
pub const DEPTH_RECURSIVE: u64 = 0;

/// Returns the names that are equal to one of the prefixes, or at most `depth` parts below it. Without prefixes,
/// returns the names of at most `depth` parts. The rules are those of rclcpp.
pub(super) fn list(names: Vec<String>, prefixes: &[impl AsRef<str>], depth: u64) -> ListParametersResult {
    let is_shallow = |below: &str| depth == DEPTH_RECURSIVE || (below.matches(SEPARATOR).count() as u64) < depth;
    let is_chosen = |name: &str| {
        let below = |prefix: &str| name.strip_prefix(prefix)?.strip_prefix(SEPARATOR);
        let has_prefix = |prefix: &str| name == prefix || below(prefix).is_some_and(is_shallow);
        if prefixes.is_empty() { is_shallow(name) } else { prefixes.iter().any(|prefix| has_prefix(prefix.as_ref())) }
    };
    let names: Vec<_> = names.into_iter().filter(|name| is_chosen(name)).collect();
    let mut found: Vec<String> = Vec::new();
    for (prefix, _) in names.iter().filter_map(|name| name.rsplit_once(SEPARATOR)) {
        if !found.iter().any(|other| other == prefix) {
            found.push(prefix.to_owned());
        }
    }
    ListParametersResult { names, prefixes: found }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(prefixes: &[&str], depth: u64) -> (Vec<String>, Vec<String>) {
        let names = ["arm.left.gain", "arm.right.gain", "arm.speed", "armature", "name", "use_sim_time"];
        let ListParametersResult { names, prefixes } = list(names.map(str::to_owned).into(), prefixes, depth);
        (names, prefixes)
    }

    #[test]
    fn without_prefixes_the_depth_counts_from_the_top() {
        assert_eq!(listed(&[], 0).0.len(), 6);
        assert_eq!(listed(&[], 1).0, ["armature", "name", "use_sim_time"]);
        assert_eq!(listed(&[], 2).0, ["arm.speed", "armature", "name", "use_sim_time"]);
        assert_eq!(listed(&[], 0).1, ["arm.left", "arm.right", "arm"]);
        assert_eq!(listed(&[], 2).1, ["arm"]);
    }

    #[test]
    fn with_prefixes_it_counts_from_them() {
        assert_eq!(listed(&["arm"], 0).0, ["arm.left.gain", "arm.right.gain", "arm.speed"]);
        assert_eq!(listed(&["arm"], 1).0, ["arm.speed"]);
        assert_eq!(listed(&["arm.left", "name"], 1).0, ["arm.left.gain", "name"]);
        assert_eq!(listed(&["nothing"], 0), (vec![], vec![]));
        assert_eq!(listed(&["arm."], 0), (vec![], vec![]));
    }
}
