//! `rospin lab latency --virtual-only`: what the paper shows in its Figures 3, 4 and 8, without measuring.

mod middleware;
mod orders;
mod report;

use std::io::Write;

use rospin_report::Failure;
use rospin_report::text_table::{self, Side};
use serde_json::{Value, json};

use self::middleware::{Place, RECEIVES, Row};
use self::orders::{Orders, POLICIES};
use super::options::{DEFAULT_REPORT, Options};
use super::threads::{BELOW_PRIORITY, SAMPLING_PRIORITY};

/// All results: what the tables, the JSON file and the report show.
struct Results {
    load_percent: f64,
    rows: Vec<Row>,
    orders: Vec<Orders>,
}

/// Runs everything in virtual time, prints the results and writes the files.
pub(super) fn show(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let files = options.outputs.files(Some(DEFAULT_REPORT)).map_err(Failure::input)?;
    let rows = middleware::rows(options.load).map_err(Failure::run)?;
    let orders = orders::all().map_err(Failure::Run)?;
    let results = Results { load_percent: options.load, rows, orders };
    write!(out, "{}", text(&results))?;
    files.write(out, || json(&results), || report::render(&results))
}

/// Returns the tables and the verdict as text.
fn text(results: &Results) -> String {
    let mut text = text_table::render(&MIDDLEWARE, &middleware_cells(&results.rows));
    text.push_str(&format!(
        "Milliseconds from publication to the end of the callback, in virtual time: {} % load on one core, a thread for each callback,\n\
         and {} us of the middleware's threads for each message. above, below: the middleware's threads have priority {SAMPLING_PRIORITY} or\n\
         {BELOW_PRIORITY}, callbacks 20 to 16. ! after the deadline. bound: by the analysis, for all phases of the topics.\n\n",
        results.load_percent,
        RECEIVES.as_micros(),
    ));
    let header = order_header();
    text.push_str(&text_table::render(&header, &order_cells(&results.orders)));
    text.push_str(
        "Callbacks in the order in which they run; B2 is the second message of B. R2R: its sampling is emulated, its executor and its join\n\
         are the crate futures. The others begin when all messages are there; with priorities, A is the most urgent.\n\n",
    );
    text + &sentence(results) + "\n"
}

const MIDDLEWARE: [(&str, Side); 7] = [
    ("middleware", Side::Left),
    ("topic", Side::Right),
    ("deadline", Side::Right),
    ("p99", Side::Right),
    ("max", Side::Right),
    ("bound", Side::Right),
    ("missed", Side::Right),
];

fn middleware_cells(rows: &[Row]) -> Vec<Vec<String>> {
    let number = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |value| format!("{value:.2}"));
    let cells = |row: &Row| {
        let mark = if row.is_kept() { "" } else { "!" };
        vec![
            row.middleware.name().to_owned(),
            row.topic.to_string(),
            format!("{:.2}", row.deadline_ms),
            format!("{mark}{}", number(row.p99_ms)),
            number(row.max_ms),
            number(row.bound_ms),
            row.missed_deadlines.to_string(),
        ]
    };
    rows.iter().map(cells).collect()
}

fn order_header() -> Vec<(&'static str, Side)> {
    let columns = ["case", "published", "R2R here"].into_iter().chain(POLICIES.map(|(name, _)| name));
    columns.map(|title| (title, Side::Left)).collect()
}

fn order_cells(orders: &[Orders]) -> Vec<Vec<String>> {
    let cells = |orders: &Orders| {
        let own = [orders.case.to_owned(), orders.published.clone(), orders.r2r.clone()];
        own.into_iter().chain(orders.others.clone()).collect()
    };
    orders.iter().map(cells).collect()
}

