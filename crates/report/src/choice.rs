//! What a user chooses from a list: all of it unless something is named.

/// What is named, each once, in the order in which it is named.
pub fn in_given_order<T: Copy + PartialEq>(named: &[T], all: &[T]) -> Vec<T> {
    let mut once = Vec::new();
    for one in if named.is_empty() { all } else { named } {
        if !once.contains(one) {
            once.push(*one);
        }
    }
    once
}

/// What is named, each once, in the order of the list.
pub fn in_own_order<T: Copy + PartialEq>(named: &[T], all: &[T]) -> Vec<T> {
    all.iter().filter(|one| named.is_empty() || named.contains(one)).copied().collect()
}
