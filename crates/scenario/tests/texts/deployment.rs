//! Deployment files: read, written, looked up, and refused with place and fix.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rospin_core::OsScheduling;
use rospin_scenario::Deployment;
use rospin_scenario::deployment::{DeploymentError, Reaction};

const ROBOT: &str = include_str!("../../deployments/robot.toml");

#[test]
fn the_example_is_read_and_goes_there_and_back() {
    let robot = Deployment::parse(ROBOT).unwrap();
    assert_eq!(Deployment::parse(&robot.to_toml()).unwrap(), robot);
    assert_eq!((robot.on_shortfall, robot.on_unknown), (Reaction::Warn, Reaction::Fail));
    let control = robot.executor("control").unwrap();
    assert_eq!((control.scheduling, &control.cores[..]), (Some(OsScheduling::Fifo { priority: 20 }), &[1][..]));
    let ms = Duration::from_millis;
    let reservation = OsScheduling::Deadline { runtime: ms(1), deadline: ms(5), period: ms(10) };
    assert_eq!(robot.executor("safety").unwrap().scheduling, Some(reservation));
    assert_eq!(robot.executor("main").unwrap().scheduling, Some(OsScheduling::Other { nice: 5 }));
    assert_eq!(robot.thread("dds-receive").unwrap().cores, [0]);
    assert_eq!(robot.thread("main"), None);
}

#[test]
fn groups_are_found_by_node_and_name_and_a_name_goes_before_a_pattern() {
    let text = r#"
        executor = [{ name = "a" }, { name = "b" }, { name = "c" }]
        group = [
            { name = "*", executor = "a" },
            { name = "control", executor = "b" },
            { node = "arm", name = "control", executor = "c" },
        ]
    "#;
    let deployment = Deployment::parse(text).unwrap();
    let of = |node, group| deployment.executor_of(node, group).unwrap().unwrap();
    assert_eq!((of("leg", "map"), of("leg", "control"), of("arm", "control")), ("a".into(), "b".into(), "c".into()));
    // A name without a slash before it is relative to the namespace.
    assert_eq!((of("/arm", "control"), of("/robot/arm", "control")), ("c".into(), "c".into()));
    let absolute = Deployment::parse(&text.replace("\"arm\"", "\"/arm\"")).unwrap();
    assert_eq!(absolute.executor_of("/arm", "control").unwrap().as_deref(), Some("c"));
    assert_eq!(absolute.executor_of("/robot/arm", "control").unwrap().as_deref(), Some("b"));
    assert_eq!(Deployment::default().executor_of("arm", "control").unwrap(), None);
}

#[test]
fn patterns_that_contradict_each_other_are_an_error_that_names_both() {
    let text = r#"
        executor = [{ name = "a" }, { name = "b" }]
        group = [{ name = "con*", executor = "a" }, { name = "*trol", executor = "b" }, { name = "*l", executor = "b" }]
    "#;
    let deployment = Deployment::parse(text).unwrap();
    let error = deployment.executor_of("arm", "control").unwrap_err().to_string();
    assert!(error.contains("`*/con*`") && error.contains("name it itself"), "{error}");
    assert_eq!(deployment.executor_of("arm", "ctrol").unwrap().as_deref(), Some("b"), "they agree");
}

#[test]
fn callbacks_are_found_by_name_or_pattern() {
    let robot = Deployment::parse(ROBOT).unwrap();
    assert_eq!(robot.callback("control_loop/tick", "").unwrap().priority, Some(9));
    assert_eq!(robot.callback("front/scan", "").unwrap().depth, Some(1));
    assert_eq!(robot.callback("front/image", ""), None);
    assert_eq!(robot.callback("left/control_loop/tick", "/left").unwrap().priority, Some(9));
    let of_one =
        "callback = [{ name = \"a/b\", depth = 1 }, { name = \"/left/a/b\", depth = 2 }, { name = \"*\", depth = 3 }]";
    let of_one = Deployment::parse(of_one).unwrap();
    let depth = |name, namespace| of_one.callback(name, namespace).unwrap().depth;
    assert_eq!(
        [depth("left/a/b", "/left"), depth("right/a/b", "/right"), depth("a/c", "")],
        [Some(2), Some(1), Some(3)]
    );
    assert_eq!(robot.clients[0].budget.unwrap().period.as_millis(), 20);
    let priorities = robot.chain_priorities().unwrap();
    assert!(priorities.get("brake/obstacles") > priorities.get("detect/scan"));
}

