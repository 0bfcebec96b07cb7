//! The page `book/src/guide/supported.md`: the support of each middleware and each distribution of ROS 2, by the tests.
//! `cargo test -p rospin-testkit --test supported -- --nocapture` prints it, `ROSPIN_BLESS=1` writes it.

#![expect(clippy::print_stdout, reason = "it prints the tables")]

use std::collections::BTreeMap;
use std::fs;

use rospin_testkit::repository;

const PAGE: &str = "book/src/guide/supported.md";

/// The middlewares, and the file that runs the conformance suite over each of them.
const MIDDLEWARES: [(&str, &str); 3] = [
    ("in one process", "crates/node/tests/conformance.rs"),
    ("DDS", "crates/dds/tests/conformance.rs"),
    ("Zenoh", "crates/zenoh/tests/conformance.rs"),
];

/// The subjects of the suite by its files, in words.
const SUBJECTS: [(&str, &str); 18] = [
    ("order", "messages come complete and in order"),
    ("depth", "queues, late subscriptions, latched messages"),
    ("contract", "spinning, halting"),
    ("removal", "ends that are dropped at any time"),
    ("info", "times, publishers and numbers of messages"),
    ("matching", "waiting for the other end"),
    ("events", "events of publishers and subscriptions"),
    ("times", "deadline, lifespan, liveliness"),
    ("graph", "nodes, names, changes of the graph"),
    ("callbacks", "asynchronous, reentrant, exclusive; panics"),
    ("services", "services"),
    ("introspection", "introspection of services"),
    ("sim_time", "`/clock`"),
    ("dynamic", "messages of types that the program learns"),
    ("serialized", "messages as bytes"),
    ("devices", "bytes in memory of a GPU"),
    ("actions", "actions"),
    ("parameters", "parameters of other nodes"),
];

/// Abilities beyond the suite, with the test for DDS and for Zenoh: a file of `crates` and a function in it.
const BEYOND: [(&str, &str, &str); 7] = [
    (
        "two machines",
        "dds/tests/two_hosts.rs a_talker_here_and_a_listener_there",
        "zenoh/tests/two_hosts.rs a_talker_here_and_a_listener_there",
    ),
    (
        "a network that is cut and heals",
        "dds/tests/partition.rs timers_go_on_and_counts_are_exact_when_the_network_heals_soon",
        "zenoh/tests/partition.rs published_messages_are_heard_or_counted_and_timers_go_on",
    ),
    (
        "a process that is killed and comes back",
        "dds/tests/loopback/restart.rs a_talker_that_was_killed_is_heard_again_when_it_is_back",
        "zenoh/tests/loopback/restart.rs a_peer_that_was_killed_is_met_again_when_it_is_back",
    ),
    (
        "bytes that are no message",
        "dds/tests/loopback/malformed.rs noise_is_survived",
        "zenoh/tests/loopback/malformed.rs noise_is_survived",
    ),
    (
        "certificates, encryption",
        "dds/tests/security.rs only_those_with_a_certificate_of_the_domain_hear",
        "zenoh/tests/security.rs only_those_with_a_certificate_join",
    ),
    (
        "permissions for topics",
        "dds/tests/security.rs an_end_without_permission_is_refused_when_it_is_created",
        "zenoh/tests/security.rs a_router_denies_a_topic",
    ),
    (
        "shared memory between processes",
        "",
        "zenoh/tests/shared_memory.rs a_large_message_crosses_processes_in_shared_memory",
    ),
];

const DISTRIBUTIONS: [&str; 5] = ["humble", "jazzy", "kilted", "lyrical", "rolling"];

