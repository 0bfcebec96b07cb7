//! Time to decode an image of which a callback reads ten bytes, or all of them: with a `Blob`, and with a `Vec<u8>`.
//!
//! `cargo bench -p rospin-wire --bench image` prints a table.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rospin_wire::Blob;
use rospin_wire::cdr::{from_shared_payload, to_payload};
use rospin_wire::field::{As, Bulk};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

const MEASURED: Duration = Duration::from_millis(100);

/// An image as in generated messages.
#[derive(Serialize, Deserialize)]
struct Image<T> {
    height: u32,
    width: u32,
    encoding: String,
    data: T,
}

/// Bytes that are copied as a whole into a vector, as those of a field with a bound.
struct Copied(Vec<u8>);

impl<'de> Deserialize<'de> for Copied {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Bulk::<0>::read(deserializer).map(Self)
    }
}

impl std::ops::Deref for Copied {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Returns how many microseconds `work` takes: the best of several measurements.
fn time_us(mut work: impl FnMut()) -> f64 {
    let mut once = || {
        let begin = Instant::now();
        let mut count = 0_u32;
        while begin.elapsed() < MEASURED {
            for _ in 0..4 {
                work();
            }
            count += 4;
        }
        begin.elapsed().as_secs_f64() * 1e6 / f64::from(count)
    };
    (0..8).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// Returns the times of decoding the payload and of reading ten of its bytes, or each of them by its index.
fn decode<T: DeserializeOwned + std::ops::Deref<Target = [u8]>>(payload: &Bytes) -> [f64; 2] {
    let image = || from_shared_payload::<Image<T>>(black_box(payload)).expect("decoded");
    let ten = time_us(|| {
        let image = image();
        black_box((0..10).map(|at| u32::from(image.data[at * 1_001])).sum::<u32>());
    });
    let all = time_us(|| {
        let image = image();
        black_box((0..image.data.len()).map(|at| u32::from(image.data[at])).sum::<u32>());
    });
    [ten, all]
}

#[expect(clippy::print_stdout, reason = "this is what it is for")]
fn report(line: &str) {
    println!("{line}");
}

fn main() {
    report("image of     read          Blob (us)   Vec<u8> (us)");
    for (name, length) in [("16 KiB", 16 << 10), ("64 KiB", 64 << 10), ("1 MiB", 1 << 20), ("10 MiB", 10 << 20)] {
        let data = Blob::from(vec![7; length]);
        let payload = to_payload(&Image { height: 1, width: 1, encoding: "mono8".to_owned(), data });
        let payload = payload.expect("encoded").into();
        let blob = decode::<Blob>(&payload);
        let vector = decode::<Copied>(&payload);
        for (read, blob, vector) in [("ten bytes", blob[0], vector[0]), ("all bytes", blob[1], vector[1])] {
            report(&format!("{name:<12} {read:<9} {blob:>13.2} {vector:>14.2}"));
        }
    }
}
