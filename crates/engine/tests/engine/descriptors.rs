//! File descriptors as sources: they are found ready, in the order of the policy, as long as they are.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};

use crate::common::{Count, Log, eventually, spin_in_background, watchdog};
use rospin_engine::{
    Context, ContextOptions, Descriptor, EntityKind, EntityOptions, Executor, ExecutorOptions, Priority, Readiness,
    SourceError, SpinEnd, SpinOptions,
};

const KIND: EntityKind = EntityKind::Waitable;

fn executor() -> (Context, Executor) {
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main"));
    (context, executor)
}

fn pair() -> (UnixStream, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    (ours, theirs)
}

/// Spins until one callback has run.
fn spin_once(executor: &Executor) {
    assert_eq!(executor.spin(SpinOptions::spin_once()).unwrap(), SpinEnd::Done);
}

#[test]
fn what_a_callback_leaves_is_found_again() {
    watchdog(|| {
        let (context, executor) = executor();
        let (mut ours, theirs) = pair();
        let source = Descriptor::new(&context, &theirs, Readiness::READABLE).unwrap();
        let group = executor.create_group("group", (theirs, Vec::new()));
        let read = |(socket, bytes): &mut (UnixStream, Vec<u8>), ready: Readiness| {
            assert_eq!(ready, Readiness::READABLE);
            let mut byte = [0];
            socket.read_exact(&mut byte).unwrap();
            bytes.extend(byte);
        };
        let _entity = group.create_source(KIND, "bytes", source, read).unwrap();
        ours.write_all(&[1, 2, 3]).unwrap();
        for _ in 0..3 {
            spin_once(&executor);
        }
        ours.write_all(&[4]).unwrap();
        spin_once(&executor);
        executor.spin(SpinOptions::spin_all()).unwrap();
        assert_eq!(group.into_payload().unwrap().1, [1, 2, 3, 4]);
    });
}

#[test]
fn a_descriptor_that_another_has_read_meanwhile_runs_nothing() {
    watchdog(|| {
        let (context, executor) = executor();
        let (mut ours, theirs) = pair();
        let group = executor.create_group("group", theirs.try_clone().unwrap());
        let ran = Count::new();
        // Both watch the same socket, and find the same byte.
        let mut entities = Vec::new();
        for name in ["first", "second"] {
            let source = Descriptor::new(&context, &theirs, Readiness::READABLE).unwrap();
            let counter = ran.clone();
            let read = move |socket: &mut UnixStream, _: Readiness| {
                socket.read_exact(&mut [0]).unwrap();
                counter.up();
            };
            entities.push(group.create_source(KIND, name, source, read).unwrap());
        }
        ours.write_all(&[1]).unwrap();
        spin_once(&executor);
        executor.spin(SpinOptions::spin_all()).unwrap();
        assert_eq!(ran.get(), 1);
        ours.write_all(&[2]).unwrap();
        spin_once(&executor);
        assert_eq!(ran.get(), 2, "both are watched again");
    });
}

/// The watcher notifies in the order in which descriptors become ready, so one that another executor finds later tells
/// that the first one was notified.
#[test]
fn an_urgent_descriptor_comes_before_what_was_ready_earlier() {
    watchdog(|| {
        let (context, executor) = executor();
        let other = Arc::new(context.create_executor(ExecutorOptions::new("other")));
        let (mut urgent, theirs) = pair();
        let (mut sign, signs) = pair();
        let (seen, is_seen) = mpsc::channel();
        let source = Descriptor::new(&context, &signs, Readiness::READABLE).unwrap();
        let see = move |socket: &mut UnixStream, _: Readiness| {
            socket.read_exact(&mut [0]).unwrap();
            seen.send(()).unwrap();
        };
        let _sign = other.create_group("signs", signs).create_source(KIND, "sign", source, see).unwrap();
        let spun = spin_in_background(&other);

        let order = Log::new();
        let group = executor.create_group("group", theirs.try_clone().unwrap());
        let log = order.clone();
        let source = Descriptor::new(&context, &theirs, Readiness::READABLE).unwrap();
        let options = EntityOptions::new("urgent").priority(Priority(9));
        let read = move |socket: &mut UnixStream, _: Readiness| {
            socket.read_exact(&mut [0]).unwrap();
            log.push("urgent");
        };
        let _urgent = group.create_source(KIND, options, source, read).unwrap();
        let log = order.clone();
        let gate = group.create_stream("gate", futures::stream::iter([0, 1]), move |_, number| {
            if number == 0 {
                urgent.write_all(&[1]).unwrap();
                sign.write_all(&[1]).unwrap();
                is_seen.recv().unwrap();
            }
            log.push("gate");
        });
        let _gate = gate.unwrap();
        executor.spin(SpinOptions::spin_all()).unwrap();
        assert_eq!(order.take(), ["gate", "urgent", "gate"]);
        other.halt();
        spun.join().unwrap().unwrap();
    });
}

