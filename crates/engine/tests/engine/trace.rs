//! The trace of an executor.

use std::sync::{Arc, OnceLock};

use crate::common::{Log, manual, ms, spin_all, watchdog};
use rospin_engine::trace::TraceEvent;
use rospin_engine::{EntityKind, EntityOptions, ExecutorOptions, Instant};

#[test]
fn the_trace_tells_what_the_scheduler_did() {
    watchdog(|| {
        let (clock, context) = manual();
        let log = Log::new();
        let record = log.clone();
        let trace = move |now: Instant, event: TraceEvent| {
            record.push(match event {
                TraceEvent::Released(activation) => (now, "released", activation.kind, activation.segment),
                TraceEvent::Dispatched(thread, activation) => {
                    assert_eq!(thread.0, 0);
                    (now, "dispatched", activation.kind, activation.segment)
                }
                TraceEvent::Suspended(activation) => (now, "suspended", activation.kind, activation.segment),
                TraceEvent::Completed(activation) => (now, "completed", activation.kind, activation.segment),
                TraceEvent::Overrun(_, count) => (now, "overrun", EntityKind::Timer, count as u32),
                _ => return,
            });
        };
        let executor = context.create_executor(ExecutorOptions::new("main").trace(trace));
        let group = executor.create_group("group", ());
        let hand = clock.clone();
        let _timer = group.create_timer(ms(10), move |(), _| hand.advance(ms(1))).unwrap();
        clock.advance(ms(25));
        spin_all(&executor);
        let at = Instant::from_millis;
        let of = |kind| move |ms, what, segment| (at(ms), what, kind, segment);
        let timer = of(EntityKind::Timer);
        let mut events = log.take();
        let overruns: Vec<_> = events.extract_if(.., |event| event.1 == "overrun").collect();
        assert_eq!(events, [timer(10, "released", 0), timer(25, "dispatched", 0), timer(26, "completed", 0)]);
        assert_eq!(overruns.iter().map(|overrun| overrun.3).collect::<Vec<_>>(), [1]);

        let (key, gate) = futures::channel::oneshot::channel::<()>();
        let slot = Arc::new(OnceLock::new());
        slot.set(key).unwrap();
        let mut gate = Some(gate);
        let _stream =
            group.create_stream_async(EntityOptions::new("stream"), futures::stream::iter([1]), move |_, _| {
                let gate = gate.take().unwrap();
                async move { gate.await.unwrap() }
            });
        spin_all(&executor);
        let stream = of(EntityKind::Waitable);
        assert_eq!(
            log.take()[..4],
            [
                stream(26, "released", 0),
                stream(26, "dispatched", 0),
                // The stream may have more items, so its entity is released again.
                stream(26, "released", 0),
                stream(26, "suspended", 0),
            ]
        );
        Arc::into_inner(slot).unwrap().into_inner().unwrap().send(()).unwrap();
        clock.advance(ms(2));
        spin_all(&executor);
        let events = log.take();
        assert_eq!(events[..3], [stream(26, "released", 1), stream(28, "dispatched", 1), stream(28, "completed", 1),]);
    });
}