fn read(file: &str) -> String {
    fs::read_to_string(repository().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Returns the cases of the suite by subject.
fn cases() -> BTreeMap<String, Vec<String>> {
    let list = read("crates/testkit/src/conformance/mod.rs");
    let (_, list) = list.split_once("@cases $fixture;\n").expect("the list");
    let (list, _) = list.split_once("        }\n    };").expect("the end of the list");
    let mut cases = BTreeMap::new();
    for part in list.split('}') {
        let Some((subject, names)) = part.split_once('{') else { continue };
        cases.insert(subject.trim().to_owned(), names.split_whitespace().map(str::to_owned).collect());
    }
    cases
}

/// Returns the cases of which a middleware does something else, with the reason.
fn deviations(file: &str) -> Vec<(String, String)> {
    let text = read(file);
    // The first fixture is that of the middleware. Others are of networks for tests.
    let first = text.split("Fixture for ").nth(1).unwrap_or_default();
    let Some((_, body)) = first.split_once("fn deviation(") else { return Vec::new() };
    let (body, _) = body.split_once("_ => None").expect("the other cases");
    let mut found = Vec::new();
    let mut named: Vec<String> = Vec::new();
    for quoted in body.split('"').skip(1).step_by(2) {
        if quoted.contains(' ') {
            found.extend(named.drain(..).map(|case| (case, quoted.to_owned())));
        } else {
            named.push(quoted.to_owned());
        }
    }
    found
}

/// Returns the table of the suite, and the list of what is different.
fn suite() -> String {
    let cases = cases();
    let mut table = "| | cases |".to_owned();
    for (name, _) in MIDDLEWARES {
        table += &format!(" {name} |");
    }
    table += "\n| --- | --- | --- | --- | --- |\n";
    let mut differences = BTreeMap::new();
    for (subject, words) in SUBJECTS {
        let listed = cases.get(subject).unwrap_or_else(|| panic!("the suite has no subject `{subject}`"));
        table += &format!("| {words} | {} |", listed.len());
        for (_, file) in MIDDLEWARES {
            let other: Vec<_> = deviations(file).into_iter().filter(|(case, _)| listed.contains(case)).collect();
            table += &if other.is_empty() { " all |".to_owned() } else { format!(" {} |", listed.len() - other.len()) };
            for (case, reason) in other {
                differences.entry(reason).or_insert_with(Vec::new).push(format!("`{case}`"));
            }
        }
        table += "\n";
    }
    assert_eq!(cases.len(), SUBJECTS.len(), "a subject has no words");
    for (reason, cases) in differences {
        table += &format!("\n- {reason} ({}).", cases.join(", "));
    }
    table + "\n"
}

/// Returns the table of what goes beyond the suite.
fn beyond() -> String {
    let mut table = "| between processes | DDS | Zenoh |\n| --- | --- | --- |\n".to_owned();
    for (what, dds, zenoh) in BEYOND {
        table += &format!("| {what} |");
        for test in [dds, zenoh] {
            let Some((file, name)) = test.split_once(' ') else {
                table += " no |";
                continue;
            };
            let file = format!("crates/{file}");
            assert!(read(&file).contains(&format!("fn {name}(")), "{file} has no test `{name}`");
            table += " yes |";
        }
        table += "\n";
    }
    table
}

/// Returns the table of parts that are tried with peers, which the tests with these peers compare with its page.
fn peers() -> String {
    let page = read("book/src/guide/network.md");
    let (_, table) = page.split_once("| with |").expect("the table");
    let rows = table.lines().take_while(|line| !line.is_empty());
    format!("| with |{}\n", rows.collect::<Vec<_>>().join("\n"))
}

/// Returns the names in the last loop over distributions in `.ci/check` before a command.
fn looped(command: &str) -> Vec<String> {
    let run = read(".ci/check");
    let (before, _) = run.split_once(command).unwrap_or_else(|| panic!(".ci/check: {command}"));
    let (_, names) = before.rsplit_once("for distribution in ").expect("a loop");
    names.split(';').next().unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Returns the distributions of a job on GitHub.
fn matrix(job: &str) -> Vec<String> {
    let jobs = read(".github/workflows/ci.yml");
    let (_, rest) = jobs.split_once(&format!("\n  {job}:\n")).unwrap_or_else(|| panic!("no job {job}"));
    let (_, list) = rest.split_once("distribution: [").expect("its distributions");
    list.split(']').next().unwrap_or_default().split(", ").map(str::to_owned).collect()
}

/// Returns the table of distributions.
fn distributions() -> String {
    let types = looped("cargo check -p rospin --features all_msgs");
    let fast = looped("--test rclpy -- --nocapture everything_works");
    let (cyclone, integrations) = (matrix("ros"), matrix("integrations"));
    let mut table =
        "| | types | Fast DDS, rclpy | Cyclone DDS, rclcpp | R2R, rclrs |\n| --- | --- | --- | --- | --- |\n"
            .to_owned();
    for name in DISTRIBUTIONS {
        let has = |list: &[String], word: &'static str| if list.iter().any(|one| one == name) { word } else { "–" };
        // Those of Jazzy are the default, and Rolling's are Lyrical's.
        let types = match name {
            "jazzy" => "yes",
            "rolling" => "those of Lyrical",
            _ => has(&types, "yes"),
        };
        let title = name[..1].to_uppercase() + &name[1..];
        let row = [types, has(&fast, "yes"), has(&cyclone, "GitHub"), has(&integrations, "GitHub")];
        table += &format!("| {title} | {} |\n", row.join(" | "));
    }
    table
}

/// Returns the page with a table in place of what is between its marks.
fn with_table(page: &str, name: &str, table: &str) -> String {
    let (begin, end) = (format!("<!-- table: {name} -->\n"), "<!-- end of table -->".to_owned());
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("{PAGE} lacks {begin}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{PAGE} lacks {end}"));
    format!("{before}{begin}\n{table}\n{end}{after}")
}

#[test]
fn the_page_has_what_the_tests_have() {
    let page = read(PAGE);
    let mut right = page.clone();
    let tables = [("suite", suite()), ("beyond", beyond()), ("peers", peers()), ("distributions", distributions())];
    for (name, table) in tables {
        println!("{table}");
        right = with_table(&right, name, &table);
    }
    if std::env::var("ROSPIN_BLESS").is_ok_and(|value| value == "1") {
        fs::write(repository().join(PAGE), &right).expect("the page");
    } else {
        assert_eq!(page, right, "{PAGE} differs from the tests; ROSPIN_BLESS=1 writes it");
    }
}
