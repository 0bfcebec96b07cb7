//! Speed of encoding and decoding 64 KiB of numbers: copied as a whole, and one by one by plain serde.
//!
//! `cargo bench -p rospin-wire` prints a table. It first checks that both ways give the same bytes.

use std::hint::black_box;
use std::time::{Duration, Instant};

use byteorder::LittleEndian;
use rospin_wire::cdr::{self, ByteOrder};
use rospin_wire::field::{As, Bulk, Number};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const BYTES: usize = 65_536;
const MEASURED: Duration = Duration::from_millis(100);

/// Numbers as in generated messages.
#[derive(Debug, PartialEq)]
struct Whole<T>(Vec<T>);

impl<T: Number> Serialize for Whole<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        <Bulk<0> as As<Vec<T>>>::write(&self.0, serializer)
    }
}

impl<'de, T: Number> Deserialize<'de> for Whole<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <Bulk<0> as As<Vec<T>>>::read(deserializer).map(Self)
    }
}

/// Returns how many times per second `work` runs: the best of several measurements.
fn rate(mut work: impl FnMut()) -> f64 {
    let mut once = || {
        let begin = Instant::now();
        let mut count = 0_u32;
        while begin.elapsed() < MEASURED {
            for _ in 0..16 {
                work();
            }
            count += 16;
        }
        f64::from(count) / begin.elapsed().as_secs_f64()
    };
    (0..8).map(|_| once()).fold(0.0, f64::max)
}

/// Allocates something small on the heap between the encoded and the decoded message. Some processors copy ten times
/// slower if source and target differ by a few bytes plus whole pages, as neighbouring blocks of 64 KiB do.
fn gap() -> Vec<u8> {
    black_box(Vec::with_capacity(2_000))
}

/// Leaves free room below a block that stays. Without it, glibc returns the top of the heap to the kernel after every
/// message, and the benchmark would measure page faults.
fn make_room() -> Vec<u8> {
    let room: Vec<_> = (0..8).map(|_| black_box(vec![1_u8; BYTES + BYTES / 2])).collect();
    let stays = black_box(vec![1_u8; 64]);
    drop(black_box(room));
    stays
}

/// Measures our codec, which the adapter for Zenoh uses.
fn by_ours<T: Serialize + DeserializeOwned>(value: &T) -> f64 {
    rate(|| {
        let bytes = cdr::to_vec(black_box(value)).expect("encoded");
        let _gap = gap();
        black_box(cdr::from_bytes::<T>(&bytes, ByteOrder::Little).expect("decoded"));
    })
}

/// By the crate `cdr-encoding`, which walks numbers one by one.
fn by_cdr_encoding<T: Serialize + DeserializeOwned>(value: &T) -> f64 {
    rate(|| {
        let bytes = cdr_encoding::to_vec::<T, LittleEndian>(black_box(value)).expect("encoded");
        let _gap = gap();
        black_box(cdr_encoding::from_bytes::<T, LittleEndian>(&bytes).expect("decoded"));
    })
}

fn compare<T: Number>(name: &str, values: Vec<T>) {
    let whole = Whole(values.clone());
    let bytes = cdr::to_vec(&whole).expect("encoded");
    assert_eq!(bytes, cdr::to_vec(&values).expect("encoded"));
    assert_eq!(bytes, cdr_encoding::to_vec::<_, LittleEndian>(&whole).expect("encoded"));
    for (codec, whole, walked) in [
        ("rospin-wire", by_ours(&whole), by_ours(&values)),
        ("cdr-encoding", by_cdr_encoding(&whole), by_cdr_encoding(&values)),
    ] {
        report(&format!("{name:<10} {codec:<13} {whole:>11.0} {walked:>11.0} {:>7.1}", whole / walked));
    }
}

#[expect(clippy::print_stdout, reason = "this is what it is for")]
fn report(line: &str) {
    println!("{line}");
}

fn main() {
    let _stays = make_room();
    report("64 KiB of   by            whole (1/s)   walked (1/s)   ratio");
    compare("uint8[]", (0..BYTES).map(|at| at as u8).collect());
    compare("uint16[]", (0..BYTES / 2).map(|at| at as u16).collect());
    compare("float32[]", (0..BYTES / 4).map(|at| at as f32).collect());
    compare("float64[]", (0..BYTES / 8).map(|at| at as f64).collect());
}
