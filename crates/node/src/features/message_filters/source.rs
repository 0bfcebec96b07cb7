//! Several subscriptions as one source of sets.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use rospin_engine::{Closer, Instant, LossCause, Notifier, Pending, Source, TakeError};
use rospin_wire::Stamped;

use super::matching::{Matching, Set};
use super::set::MessageSet;
use super::watch::Watch;
use crate::link::Messages;
use crate::message::Message;
use crate::sync::atomic::{AtomicU64, Ordering};

/// A message of any type, shared.
#[doc(hidden)]
pub struct AnyMessage(pub(super) Arc<dyn Any + Send + Sync>);

impl fmt::Debug for AnyMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyMessage").finish_non_exhaustive()
    }
}

/// The messages of one topic, without their type.
pub(super) trait Input: Send {
    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError>;

    /// Takes the oldest message, with its stamp in nanoseconds; `None` if there is none.
    fn try_take(&mut self) -> Result<Option<(i64, AnyMessage)>, TakeError>;

    /// Returns the time at which the oldest message arrived, on the steady clock; `None` if there is none.
    fn oldest_arrival(&self) -> Option<Instant>;

    fn pending(&self) -> Pending;

    fn closer(&self) -> Option<Closer>;
}

impl<M: Message + Stamped> Input for Messages<PhantomData<M>> {
    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        Source::attach(self, notifier)
    }

    fn try_take(&mut self) -> Result<Option<(i64, AnyMessage)>, TakeError> {
        let taken = Source::try_take(self)?;
        Ok(taken.map(|received| {
            let message = received.into_arc();
            (message.stamp_ns(), AnyMessage(message))
        }))
    }

    fn oldest_arrival(&self) -> Option<Instant> {
        Self::oldest_arrival(self)
    }

    fn pending(&self) -> Pending {
        Source::pending(self)
    }

    fn closer(&self) -> Option<Closer> {
        Source::closer(self)
    }
}

/// The state that the source, the handle and the jump callback of a synchronizer share.
#[derive(Debug)]
pub(super) struct Counts {
    /// The number of sets that the callback got, or will get.
    pub(super) matched: AtomicU64,
    /// The number of messages that were in no set, by input.
    pub(super) unmatched: Vec<AtomicU64>,
    /// The steady time of the last jump of ROS time, or 0 if all jumps were dealt with.
    pub(super) jumped_at_ns: AtomicU64,
}

impl Counts {
    pub(super) fn new(inputs: usize) -> Self {
        let unmatched = (0..inputs).map(|_| AtomicU64::new(0)).collect();
        Self { matched: AtomicU64::new(0), unmatched, jumped_at_ns: AtomicU64::new(0) }
    }
}

/// The sets that the messages of several topics form.
pub(super) struct Sets<S> {
    inputs: Vec<Box<dyn Input>>,
    matching: Box<dyn Matching<AnyMessage>>,
    /// Sets that are still to be taken, complete or not.
    decided: VecDeque<Set<AnyMessage>>,
    /// Memory for the sets that one message decides. It is empty between two messages.
    new: Vec<Set<AnyMessage>>,
    /// The number of messages that all inputs hold together. A take matches at most one message more before other
    /// entities get their turn.
    batch: usize,
    counts: Arc<Counts>,
    watch: Watch,
    notifier: Option<Notifier>,
    set: PhantomData<fn() -> S>,
}

impl<S: MessageSet> Sets<S> {
    /// Creates the source. `batch` is the number of messages that all inputs together hold.
    pub(super) fn new(
        inputs: Vec<Box<dyn Input>>,
        matching: Box<dyn Matching<AnyMessage>>,
        batch: usize,
        counts: Arc<Counts>,
        watch: Watch,
    ) -> Self {
        let decided = VecDeque::new();
        let new = Vec::new();
        Self { inputs, matching, decided, new, batch, counts, watch, notifier: None, set: PhantomData }
    }