#[test]
fn mistakes_name_place_and_fix() {
    for (text, place, fix) in [
        ("[[executor]]\nname = \"a\"\npolicy = \"fair\"", "line 3, column 10, `policy`", "known are fifo"),
        ("[[executor]]\nname = \"a\"\nscheduling = { fifo = 100 }", "line 3", "from 1 to 99"),
        ("[[executor]]\nname = \"a\"\nscheduling = { nice = 20 }", "line 3", "from -20 to 19"),
        ("[[executor]]\nname = \"a\"\nscheduling = { rr = 2 }", "line 3", "round-robin"),
        (
            "[[executor]]\nname = \"a\"\nscheduling = { fifo = 300 }",
            "line 3",
            "300 does not exist; give one from 1 to 99",
        ),
        ("[[executor]]\nname = \"a\"\nscheduling = { nice = -300 }", "line 3", "from -20 to 19"),
        ("[[executor]]\nname = \"a\"\nscheduling = {}", "line 3", "give one of { nice = .. }"),
        ("[[executor]]\nname = \"a\"\nscheduling = { fifo = 2, nice = 3 }", "line 3", "one scheduling; give one of"),
        ("[[executor]]\nname = \"a\"\nscheduling = \"fifo\"", "line 3", "expected one of { nice = .. }, { fifo"),
        ("[[executor]]\nname = \"a\"\ncolour = 2", "line 3", "unknown field `colour`"),
        ("[[executor]]\nname = \"a\"\nthreads = 0", "line 3, column 11, `threads`", "1 to 256"),
        ("[[executor]]\nname = \"a\"\n[[executor]]\nname = \"a\"", "line 4, column 8, `name`", "rename one"),
        ("[[group]]\nname = \"g\"\nexecutor = \"a\"", "line 3, column 12, `executor`", "declare it"),
        ("executor = [{ name = \"a\" }]\n[[group]]\nname = \"g\"\nexecutor = \"b\"", "line 4", "known are a"),
        ("[[callback]]\nname = \"c\"\ndepth = 0", "line 3", "1 to 1000000"),
        ("[[callback]]\nname = \"c\"\ndeadline = \"2\"", "line 3", "write one of ns, us, ms"),
        ("[[chain]]\nname = \"c\"\ncallbacks = [\"a\", \"b\", \"a\"]", "line 3", "c"),
        ("[[client]]\nname = \"\"\naccelerator = \"g\"", "line 2", "1 to 128 bytes"),
        ("[[client]]\nname = \"c\"\naccelerator = \"g\"\ndepth = 0", "line 4", "1 to 1000000"),
        ("[[client]]\nname = \"c\"\naccelerator = \"g\"\nmemory_mib = 0", "line 4", "1 to 1048576"),
        ("[[client]]\nname = \"c\"\naccelerator = \"g\"\nbudget = \"2 ms\"", "line 4", "{ capacity = \"2 ms\""),
        (
            "[[client]]\nname = \"c\"\naccelerator = \"g\"\nbudget = { capacity = \"0 ms\", period = \"2 ms\" }",
            "line 4",
            "longer than 0",
        ),
        (
            "[[client]]\nname = \"c\"\naccelerator = \"g\"\n[[client]]\nname = \"c\"\naccelerator = \"g\"",
            "line 5",
            "leave one out",
        ),
        ("on_shortfall = \"stop\"", "line 1", "`warn` or `fail`"),
        ("[[executor]\n", "line 1", ""),
    ] {
        let error = Deployment::parse(text).unwrap_err().to_string();
        assert!(error.contains(place) && error.contains(fix), "{text}\n{error}");
    }
}

#[test]
fn cores_that_are_no_list_are_shown_how_to_write_one() {
    let error = |cores: &str| {
        Deployment::parse(&format!("[[executor]]\nname = \"a\"\ncores = {cores}")).unwrap_err().to_string()
    };
    let place = "line 3, column 9, `cores`: invalid type: ";
    let fix = "expected a list; write `cores = [1]`, or `cores = [0, 1]` for several";
    assert_eq!(error("1"), format!("{place}integer `1`, {fix}"));
    assert_eq!(error("\"0-2\""), format!("{place}string \"0-2\", {fix}"));
    assert_eq!(
        error("[1, -1]"),
        "line 3, column 13, `cores`: invalid value: integer `-1`, expected a number from 0 to 65535"
    );
    let priority = Deployment::parse("[[callback]]\nname = \"a/b\"\npriority = -1").unwrap_err().to_string();
    assert!(
        priority.ends_with("`priority`: invalid value: integer `-1`, expected a number from 0 to 4294967295"),
        "{priority}"
    );
    let thread = Deployment::parse("[[thread]]\nname = \"dds\"\ncores = 1").unwrap_err().to_string();
    assert!(thread.ends_with(fix), "{thread}");
}

#[test]
fn single_brackets_are_shown_the_double_ones() {
    for section in ["executor", "group", "callback", "chain", "thread", "client"] {
        let fix = format!("expected a list; write `[[{section}]]` above each {section}");
        let error = Deployment::parse(&format!("lock_memory = true\n[{section}]\nname = \"a\"")).unwrap_err();
        assert_eq!(error.to_string(), format!("line 2, column 1: invalid type: map, {fix}"));
        let error = Deployment::parse(&format!("{section} = \"a\"")).unwrap_err().to_string();
        assert!(error.ends_with(&fix), "{error}");
    }
    let error = Deployment::parse("[[chain]]\nname = \"a\"\ncallbacks = \"b\"").unwrap_err().to_string();
    assert!(error.ends_with("expected a list; write `callbacks = [\"first\", \"second\"]`"), "{error}");
}