#[test]
fn the_end_of_the_other_side_is_told() {
    watchdog(|| {
        let (context, executor) = executor();
        let (ours, theirs) = pair();
        let source = Descriptor::new(&context, &theirs, Readiness::READABLE).unwrap();
        let group = executor.create_group("group", None);
        let _entity = group.create_source(KIND, "end", source, |told, ready| *told = Some(ready)).unwrap();
        drop(ours);
        spin_once(&executor);
        let told = group.into_payload().unwrap().unwrap();
        assert!(told.contains(Readiness::HANGUP | Readiness::READABLE), "{told:?}");
        assert!(!told.contains(Readiness::WRITABLE));
        assert_eq!(format!("{:?}", Readiness::READABLE | Readiness::HANGUP), "READABLE | HANGUP");
        assert_eq!(Readiness::from_bits(255).bits(), 31);
    });
}

#[test]
fn room_to_write_is_watched_for_beside_a_reader_of_the_same_descriptor() {
    watchdog(|| {
        let (context, executor) = executor();
        let (mut ours, theirs) = pair();
        let group = executor.create_group("group", theirs.try_clone().unwrap());
        let read = Descriptor::new(&context, &theirs, Readiness::READABLE).unwrap();
        let write = Descriptor::new(&context, &theirs, Readiness::WRITABLE).unwrap();
        let heard = Log::new();
        let log = heard.clone();
        let hear = move |socket: &mut UnixStream, _: Readiness| {
            let mut byte = [0];
            socket.read_exact(&mut byte).unwrap();
            log.push(byte[0]);
        };
        let _reader = group.create_source(KIND, "reader", read, hear).unwrap();
        let say = |socket: &mut UnixStream, ready: Readiness| {
            assert_eq!(ready, Readiness::WRITABLE);
            socket.write_all(&[7]).unwrap();
        };
        let writer = group.create_source(KIND, "writer", write, say).unwrap();
        spin_once(&executor);
        drop(writer);
        let mut byte = [0];
        ours.read_exact(&mut byte).unwrap();
        ours.write_all(&byte).unwrap();
        spin_once(&executor);
        assert_eq!(heard.take(), [7]);
    });
}

#[test]
fn an_entity_that_is_dropped_leaves_others_alone() {
    watchdog(|| {
        let (context, executor) = executor();
        let executor = Arc::new(executor);
        let group = executor.create_group("group", ());
        let (mut ours, theirs) = pair();
        let (mut others, their_others) = pair();
        let dropped = Count::new();
        let ran = Count::new();
        let source = Descriptor::new(&context, &theirs, Readiness::READABLE).unwrap();
        let owned = dropped.on_drop();
        let entity = group.create_source(KIND, "dropped", source, move |(), _| owned.touch()).unwrap();
        let source = Descriptor::new(&context, &their_others, Readiness::READABLE).unwrap();
        let counter = ran.clone();
        let read = move |(): &mut (), _: Readiness| {
            (&their_others).read_exact(&mut [0]).unwrap();
            counter.up();
        };
        let _other = group.create_source(KIND, "other", source, read).unwrap();
        let spun = spin_in_background(&executor);
        drop(entity);
        eventually(|| dropped.get() == 1);
        ours.write_all(&[1]).unwrap();
        others.write_all(&[1]).unwrap();
        eventually(|| ran.get() == 1);
        executor.halt();
        spun.join().unwrap().unwrap();
    });
}

#[test]
fn a_file_on_disk_cannot_be_watched() {
    watchdog(|| {
        let (context, executor) = executor();
        let file = File::open("/proc/self/exe").unwrap();
        let source = Descriptor::new(&context, &file, Readiness::READABLE).unwrap();
        let group = executor.create_group("group", ());
        let error = group.create_source(KIND, "file", source, |(), _| {}).unwrap_err();
        assert!(matches!(error, SourceError::Attach(_)), "{error}");
        assert!(error.to_string().contains("not permitted"), "{error}");
    });
}

/// The thread ends with the last descriptor, and another one starts with the next.
#[test]
fn a_context_watches_again_after_its_last_descriptor_was_dropped() {
    watchdog(|| {
        let (context, executor) = executor();
        for round in 0..3 {
            let (mut ours, theirs) = pair();
            let source = Descriptor::new(&context, &theirs, Readiness::READABLE).unwrap();
            let group = executor.create_group("group", 0);
            let read = move |sum: &mut u8, _: Readiness| {
                let mut byte = [0];
                (&theirs).read_exact(&mut byte).unwrap();
                *sum += byte[0];
            };
            let _entity = group.create_source(KIND, "bytes", source, read).unwrap();
            ours.write_all(&[round]).unwrap();
            spin_once(&executor);
            assert_eq!(group.into_payload().unwrap(), round);
        }
    });
}
