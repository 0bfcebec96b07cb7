//! The table of command lines in the book: names and parameters of a node called `talker` after each of them.

use std::path::Path;

use rospin::{Context, ContextOptions, Ros, RosArguments};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/guide/arguments.md");

/// Returns everything that the arguments change about the node, its topic `chatter`, its service `add` and its
/// parameter `rate`.
fn changes(line: &str) -> Result<Vec<String>, String> {
    let program = std::iter::once("talker").chain(line.split_whitespace());
    let arguments = RosArguments::parse(program).map_err(|error| error.to_string())?;
    let level = arguments.log_level("talker");
    let rosout = arguments.logs_to_rosout();
    let enclave = arguments.enclave().map(str::to_owned);
    let others = arguments.others()[1..].join(" ");
    let ros = Ros::in_process(&Context::new(ContextOptions::new())).with_arguments(arguments);
    let node = ros.create_node("talker").map_err(|error| error.to_string())?;
    let rate = node.declare_parameter("rate", 1).map_err(|error| error.to_string())?;
    let values = [
        ("node", "/talker", node.fully_qualified_name()),
        ("topic", "/chatter", node.resolve_topic("chatter").unwrap().to_string()),
        ("service", "/add", node.resolve_service("add").unwrap().to_string()),
        ("rate", "1", rate.get().to_string()),
        ("sim time", "false", node.parameter("use_sim_time").unwrap().to_string()),
        ("level", "info", level.to_string().to_lowercase()),
        ("rosout", "true", rosout.to_string()),
        ("enclave", "", enclave.unwrap_or_default()),
        ("others", "", others),
    ];
    let changed = values.into_iter().filter(|(_, default, value)| value != default);
    Ok(changed.map(|(name, _, value)| format!("{name} {value}")).collect())
}

/// Returns the rows of the first table with these columns.
fn rows(page: &str, header: &str) -> Vec<Vec<String>> {
    let lines = page.lines().skip_while(|line| *line != header).skip(2);
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    lines.take_while(|line| line.starts_with('|')).map(cells).collect()
}

#[test]
fn every_line_does_what_the_book_says() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let folder = std::env::temp_dir().join(format!("rospin-arguments-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("rate.yaml");
    std::fs::write(&file, "/**:\n  ros__parameters:\n    rate: 7\n").unwrap();
    let rows = rows(&page, "| arguments | rcl | rospin |");
    assert!(rows.len() >= 40, "{}", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let [line, _, expected] = &row[..] else { panic!("{row:?}") };
        let line = line.trim_matches('`').replace("rate.yaml", file.to_str().unwrap());
        let found = match changes(&line) {
            Ok(changes) if changes.is_empty() => "nothing".to_owned(),
            Ok(changes) => changes.join(", "),
            Err(_) => "error".to_owned(),
        };
        if found != *expected {
            wrong.push(format!("{line}\n  expected {expected}\n  found    {found}: {:?}", changes(&line)));
        }
    }
    std::fs::remove_dir_all(Path::new(&folder)).unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn errors_name_the_argument_and_what_it_should_look_like() {
    for (line, expected) in [
        ("--ros-args -r", "`-r` is the last argument; it wants `chatter:=/news`"),
        ("--ros-args -r chatter", "`-r chatter`: there is no `:=` in it"),
        ("--ros-args -r __ns:=robot", "`robot` is not a namespace such as `/robot`"),
        ("--ros-args -r *:=news", "has a wildcard"),
        ("--ros-args -p rate:=[", "the value is not valid YAML"),
        ("--ros-args -p rate:=", "there is no value behind `:=`"),
        ("--ros-args --log-level loud", "`loud` is not a log level; those are debug"),
        ("--ros-args --loud", "`--loud` after `--ros-args` is not an option of ROS"),
    ] {
        let error = changes(line).unwrap_err();
        assert!(error.contains(expected), "{line}: {error}");
    }
}

#[test]
fn arguments_are_a_list_or_a_slice_of_any_texts() {
    let list = ["talker", "--loud", "--ros-args", "-p", "rate:=5"];
    let slice: &[&str] = &list;
    let owned: Vec<String> = list.map(str::to_owned).to_vec();
    let parsed = [
        RosArguments::parse(list),
        RosArguments::parse(slice),
        RosArguments::parse(&owned),
        RosArguments::parse(owned),
    ];
    for arguments in parsed {
        assert_eq!(arguments.unwrap().others(), ["talker", "--loud"]);
    }
}
