//! Names in a deployment file, as ROS has them: a name that begins with `/` is absolute, and any other one is relative
//! to a namespace. So one file serves several robots, each in a namespace of its own.
//!
//! A relative name is in the namespace of an entity's node, or in one above it. With a node in `/robot1`,
//! `planner/scan` names `/robot1/planner/scan` as well as `/planner/scan`.

use wildmatch::WildMatch;

/// Returns the forms that a file's relative names may have for a thing called `name`, whose node is in `namespace`. The
/// first one is relative to the root, the last one to the innermost namespace that the name is in.
pub fn forms<'a>(name: &'a str, namespace: &str) -> Vec<&'a str> {
    let mut rest = name.trim_start_matches('/');
    let mut forms = vec![rest];
    for part in namespace.split('/').filter(|part| !part.is_empty()) {
        let Some(inner) = rest.strip_prefix(part).and_then(|inner| inner.strip_prefix('/')) else {
            break;
        };
        forms.push(inner);
        rest = inner;
    }
    forms
}

/// Returns the namespace of the node of that fully qualified name, or the one around a namespace: `/robot1` of
/// `/robot1/planner`.
#[must_use]
pub fn namespace_of(node: &str) -> &str {
    node.rsplit_once('/').map_or("", |(namespace, _)| namespace)
}

/// Returns true if `written`, which a file has, is the name of the thing called `name`, whose node is in `namespace`.
#[must_use]
pub fn is_name(written: &str, name: &str, namespace: &str) -> bool {
    match written.strip_prefix('/') {
        Some(absolute) => absolute == name.trim_start_matches('/'),
        None => forms(name, namespace).contains(&written),
    }
}

/// Returns true if the pattern `written`, which a file has, matches the thing called `name`, whose node is in
/// `namespace`.
pub(super) fn matches(written: &str, name: &str, namespace: &str) -> bool {
    match written.strip_prefix('/') {
        Some(absolute) => WildMatch::new(absolute).matches(name.trim_start_matches('/')),
        None => {
            let pattern = WildMatch::new(written);
            forms(name, namespace).into_iter().any(|form| pattern.matches(form))
        }
    }
}

/// Groups in which every node has callbacks: those of its parameters, its types and its log.
const GROUPS_OF_NODES: [&str; 3] = ["parameters", "type_descriptions", "rosout"];

/// Returns true if the callback called `name`, `node/group/callback`, is one of those that every node has.
#[must_use]
pub fn is_of_every_node(name: &str) -> bool {
    name.rsplit('/').nth(1).is_some_and(|group| GROUPS_OF_NODES.contains(&group))
}

/// Returns true if the callback or group of that name is an executor's own and no node's, such as the one that looks
/// for new callbacks of C++ nodes. Names of hidden nodes begin with an underscore in ROS 2.
#[must_use]
pub fn is_of_executor(name: &str) -> bool {
    name.starts_with("_rospin/")
}

/// Returns how exactly a file's name names something: a name with more parts, which is relative to an outer namespace,
/// is more exact.
pub(super) fn exactness(written: &str) -> usize {
    written.trim_start_matches('/').split('/').count()
}

/// Returns true if the text is a pattern.
pub(super) fn is_pattern(written: &str) -> bool {
    written.contains(['*', '?'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_names_are_in_the_namespace_or_above_it_and_absolute_ones_nowhere_else() {
        assert_eq!(
            forms("robot1/arm/joint/state", "/robot1/arm"),
            ["robot1/arm/joint/state", "arm/joint/state", "joint/state"]
        );
        assert_eq!(forms("planner/scan", ""), ["planner/scan"]);
        assert_eq!(forms("safety/scan", "/robot1"), ["safety/scan"], "an entity with an absolute name");
        assert!(is_name("planner/scan", "robot1/planner/scan", "/robot1"));
        assert!(is_name("robot1/planner/scan", "robot1/planner/scan", "/robot1"));
        assert!(is_name("/robot1/planner/scan", "robot1/planner/scan", "/robot1"));
        assert!(!is_name("/planner/scan", "robot1/planner/scan", "/robot1"));
        // The node `planner` is no namespace.
        assert!(!is_name("scan", "robot1/planner/scan", "/robot1"));
        assert!(matches("planner/*", "robot1/planner/scan", "/robot1"));
        assert!(!matches("/planner/*", "robot1/planner/scan", "/robot1"));
        assert!(matches("/robot?/planner/*", "robot1/planner/scan", "/robot1"));
        assert_eq!(
            (namespace_of("/robot1/planner"), namespace_of("/planner"), namespace_of("planner")),
            ("/robot1", "", "")
        );
    }
}
