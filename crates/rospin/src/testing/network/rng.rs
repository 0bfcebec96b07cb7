//! The generator by which a seed decides everything on a simulated network.

use std::time::Duration;

/// The generator SplitMix64 (Steele et al. 2014).
#[derive(Debug)]
pub(super) struct Rng(u64);

impl Rng {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns true with that probability, from 0 to 1.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        // 32 bits are exact in both types.
        probability > 0.0 && f64::from((self.next() >> 32) as u32) < probability * f64::from(u32::MAX)
    }

    /// Returns a duration from `least` to `most`.
    pub(super) fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let width = u64::try_from(most.saturating_sub(least).as_nanos()).unwrap_or(u64::MAX);
        let more = if width == 0 { 0 } else { self.next() % width.saturating_add(1).max(1) };
        least + Duration::from_nanos(more)
    }
}
