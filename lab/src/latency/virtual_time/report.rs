//! The HTML report.

use std::fmt::Write;

use rospin_report::page::{self, ReportError, escape};

use super::{MIDDLEWARE, RECEIVES, Results, middleware_cells, order_cells, order_header, sentence};

/// Returns the whole HTML page.
pub(super) fn render(results: &Results) -> Result<String, ReportError> {
    let mut page = String::new();
    writeln!(page, "<h1>Latency in virtual time</h1>")?;
    writeln!(page, "<p class=\"verdict\">{}</p>", escape(&sentence(results)))?;
    writeln!(page, "<h2>The middleware's threads above and below the callbacks</h2>")?;
    writeln!(
        page,
        "<p>Figure 8 of Skoudlil et al. 2025: milliseconds from publication to the end of the callback, {} % load on one core, a thread \
         for each callback, {} us of the middleware's threads for each message. ! after the deadline; bound: by the analysis, for all \
         phases of the topics. <code>rospin lab latency --variants futures-rt-below,rospin-rt-below,futures-rt,rospin-rt</code> \
         measures it.</p>",
        results.load_percent,
        RECEIVES.as_micros(),
    )?;
    page::table(&mut page, &MIDDLEWARE, &middleware_cells(&results.rows))?;
    writeln!(page, "<h2>Execution orders</h2>")?;
    writeln!(
        page,
        "<p>Figures 3 and 4 of the paper. R2R's sampling is emulated; its executor and its join are the crate futures. The others begin \
         when all messages are there; with priorities, A is the most urgent.</p>"
    )?;
    page::table(&mut page, &order_header(), &order_cells(&results.orders))?;
    Ok(page::frame("latency in virtual time", &page))
}
