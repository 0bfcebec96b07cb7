//! Names that are most like a misspelt one.

/// Returns the known name that is most like `name`; `None` if more than a third of its characters must change. Names
/// with the same last part are always alike.
#[must_use]
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let ((steps, _), nearest) = known.iter().map(|other| (distance(name, other), *other)).min()?;
    if steps * 3 <= name.chars().count().max(3) { Some(nearest) } else { None }
}

/// Returns the `count` known names that are most like `name`, in the order of `known`.
#[must_use]
pub fn nearest_of<'a>(name: &str, known: &[&'a str], count: usize) -> Vec<&'a str> {
    let mut by_distance: Vec<usize> = (0..known.len()).collect();
    by_distance.sort_by_cached_key(|place| distance(name, known[*place]));
    by_distance.truncate(count);
    by_distance.sort_unstable();
    by_distance.into_iter().map(|place| known[place]).collect()
}

/// Returns how far two names are apart: the number of characters that differ, or 1 if they have the same last part, and
/// then the number of characters that differ.
fn distance(name: &str, other: &str) -> (usize, usize) {
    // A callback is called after its node, which a file may lack: `driver` and `camera/driver`.
    let is_end = other.rsplit('/').next() == name.rsplit('/').next();
    let edits = edits(name, other);
    (if is_end { 1 } else { edits }, edits)
}

/// Returns the number of characters to insert, delete or replace to get from one text to the other.
fn edits(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(200).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (number, c) in one.chars().take(200).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], number + 1);
        for (place, d) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(c != *d);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested() {
        let known = ["robot/lidar", "planner", "steer"];
        assert_eq!(nearest("plaanner", &known), Some("planner"));
        assert_eq!(nearest("lidar", &known), Some("robot/lidar"));
        assert_eq!(nearest("left/driver", &["arm/driver", "lift/driver"]), Some("lift/driver"));
        assert_eq!(nearest("camera", &known), None);
        assert_eq!(nearest("camera", &[]), None);
        assert_eq!(nearest_of("lidar", &known, 2), ["robot/lidar", "steer"]);
        assert_eq!((edits("kitten", "sitting"), edits("", "abc"), edits("abc", "abc")), (3, 3, 0));
    }
}
