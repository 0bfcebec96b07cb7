//! The pipelines: camera frames that need the device, of three criticalities.

use std::time::Duration;

use rospin_accelerator::Priority;
use rospin_analysis::{DeviceClient, DeviceRules, among_blocks, device_bounds};

use super::contender::Contender;

/// The largest number of blocks and copies of others that a segment on an urgent lane waits for: a block for each of
/// two kernels, and a copy of each of the two other lanes, because devices know no priorities of copies. On the model
/// device, a segment has a kernel and two copies, each of which waits for one of either.
const PHASES: u32 = 4;

/// Lengths of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Lengths {
    /// Length of the kernel.
    pub(crate) kernel: Duration,
    /// Length of the copy before the kernel, and of the one after it.
    pub(crate) copy: Duration,
    /// The longest time that the whole segment takes.
    pub(crate) longest: Duration,
    /// The longest time for which a block of the kernel, or a copy, keeps more urgent ones waiting.
    pub(crate) block: Duration,
}

impl Lengths {
    const fn exact(kernel: Duration) -> Self {
        let copy = Duration::from_micros(100);
        let longest = Duration::from_micros(kernel.as_micros() as u64 + 200);
        Self { kernel, copy, longest, block: Duration::from_micros(100) }
    }

    /// Segments of the critical pipeline on the model device.
    pub(crate) const SHORT: Self = Self::exact(Duration::from_micros(800));
    /// Other segments on the model device: layers of a net.
    pub(crate) const LAYER: Self = Self::exact(Duration::from_micros(2_300));
}

/// The criticality of a pipeline, most critical first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Criticality {
    High,
    Medium,
    Low,
}

impl Criticality {
    pub(crate) const ALL: [Self; 3] = [Self::High, Self::Medium, Self::Low];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }

    /// Returns the priority on the device.
    pub(crate) const fn priority(self) -> Priority {
        match self {
            Self::High => Priority(3),
            Self::Medium => Priority(2),
            Self::Low => Priority(1),
        }
    }
}

/// A pipeline: a camera, and the work of a frame on the device.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    pub(crate) name: String,
    pub(crate) criticality: Criticality,
    pub(crate) period: Duration,
    /// The time of the first frame, from the start of the run.
    pub(crate) phase: Duration,
    /// Time from a frame to the latest end of its work.
    pub(crate) deadline: Duration,
    /// Number of segments of a frame.
    pub(crate) segments: usize,
    /// Lengths of each segment.
    pub(crate) lengths: Lengths,
}

impl Pipeline {
    /// Returns the device time of a segment, which is the usual one where it varies.
    pub(crate) fn segment(&self) -> Duration {
        self.lengths.copy + self.lengths.kernel + self.lengths.copy
    }

    /// Returns the device time of a frame.
    pub(crate) fn work(&self) -> Duration {
        self.segment() * self.segments as u32
    }

    /// Returns the number of frames in a run of that length: that of whole periods from the first frame to the end.
    pub(crate) fn frames(&self, duration: Duration) -> u64 {
        (duration.saturating_sub(self.phase).as_nanos() / self.period.as_nanos()) as u64
    }
}

/// Returns the pipelines that together ask for the share `load` of the device's time: one of high criticality with
/// segments of these lengths, two of medium criticality and four of low criticality. The periods of the last four are
/// chosen so that the sum is `load`.
pub(crate) fn pipelines(load: f64, [high, medium, low]: [Lengths; 3]) -> Vec<Pipeline> {
    let ms = Duration::from_millis;
    let mut all = vec![Pipeline {
        name: "brake".to_owned(),
        criticality: Criticality::High,
        period: ms(20),
        phase: Duration::ZERO,
        deadline: ms(6),
        segments: 2,
        lengths: high,
    }];
    let heavy = |name: String, criticality, lengths, period: Duration, segments, number: u32| Pipeline {
        name,
        criticality,
        period,
        // The phases are spread, so that frames do not all come at once.
        phase: period * number / 7,
        deadline: period,
        segments,
        lengths,
    };
    all.extend(
        (0..2).map(|n| heavy(format!("detect{n}"), Criticality::Medium, medium, ms(33 + 4 * u64::from(n)), 2, n + 1)),
    );
    let share = |pipeline: &Pipeline| pipeline.work().as_secs_f64() / pipeline.period.as_secs_f64();
    let each = (load - all.iter().map(share).sum::<f64>()) / 4.0;
    all.extend((0..4).map(|n| {
        let mut map = heavy(format!("map{n}"), Criticality::Low, low, ms(1), 8, n + 3);
        map.period = map.work().div_f64(each);
        map.deadline = map.period;
        map.phase = map.period * n / 7;
        map
    }));
    all
}

/// Returns the proven bound of the first pipeline, the critical one, behind rospin's accelerator: the longest time from
/// a frame to its end. On one lane, that is one segment of another pipeline and the frame's own work; on an urgent lane
/// a block for each kernel and copy, and the frame's own work. Beside each segment comes the `overhead`. It is as good
/// as the longest lengths. `None` if there is no bound, or if the contender is none of rospin.
pub(crate) fn critical_bound(contender: Contender, pipelines: &[Pipeline], overhead: Duration) -> Option<Duration> {
    let client = |pipeline: &Pipeline| DeviceClient {
        priority: pipeline.criticality.priority(),
        period: pipeline.period,
        jitter: Duration::ZERO,
        segments: vec![pipeline.lengths.longest; pipeline.segments],
        budget: None,
    };
    let mut clients: Vec<_> = pipelines.iter().map(client).collect();
    let rules = match contender {
        Contender::Rospin => DeviceRules::new().overhead(overhead),
        Contender::RospinUrgent | Contender::RospinUrgentAndOne => {
            let (critical, others) = pipelines.split_first()?;
            let block = others.iter().map(|pipeline| pipeline.lengths.block).max()?;
            clients.truncate(1);
            for segment in &mut clients[0].segments {
                *segment = among_blocks(critical.lengths.longest, PHASES, block);
            }
            DeviceRules::new().ahead(true).overhead(overhead)
        }
        _ => return None,
    };
    device_bounds(&clients, rules).first().copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pipelines_ask_for_what_they_should_and_the_critical_bound_is_a_segment_or_blocks_and_its_own() {
        for load in [0.5, 0.9] {
            let all = pipelines(load, [Lengths::SHORT, Lengths::LAYER, Lengths::LAYER]);
            let sum: f64 = all.iter().map(|one| one.work().as_secs_f64() / one.period.as_secs_f64()).sum();
            assert!((sum - load).abs() < 1e-6, "{sum}");
            assert!(all[1..].iter().all(|one| one.deadline == one.period));
            assert_eq!(critical_bound(Contender::Rospin, &all, Duration::ZERO), Some(all[1].segment() + all[0].work()));
            let blocks = all[1].lengths.block * 2 * PHASES;
            assert_eq!(critical_bound(Contender::RospinUrgent, &all, Duration::ZERO), Some(blocks + all[0].work()));
            assert_eq!(critical_bound(Contender::OneStream, &all, Duration::ZERO), None);
        }
    }
}
