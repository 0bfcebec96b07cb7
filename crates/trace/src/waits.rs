//! The reasons for which an activation waited: the rules, for the model of a recording and for a monitor that runs
//! along.

/// Reasons for which an activation waited, for a part of the time.
#[cfg_attr(not(feature = "model"), expect(unreachable_pub, reason = "the report exports it"))]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// A callback of the same group ran, or another activation of the same callback.
    Group,
    /// A callback with a higher priority ran.
    Priority,
    /// A callback began meanwhile, under a policy that does not order by priorities: an earlier activation, an earlier
    /// deadline.
    Order,
    /// A callback that is not more urgent ran.
    Running,
    /// No callback ran on some thread of the executor: the thread slept, woke up, or was not scheduled by the kernel.
    Idle,
}

impl Reason {
    /// Returns the reason in words.
    #[cfg(feature = "model")]
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Group => "its group",
            Self::Priority => "a higher priority",
            Self::Order => "the policy's order",
            Self::Running => "a running callback",
            Self::Idle => "its thread to wake up",
        }
    }
}

/// A segment of another activation that ran in some part of a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside {
    /// The callback.
    pub(crate) callback: usize,
    /// The nanoseconds of the wait for which it ran.
    pub(crate) ns: u64,
    /// True if its group excludes the waiting callback.
    pub(crate) excludes: bool,
    /// The reason why it ran, if its group does not exclude the waiting callback.
    pub(crate) reason: Reason,
}

/// Returns the reason why a callback of another group ran: under which policy, whether its priority is higher than that
/// of the waiting one, and whether it began while that waited.
pub(crate) fn reason(policy: &str, is_higher: bool, has_begun_meanwhile: bool) -> Reason {
    match policy {
        "fixed-priority" if is_higher => Reason::Priority,
        "fixed-priority" => Reason::Running,
        _ if has_begun_meanwhile => Reason::Order,
        _ => Reason::Running,
    }
}

/// Explains a wait of `wait` nanoseconds on an executor with that many threads. Calls `part` for each part of the wait,
/// with its reason, the callback that ran, and its nanoseconds.
///
/// A callback counts for the time that it ran, divided by the number of threads. One that excludes the waiting one
/// counts in full.
pub(crate) fn explain(
    wait: u64,
    threads: u64,
    beside: impl Iterator<Item = Beside> + Clone,
    mut part: impl FnMut(Reason, Option<usize>, u64),
) {
    let mut blamed = 0_u64;
    for Beside { callback, ns, .. } in beside.clone().filter(|of| of.excludes) {
        part(Reason::Group, Some(callback), ns);
        blamed = blamed.saturating_add(ns);
    }
    for Beside { callback, ns, reason, .. } in beside.filter(|of| !of.excludes) {
        let ns = (ns / threads.max(1)).min(wait.saturating_sub(blamed));
        part(reason, Some(callback), ns);
        blamed = blamed.saturating_add(ns);
    }
    part(Reason::Idle, None, wait.saturating_sub(blamed));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_is_blamed_for_its_share_of_several_threads() {
        let beside = |callback, ns, excludes| Beside { callback, ns, excludes, reason: Reason::Running };
        let mut parts = Vec::new();
        let ran = [beside(0, 80, false), beside(1, 30, true)].into_iter();
        explain(100, 2, ran, |reason, callback, ns| parts.push((reason, callback, ns)));
        assert_eq!(parts, [(Reason::Group, Some(1), 30), (Reason::Running, Some(0), 40), (Reason::Idle, None, 30)]);
    }

    #[test]
    fn priorities_explain_nothing_where_the_policy_does_not_look_at_them() {
        for (policy, is_higher, has_begun_meanwhile, expected) in [
            ("fixed-priority", true, true, Reason::Priority),
            ("fixed-priority", false, true, Reason::Running),
            ("fifo", true, true, Reason::Order),
            ("fifo", true, false, Reason::Running),
            ("edf", false, true, Reason::Order),
        ] {
            assert_eq!(reason(policy, is_higher, has_begun_meanwhile), expected, "{policy}");
        }
    }
}