/// Folder that is deleted at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("rospin-deployment-{}-{test}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn several_files_are_one_deployment_unless_they_name_the_same_group() {
    let folder = Folder::new("several");
    let machine = folder.file("machine.toml", "[[executor]]\nname = \"fast\"\ncores = [1]");
    let groups = folder.file("groups.toml", "[[group]]\nname = \"control\"\nexecutor = \"fast\"");
    let merged = Deployment::load_all([&machine, &groups]).unwrap();
    assert_eq!(merged.executor_of("any", "control").unwrap().as_deref(), Some("fast"));
    // One of the files by itself lacks the executor.
    let error = Deployment::load(&groups).unwrap_err().to_string();
    assert!(error.contains("groups.toml: line 3, column 12, `executor`: there is no executor `fast`"), "{error}");

    let again = folder.file("again.toml", "[[group]]\nname = \"control\"\nexecutor = \"fast\"");
    let error = Deployment::load_all([&machine, &groups, &again]).unwrap_err();
    assert!(matches!(error, DeploymentError::Conflict { .. }), "{error:?}");
    let said = error.to_string();
    assert!(said.contains("group `control` of node `*`"), "{said}");
    assert!(said.contains("groups.toml") && said.contains("again.toml"), "{said}");
}

/// The tables are in the one form of TOML, and then in the other.
#[test]
fn a_section_that_lacks_a_key_is_told_with_its_place_and_what_to_add() {
    for (section, keys, expected) in [
        ("executor", "cores = [1]", "missing field `name`; add to this `executor`: `name = \"...\"`"),
        (
            "group",
            "node = \"planner\"\nexecutor = \"main\"",
            "missing field `name`; add to this `group`: `name = \"control\"`, or `name = \"*\"` for all groups of its \
             node",
        ),
        ("group", "name = \"*\"", "missing field `executor`; add to this `group`: `executor = \"main\"`"),
        ("callback", "priority = 3", "missing field `name`; add to this `callback`: `name = \"planner/scan\"`"),
        (
            "chain",
            "name = \"c\"",
            "missing field `callbacks`; add to this `chain`: `callbacks = [\"lidar/scan\", \"planner/scan\"]`",
        ),
        ("chain", "callbacks = [\"a/b\"]", "missing field `name`; add to this `chain`: `name = \"...\"`"),
        ("thread", "cores = [1]", "missing field `name`; add to this `thread`: `name = \"tokio-*\"`"),
        ("client", "name = \"c\"", "missing field `accelerator`; add to this `client`: `accelerator = \"gpu\"`"),
    ] {
        let folder = Folder::new(&format!("lacking-{section}-{}", keys.len()));
        let file = folder.file("robot.toml", &format!("# A robot.\n\n[[{section}]]\n{keys}\n"));
        let error = Deployment::load(&file).unwrap_err().to_string();
        assert_eq!(error, format!("{}: line 3, column 1: {expected}", file.display()));
        let inline = format!("{section} = [{{ {} }}]", keys.replace('\n', ", "));
        let error = Deployment::parse(&inline).unwrap_err().to_string();
        assert_eq!(error, format!("line 1, column {}, `{section}`: {expected}", section.len() + 5));
    }
}

#[test]
fn an_error_of_several_files_together_has_its_file_and_line() {
    let folder = Folder::new("together");
    let machine =
        folder.file("machine.toml", "[[executor]]\nname = \"fast\"\n\n[[group]]\nname = \"a\"\nexecutor = \"fast\"");
    let groups = folder.file("groups.toml", "[[group]]\nname = \"b\"\nexecutor = \"fats\"");
    let error = Deployment::load_all([&machine, &groups]).unwrap_err().to_string();
    let place = format!("{}: line 3, column 12, `executor`: there is no executor `fats`", groups.display());
    assert!(error.contains("do not go together") && error.contains(&place), "{error}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Deployment::load("/nowhere/robot.toml").unwrap_err().to_string();
    assert!(error.starts_with("cannot read the deployment file /nowhere/robot.toml"), "{error}");
}

#[test]
fn a_described_system_gives_a_deployment_that_can_be_loaded() {
    for text in [include_str!("../../scenarios/chain.toml"), include_str!("../../scenarios/one_core.toml")] {
        let scenario = rospin_scenario::Scenario::parse(text).unwrap();
        let deployment = Deployment::describe(&scenario);
        assert_eq!(Deployment::parse(&deployment.to_toml()).unwrap(), deployment);
        for group in &scenario.groups {
            assert_eq!(deployment.executor_of("any", &group.name).unwrap().as_ref(), Some(&group.executor));
        }
        for executor in &scenario.executors {
            let scheduling = OsScheduling::Fifo { priority: executor.os_priority };
            assert_eq!(deployment.executor(&executor.name).unwrap().scheduling, Some(scheduling));
        }
    }
}

#[test]
fn the_files_in_the_book_are_right() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/guide/deploy.md");
    let text = std::fs::read_to_string(page).expect("the page");
    let files: Vec<_> = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        Deployment::parse(file).unwrap_or_else(|error| panic!("{error}: {file}"));
    }
}
