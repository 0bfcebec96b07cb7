//! The buffer against a naive one, on random transforms and look-ups.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake};
use std::time::Duration;

use glam::{DAffine3, DQuat, DVec3};
use proptest::prelude::*;
use rospin::msgs::builtin_interfaces::msg::Time;
use rospin::msgs::geometry_msgs::msg::{Quaternion, TransformStamped, Vector3};
use rospin::tf2::{Buffer, TransformErrorKind, When};

const KEPT_SECONDS: i32 = 10;
const FRAMES: u8 = 6;

/// A transform of a frame to its parent, of a second from 1 on; 0 is for static ones.
#[derive(Clone, Debug)]
struct Set {
    child: u8,
    parent: u8,
    second: i32,
    translation: [f64; 3],
    axis: [f64; 3],
    angle: f64,
}

impl Set {
    fn affine(&self) -> DAffine3 {
        let axis = DVec3::from(self.axis).try_normalize().unwrap_or(DVec3::Z);
        DAffine3::from_rotation_translation(DQuat::from_axis_angle(axis, self.angle), self.translation.into())
    }

    fn message(&self) -> TransformStamped {
        let (_, rotation, translation) = self.affine().to_scale_rotation_translation();
        let mut message = TransformStamped { child_frame_id: self.child.to_string(), ..TransformStamped::default() };
        message.header.frame_id = self.parent.to_string();
        message.header.stamp = Time { sec: self.second, nanosec: 0 };
        message.transform.translation = Vector3 { x: translation.x, y: translation.y, z: translation.z };
        message.transform.rotation = Quaternion { x: rotation.x, y: rotation.y, z: rotation.z, w: rotation.w };
        message
    }
}

/// Each frame's transforms by their second; of one second, the last that came.
#[derive(Default)]
struct Naive(BTreeMap<u8, BTreeMap<i32, Set>>);

impl Naive {
    fn set(&mut self, set: &Set) {
        let frame = self.0.entry(set.child).or_default();
        if set.second == 0 || frame.contains_key(&0) {
            // A static transform replaces dynamic ones, and a dynamic one replaces static ones.
            frame.retain(|second, _| (*second == 0) == (set.second == 0));
        }
        let newest = frame.keys().max().copied().unwrap_or(set.second);
        if set.second >= newest - KEPT_SECONDS {
            frame.insert(set.second, set.clone());
        }
        // Ages are compared with the newest transform before this one, because tf2 prunes before it inserts.
        frame.retain(|second, _| *second + KEPT_SECONDS >= newest || set.second == 0);
    }

    /// Returns a frame's pose in its parent, and the parent; an error if it is not known at that time.
    fn at(&self, frame: u8, time: f64) -> Option<Result<(DAffine3, u8), ()>> {
        let sets = self.0.get(&frame)?;
        if let Some(fixed) = sets.get(&0) {
            return Some(Ok((fixed.affine(), fixed.parent)));
        }
        let before = sets.iter().rev().find(|(second, _)| f64::from(**second) <= time);
        let after = sets.iter().find(|(second, _)| f64::from(**second) >= time);
        let Some((_, before)) = before else { return Some(Err(())) };
        let Some((_, after)) = after else { return Some(Err(())) };
        if before.parent != after.parent || before.second == after.second {
            return Some(Ok((before.affine(), before.parent)));
        }
        let ratio = (time - f64::from(before.second)) / f64::from(after.second - before.second);
        let (_, one, from) = before.affine().to_scale_rotation_translation();
        let (_, two, to) = after.affine().to_scale_rotation_translation();
        // The rotation from one to the other, of which a part is applied about its axis.
        let mut turn = one.inverse() * two;
        if turn.w < 0.0 {
            turn = -turn;
        }
        let (axis, angle) = turn.to_axis_angle();
        let rotation = one * DQuat::from_axis_angle(axis, angle * ratio);
        Some(Ok((DAffine3::from_rotation_translation(rotation, from.lerp(to, ratio)), before.parent)))
    }

    /// Returns the frames from `frame` up, with the pose of `frame` in each, and true if the last one is a root.
    fn ancestors(&self, frame: u8, time: f64) -> Option<(Vec<(u8, DAffine3)>, bool)> {
        let mut all = vec![(frame, DAffine3::IDENTITY)];
        loop {
            let (last, pose) = *all.last()?;
            match self.at(last, time) {
                None => return Some((all, true)),
                Some(Err(())) => return Some((all, false)),
                Some(Ok((in_parent, parent))) => all.push((parent, in_parent * pose)),
            }
            if all.len() > usize::from(FRAMES) {
                return None;
            }
        }
    }

    /// Returns the transform, or `None` if there is none, for any reason.
    fn look_up(&self, target: u8, source: u8, time: f64) -> Option<DAffine3> {
        let of_target = self.ancestors(target, time)?.0;
        let of_source = self.ancestors(source, time)?.0;
        of_source.iter().find_map(|(frame, in_frame)| {
            of_target.iter().find(|(other, _)| other == frame).map(|(_, target_in)| target_in.inverse() * *in_frame)
        })
    }
}

/// Returns the transforms without those of a frame and time that there were before. tf2 has an order among these, and
/// the naive buffer has not.
fn distinct(mut sets: Vec<Set>) -> Vec<Set> {
    let mut seen = BTreeSet::new();
    sets.retain(|set| set.second == 0 || seen.insert((set.child, set.second)));
    sets
}

