//! The result in sentences.

use super::cell::{Cell, Contender};
use super::comparison::{Comparison, Figures, Row};

/// Returns rospin's cell with the smallest figure, over the middlewares, of those with the same place and size as `of`;
/// `None` if none of them has figures.
pub(crate) fn best(comparison: &Comparison, of: Cell, figure: impl Fn(&Figures) -> f64) -> Option<Cell> {
    let is_rival = |cell: &Cell| (cell.place, cell.size) == (of.place, of.size) && cell.contender == Contender::Rospin;
    let rivals = comparison.rows.iter().filter(|row| is_rival(&row.cell));
    let figures = rivals.filter_map(|row| Some((row.cell, figure(row.figures.as_ref()?))));
    figures.min_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(cell, _)| cell)
}

/// Returns a sentence for each place and middleware that compares rospin with the bare middleware, for the smallest
/// messages, and a sentence about losses.
pub(crate) fn sentences(comparison: &Comparison) -> Vec<String> {
    let ratio = |one: f64, other: f64| one / other.max(1e-9);
    let sentence = |(cell, rospin, bare): (Cell, &Figures, &Figures)| {
        format!(
            "{}, {}, {}: rospin has {:.2} of the bare middleware's messages a second, {:.2} times its p99 and {:.2} times its CPU.",
            cell.place.name(),
            cell.size,
            cell.middleware.name(),
            ratio(rospin.messages_per_s, bare.messages_per_s),
            ratio(rospin.p99_us, bare.p99_us),
            ratio(rospin.cpu_percent, bare.cpu_percent),
        )
    };
    // The smallest messages show the cost of an executor. The table has the others.
    let mut places = Vec::new();
    let mut sentences: Vec<String> = comparison
        .beside_bare()
        .filter(|(cell, ..)| !cell.place.is_flood())
        .filter(|(cell, ..)| {
            let group = (cell.place, cell.middleware);
            let is_first = !places.contains(&group);
            places.push(group);
            is_first
        })
        .map(sentence)
        .collect();
    sentences.extend(comparison.beside_bare().filter(|(cell, ..)| cell.place.is_flood()).map(flooded));
    let is_paced = |row: &&Row| !row.cell.place.is_flood();
    let lost: f64 =
        comparison.rows.iter().filter(is_paced).filter_map(|row| row.figures).map(|figures| figures.lost).sum();
    if !comparison.rows.iter().any(|row| is_paced(&row)) {
        return sentences;
    }
    sentences.push(if lost == 0.0 {
        "No message was lost at a fixed rate.".to_owned()
    } else {
        format!("{lost:.0} messages were lost; the table says where.")
    });
    sentences
}

/// Returns a sentence about messages that were published as fast as possible.
fn flooded((cell, rospin, bare): (Cell, &Figures, &Figures)) -> String {
    let ratio = |one: f64, other: f64| one / other.max(1e-9);
    format!(
        "{}, {}, {}: rospin receives {:.2} of the bare middleware's messages a second at {:.2} times its p99; {:.1} % are lost, {:.1} % \
         of the bare middleware's.",
        cell.place.name(),
        cell.size,
        cell.middleware.name(),
        ratio(rospin.messages_per_s, bare.messages_per_s),
        ratio(rospin.p99_us, bare.p99_us),
        rospin.lost_percent,
        bare.lost_percent,
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn rospin_is_held_against_the_bare_middleware() {
        let said = sentences(&testing::comparison());
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("one process, 0 B, dds: rospin has 0.80 of"), "{said:?}");
        assert_eq!(said[1], "3 messages were lost; the table says where.");
    }
}
