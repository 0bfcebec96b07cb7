//! The log: events arrive in order and whole, and each is read or counted as dropped.

use loom::thread;

use super::lock_free::log::log;

/// Fails if the reader advances `head` before it has copied the slot, if the writer advances `tail` before it has
/// filled the slot, or if either does so without release.
#[test]
fn events_are_read_whole_and_in_order_or_counted() {
    loom::model(|| {
        const COUNT: u64 = 4;
        let (mut writer, mut reader) = log::<2>(2);
        let reading = thread::spawn(move || {
            let mut events = Vec::new();
            reader.drain(&mut events);
            reader.drain(&mut events);
            (events, reader)
        });
        for number in 1..=COUNT {
            writer.push(&[number; 2]);
        }
        drop(writer);
        let (mut events, mut reader) = reading.join().unwrap();
        assert!(reader.is_closed());
        reader.drain(&mut events);
        assert!(events.iter().all(|event| event.iter().all(|word| *word == event[0])), "{events:?}");
        assert!(events.is_sorted(), "{events:?}");
        assert_eq!(events.len() as u64 + reader.dropped(), COUNT);
    });
}

/// Once the reader knows that the writer is gone, a drain finds the last event.
///
/// Fails if the writer says so without release, or the reader looks without acquire.
#[test]
fn a_drain_after_the_end_finds_all_events() {
    loom::model(|| {
        let (mut writer, mut reader) = log::<2>(2);
        let reading = thread::spawn(move || {
            let is_closed = reader.is_closed();
            let mut events = Vec::new();
            reader.drain(&mut events);
            assert!(!is_closed || events == [[1; 2]], "{events:?}");
        });
        writer.push(&[1; 2]);
        drop(writer);
        reading.join().unwrap();
    });
}
