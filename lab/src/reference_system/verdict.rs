//! The table's result in one sentence, whichever executor is best.

use super::comparison::Comparison;
use super::figures::Figures;
use super::runner::Variant;

/// Returns the executors to compare a rospin variant with, the one that is most like it first. The sentence names the
/// first that was run.
fn peers(variant: Variant) -> [Variant; 3] {
    use Variant::{FifoSingle, PrioritySingle, WaitSetMulti, WaitSetSingle};
    match variant {
        PrioritySingle => [WaitSetSingle, FifoSingle, WaitSetMulti],
        _ => [WaitSetMulti, WaitSetSingle, FifoSingle],
    }
}

/// Executor with the figures that the sentence needs.
struct Contender {
    variant: Variant,
    /// Mean hot path latency.
    mean_ms: f64,
    /// Mean time from the due time of the later lidar to the end of the hot path; `None` if no due time is known.
    from_due_ms: Option<f64>,
    /// Mean number of samples that were dropped on the hot path.
    drops: f64,
    /// Number of front lidar samples that never reached the sink.
    missed: f64,
    /// Standard deviation of the planner's period.
    planner_sd_ms: Option<f64>,
}

/// Returns a sentence that compares a rospin variant with the executor that is most like it, and names the best ones.
/// If no such two were run, it names the executor with the lowest mean latency. If some executor let no sample through
/// the hot path, it says only that.
pub(crate) fn sentence(comparison: &Comparison) -> String {
    let contenders = contenders(comparison);
    let silent = comparison
        .results
        .iter()
        .find(|result| !contenders.iter().any(|contender| contender.variant == result.variant));
    if let Some(silent) = silent {
        return format!("Under {} no sample came through the hot path.", silent.variant.name());
    }
    let shortest_ms = comparison.settings.shortest_hot_path_ms();
    match pair(&contenders) {
        Some((rospin, peer)) => compare(rospin, peer, &contenders, shortest_ms),
        None => best_of(&contenders, shortest_ms),
    }
}

/// Returns the executors under which samples came through the hot path.
fn contenders(comparison: &Comparison) -> Vec<Contender> {
    let with_samples = comparison.results.iter().filter_map(|result| {
        let figures = Figures::of(result);
        Some(Contender {
            variant: result.variant,
            mean_ms: figures.latency_ms?.mean,
            from_due_ms: figures.from_due_ms.map(|from_due| from_due.mean),
            drops: figures.drops?.mean,
            missed: figures.missed_front_lidar.unwrap_or(0.0),
            planner_sd_ms: figures.planner_period_ms.map(|period| period.sd),
        })
    });
    with_samples.collect()
}

/// Returns the two that the sentence compares: a rospin variant, and the first of its [`peers`] that was run. `None` if
/// no such two were run.
fn pair(contenders: &[Contender]) -> Option<(&Contender, &Contender)> {
    let find = |variant| contenders.iter().find(move |c| c.variant == variant);
    [Variant::PrioritySingle, Variant::PriorityMulti].into_iter().find_map(|variant| {
        let rospin = find(variant)?;
        peers(variant).into_iter().find_map(find).map(|peer| (rospin, peer))
    })
}

/// Returns the sentence about a rospin variant and the executor that it is compared with.
fn compare(rospin: &Contender, peer: &Contender, contenders: &[Contender], shortest_ms: f64) -> String {
    let change = 100.0 * (rospin.mean_ms / peer.mean_ms - 1.0);
    let (name, than) = (rospin.variant.name(), peer.variant.name());
    let verdict = match change {
        // A change that rounds to zero counts as none.
        change if change.abs() < 0.5 => {
            format!("{name} has the same mean hot path latency as {than}")
        }
        change if change < 0.0 => {
            format!("{name} lowers the mean hot path latency of {than} by {:.0} %", -change)
        }
        change => format!("{name} raises the mean hot path latency of {than} by {change:.0} %"),
    };
    let from_due = match (rospin.from_due_ms, peer.from_due_ms) {
        (Some(ours), Some(theirs)) => format!(", from the lidars' due times {ours:.1} ms against {theirs:.1} ms"),
        _ => String::new(),
    };
    format!(
        "{verdict} ({:.1} ms against {:.1} ms{from_due}; {:.1} ms is the shortest possible) and {}{}.",
        rospin.mean_ms,
        peer.mean_ms,
        shortest_ms,
        losses(rospin, peer),
        leaders(rospin, contenders),
    )
}

/// Returns a clause about the dropped and the missed samples of both executors.
fn losses(rospin: &Contender, peer: &Contender) -> String {
    let lost = |contender: &Contender| match (contender.drops, contender.missed) {
        (drops, missed) if drops == 0.0 && missed == 0.0 => "loses nothing".to_owned(),
        (drops, missed) => format!(
            "drops {drops:.2} samples on average and misses {missed:.0} front lidar {}",
            if missed == 1.0 { "sample" } else { "samples" }
        ),
    };
    let (ours, theirs) = (lost(rospin), lost(peer));
    if ours == theirs {
        return format!("{ours}, as {} does", peer.variant.name());
    }
    format!("{ours} where {} {theirs}", peer.variant.name())
}

