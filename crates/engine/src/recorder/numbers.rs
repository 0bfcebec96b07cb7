//! Numbers of executors in events, which have 16 bits for them.

use super::Recorder;
use crate::os::Process;

/// The number of executors that cannot be recorded, because all others were used in this recording.
const NONE: u16 = u16::MAX;

/// The numbers of a recorder's executors.
#[derive(Default)]
pub(super) struct Numbers {
    /// The lowest number that no executor had.
    fresh: u16,
    /// Numbers of executors that are gone, which no recording has events of any more.
    free: Vec<u16>,
    /// Numbers of executors that have gone since the recording began.
    used: Vec<u16>,
    /// True once somebody was told that there are no more numbers.
    is_told: bool,
}

impl Numbers {
    /// Notes that a new recording begins, which has nothing of executors that are gone.
    pub(super) fn begin_recording(&mut self) {
        self.free.append(&mut self.used);
    }

    fn take(&mut self) -> u16 {
        if self.fresh < NONE {
            self.fresh += 1;
            return self.fresh - 1;
        }
        self.free.pop().unwrap_or(NONE)
    }

    fn put_back(&mut self, number: u16, is_recorded: bool) {
        if number != NONE {
            if is_recorded { self.used.push(number) } else { self.free.push(number) }
        }
    }
}

/// The number of an executor in events, which no other executor has in the same recording.
#[derive(Debug)]
pub(crate) struct ExecutorNumber {
    number: u16,
    recorder: Recorder,
    process: Process,
}

impl ExecutorNumber {
    /// Takes a number for a new executor with that name. If 65,535 executors were there since the recording began, the
    /// executor has none, and is not recorded. The first time, that is logged.
    pub(crate) fn new(recorder: &Recorder, name: &str) -> Self {
        let (number, is_news) = {
            let numbers = &mut recorder.lock().numbers;
            let number = numbers.take();
            (number, number == NONE && !std::mem::replace(&mut numbers.is_told, true))
        };
        if is_news {
            log::error!(
                target: "rospin",
                "the executor `{name}` and later ones are not recorded: a recording has numbers for {NONE} executors, and this program has had so \
                 many; let executors live longer, or begin a new recording"
            );
        }
        Self { number, recorder: recorder.clone(), process: Process::this() }
    }

    /// Returns the number.
    #[inline]
    pub(crate) const fn get(&self) -> u16 {
        self.number
    }

    /// Returns true if the executor can be recorded.
    pub(crate) const fn is_recordable(&self) -> bool {
        self.number != NONE
    }
}

impl Drop for ExecutorNumber {
    fn drop(&mut self) {
        if self.process.is_another() {
            // The lock may be held by a thread that a fork has not copied.
            return;
        }
        let mut registry = self.recorder.lock();
        let is_recorded = self.recorder.is_on();
        registry.numbers.put_back(self.number, is_recorded);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rospin_core::recording::{Definition, Sink, Words};

    struct Nothing;

    impl Sink for Nothing {
        fn define(&mut self, _: &Definition) {}

        fn record(&mut self, _: u32, _: &[Words]) {}

        fn flush(&mut self) {}
    }

    #[test]
    fn executors_never_share_a_number_in_a_recording() {
        let recorder = Recorder::new();
        let new = || ExecutorNumber::new(&recorder, "main");
        let first = new();
        // While nothing is recorded, numbers of what is gone may be used again.
        for _ in 0..200_000 {
            let other = new();
            assert!(other.is_recordable() && other.get() != first.get());
        }
        recorder.start(Nothing).unwrap();
        let mut seen = std::collections::BTreeSet::from([first.get()]);
        for _ in 0..200_000 {
            let other = new();
            assert!(!other.is_recordable() || seen.insert(other.get()), "{} came twice", other.get());
        }
        assert_eq!(seen.len(), 65_535);
        assert!(!new().is_recordable());
        recorder.stop();
        recorder.start(Nothing).unwrap();
        assert!(new().is_recordable(), "the new recording has nothing of what is gone");
        recorder.stop();
    }
}
