//! The fill of a queue, by the numbers of the messages that were appended and taken.

/// The messages of a recording that are in a queue at one moment.
pub(crate) struct Fill {
    depth: u64,
    /// The numbers of the next message that is appended, and of the next one that is taken.
    ends: Option<(u64, u64)>,
}

impl Fill {
    /// Returns the fill of a queue that is empty, and can hold so many messages.
    pub(crate) const fn new(depth: u64) -> Self {
        Self { depth, ends: None }
    }

    /// Returns the largest number of messages that the queue can hold.
    #[cfg(feature = "read")]
    pub(crate) const fn depth(&self) -> u64 {
        self.depth
    }

    /// Returns the number of messages, which is at most the queue's depth.
    pub(crate) fn level(&self) -> u64 {
        self.ends.map_or(0, |(next, first)| next.saturating_sub(first).min(self.depth.max(1)))
    }

    /// Notes that the message of that number was appended.
    pub(crate) fn queued(&mut self, ticket: u64, displaced: bool) {
        let (last, first) = self.ends.unwrap_or((ticket, ticket));
        // Numbers that are left out are those of messages that no recording has, such as encoded ones, or whose events
        // were dropped. They do not count.
        let first = first.saturating_add(ticket.saturating_sub(last));
        let next = last.max(ticket.saturating_add(1));
        let first = if displaced { first.max(next.saturating_sub(self.depth)) } else { first };
        self.ends = Some((next, first));
    }

    /// Notes that the message of that number was taken.
    pub(crate) fn taken(&mut self, ticket: u64) {
        let taken = ticket.saturating_add(1);
        let (next, first) = self.ends.unwrap_or((taken, 0));
        self.ends = Some((next.max(taken), first.max(taken)));
    }
}