fn sets() -> impl Strategy<Value = Set> {
    let second = prop_oneof![8 => 1..30_i32, 1 => Just(0)];
    let numbers = || [-9.0..9.0, -9.0..9.0, -9.0..9.0];
    // A parent has a smaller number than its child, so there are no loops.
    (1..FRAMES).prop_flat_map(move |child| {
        (Just(child), child.saturating_sub(2)..child, second.clone(), numbers(), numbers(), -3.0..3.0).prop_map(
            |(child, parent, second, translation, axis, angle)| Set { child, parent, second, translation, axis, angle },
        )
    })
}

/// A waker that is a flag.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn look_ups_agree(
        sets in prop::collection::vec(sets(), 1..80).prop_map(distinct),
        look_ups in prop::collection::vec((0..FRAMES, 0..FRAMES, 1..300_i32), 50),
    ) {
        let buffer = Buffer::with_cache_time(Duration::from_secs(KEPT_SECONDS as u64));
        let mut naive = Naive::default();
        let mut is_known = [false; FRAMES as usize];
        for set in &sets {
            let added = if set.second == 0 { Buffer::set_static_transform } else { Buffer::set_transform };
            let _ = added(&buffer, &set.message(), "naive");
            naive.set(set);
            is_known[usize::from(set.child)] = true;
            is_known[usize::from(set.parent)] = true;
        }
        for (target, source, tenths) in look_ups {
            let time = Time { sec: tenths / 10, nanosec: (tenths % 10) as u32 * 100_000_000 };
            let found = buffer.lookup_transform(&target.to_string(), &source.to_string(), time);
            let expected = naive.look_up(target, source, f64::from(tenths) / 10.0);
            let all_known = is_known[usize::from(target)] && is_known[usize::from(source)];
            match (&found, expected) {
                (Ok(found), Some(expected)) => {
                    let t = &found.transform.translation;
                    let r = &found.transform.rotation;
                    let rotation = DQuat::from_xyzw(r.x, r.y, r.z, r.w);
                    let ours = DAffine3::from_rotation_translation(rotation, DVec3::new(t.x, t.y, t.z));
                    prop_assert!(ours.abs_diff_eq(expected, 1e-6), "{target} {source} {tenths}: {ours:?} is not \
                        {expected:?}");
                }
                (Err(error), None) => prop_assert_eq!(error.kind() == TransformErrorKind::Lookup, !all_known),
                // A frame that the buffer does not know has no ancestors and no relatives.
                (Err(error), Some(_)) => {
                    prop_assert!(!all_known && error.kind() == TransformErrorKind::Lookup, "{error}");
                }
                (Ok(_), None) => prop_assert!(false, "{target} {source} {tenths}: {found:?} {sets:?}"),
            }
        }
    }

    /// Futures are polled only when they are woken. None of them may be pending while its look-up has a result.
    #[test]
    fn a_wait_ends_as_soon_as_there_is_a_transform(
        sets in prop::collection::vec(sets(), 1..80),
        waits in prop::collection::vec((0..FRAMES, 0..FRAMES, 0..300_i32), 10),
    ) {
        let buffer = Buffer::with_cache_time(Duration::from_secs(KEPT_SECONDS as u64));
        let mut waits: Vec<_> = waits.into_iter().map(|(target, source, tenths)| {
            let when = When::from(Time { sec: tenths / 10, nanosec: (tenths % 10) as u32 * 100_000_000 });
            let woken = Arc::new(Woken(AtomicBool::new(true)));
            let wait = buffer.wait_for_transform(target.to_string(), source.to_string(), when);
            (target.to_string(), source.to_string(), when, woken, Some(Box::pin(wait)))
        }).collect();
        for set in &sets {
            let add = if set.second == 0 { Buffer::set_static_transform } else { Buffer::set_transform };
            let _ = add(&buffer, &set.message(), "wait");
            for (target, source, when, woken, wait) in &mut waits {
                let Some(future) = wait else { continue };
                if woken.0.swap(false, Ordering::Relaxed)
                    && future.as_mut().poll(&mut Context::from_waker(&Arc::clone(woken).into())).is_ready()
                {
                    *wait = None;
                } else {
                    prop_assert!(buffer.can_transform(target, source, *when).is_err(), "{target} {source} {when:?} \
                        after {set:?}");
                }
            }
        }
    }

    /// Going there and back, at one time or at two, is going nowhere.
    #[test]
    fn a_transform_and_its_inverse_cancel(
        sets in prop::collection::vec(sets(), 1..80).prop_map(distinct),
        target in 0..FRAMES,
        source in 0..FRAMES,
    ) {
        // The transform from a frame to itself needs no data, and exists even for unknown frames.
        prop_assume!(target != source);
        let buffer = Buffer::new();
        for set in &sets {
            drop(buffer.set_transform(&set.message(), "inverse"));
        }
        let target = target.to_string();
        let source = source.to_string();
        if let Ok(there) = buffer.lookup_transform(&target, &source, None::<Time>) {
            let back = buffer.lookup_transform(&source, &target, there.header.stamp).unwrap();
            let pose = |found: &TransformStamped| {
                let t = &found.transform.translation;
                let r = &found.transform.rotation;
                DAffine3::from_rotation_translation(DQuat::from_xyzw(r.x, r.y, r.z, r.w), DVec3::new(t.x, t.y, t.z))
            };
            prop_assert!((pose(&there) * pose(&back)).abs_diff_eq(DAffine3::IDENTITY, 1e-9));
            let stamp = there.header.stamp;
            let between = buffer.lookup_transform_between(&target, stamp, &source, stamp, &source).unwrap();
            prop_assert!(pose(&between).abs_diff_eq(pose(&there), 1e-9));
        }
    }
}
