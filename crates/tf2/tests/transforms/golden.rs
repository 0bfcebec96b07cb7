//! Look-ups compared with those of ROS 2's own buffer.

use std::io::Read;

use flate2::read::GzDecoder;
use rospin::msgs::builtin_interfaces::msg::Time;
use rospin::msgs::geometry_msgs::msg::{Quaternion, TransformStamped, Vector3};
use rospin::tf2::{Buffer, TransformError, When};

/// Answers of the C++ core of ROS 2's `tf2`, version 0.41.7 of the distribution Kilted, to 10,024 random look-ups among
/// 5,054 random transforms. A small program without ROS, around its class `BufferCore`, set the transforms, looked up,
/// and wrote the results to this file, which is compressed by gzip. There are dynamic and static transforms, transforms
/// that change from one kind to the other, frames that change their parents, loops, two trees, invalid names, rotations
/// and numbers, transforms that are out of order or too old, and two cache times.
///
/// A record begins with a letter; numbers are little-endian. Times are in milliseconds, and 0 is the latest. A frame is
/// a byte: `f` and its number, or one of three that are invalid or unknown.
///
/// - `W`: a new buffer, with its cache time (u32).
/// - `T`: a transform: parent, child, flags (1 for static, 2 for a NaN, 4 for a rotation whose length is not one, 8 if
///   tf2 took it), time (u32), translation in decimetres (3 i8), rotation before normalization (4 i8).
/// - `C`: the buffer is cleared.
/// - `L`: a look-up: target, source, time (u32); 1 if `canTransform` said yes; then the result.
/// - `A`: a look-up between two times: target, its time, source, its time, fixed frame; then as for `L`.
///
/// A result is 0, the time (u32), the translation in micrometres (3 i32), and the rotation in units of 1e-9 (4 i32), of
/// which the largest component is positive. Or it is an error: 1 for lookup, 2 for connectivity, 6 for an invalid
/// argument; 3 for too few data, 4 for the future and 5 for the past, with the time that was asked for and that of the
/// closest transform, from the error's text.
const RECORDING: &[u8] = include_bytes!("../data/look_ups.bin.gz");

struct Reader(std::vec::IntoIter<u8>);

impl Reader {
    fn byte(&mut self) -> u8 {
        self.0.next().expect("the recording goes on")
    }

    fn int(&mut self) -> u32 {
        u32::from_le_bytes([0; 4].map(|_| self.byte()))
    }

    fn signed(&mut self) -> f64 {
        f64::from(self.int() as i32)
    }

    fn frame(&mut self) -> String {
        match self.byte() {
            255 => String::new(),
            254 => "/f1".to_owned(),
            253 => "nowhere".to_owned(),
            number => format!("f{number}"),
        }
    }

    fn when(&mut self) -> When {
        time(self.int()).into()
    }
}

fn time(millis: u32) -> Time {
    Time { sec: (millis / 1000) as i32, nanosec: millis % 1000 * 1_000_000 }
}

fn transform(reader: &mut Reader) -> (TransformStamped, bool, bool) {
    let mut transform = TransformStamped::default();
    transform.header.frame_id = reader.frame();
    transform.child_frame_id = reader.frame();
    let flags = reader.byte();
    transform.header.stamp = time(reader.int());
    let [x, y, z] = [0; 3].map(|_| f64::from(reader.byte() as i8) / 10.0);
    let [a, b, c, d] = [0; 4].map(|_| f64::from(reader.byte() as i8));
    let norm = (a * a + b * b + c * c + d * d).sqrt();
    let y = if flags & 2 == 0 { y } else { f64::NAN };
    let w = d / norm + if flags & 4 == 0 { 0.0 } else { 0.5 };
    transform.transform.translation = Vector3 { x, y, z };
    transform.transform.rotation = Quaternion { x: a / norm, y: b / norm, z: c / norm, w };
    (transform, flags & 1 != 0, flags & 8 != 0)
}

