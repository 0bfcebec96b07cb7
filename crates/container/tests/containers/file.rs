//! Component files: valid ones are read, others are refused with place and fix.

use rospin_container::ComponentFile;
use rospin_node::ParameterValue;

fn refusal(text: &str) -> String {
    ComponentFile::parse("robot.toml", text).unwrap_err().to_string()
}

#[test]
fn everything_has_its_place_and_what_is_left_out_is_ordinary() {
    let text = r#"
        [[component]]
        type = "demo::Talker"
        name = "talker"

        [[component]]
        type = "demo::Listener"
        name = "listener"
        namespace = "/robot"
        executor = "control"
        remap = { "chatter" = "/news", "~/state" = "status" }
        [component.parameters]
        use = true
        count = 7
        rate = 0.5
        frame = "base"
        limits = { speed = [0.5, 1.0], names = ["a"], counts = [1, 2], used = [true], none = [] }
        "dotted.name" = -1
    "#;
    let file = ComponentFile::parse("robot.toml", text).unwrap();
    let [talker, listener] = file.components() else { panic!("two") };
    assert_eq!((talker.executor(), talker.namespace.as_str()), ("talker", "/"));
    assert!(talker.remap.is_empty() && talker.parameters.is_empty());
    assert_eq!((listener.executor(), listener.type_name.as_str()), ("control", "demo::Listener"));
    assert_eq!(listener.remap["~/state"], "status");
    use ParameterValue as V;
    let expected = [
        ("count", V::Integer(7)),
        ("dotted.name", V::Integer(-1)),
        ("frame", V::String("base".to_owned())),
        ("limits.counts", V::IntegerArray(vec![1, 2])),
        ("limits.names", V::StringArray(vec!["a".to_owned()])),
        ("limits.none", V::NotSet),
        ("limits.speed", V::DoubleArray(vec![0.5, 1.0])),
        ("limits.used", V::BoolArray(vec![true])),
        ("rate", V::Double(0.5)),
        ("use", V::Bool(true)),
    ];
    let parameters = listener.parameters.iter().map(|(name, value)| (name.as_str(), value.clone()));
    assert_eq!(parameters.collect::<Vec<_>>(), expected);
}

#[test]
fn mistakes_are_told_with_place_and_fix() {
    let base = "[[component]]\ntype = \"demo::Talker\"\nname = \"talker\"\n";
    let cases = [
        (String::from("component = 7"), "robot.toml: line 1, column 13", "`[[component]]` above each"),
        (base.replace("name", "nam"), "line 3, column 1", "unknown field `nam`, expected"),
        (base.replace("\"talker\"", "\"\""), "line 3, column 8, `name`", "give it one"),
        (base.replace("\"demo::Talker\"", "7"), "line 2, column 8, `type`", "expected a string"),
        (format!("{base}{base}"), "line 6, column 8, `name`", "another name or namespace"),
        (format!("{base}executor = \"\""), "line 4, column 12, `executor`", "leave it out"),
        (format!("{base}remap = [\"a\"]"), "line 4, column 9, `remap`", "expected a map"),
        (format!("{base}parameters = {{ a = [1, 0.5] }}"), "line 4, column 20, `a`", "7.0"),
        (format!("{base}parameters = {{ a = [1, \"b\"] }}"), "line 4, column 20, `a`", "of one type"),
        (format!("{base}parameters = {{ a = [[1]] }}"), "line 4, column 20, `a`", "of one type"),
        (format!("{base}parameters = {{ a = 2026-11-21 }}"), "line 4, column 20, `a`", "in quotation marks"),
        (format!("{base}parameters = {{ \"a.b\" = 1, a = {{ b = 2 }} }}"), "line 4, column 14", "`a.b` is given twice"),
        (format!("{base}parameters = 7"), "line 4, column 14, `parameters`", "expected a map"),
        (String::from("[[component]]\nname = \"talker\""), "line 1, column 1", "missing field `type`"),
    ];
    for (text, place, fix) in cases {
        let said = refusal(&text);
        assert!(said.starts_with("robot.toml: ") && said.contains(place) && said.contains(fix), "{text}\n{said}");
    }
    let error = ComponentFile::load("/no/such/file.toml").unwrap_err().to_string();
    assert!(error.contains("/no/such/file.toml"), "{error}");
}

#[test]
fn programs_can_add_errors_of_their_own_with_the_place() {
    let file = ComponentFile::parse("robot.toml", "[[component]]\ntype = \"demo::Talker\"\nname = \"t\"").unwrap();
    let said = file.error(0, "type", "there is no such type").to_string();
    assert_eq!(said, "robot.toml: line 2, column 8, `type`: there is no such type");
    let said = file.error(0, "remap", "not given").to_string();
    assert_eq!(said, "robot.toml: line 1, column 1, `remap`: not given");
}