/// Returns a clause that names the executor with the lowest mean, unless `rospin` is as good, and the one with the
/// steadiest planner.
fn leaders(rospin: &Contender, contenders: &[Contender]) -> String {
    let fastest = contenders.iter().min_by(|a, b| a.mean_ms.total_cmp(&b.mean_ms));
    // The table shows tenths of a millisecond.
    let fastest = fastest.filter(|best| rospin.mean_ms - best.mean_ms >= 0.1);
    let sd = |c: &Contender| c.planner_sd_ms.map(|sd| (sd, c.variant));
    let steadiest = contenders.iter().filter_map(sd).min_by(|a, b| a.0.total_cmp(&b.0));
    let low = |best: &Contender| format!("has the lowest mean ({:.1} ms)", best.mean_ms);
    match (fastest, steadiest) {
        (Some(best), Some((sd, variant))) if best.variant == variant => {
            format!("; {} {} and the steadiest planner period (sd {sd:.1} ms)", variant.name(), low(best))
        }
        (fastest, steadiest) => {
            let fastest = fastest.map(|best| format!("; {} {}", best.variant.name(), low(best)));
            let steadiest = steadiest
                .map(|(sd, variant)| format!("; {} has the steadiest planner period (sd {sd:.1} ms)", variant.name()));
            fastest.unwrap_or_default() + &steadiest.unwrap_or_default()
        }
    }
}

/// Returns a sentence about the executor with the lowest mean, for a run without a pair to compare.
fn best_of(contenders: &[Contender], shortest_ms: f64) -> String {
    let best = contenders.iter().min_by(|a, b| a.mean_ms.total_cmp(&b.mean_ms));
    let Some(best) = best else {
        return "Nothing was run.".to_owned();
    };
    let of_several = if contenders.len() > 1 { ", the lowest here" } else { "" };
    format!(
        "{} has a mean hot path latency of {:.1} ms{of_several}, {:.2} times the shortest possible {:.1} ms.",
        best.variant.name(),
        best.mean_ms,
        best.mean_ms / shortest_ms,
        shortest_ms,
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn with(variants: &[Variant], change: impl FnOnce(&mut Comparison)) -> String {
        let mut comparison = testing::comparison();
        comparison.results = variants.iter().map(|variant| testing::result(*variant)).collect();
        change(&mut comparison);
        sentence(&comparison)
    }

    fn set_latency(comparison: &mut Comparison, index: usize, ms: f64) {
        comparison.results[index].kpis.hot_path_latency_ms.fill(ms);
        comparison.results[index].kpis.hot_path_from_due_ms.fill(ms + 10.0);
    }

    const BOTH: [Variant; 2] = [Variant::WaitSetSingle, Variant::PrioritySingle];

    #[test]
    fn win_in_full() {
        assert_eq!(sentence(&testing::comparison()), include_str!("golden/sentence.txt").trim_end());
    }

    #[test]
    fn loss_is_said_as_plainly() {
        let text = with(&BOTH, |comparison| {
            set_latency(comparison, 0, 30.0);
            set_latency(comparison, 1, 60.0);
            comparison.results[1].kpis.missed_front_lidar = 1;
        });
        assert!(
            text.starts_with(
                "priority-single raises the mean hot path latency of wait-set-single by 100 % \
                 (60.0 ms against 30.0 ms, from the lidars' due times 70.0 ms against 40.0 ms; \
                 28.0 ms is the shortest possible) and drops 0.00 samples \
                 on average and misses 1 front lidar sample where"
            ),
            "{text}"
        );
        assert!(text.contains("; wait-set-single has the lowest mean (30.0 ms)"), "{text}");
    }

    #[test]
    fn draw() {
        let text = with(&BOTH, |comparison| {
            set_latency(comparison, 0, 30.0);
            set_latency(comparison, 1, 30.05);
            comparison.results[0].kpis.hot_path_drops.fill(0);
            comparison.results[0].kpis.missed_front_lidar = 0;
        });
        assert!(text.contains("the same mean hot path latency as wait-set-single"), "{text}");
        assert!(text.contains("loses nothing, as wait-set-single does"), "{text}");
        assert!(!text.contains("lowest mean"), "{text}");
    }

    #[test]
    fn peer_is_the_most_alike_of_those_that_ran() {
        use Variant::{FifoSingle, PriorityMulti, WaitSetMulti, WaitSetSingle};
        let text = with(&[WaitSetSingle, WaitSetMulti, PriorityMulti], |_| ());
        assert!(text.starts_with("priority-multi lowers the mean hot path latency of wait-set-multi"));
        let text = with(&[FifoSingle, PriorityMulti], |_| ());
        assert!(text.contains("of fifo-single"), "{text}");
    }

    #[test]
    fn without_a_pair_the_best_is_named() {
        let text = with(&[Variant::PrioritySingle], |comparison| set_latency(comparison, 0, 42.0));
        assert_eq!(
            text,
            "priority-single has a mean hot path latency of 42.0 ms, 1.50 times the shortest possible \
             28.0 ms."
        );
        let text = with(&[Variant::FifoSingle, Variant::WaitSetSingle], |_| ());
        assert!(text.starts_with("wait-set-single") && text.contains("the lowest here"), "{text}");
    }

    #[test]
    fn executor_without_samples_is_not_passed_over() {
        let text = with(&BOTH, |comparison| {
            comparison.results[1].kpis.hot_path_latency_ms.clear();
        });
        assert_eq!(text, "Under priority-single no sample came through the hot path.");
    }
}