/// Returns the results in words.
fn sentence(results: &Results) -> String {
    let missed = |place: Place| {
        let of = results.rows.iter().filter(move |row| row.middleware == place && !row.is_kept());
        let numbers: Vec<String> = of.map(|row| row.topic.to_string()).collect();
        if numbers.is_empty() {
            "keeps every deadline".to_owned()
        } else {
            format!("misses topics {}", numbers.join(", "))
        }
    };
    let unbounded =
        |place: Place| results.rows.iter().filter(|row| row.middleware == place && row.bound_ms.is_none()).count();
    let same = results.orders.iter().filter(|orders| orders.r2r == orders.published).count();
    format!(
        "A thread for each callback {} at the 99th percentile with the middleware's threads above the callbacks ({} topics without a \
         bound), and {} with them below ({} without a bound), under R2R and under rospin. R2R's order here is the published one in {same} of {} cases.",
        missed(Place::Above),
        unbounded(Place::Above),
        missed(Place::Below),
        unbounded(Place::Below),
        results.orders.len(),
    )
}

/// Returns the whole JSON file as text, ending in a line break.
fn json(results: &Results) -> Result<String, serde_json::Error> {
    let policies: Vec<Value> =
        POLICIES.iter().map(|(name, policy)| json!({ "column": name, "policy": policy })).collect();
    let document = json!({
        "experiment": "latency in virtual time",
        "rospin_version": env!("CARGO_PKG_VERSION"),
        "settings": { "load_percent": results.load_percent, "middleware_us": RECEIVES.as_micros() as u64 },
        "units": {
            "p99_ms, max_ms": "milliseconds from publication to the end of the callback, in virtual time",
            "bound_ms": "bound by the analysis for all phases; null if there is none",
            "missed_deadlines": "messages whose callback ended later than a period after publication",
            "orders": "callbacks in the order in which they run, with the number of the message; others: in the order of policies",
        },
        "verdict": sentence(results),
        "middleware": results.rows,
        "policies": policies,
        "orders": results.orders,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::super::topics::FULL_LOAD_PERCENT;
    use super::*;

    fn results() -> Results {
        let rows = middleware::rows(FULL_LOAD_PERCENT).unwrap();
        Results { load_percent: FULL_LOAD_PERCENT, rows, orders: orders::all().unwrap() }
    }

    #[test]
    fn tables_and_verdict_say_the_same() {
        let results = results();
        let text = text(&results);
        assert_eq!(text.matches("above  ").count(), 5, "{text}");
        assert!(text.contains("B1 B2 D1 A1 C1  B1 B2 D1 A1 C1  A1 B1 B2 C1 D1"), "{text}");
        assert!(text.contains("keeps every deadline at the 99th percentile with"), "{text}");
        assert!(text.contains("misses topics 1, 2, 3") && text.contains("in 3 of 3 cases"), "{text}");
        assert!(
            text.lines().filter(|line| !line.starts_with("A thread")).all(|line| line.chars().count() <= 150),
            "{text}"
        );
    }

    #[test]
    fn loss_is_said_as_plainly() {
        let mut results = results();
        results.rows[0].p99_ms = Some(11.0);
        results.orders[0].r2r = "A1".to_owned();
        let text = sentence(&results);
        assert!(text.contains("misses topics 1 at the 99th percentile with the middleware's threads above"), "{text}");
        assert!(text.contains("in 2 of 3 cases"), "{text}");
    }

    #[test]
    fn json_and_page_have_everything() {
        let results = results();
        let document: Value = serde_json::from_str(&json(&results).unwrap()).unwrap();
        assert_eq!(
            (document["middleware"].as_array().unwrap().len(), document["orders"].as_array().unwrap().len()),
            (10, 3)
        );
        let page = report::render(&results).unwrap();
        rospin_report::page::assert_self_contained(&page);
        assert!(page.contains("B1 B2 D1 A1 C1") && page.contains(&rospin_report::page::escape(&sentence(&results))));
    }

    /// `ROSPIN_BLESS=1` writes the page anew.
    #[test]
    fn the_page_of_the_book_has_this_output() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../book/src/guide/latency.md");
        let page = std::fs::read_to_string(path).unwrap();
        let begin = page.find("```text\n").unwrap() + "```text\n".len();
        let end = begin + page[begin..].find("```\n").unwrap();
        let expected = [&page[..begin], &text(&results()), &page[end..]].concat();
        if std::env::var("ROSPIN_BLESS").is_ok_and(|value| value == "1") {
            std::fs::write(path, expected).unwrap();
            return;
        }
        assert!(page == expected, "ROSPIN_BLESS=1 writes {path} anew\n{expected}");
    }
}
