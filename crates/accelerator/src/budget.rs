//! Budgets of device time.

use std::time::Duration;

use rospin_core::Instant;

/// A limit of a client's device time in each period.
///
/// A client may start a segment while any of its budget is left. A segment that takes longer than what is left
/// overdraws the budget, and the next periods pay for it. So the client's device time within any interval of length `t`
/// is at most `capacity * (ceil(t / period) + 1)`, plus one segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// The device time that the client gets in a period.
    pub capacity: Duration,
    /// Length of a period. At its begin, the capacity is added to what is left, up to the capacity.
    pub period: Duration,
}

/// Account of a client's budget. Periods begin at the multiples of the budget's period on the device's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    capacity_ns: i128,
    period_ns: u64,
    /// The device time that is left, negative if it is overdrawn.
    left_ns: i128,
    /// The number of the latest period whose capacity `left_ns` includes.
    period: u64,
}

impl Account {
    /// Creates a full account. Capacity and period must not be zero.
    pub(crate) fn new(budget: Budget, now: Instant) -> Self {
        let period_ns = u64::try_from(budget.period.as_nanos()).unwrap_or(u64::MAX).max(1);
        let capacity_ns = i128::try_from(budget.capacity.as_nanos()).unwrap_or(i128::MAX / 2).min(1 << 80);
        Self { capacity_ns, period_ns, left_ns: capacity_ns, period: now.as_nanos() / period_ns }
    }

    /// Refills the account for the periods that have begun by `now`.
    fn refill(&mut self, now: Instant) {
        let period = now.as_nanos() / self.period_ns;
        let begun = period.saturating_sub(self.period);
        if begun > 0 {
            self.period = period;
            let refill = self.capacity_ns.saturating_mul(i128::from(begun));
            self.left_ns = self.left_ns.saturating_add(refill).min(self.capacity_ns);
        }
    }

    /// Returns true if a segment may start now.
    pub(crate) fn has_some(&mut self, now: Instant) -> bool {
        self.refill(now);
        self.left_ns > 0
    }

    /// Takes the device time that a segment used out of the account, which it may overdraw.
    pub(crate) fn take(&mut self, used: Duration, now: Instant) {
        self.refill(now);
        self.left_ns = self.left_ns.saturating_sub(i128::try_from(used.as_nanos()).unwrap_or(i128::MAX));
    }

    /// Returns the time at which a segment may start again, if nothing is taken until then.
    pub(crate) fn next_start(&self) -> Instant {
        let owed = (1 - self.left_ns).max(0);
        let periods = u64::try_from((owed + self.capacity_ns - 1) / self.capacity_ns).unwrap_or(u64::MAX);
        Instant::from_nanos(self.period.saturating_add(periods).saturating_mul(self.period_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overdrawn_account_waits_for_as_many_periods_as_it_owes() {
        let ms = Duration::from_millis;
        let mut account = Account::new(Budget { capacity: ms(2), period: ms(10) }, Instant::ZERO);
        assert!(account.has_some(Instant::ZERO));
        account.take(ms(5), Instant::from_millis(5));
        // Three owed: 2 of the next period leave -1, those of the one after it leave 1.
        assert_eq!(account.next_start(), Instant::from_millis(20));
        assert!(!account.has_some(Instant::from_nanos(19_999_999)));
        assert!(account.has_some(Instant::from_millis(20)));
        // An account holds no more than its capacity, however long it was idle.
        assert!(account.has_some(Instant::from_millis(1000)));
        account.take(ms(2), Instant::from_millis(1000));
        assert!(!account.has_some(Instant::from_millis(1009)));
        assert_eq!(account.next_start(), Instant::from_millis(1010));
    }
}