/// Checks a result, and returns its kind.
fn check(reader: &mut Reader, found: Result<TransformStamped, TransformError>, context: &str) -> usize {
    let kind = reader.byte();
    let millis = |nanos: i64| nanos / 1_000_000;
    let bounds = |reader: &mut Reader| [i64::from(reader.int()), i64::from(reader.int())];
    match (kind, found) {
        (0, Ok(found)) => {
            assert_eq!(found.header.stamp, time(reader.int()), "{context}");
            let t = found.transform.translation;
            let r = found.transform.rotation;
            for ours in [t.x, t.y, t.z] {
                let theirs = reader.signed() / 1e6;
                assert!((ours - theirs).abs() < 1e-6, "{context}: {ours} is not {theirs}");
            }
            let components = [r.x, r.y, r.z, r.w];
            let theirs = [0; 4].map(|_| reader.signed() / 1e9);
            // Two quaternions of opposite sign are the same rotation.
            let dot: f64 = components.iter().zip(theirs).map(|(ours, theirs)| ours * theirs).sum();
            for (ours, theirs) in components.into_iter().zip(theirs) {
                assert!((ours * dot.signum() - theirs).abs() < 2e-9, "{context}: {components:?} is not {theirs:?}");
            }
        }
        (1, Err(TransformError::UnknownFrame { .. } | TransformError::Loop { .. }))
        | (2, Err(TransformError::NotConnected { .. }))
        | (6, Err(TransformError::InvalidFrame { .. })) => {}
        (3, Err(TransformError::TooFew { requested_ns, only_ns, .. })) => {
            assert_eq!([millis(requested_ns), millis(only_ns.unwrap_or(0))], bounds(reader), "{context}");
        }
        (4, Err(TransformError::Future { requested_ns, newest_ns: bound_ns, .. }))
        | (5, Err(TransformError::Past { requested_ns, oldest_ns: bound_ns, .. })) => {
            assert_eq!([millis(requested_ns), millis(bound_ns)], bounds(reader), "{context}");
        }
        (kind, found) => panic!("{context}: the recording has a result of kind {kind}, not {found:?}"),
    }
    usize::from(kind)
}

#[test]
fn look_ups_are_those_of_tf2() {
    let mut recording = Vec::new();
    let file = std::env::var_os("TF2_RECORDING").map(|path| std::fs::read(path).expect("a file"));
    GzDecoder::new(file.as_deref().unwrap_or(RECORDING)).read_to_end(&mut recording).expect("it is compressed");
    let mut reader = Reader(recording.into_iter());
    let mut buffer = Buffer::new();
    let mut kinds = [0_u32; 7];
    let mut transforms = 0;
    while let Some(letter) = reader.0.next() {
        let context = format!("look-up {}", kinds.iter().sum::<u32>());
        match letter {
            b'W' => buffer = Buffer::with_cache_time(std::time::Duration::from_millis(reader.int().into())),
            b'C' => buffer.clear(),
            b'T' => {
                let (transform, is_static, is_taken) = transform(&mut reader);
                let set = if is_static { Buffer::set_static_transform } else { Buffer::set_transform };
                let set = set(&buffer, &transform, "recording");
                assert_eq!(set.is_ok(), is_taken, "{context}: {set:?} {transform:?}");
                transforms += 1;
            }
            b'L' => {
                let target = reader.frame();
                let source = reader.frame();
                let when = reader.when();
                let is_possible = reader.byte() == 1;
                assert_eq!(buffer.can_transform(&target, &source, when).is_ok(), is_possible, "{context}");
                let context = format!("{context}, from `{source}` to `{target}` at {when:?}");
                kinds[check(&mut reader, buffer.lookup_transform(&target, &source, when), &context)] += 1;
            }
            b'A' => {
                let target = reader.frame();
                let target_time = reader.when();
                let source = reader.frame();
                let source_time = reader.when();
                let fixed = reader.frame();
                let is_possible = reader.byte() == 1;
                let can = buffer.can_transform_between(&target, target_time, &source, source_time, &fixed);
                let context = format!(
                    "{context}, from `{source}` at {source_time:?} to `{target}` at {target_time:?} by `{fixed}`"
                );
                let found = buffer.lookup_transform_between(&target, target_time, &source, source_time, &fixed);
                assert_eq!((can.is_ok(), found.is_ok()), (is_possible, is_possible), "{context}");
                kinds[check(&mut reader, found, &context)] += 1;
            }
            other => panic!("there is no record `{other}`"),
        }
    }
    assert!(kinds.iter().sum::<u32>() >= 10_000 && transforms >= 5_000, "{kinds:?}, {transforms} transforms");
    assert!(kinds.iter().all(|count| *count > 100), "each kind of result occurs: {kinds:?}");
}
