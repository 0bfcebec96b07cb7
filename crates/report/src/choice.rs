//! Selections from a list: all entries of the list unless the user names some.

/// Returns the entries of `named` without repetitions, in their order; all of `all` if `named` is empty.
pub fn in_given_order<T: Copy + PartialEq>(named: &[T], all: &[T]) -> Vec<T> {
    let mut once = Vec::new();
    for one in if named.is_empty() { all } else { named } {
        if !once.contains(one) {
            once.push(*one);
        }
    }
    once
}

/// Returns the entries of `all` that are in `named`, in the order of `all`; all of them if `named` is empty.
pub fn in_own_order<T: Copy + PartialEq>(named: &[T], all: &[T]) -> Vec<T> {
    all.iter().filter(|one| named.is_empty() || named.contains(one)).copied().collect()
}
