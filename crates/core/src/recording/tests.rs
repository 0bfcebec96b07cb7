use super::*;
use crate::time::Instant;

#[test]
fn events_survive_their_encoding() {
    let step = Step { executor: 7, entity: u64::MAX - 1, sequence: 3, segment: u32::MAX };
    let release = Instant::from_nanos(5);
    let deadline = Instant::MAX;
    let publisher = std::array::from_fn(|byte| byte as u8);
    let events = [
        Event::Released { step, release, deadline },
        Event::Antedated { step, release, deadline },
        Event::Dispatched { step, thread: 255, release, cpu_ns: 9 },
        Event::Suspended { step, cpu_ns: 9 },
        Event::Completed { step, deadline, cpu_ns: 9 },
        Event::PollingPoint { executor: 7, thread: 2 },
        Event::Collected { step },
        Event::Overrun { executor: 7, entity: 4, count: 2 },
        Event::Queued { queue: 4, ticket: 2, displaced: true },
        Event::Taken { queue: 4, ticket: 2 },
        Event::Sent { publisher, number: 8 },
        Event::Received { publisher, number: 8 },
        Event::Lost { account: 4, cause: 6, count: 2 },
        Event::Incident { executor: 7, entity: 4, kind: 1 },
        Event::Dropped { count: 11 },
        Event::Violation {
            executor: 7,
            entity: 4,
            kind: 6,
            cause: 9,
            chain: 0xff_ffff,
            culprit: 12,
            measured: 5,
            limit: 3,
        },
        Event::HandedOver { executor: 7, number: 12, previous: 9, count: 4 },
        Event::Withdrawn { step },
        Event::Discarded { executor: 7, thread: 255 },
        Event::Snapshot { executor: 7, count: 4 },
        Event::FoundReady { step, release, deadline, is_polled: true },
        Event::FoundRunning { step },
        Event::FoundSuspended { step },
        Event::FoundArmed { executor: 7, entity: 4, clock: 2, due: release },
    ];
    let at = Instant::from_nanos(1234);
    for (number, event) in events.iter().enumerate() {
        let words = event.encode(at);
        assert_eq!(Event::decode(&words), Some((at, *event)));
        let (kind, name, ..) = KINDS[number];
        assert_eq!(words[1] as u8, kind);
        let text = format!("{event:?}");
        assert!(text.to_lowercase().starts_with(&name.replace('_', "")), "{name} {event:?}");
        assert_eq!(event.step(), if text.contains("step:") { Some(step) } else { None }, "{event:?}");
    }
    assert_eq!(Event::decode(&[0, 0, 0, 0, 0, 0]), None);
    assert_eq!(Event::decode(&[0, 17, 0, 0, 0, 0]), None);
}
