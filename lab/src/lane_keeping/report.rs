//! The HTML report.

use std::fmt::Write;

use rospin_report::page::{self, ReportError, escape};

use super::comparison::Comparison;
use super::measured::{CHAIN, Row};
use super::plots::{self, COLOURS};
use super::{deployment, table, verdict};

/// Returns the whole HTML page.
pub(crate) fn render(comparison: &Comparison) -> Result<String, ReportError> {
    let mut body = String::new();
    writeln!(body, "<h1>Lane keeping</h1>")?;
    writeln!(
        body,
        "<p class=\"soft\">A simulated car keeps its lane: the vehicle, the lane keeper and a visualiser in three processes, after \
         Skoudlil et al. 2025.</p>"
    )?;
    for said in verdict::sentences(comparison) {
        writeln!(body, "<p class=\"verdict\">{}</p>", escape(&said))?;
    }
    page::table(&mut body, &table::HEADER, &table::cells(comparison))?;
    for row in &comparison.rows {
        drive(&mut body, row)?;
    }
    let rows: Vec<&Row> = comparison.rows.iter().take(COLOURS.len()).collect();
    writeln!(body, "<h2>The drives</h2>")?;
    let names: Vec<String> = rows.iter().map(|row| verdict::name(row)).collect();
    let colours = ["blue", "orange", "green", "violet"];
    let legend: Vec<String> = names.iter().zip(colours).map(|(name, colour)| format!("{colour}: {name}")).collect();
    writeln!(body, "<p class=\"soft\">{}.</p>", escape(&legend.join("; ")))?;
    writeln!(body, "<figure>{}</figure>", plots::offsets(&rows)?)?;
    writeln!(
        body,
        "<p class=\"soft\">The lane from above, with the car's way on it. What is beside the lane's middle is drawn {} times as \
         large.</p>",
        plots::MAGNIFIED
    )?;
    writeln!(body, "<figure>{}</figure>", plots::drives(&rows)?)?;
    writeln!(body, "<h2>The deployment files</h2>")?;
    for text in [deployment::AS_IN_TABLE_3, deployment::ONE_THREAD] {
        writeln!(body, "<pre>{}</pre>", escape(text))?;
    }
    writeln!(body, "<h2>How it was run</h2>")?;
    let length = format!("{} s for each drive, of which the first does not count", comparison.duration.as_secs_f64());
    page::how_it_was_run(&mut body, &comparison.machine, &[("Length", length)])?;
    Ok(page::frame("lane keeping", &body))
}

/// Appends the histograms and the bounds of a drive.
fn drive(body: &mut String, row: &Row) -> Result<(), ReportError> {
    writeln!(body, "<h2>{}</h2>", escape(&verdict::name(row)))?;
    let of = |name: &str| (name.to_owned(), row.durations(name).to_vec());
    let figures = [
        (
            "Odometry chain, and the callback that begins it",
            vec![("chain".to_owned(), row.chain_us.clone()), of(CHAIN[0])],
        ),
        ("Odometry callbacks", vec![of(CHAIN[1]), of(CHAIN[2])]),
        ("All subscriptions of the lane keeper", vec![("subscriptions".to_owned(), row.of_subscribers())]),
        ("Timer and planner of the lane keeper", vec![of("keeper/control"), of("keeper/planner")]),
    ];
    for (title, series) in figures {
        writeln!(body, "<h3>{}</h3>", escape(title))?;
        writeln!(body, "<figure>{}</figure>", plots::histogram(&series)?)?;
    }
    writeln!(body, "<h3>Bounds of the system learnt from the drive</h3>")?;
    match &row.bounds {
        Ok(bounds) => page::table(body, &table::BOUNDS, &table::bounds(bounds))?,
        Err(reason) => writeln!(body, "<p>{}</p>", escape(reason))?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn the_report_has_plots_and_bounds_and_needs_no_other_file() {
        let page = render(&testing::comparison()).unwrap();
        page::assert_self_contained(&page);
        assert!(page.matches("<svg").count() == 14 && page.contains("keeper/control"));
    }
}