    /// Takes the oldest message of all inputs and matches it. Returns false if no input has one.
    fn match_one(&mut self) -> Result<bool, TakeError> {
        let arrivals = self.inputs.iter().enumerate().filter_map(|(at, input)| Some((input.oldest_arrival()?, at)));
        if let Some((_, oldest)) = arrivals.min()
            && self.match_of(oldest)?
        {
            return Ok(true);
        }
        // Only an input that was asked in vain notifies of its next message.
        for input in 0..self.inputs.len() {
            if self.match_of(input)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes the oldest message of an input and matches it. Returns false if the input has none.
    fn match_of(&mut self, input: usize) -> Result<bool, TakeError> {
        let Some((stamp_ns, message)) = self.inputs[input].try_take()? else { return Ok(false) };
        self.watch.see(input, stamp_ns);
        self.matching.add(input, stamp_ns, message, &mut self.new);
        self.decided.extend(self.new.drain(..));
        Ok(true)
    }

    /// Drops all messages that arrived before ROS time jumped.
    fn forget_before_jump(&mut self) -> Result<(), TakeError> {
        let jumped_at_ns = self.counts.jumped_at_ns.load(Ordering::Acquire);
        if jumped_at_ns == 0 {
            return Ok(());
        }
        let jumped_at = Instant::from_nanos(jumped_at_ns);
        self.matching.clear(&mut self.new);
        for (at, input) in self.inputs.iter_mut().enumerate() {
            while input.oldest_arrival().is_some_and(|arrival| arrival <= jumped_at)
                && let Some((_, message)) = input.try_take()?
            {
                self.new.push(super::matching::alone(self.counts.unmatched.len(), at, message));
            }
        }
        self.watch.forget();
        self.decided.extend(self.new.drain(..));
        // Cleared only now: if a message could not be taken, the method has returned, and the rest is dropped the next
        // time. A later jump is not cleared.
        let _ = self.counts.jumped_at_ns.compare_exchange(jumped_at_ns, 0, Ordering::AcqRel, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the set for the callback, or counts its messages if one is missing that must be there.
    fn complete(&self, set: Set<AnyMessage>) -> Option<S> {
        if S::MEMBERS.iter().zip(&set).all(|(member, message)| message.is_some() || !member.is_required) {
            self.counts.matched.fetch_add(1, Ordering::Relaxed);
            return S::from_messages(set);
        }
        let mut lost = 0;
        for (unmatched, _) in self.counts.unmatched.iter().zip(&set).filter(|(_, message)| message.is_some()) {
            unmatched.fetch_add(1, Ordering::Relaxed);
            lost += 1;
        }
        self.count_lost(LossCause::Unmatched, lost);
        self.watch.see_unmatched(&self.counts);
        None
    }

    fn count_lost(&self, cause: LossCause, count: usize) {
        if let Some(notifier) = &self.notifier {
            notifier.count_lost(cause, count as u64);
        }
    }
}

impl<S: MessageSet> Source for Sets<S> {
    type Item = S;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.inputs.iter_mut().try_for_each(|input| input.attach(notifier.clone()))?;
        self.notifier = Some(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<S>, TakeError> {
        self.forget_before_jump()?;
        for _ in 0..=self.batch {
            while let Some(set) = self.decided.pop_front() {
                if let Some(set) = self.complete(set) {
                    return Ok(Some(set));
                }
            }
            if !self.match_one()? {
                return Ok(None);
            }
        }
        // Messages arrive faster than this loop takes them. Other entities get their turn first.
        if let Some(notifier) = &self.notifier {
            notifier.notify();
        }
        Ok(None)
    }

    fn pending(&self) -> Pending {
        // All inputs must be asked: one that answers `Empty` notifies from then on.
        let merge = |one, other| match (one, other) {
            (Pending::Empty, pending) | (pending, Pending::Empty) => pending,
            (Pending::Since(one), Pending::Since(other)) => Pending::Since(one.min(other)),
            _ => Pending::Unknown,
        };
        let pending = self.inputs.iter().map(|input| input.pending()).fold(Pending::Empty, merge);
        if self.decided.is_empty() { pending } else { Pending::Unknown }
    }

    fn closer(&self) -> Option<Closer> {
        let closers: Vec<_> = self.inputs.iter().filter_map(|input| input.closer()).collect();
        Some(Box::new(move || {
            for close in &closers {
                close();
            }
        }))
    }
}

impl<S> Drop for Sets<S> {
    fn drop(&mut self) {
        let held = self.matching.held() + self.decided.iter().flatten().flatten().count();
        if let Some(notifier) = self.notifier.as_ref().filter(|_| held > 0) {
            notifier.count_lost(LossCause::EntityDropped, held as u64);
        }
    }
}
