//! The page `book/src/guide/features.md`: the feature table of Skoudlil et al. 2025 (Table 1), with rospin beside the
//! libraries of the paper. Each of rospin's entries has a test by name. `ROSPIN_BLESS=1` writes the page.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = "book/src/guide/features.md";
const BEGIN: &str = "<!-- table: features -->\n\n";
const END: &str = "\n<!-- end of table -->";

/// A row: the feature; rclcpp, R2R and rclrs as the paper has them; rospin; and the test that shows it.
struct Row {
    feature: &'static str,
    published: [&'static str; 3],
    rospin: &'static str,
    /// File and function.
    test: (&'static str, &'static str),
}

const fn row(
    feature: &'static str,
    published: [&'static str; 3],
    rospin: &'static str,
    file: &'static str,
    function: &'static str,
) -> Row {
    Row { feature, published, rospin, test: (file, function) }
}

const ALL: [&str; 3] = ["yes", "yes", "yes"];

const ROWS: [Row; 19] = [
    row(
        "Message generation",
        ALL,
        "yes",
        "crates/interfaces-test/tests/messages/kinds.rs",
        "the_bytes_are_those_of_ros",
    ),
    row(
        "Publishers and subscriptions",
        ALL,
        "yes",
        "crates/node/tests/node/in_process.rs",
        "nodes_talk_by_the_names_that_ros_resolves",
    ),
    row(
        "Loaned messages (zero-copy)",
        ALL,
        "bytes of messages, with the feature `shared_memory`",
        "crates/local/tests/paths.rs",
        "a_loan_is_read_where_it_was_written",
    ),
    row(
        "Tunable QoS settings",
        ALL,
        "yes",
        "crates/node/tests/node/in_process.rs",
        "quality_of_service_is_written_on_names",
    ),
    row(
        "Clients and services",
        ALL,
        "yes",
        "crates/node/tests/node/in_process.rs",
        "a_call_is_awaited_and_its_end_is_told",
    ),
    row(
        "Actions",
        ["yes", "yes", "their messages only"],
        "yes",
        "crates/node/tests/node/actions/goals.rs",
        "a_goal_is_accepted_executed_and_reached",
    ),
    row(
        "Dynamic type support",
        ALL,
        "yes, of topics and services",
        "crates/node/tests/node/introspection.rs",
        "a_dynamic_server_answers_clients_of_every_kind",
    ),
    row(
        "Parameter handling",
        ALL,
        "yes",
        "crates/node/tests/node/parameters.rs",
        "all_types_can_be_declared_read_and_set",
    ),
    row(
        "Parameter ranges",
        ["yes", "partly", "yes"],
        "yes",
        "crates/node/tests/node/parameters.rs",
        "ranges_hold_for_the_default_and_for_what_is_set",
    ),
    row(
        "Parameter locking",
        ["none", "per node", "per parameter"],
        "per node; numbers are read without a lock",
        "crates/node/tests/node/parameters.rs",
        "parameters_that_many_threads_set_together_stay_together",
    ),
    row(
        "Derived parameters: of the fields of a struct",
        ["no", "yes", "no"],
        "yes",
        "crates/node/tests/node/derive_parameters.rs",
        "fields_are_parameters_and_nested_structs_dotted_names",
    ),
    row(
        "Timers",
        ["yes", "yes", "no"],
        "yes",
        "crates/node/tests/node/clocks.rs",
        "a_timer_and_a_rate_follow_the_nodes_clock_and_a_wall_timer_does_not",
    ),
    row(
        "Simulated time",
        ALL,
        "yes, for timers and sleeps as well",
        "crates/node/tests/node/clocks.rs",
        "nodes_of_a_context_agree_about_simulated_time",
    ),
    row(
        "Tracepoints",
        ["yes", "in a pull request", "no"],
        "yes, those of ros2_tracing",
        "crates/tracetools/tests/fake.rs",
        "a_timer_publishes_to_a_subscription_of_the_same_process",
    ),
    row(
        "Single-threaded executor",
        ["yes", "of the runtime", "yes"],
        "yes",
        "crates/engine/tests/engine/spin_contract.rs",
        "spin_once_runs_exactly_one_callback_on_the_calling_thread",
    ),
    row(
        "Multi-threaded executor",
        ["yes", "of the runtime", "no"],
        "yes",
        "crates/engine/tests/engine/spin_contract.rs",
        "all_threads_take_part_the_caller_s_included",
    ),
    row(
        "Asynchronous programming style",
        ["no", "yes", "no"],
        "yes",
        "crates/engine/tests/engine/services.rs",
        "a_call_is_awaited_inside_a_callback",
    ),
    row(
        "Composable nodes",
        ["yes", "no", "no"],
        "yes, linked in or of shared libraries",
        "crates/container/tests/containers/library.rs",
        "components_of_a_library_run_until_they_are_unloaded",
    ),
    row(
        "Lifecycle nodes",
        ["yes", "no", "no"],
        "yes",
        "crates/node/tests/node/lifecycle.rs",
        "every_transition_leads_where_it_should_and_is_told",
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the table of the page.
fn table() -> String {
    let mut table =
        "| feature | rclcpp | R2R | rclrs | rospin | shown by |\n| --- | --- | --- | --- | --- | --- |\n".to_owned();
    for Row { feature, published: [rclcpp, r2r, rclrs], rospin, test: (file, function) } in &ROWS {
        let package = file.split('/').nth(1).expect("every file is in a folder of crates");
        let _ = writeln!(table, "| {feature} | {rclcpp} | {r2r} | {rclrs} | {rospin} | `{package}`: `{function}` |");
    }
    table
}

#[test]
fn each_claim_has_a_test_of_that_name() {
    for Row { feature, test: (file, function), .. } in &ROWS {
        let text = fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{feature}: {file}: {error}"));
        let before =
            text.find(&format!("fn {function}(")).unwrap_or_else(|| panic!("{feature}: {file} has no {function}"));
        // Between the attribute and the function there may be other attributes.
        let attributes = text[..before].rsplit("\n\n").next().unwrap_or_default();
        assert!(attributes.contains("#[test]"), "{feature}: {function} of {file} is no test");
    }
}

#[test]
fn the_page_has_the_table() {
    let path = root().join(PAGE);
    let page = fs::read_to_string(&path).unwrap();
    let begin = page.find(BEGIN).expect("the page has a table") + BEGIN.len();
    let end = begin + page[begin..].find(END).expect("the table ends");
    let expected = [&page[..begin], &table(), &page[end..]].concat();
    if std::env::var("ROSPIN_BLESS").is_ok_and(|value| value == "1") {
        fs::write(path, expected).unwrap();
        return;
    }
    assert!(page == expected, "ROSPIN_BLESS=1 writes {PAGE} anew\n{}", table());
}
